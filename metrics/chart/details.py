"""How much the details of one chart keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ..common.text import truncated

# More matches or errors than this are not listed in the details of a sample, and longer texts are cut.
MAX_DETAILS = 500
MAX_DETAIL_LENGTH = 200

ItemT = TypeVar("ItemT")


def listed(details: Sequence[ItemT]) -> Sequence[ItemT]:
    """Returns the first details, as many as are kept."""
    return details if len(details) <= MAX_DETAILS else details[:MAX_DETAILS]


def shortened(text: str) -> str:
    """Returns `text` truncated to the length that details keep."""
    return truncated(text, MAX_DETAIL_LENGTH)
