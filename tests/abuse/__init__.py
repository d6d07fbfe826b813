"""Worst-case samples, and what each costs."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """A sample by what it abuses; `truth` and `prediction` are records without `sample_id`."""

    name: str
    truth: dict[str, Any]
    prediction: dict[str, Any] | None
