"""What several benchmarks share: assignment, geometry, text, the split of a corpus, the work budget."""
