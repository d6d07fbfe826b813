"""Generated samples: one module a benchmark, each with `sample(index, seed)`.

A sample depends on its index and the seed alone, so that a corpus of any size can be made in parallel.
"""
