"""Edit distances between texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metrics.common.text import character_error_rate


def plain_edit_distance(first: str, second: str) -> int:
    previous = list(range(len(second) + 1))
    for row, character in enumerate(first, 1):
        current = [row]
        for column, other in enumerate(second, 1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (character != other)))
        previous = current
    return previous[-1]


TEXTS = st.text("abé😀", max_size=6)


@given(TEXTS, TEXTS)
def test_character_error_rate_is_capped_edits_over_the_truth(truth: str, predicted: str) -> None:
    edits = plain_edit_distance(truth, predicted)
    expected = min(1, edits / len(truth)) if truth else float(bool(predicted))
    assert character_error_rate(truth, predicted) == expected
