"""The worst charts under the protocol `released`, which compares boxes, lines and points as the script does."""

from __future__ import annotations

from collections.abc import Iterator

from tests.abuse import chart
from tests.abuse.case import Case

BENCHMARK = "chart"
OPTIONS = {"protocol": "released"}


def cases() -> Iterator[Case]:
    """Yields the same charts as under `published`."""
    yield from chart.cases()
