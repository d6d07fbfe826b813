"""The steps that a sample's budget is charged for work on charts; a step is at most about a microsecond."""

from __future__ import annotations

from collections.abc import Sequence

# The fixed cost of comparing two series, lines or point sets, whatever they hold.
PAIR_OF_SERIES = 100

# What two sets of points cost more under the released protocol, which inverts a covariance for each two.
PAIR_OF_RELEASED_POINTS = 300


def pair_steps(rows: int, columns: int, passes: int = 1) -> int:
    """The steps of `passes` tables of numbers `[rows, columns]`; each needs some ten operations of an element."""
    return passes * (1 + rows * columns // 20)


def assignment_steps(rows: int, columns: int) -> int:
    """The steps of the best assignment of `[rows, columns]`, which takes their product times the smaller at worst."""
    return 10 + rows * columns * min(rows, columns) // 1200


def error_rate_steps(truth: str, predicted: str) -> int:
    """The steps of a character error rate; a text of twice the length is wrong without comparing them."""
    if len(predicted) >= 2 * len(truth):
        return 1
    return 1 + _word_operations([truth], [predicted]) // 80


def _word_operations(first: Sequence[str], second: Sequence[str]) -> int:
    """64 cells of a column of the table of edits are one operation; either text may be the column."""
    characters, other_characters = sum(map(len, first)), sum(map(len, second))
    words = _words(first, characters)
    return max(words * other_characters, _words(second, other_characters) * characters)


def _words(texts: Sequence[str], characters: int) -> int:
    """Returns how many words of 64 cells hold a column for each of the texts, of so many characters together."""
    return len(texts) if characters < 64 else sum([1 + len(text) // 64 for text in texts])
