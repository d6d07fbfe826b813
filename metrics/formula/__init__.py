"""Formula recognition: Character Detection Matching and its companions."""
