"""The pairs of formulas of single formulas and of whole documents."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.pairs import FormulaPair, Match, formula_pairs, match_formulas
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth

DOCUMENT = FormulaTruth(document="\\begin{document} \\[ a + b \\] and \\[ c \\] \\end{document}")
THREE = "\\[ a \\] \\[ b \\] \\[ c \\]"
BOMB = "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60


def pairs_of(truth: FormulaTruth, prediction: FormulaPrediction | None, max_formulas: int = 1000) -> list[FormulaPair]:
    return formula_pairs(truth, prediction, max_formulas, Budget(500_000))


def answered(prediction: str, dialect: str | None = None) -> FormulaPrediction:
    return FormulaPrediction(document=prediction, dialect=dialect)


REJECTED: list[tuple[FormulaTruth, FormulaPrediction | None, str, str]] = [
    (FormulaTruth(), None, "ground_truth", "has no `latex` and no `document`; give one of them"),
    (FormulaTruth("  "), None, "ground_truth", "`latex` is blank"),
    (FormulaTruth(document="\n"), None, "ground_truth", "`document` is blank"),
    (FormulaTruth("x", "x"), None, "ground_truth", "the ground truth has both `latex` and `document`"),
    (FormulaTruth("x"), FormulaPrediction("x", "x"), "prediction", "the prediction has both"),
    (FormulaTruth("x"), FormulaPrediction(), "prediction", "one formula and the prediction has no `latex`"),
    (FormulaTruth("x"), answered("$$ x $$"), "prediction", "one formula and the prediction has no `latex`"),
    (DOCUMENT, FormulaPrediction("x"), "prediction", "is a document and the prediction has no `document`"),
    (DOCUMENT, answered("x", "w" * 1000), "prediction", f"'{'w' * 40}' is not known; give latex, mathpix, gpt4o"),
    (FormulaTruth(document=THREE), None, "ground_truth", "has 3 displayed formulas; max_formulas is 2"),
    (DOCUMENT, answered(THREE), "prediction", "has 3 displayed formulas; max_formulas is 2"),
    (FormulaTruth(document="x" * 2_000_001), None, "ground_truth", "2,000,001 characters"),
    (DOCUMENT, answered("x" * 2_000_001), "prediction", "2,000,001 characters"),
    (FormulaTruth(document=BOMB), None, "ground_truth", "max_steps=500000"),
    (DOCUMENT, answered(BOMB), "prediction", "max_steps=500000"),
    (FormulaTruth(document=f"$${'ab' * 40_000}$$"), answered(f"$${'ba' * 40_000}$$"), "sample", "max_steps=500000"),
]


def test_records_that_cannot_be_scored() -> None:
    for truth, prediction, side, words in REJECTED:
        with pytest.raises(RejectedRecord, match=re.escape(words)) as rejected:
            pairs_of(truth, prediction, 2)
        assert (rejected.value.side, len(rejected.value.message) < 300) == (side, True), words


def test_each_page_of_a_document_is_read_by_itself() -> None:
    """What a page leaves open ends with it, and places count on from page to page."""
    pages = ("```python\n$$ no $$", "$$ c", "", "$$ d $$")
    record = msgspec.json.encode({"document": pages, "dialect": "gpt4o"})
    pairs = pairs_of(FormulaTruth(document="\\[ d \\] \\[ c \\]"), msgspec.json.decode(record, type=FormulaPrediction))
    places = [("d", len(pages[0]) + len(pages[1])), ("c", len(pages[0]))]
    assert [(pair.prediction, pair.prediction_offset) for pair in pairs] == places


def plainly_matched(truths: list[str], predictions: list[str]) -> list[Match]:
    matches: dict[int, Match] = {}
    free = list(range(len(predictions)))
    for number, threshold in ((1, 0.4), (2, 0.8)):
        for index, truth in enumerate(truths):
            if index in matches or not free:
                continue
            longer = {j: max(len(truth), len(predictions[j]), 1) for j in free}
            distances = {j: Levenshtein.distance(truth, predictions[j]) / longer[j] for j in free}
            nearest = min(free, key=distances.__getitem__)
            if distances[nearest] < threshold:
                matches[index] = Match(index, nearest, distances[nearest], number)
                free.remove(nearest)
    return [matches.get(index, Match(index, None)) for index in range(len(truths))] + [Match(None, j) for j in free]


TEXTS = st.lists(st.text(alphabet="abc", max_size=6), max_size=6)


@given(TEXTS, TEXTS)
def test_a_plain_reading_gives_the_same(truths: list[str], predictions: list[str]) -> None:
    assert match_formulas(truths, predictions, Budget(10**6)) == plainly_matched(truths, predictions)


COSTS = [
    # 640 characters are 10 words of 64 and one more, each compared with 640 characters, and 32 for the pair: 7,072
    # words, of which 64 are a step; the row takes 10 more. And so in two rounds.
    (["ab" * 320], ["cd" * 320], 2 * (7_072 // 64 + 10)),
    # Of 600 characters and 640, the shorter counts by words: (600 // 64 + 1) * 640 + 32 = 6,432.
    *((["ab" * left], ["cd" * right], 2 * (6_432 // 64 + 10)) for left, right in ((300, 320), (320, 300))),
    # A row of 64 predictions costs 2 besides what is compared, here nothing: lengths are too far apart.
    (["ab" * 300], ["cd"] * 64, 2 * (2 + 10)),
    (["ab" * 500], ["ab" * 500], 0),
]


def test_a_comparison_costs_the_product_of_the_lengths_by_machine_words() -> None:
    for truths, predictions, steps in COSTS:
        match_formulas(truths, predictions, budget := Budget(10**12))
        assert budget.steps == steps
