"""Exact sums, their bootstrap replicates, and the intervals computed from them."""
