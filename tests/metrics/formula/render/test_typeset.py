"""What a formula may not do to the machine, to its neighbours, or to its own score."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.token_markup import MARK, UNMARK, Marked, marked
from beamscore.metrics.formula.render import document
from beamscore.metrics.formula.render.boxes import Boxes, token_boxes
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter
from tests.metrics.formula.helpers import typeset_all

NEIGHBOURS = (r"x^2+\frac{1}{2}", r"\alpha+\beta=\gamma", r"\sum_{i=1}^n \left( i \right)")

HOSTILE = {
    "reads a file": r"\input{/etc/passwd} x",
    "opens a file": r"\newread\r \openin\r=/etc/passwd \read\r to\z \z x",
    "calls by name": r"\csname input\endcsname{/etc/passwd} x",
    "writes a backslash in hexadecimal": "^^5cinput{/etc/passwd} x",
    "runs a shell": r"\immediate\write18{touch SENTINEL} x",
    "writes a file": r"\newwrite\w\immediate\openout\w=SENTINEL\immediate\write\w{x} x",
    "loops": r"\loop\iftrue\repeat x",
    "expands without end": r"\def\a{\a\a}\a x",
    "redefines": r"\gdef\frac#1#2{BAD} \global\let\alpha\beta x",
    "changes categories": r"\catcode`\{=12 x",
    "ends the document": r"x \end{document} y",
    "ends the display": r"x \] y \end{displaymath} z",
    "marks ink itself": r"\special{0} x",
    "uses the marks": f"a {MARK}{{0}} x {UNMARK} {UNMARK} y \x04 \x05",
    "opens groups": "{ { { x",
    "closes groups": "} } } x",
    "opens an array": r"\begin{array}{c} x \\ y",
    "closes an array": r"x \end{array}",
    "opens a delimiter": r"\left( x",
    "never closes an argument": r"x ^ 1 ^ 2 \text{ y",
    "makes a hundred errors": r"\undefinedcommand " * 300 + "x",
    "asks the terminal": r"\errorstopmode x",
    "is rows without an array": r"a & b \\ c",
    "has parameters": "a # b #1",
    "is a comment": "% x",
    "ends in a backslash": "x \\",
    "has control characters": "a\x00b\x1b[2Jc\x7fd",
    "has a lone surrogate": "x\ud800y",
    "has every plane": "x" + "".join(chr(0x10000 * plane + 0x41) for plane in range(17)) + "é中한ب",
    "is huge": r"\rule{16000pt}{16000pt} \hspace{16000pt} x",
    "is too wide": r"\kern99999999999pt x",
    "has columns without end": r"\begin{tabular}{*{99999999}{c}} x \end{tabular}",
    "nests deep": "{" * 300 + "x" + "}" * 300,
    "nests fonts": r"\boldsymbol{" * 60 + "x" + "}" * 60,
    "is empty": "",
    "is a script": "^",
    "is half a command": r"\begin",
}


def form(text: str) -> Marked:
    return marked(normal_form(text))


def boxes_of(results: list[Typeset | Failure], formulas: list[Marked]) -> list[Boxes | None]:
    return [
        token_boxes(result, formula.labels) if isinstance(result, Typeset) else None
        for result, formula in zip(results, formulas, strict=True)
    ]


def same(first: Boxes | None, second: Boxes | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.tokens == second.tokens and first.size == second.size and np.array_equal(first.boxes, second.boxes)


@pytest.fixture(scope="module")
def neighbours(typesetter: Typesetter) -> tuple[list[Marked], list[Boxes | None]]:
    formulas = [form(text) for text in NEIGHBOURS]
    return formulas, boxes_of(typeset_all(typesetter, formulas), formulas)


def test_hostile_formulas_get_what_they_get_alone_and_leave_their_neighbours_alone(
    typesetter: Typesetter, neighbours: tuple[list[Marked], list[Boxes | None]], tmp_path: Path
) -> None:
    formulas, expected = neighbours
    for name, text in HOSTILE.items():
        try:
            hostile = form(text.replace("SENTINEL", str(tmp_path / "sentinel.tex")))
        except Unbalanced:
            continue
        batch = [*formulas[:2], hostile, formulas[2]]
        found = boxes_of(typeset_all(typesetter, batch), batch)
        assert all(same(a, b) for a, b in zip([*found[:2], found[3]], expected, strict=True)), name
        assert same(found[2], boxes_of(typeset_all(typesetter, [hostile]), [hostile])[0]), name
        assert "root:x:" not in "".join(found[2].tokens if found[2] else ()), name
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "source",
    [
        r"\newread\r \openin\r=/etc/passwd \ifeof\r\else X\fi",
        r"\immediate\openout15=SENTINEL \immediate\write15{x}\immediate\closeout15 ",
        r"\immediate\write18{touch SENTINEL}",
        r"\input{/etc/passwd}",
        r"\input|\"touch SENTINEL\"",
    ],
)
def test_tex_itself_opens_nothing_outside_of_its_folder(
    source: str, typesetter: Typesetter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(document, "sanitize", lambda text: text)
    sentinel = tmp_path / "sentinel.tex"
    (result,) = typeset_all(typesetter, [Marked(source.replace("SENTINEL", str(sentinel)), ())])
    assert not sentinel.exists()
    assert not (isinstance(result, Typeset) and any(page.cells for page in result.pages))


def test_no_process_and_no_folder_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Typesetter(seconds=1) as typesetter:
        typesetter.typeset([form("{ x"), form("y")])
        scratch = next(tmp_path.iterdir())
        assert [path.name for path in scratch.iterdir() if path.is_dir()] == []
    assert list(tmp_path.iterdir()) == []
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in running


def test_equal_formulas_are_typeset_once(typesetter: Typesetter) -> None:
    before = typesetter.runs
    first, second, third = typeset_all(typesetter, [form("a + b"), form("a+b"), form("{a}+b")])
    assert typesetter.runs == before + 1
    assert first is second
    assert first is not third
