"""What the systems of a run are called."""

from __future__ import annotations

DEFAULT_SYSTEM = "predictions"
"""The system of predictions that are given without a name."""


def predictions_of(system: str) -> str:
    """Returns what messages call the predictions of a system: those without a name are just `predictions`."""
    return f"predictions{of_system(system)}"


def of_system(system: str) -> str:
    """Returns ` of NAME`; nothing for predictions without a name."""
    return "" if system == DEFAULT_SYSTEM else f" of {system}"
