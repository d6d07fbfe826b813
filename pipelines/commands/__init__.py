"""The commands of `beamscore`, a file each."""
