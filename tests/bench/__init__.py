"""`make bench`: what an evaluation costs, as ratios measured in one run on the same work."""
