"""The worst cases of figure text under the geometry `polygon`, which intersects them as they are."""

from __future__ import annotations

from collections.abc import Iterator

from tests.abuse.case import Case
from tests.abuse.figure_text import crowds, shapes

BENCHMARK = "figure_text"
OPTIONS = {"geometry": "polygon"}


def cases() -> Iterator[Case]:
    """Yields the worst cases of shapes and crowds."""
    yield from shapes()
    yield from crowds()
