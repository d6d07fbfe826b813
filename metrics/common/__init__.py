"""Code that several benchmarks share: assignment, geometry, text, drawings, the work budget."""
