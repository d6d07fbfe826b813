"""CDM's JSON, the text files of UniMER-Test and whole documents become records; made by hand to the layouts."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import msgspec
import pytest

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.formula.converter import FormulaConverter
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth

CONVERTER = FormulaConverter()
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


def parts(role: str, path: str, content: bytes) -> list[Any]:
    return list(CONVERTER.parts(role, path, io.BytesIO(content)))


@pytest.mark.parametrize(
    ("role", "path", "content", "expected"),
    [
        # An object without img_id is called by its place, as by the tool.
        ("cdm_ground_truth", "cdm.json", CDM, [("case_1", "y = 2z + 3x"), ("sample_1", "y = x^2"), ("7", "é")]),
        ("cdm_predictions", "cdm.json", CDM, [("case_1", "y = 2x + 3z"), ("sample_1", ""), ("7", "e")]),
        ("cdm_ground_truth", "cdm.json", "\ufeff[]", []),
        # `spe/0000002.png` is the image of the third line, though the second is blank; the file is the subset.
        ("lines", "gs://b/UniMER-Test/spe.txt", "\ufeff\\frac a b \r\n\n x^2",
         [("spe/0000000", "\\frac a b", {"subset": "spe"}), ("spe/0000002", "x^2", {"subset": "spe"})]),
        ("markdown", "out/motion.md", PAGES,
         [("motion/0000000", "E = 1", {"page": 1, "line": 4, "subset": "motion"}),
          ("motion/0000001", "a = b", {"page": 2, "line": 4, "subset": "motion"})]),
        ("source", "motion.tex", SOURCE,
         [("motion/0000000", "\\frac{1}{2} m", {"line": 4, "subset": "motion"}),
          ("motion/0000001", "x", {"line": 5, "subset": "motion"})]),
    ],
)  # fmt: skip
def test_each_role_makes_its_records(role: str, path: str, content: str, expected: list[tuple[Any, ...]]) -> None:
    found = []
    for key, kept in parts(role, path, content.encode()):
        (record,) = CONVERTER.records(key, [Part(role, path, kept)])
        msgspec.convert(record, FormulaPrediction if role == "cdm_predictions" else FormulaTruth)
        found.append(record)
    assert found == [{"sample_id": key, "latex": latex} | dict(*more) for key, latex, *more in expected]


REFUSED = [
    ("markdown", b"$$ \xff $$", "file: not UTF-8"),
    ("markdown", b"$$ x $$" * 1_000_000, "file: scoring takes more work than max_steps="),
    *(("cdm_predictions", text, "file: not JSON: ") for text in (b"{", b'["\xff"]', b"[" * 100_000)),
    ("cdm_predictions", b'{"img_id": "a"}', "file: expected a list of objects with img_id, gt and pred"),
]


def test_a_file_that_is_not_in_its_layout_is_refused() -> None:
    for role, content, message in REFUSED:
        with pytest.raises(UnreadableSource, match=message):
            parts(role, "file", content)


def test_an_object_that_cannot_be_read_leaves_the_others() -> None:
    bad = ["x", {}, {"gt": 1}, *({"img_id": name, "gt": "x"} for name in (True, "", None))]
    good, *refused = parts("cdm_ground_truth", "c.json", json.dumps([{"img_id": "a", "gt": "x"}, *bad]).encode())
    assert good == ("a", b"x")
    expected = "expected img_id, a text or an integer, and 'gt', a text"
    assert [str(each) for each in refused] == [f"c.json: object {number}: {expected}" for number in range(1, 7)]


def test_text_that_cannot_be_written_leaves_the_others_and_a_sample_comes_once() -> None:
    (refused,) = parts("cdm_predictions", "c.json", b'[{"pred": "\\ud800"}]')
    assert str(refused) == "c.json: object 0: 'pred' holds half of a surrogate pair"
    first, refused, last = parts("lines", "hwe.txt", b"a\n\xff\nb\n")
    assert (first, last) == (("hwe/0000000", b"a"), ("hwe/0000002", b"b"))
    assert str(refused) == "hwe.txt, line 2: not UTF-8 (invalid start byte)"
    six = [Part("lines", f"{name}/spe.txt", b"x") for name in "abcdef"]
    places = ", ".join(f"{name}/spe.txt (lines)" for name in "abcde")
    with pytest.raises(UnreadableSource, match=f"^sample 'spe/0' comes 6 times: {re.escape(places)}$"):
        list(CONVERTER.records("spe/0", six))
