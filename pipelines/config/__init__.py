"""The configuration and the inputs of a run, checked, with errors in words."""
