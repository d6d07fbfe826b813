"""The worst lines of chemistry under the protocol `released`, which cuts and walks them as the competition's tool."""

from __future__ import annotations

from collections.abc import Iterator

from tests.abuse import chemistry
from tests.abuse.case import Case

BENCHMARK = "chemistry"
OPTIONS = {"protocol": "released"}


def cases() -> Iterator[Case]:
    """Yields the same lines as under `published`."""
    yield from chemistry.cases()
