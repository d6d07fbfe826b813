"""Edit distances between texts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.text import character_error_rate, normalized


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

    @pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0344\u0323", "\u0f73"])
    def test_marks_without_end_are_cut_into_pieces_of_30(self, marks: str) -> None:
        pieces = normalized("a" + marks * 1000).split("\u034f")
        assert len(pieces) >= 1000 // 30
        assert all(len(unicodedata.normalize("NFD", piece)) <= 61 for piece in pieces)

    def test_a_text_without_end_takes_time_in_its_length_alone(self) -> None:
        """Without the cuts, 400,000 marks take minutes."""
        assert len(normalized("a" + "\u0301\u0323" * 200_000)) > 400_000
