"""Generated samples: `sample(index, seed)` of each module depends on nothing else; a system may give no prediction."""
