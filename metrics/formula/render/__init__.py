"""Typesetting with TeX, and the boxes and images of its output."""
