"""Whole documents: their displayed formulas, and which predicted formula answers which."""
