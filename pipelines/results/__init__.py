"""The result of a run as documents: the summary, the sums, the report."""
