"""Benchmarks, metrics and statistics in plain Python and NumPy, without Apache Beam."""
