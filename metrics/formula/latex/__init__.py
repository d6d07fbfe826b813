"""LaTeX formulas as text: reading, the normal form, and the marked source for typesetting."""
