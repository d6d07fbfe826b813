"""The pairs of formulas of records and of whole documents, and the files of which the converter makes records."""

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from rapidfuzz.distance import Levenshtein

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.formula.converter import FormulaConverter
from beamscore.metrics.formula.documents.dialects import Formula
from beamscore.metrics.formula.pairs import FormulaPair, formula_pairs, match_formulas
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from tests.metrics.samples import assert_converted

DOCUMENT = FormulaTruth(document="\\begin{document} \\[ a + b \\] and \\[ c \\] \\end{document}")
THREE = "\\[ a \\] \\[ b \\] \\[ c \\]"
BOMB = "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60


def pairs_of(truth: FormulaTruth, prediction: FormulaPrediction | None, max_formulas: int = 1000) -> list[FormulaPair]:
    return formula_pairs(truth, prediction, max_formulas, Budget(500_000), str)


def answered(prediction: str, dialect: str | None = None) -> FormulaPrediction:
    return FormulaPrediction(document=prediction, dialect=dialect)


def test_records_that_cannot_be_scored() -> None:
    for truth, prediction, side, words in [
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
    ]:
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


Row = tuple[int | None, int | None, float | None, int | None]
"""The places of a ground truth and its prediction, their distance, and the round."""


def matched(truths: list[str], predictions: list[str], budget: Budget) -> list[Row]:
    left, right = ([Formula(text, text, place) for place, text in enumerate(texts)] for texts in (truths, predictions))
    pairs = match_formulas(left, right, budget, str)
    return [(each.truth_offset, each.prediction_offset, each.distance, each.round) for each in pairs]


def plainly_matched(truths: list[str], predictions: list[str]) -> list[Row]:
    matches: dict[int, Row] = {}
    free = list(range(len(predictions)))
    for number, threshold in ((1, 0.4), (2, 0.8)):
        for index, truth in enumerate(truths):
            if index in matches or not free:
                continue
            longer = {j: max(len(truth), len(predictions[j]), 1) for j in free}
            distances = {j: Levenshtein.distance(truth, predictions[j]) / longer[j] for j in free}
            nearest = min(free, key=distances.__getitem__)
            if distances[nearest] < threshold:
                matches[index] = (index, nearest, distances[nearest], number)
                free.remove(nearest)
    missing = [matches.get(index, (index, None, 1, None)) for index in range(len(truths))]
    return missing + [(None, j, 1, None) for j in free]


TEXTS = st.lists(st.text(alphabet="abc", max_size=6), max_size=6)


@given(TEXTS, TEXTS)
def test_a_plain_reading_gives_the_same(truths: list[str], predictions: list[str]) -> None:
    assert matched(truths, predictions, Budget(10**6)) == plainly_matched(truths, predictions)


def test_a_comparison_costs_the_product_of_the_lengths_by_machine_words() -> None:
    for truths, predictions, steps in [
        # 640 characters are 10 words of 64 and one more, each compared with 640 characters, and 32 for the pair: 7,072
        # words, of which 64 are a step; the row takes 10 more. And so in two rounds.
        (["ab" * 320], ["cd" * 320], 2 * (7_072 // 64 + 10)),
        # Of 600 characters and 640, the shorter counts by words: (600 // 64 + 1) * 640 + 32 = 6,432.
        *((["ab" * left], ["cd" * right], 2 * (6_432 // 64 + 10)) for left, right in ((300, 320), (320, 300))),
        # A row of 64 predictions costs 2 besides what is compared, here nothing: lengths are too far apart.
        (["ab" * 300], ["cd"] * 64, 2 * (2 + 10)),
        (["ab" * 500], ["ab" * 500], 0),
    ]:
        matched(truths, predictions, budget := Budget(10**12))
        assert budget.steps == steps


CDM = json.dumps(
    [
        {"img_id": "case_1", "gt": "y = 2z + 3x", "pred": "y = 2x + 3z"},
        {"gt": "y = x^2", "pred": ""},
        {"img_id": 7, "gt": "é", "pred": "e"},
    ]
)
PAGES = "# M\n\nThe energy is\n$$\nE = 1 \\tag{1}\n$$\nfor $5.\n\f$x$:\n\n```latex\n\\[\n  a = b \\]\n```\n\f"
"""Two pages of Markdown as a model may write them, and a third that is blank."""
SOURCE = "\\newcommand{\\half}{\\frac{1}{2}}\n\\begin{document}\n% \\[ hidden \\]\n\\[ \\half m \\]\n\\[ x \\]\n"


@pytest.mark.parametrize(
    ("role", "path", "content", "expected"),
    [
        # An object without img_id is called by its place, as by the tool.
        ("cdm_ground_truth", "cdm.json", CDM, [("case_1", "y = 2z + 3x"), ("sample_1", "y = x^2"), ("7", "é")]),
        ("cdm_predictions", "cdm.json", CDM, [("case_1", "y = 2x + 3z"), ("sample_1", ""), ("7", "e")]),
        ("cdm_ground_truth", "cdm.json", "\ufeff[]", []),
        # `spe/0000002.png` is the image of the third line, though the second is blank; the file is the subset.
        ("lines", "gs://b/UniMER-Test/spe.txt", "\ufeff\\frac a b \r\n\n x\\ ",
         [("spe/0000000", "\\frac a b", {"subset": "spe"}), ("spe/0000002", "x\\ ", {"subset": "spe"})]),
        ("markdown", "out/motion.md", PAGES,
         [("motion/0000000", "E = 1", {"page": 1, "line": 4, "subset": "motion"}),
          ("motion/0000001", "a = b", {"page": 2, "line": 4, "subset": "motion"})]),
        ("source", "out\\motion.tex", SOURCE.replace("\n", "\r"),
         [("motion/0000000", "\\frac{1}{2} m", {"line": 4, "subset": "motion"}),
          ("motion/0000001", "x", {"line": 5, "subset": "motion"})]),
    ],
)  # fmt: skip
def test_each_role_makes_its_records(role: str, path: str, content: str, expected: list[tuple[Any, ...]]) -> None:
    assert_converted("formula", "latex", role, path, content, expected)


BAD_OBJECTS = ["x", {}, {"gt": 1}, *({"img_id": name, "gt": "x"} for name in (True, "", None))]
EXPECTED = "expected img_id, a text or an integer, and 'gt', a text"
UNREADABLE: list[tuple[str, bytes, list[Any]]] = [
    # A file that is not in its layout.
    ("markdown", b"$$ \xff $$", ["file: not UTF-8 (invalid start byte)"]),
    ("markdown", b"$$ x $$" * 1_000_000, ["file: too long, or too many macros, to be read at once: split it"]),
    *(("cdm_predictions", text, ["file: not JSON: "]) for text in (b"{", b'["\xff"]', b"[" * 100_000)),
    ("cdm_predictions", b'{"img_id": "a"}', ["file: expected a list of objects with img_id, gt and pred"]),
    ("lines", "a\nb\n".encode("utf-16"), ["file, line 1: it has a character NUL, as UTF-16 has; "]),
    # An object, a text or a line that cannot be read leaves the others.
    ("cdm_ground_truth", json.dumps([{"img_id": "a", "gt": "x"}, *BAD_OBJECTS]).encode(),
     [("a", "x"), *(f"file: object {number}: {EXPECTED}" for number in range(1, 7))]),
    ("cdm_predictions", b'[{"pred": "\\ud800"}]', ["file: object 0: 'pred' holds half of a surrogate pair"]),
    ("lines", b"a\n\xff\nb\n", [
        *(("file/0000000", "a", {"subset": "file"}), "file, line 2: not UTF-8 (invalid start byte)"),
        ("file/0000002", "b", {"subset": "file"}),
    ]),
]  # fmt: skip


def test_what_cannot_be_read_is_refused_and_leaves_the_others() -> None:
    for role, content, expected in UNREADABLE:
        assert_converted("formula", "latex", role, "file", content, expected)
    six = [Part("lines", f"{name}/spe.txt", b"x") for name in "abcdef"]
    places = ", ".join(f"{name}/spe.txt (lines)" for name in "abcde")
    with pytest.raises(UnreadableSource, match=f"^sample 'spe/0' comes 6 times: {re.escape(places)}$"):
        list(FormulaConverter().records("spe/0", six))
