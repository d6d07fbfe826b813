"""Finished runs: their documents, what makes two comparable, gates, rankings and history."""
