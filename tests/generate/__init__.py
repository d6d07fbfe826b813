"""Generated samples: `sample(index, seed)` of each module depends on nothing else, so that corpora grow in parallel."""
