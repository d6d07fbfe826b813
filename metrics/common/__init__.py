"""What several benchmarks share: assignment, geometry, text, the work budget."""
