"""Finished runs: documents, comparability, gates, rankings and history."""
