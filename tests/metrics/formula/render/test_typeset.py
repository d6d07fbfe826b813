"""What a formula may not do to the machine, to its neighbours, or to its own score."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import Marked, marked
from beamscore.metrics.formula.render import document
from beamscore.metrics.formula.render.typeset import Typeset, Typesetter
from tests.metrics.formula.helpers import typeset_all


def form(text: str) -> Marked:
    return marked(normal_form(text))


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
