"""What a user installs: the source distribution, in an environment of its own, run by workers of its own."""
