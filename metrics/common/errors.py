"""Errors in words."""

from __future__ import annotations


def explain(error: BaseException) -> str:
    """Returns an error in words: its message, or its type where it has none."""
    if isinstance(error, RecursionError):
        return "nested deeper than can be read"
    return str(error) or type(error).__name__
