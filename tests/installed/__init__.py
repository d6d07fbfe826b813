"""What a user installs, run by workers of its own, beside the packages and in the process of somebody else."""
