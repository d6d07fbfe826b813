"""Word error rate of transcripts, as a package: `benchmark.py` is the file that docs/how-to/new_benchmark.md shows."""
