"""Edit distances between texts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.common.text import character_error_rate, normalized, stream_safe


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


class TestUnicode:
    @given(st.text(st.sampled_from("aÅé각\u0301\u0323\u0344\u0f73"), max_size=12))
    def test_texts_that_look_the_same_are_the_same(self, text: str) -> None:
        forms = {normalized(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
        assert forms == {unicodedata.normalize("NFC", text)}
        assert stream_safe(text) == text

    @pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0344\u0323", "\u0f73"])
    def test_marks_without_end_are_cut_into_pieces_of_30(self, marks: str) -> None:
        text = "a" + marks * 1000
        safe = stream_safe(text)
        assert safe.replace("\u034f", "") == text
        assert all(len(piece) <= 31 for piece in safe.split("\u034f"))
