"""The configuration of a run, its checks and its error messages."""
