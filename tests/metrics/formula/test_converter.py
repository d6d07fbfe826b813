"""CDM's JSON, the text files of UniMER-Test and whole documents become records.

The examples are made by hand to the published layouts.
"""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest

from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.formula.converter import FormulaConverter
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth

CONVERTER = FormulaConverter()


def parts(role: str, path: str, content: str | bytes) -> list[Any]:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return list(CONVERTER.parts(role, path, stream))


def records(role: str, path: str, content: str | bytes) -> list[dict[str, Any]]:
    found = []
    for key, kept in parts(role, path, content):
        (record,) = CONVERTER.records(key, [Part(role, path, kept)])
        msgspec.convert(record, FormulaPrediction if role == "cdm_predictions" else FormulaTruth)
        found.append(dict(record))
    return found


CDM = json.dumps([
    {"img_id": "case_1", "gt": "y = 2z + 3x", "pred": "y = 2x + 3z"},
    {"gt": "y = x^2", "pred": ""},
    {"img_id": 7, "gt": "é", "pred": "e"},
])  # fmt: skip


def test_each_role_takes_its_side_of_the_json_of_cdm() -> None:
    """An object without img_id is called by its place, as by the tool."""
    assert records("cdm_ground_truth", "cdm.json", CDM) == [
        {"sample_id": "case_1", "latex": "y = 2z + 3x"},
        {"sample_id": "sample_1", "latex": "y = x^2"},
        {"sample_id": "7", "latex": "é"},
    ]
    assert [each["latex"] for each in records("cdm_predictions", "cdm.json", CDM)] == ["y = 2x + 3z", "", "e"]
    assert records("cdm_ground_truth", "cdm.json", "\ufeff[]") == []


def test_a_line_of_unimer_test_belongs_to_the_image_of_its_number() -> None:
    """`spe/0000002.png` is that of the third line, though the second is blank; the file is the subset."""
    assert records("lines", "gs://b/UniMER-Test/spe.txt", "\ufeff\\frac a b \r\n\n x^2") == [
        {"sample_id": "spe/0000000", "latex": "\\frac a b", "subset": "spe"},
        {"sample_id": "spe/0000002", "latex": "x^2", "subset": "spe"},
    ]


PAGES = """# Motion

The energy is
$$
E = \\frac{1}{2} m v^2 \\tag{1}
$$
for a price of $5.
\fFor small $x$:

```latex
\\begin{align}
  a &= b \\\\
  c &= d
\\end{align}
```
\f"""
"""Two pages of Markdown as a model may write them, made by hand, and a third that is blank."""
SOURCE = """\\newcommand{\\half}{\\frac{1}{2}}
\\begin{document}
% \\[ hidden \\]
\\begin{equation}\\label{e} E = \\half m v^2 \\end{equation}
\\[ x \\]
\\end{document}
"""


def test_each_displayed_formula_of_a_document_is_a_record_with_its_place() -> None:
    assert records("markdown", "out/motion.md", PAGES) == [
        {
            "sample_id": "motion/0000000",
            "latex": "E = \\frac{1}{2} m v^2",
            "page": 1,
            "line": 4,
            "subset": "motion",
        },
        {
            "sample_id": "motion/0000001",
            "latex": "\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}",
            "page": 2,
            "line": 4,
            "subset": "motion",
        },
    ]
    assert records("source", "motion.tex", SOURCE) == [
        {"sample_id": "motion/0000000", "latex": "E = \\frac{1}{2} m v^2", "line": 4, "subset": "motion"},
        {"sample_id": "motion/0000001", "latex": "x", "line": 5, "subset": "motion"},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"$$ \xff $$", "a.md: not UTF-8"), (b"$$ x $$" * 1_000_000, "a.md: scoring takes more work than max_steps=")],
)
def test_a_document_that_cannot_be_read_makes_no_records(content: bytes, message: str) -> None:
    with pytest.raises(UnreadableSource, match=message):
        parts("markdown", "a.md", content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "c.json: not JSON: "),
        (b'["\xff"]', "c.json: not JSON: "),
        ("[" * 100_000, "c.json: not JSON: "),
        ('{"img_id": "a"}', "c.json: expected a list of objects with img_id, gt and pred"),
    ],
)
def test_what_is_no_json_of_cdm_is_refused(content: str | bytes, message: str) -> None:
    with pytest.raises(UnreadableSource, match=message):
        parts("cdm_ground_truth", "c.json", content)


@pytest.mark.parametrize(
    "bad", [1, {}, {"gt": 5}, {"img_id": True, "gt": "x"}, {"img_id": "", "gt": "x"}, {"img_id": None, "gt": "x"}]
)
def test_an_object_that_cannot_be_read_leaves_the_others(bad: Any) -> None:
    good, refused = parts("cdm_ground_truth", "c.json", json.dumps([{"img_id": "a", "gt": "x"}, bad]))
    assert good == ("a", b"x")
    assert isinstance(refused, UnreadableSource)
    assert str(refused).startswith("c.json: object 1: expected img_id, a text or an integer, and 'gt', a text")


def test_text_that_cannot_be_written_leaves_the_others() -> None:
    (refused,) = parts("cdm_predictions", "c.json", '[{"pred": "\\ud800"}]')
    assert str(refused) == "c.json: object 0: 'pred' holds half of a surrogate pair"
    first, refused, last = parts("lines", "hwe.txt", b"a\n\xff\nb\n")
    assert (first, last) == (("hwe/0000000", b"a"), ("hwe/0000002", b"b"))
    assert str(refused).startswith("hwe.txt, line 2: not UTF-8")


def test_a_sample_that_comes_twice_is_an_error() -> None:
    twice = [Part("lines", path, b"x") for path in ("a/spe.txt", "b/spe.txt")]
    with pytest.raises(UnreadableSource, match=r"'spe/0000000' comes 2 times: a/spe\.txt "):
        list(CONVERTER.records("spe/0000000", twice))
