"""The configuration of a run, checked, with errors in words."""
