from __future__ import annotations

import os
from pathlib import Path

import pytest

from metrics.benchmark import MissingTool
from metrics.formula.latex.token_markup import Marked
from metrics.formula.latex.vocabulary import COMMANDS
from metrics.formula.render import tex
from metrics.formula.render import typeset as module
from metrics.formula.render.dvi import Page
from metrics.formula.render.tex import environment, require_tex
from metrics.formula.render.typeset import Typeset, Typesetter


def test_a_machine_without_tex_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"^the formula benchmark needs the program latex: apt-get install .*texlive"):
        require_tex()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tex, "PACKAGES", ("amsmath", "nosuchpackage"))
    with pytest.raises(MissingTool, match=r"^LaTeX lacks nosuchpackage\.sty: apt-get install"):
        require_tex()


def test_the_environment_of_tex_is_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    bare = environment()
    assert "A_SECRET" not in bare
    assert bare["PATH"] == os.environ["PATH"]
    assert bare["openin_any"] == bare["openout_any"] == "p"


def test_what_a_formula_can_call_for_is_in_the_folders_that_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    styles = ("textbf", "textit", "textsc", "textsf", "texttt", "textsl", "mathfrak", "mathbb", "boldsymbol", "mathtt")
    formulas = [Marked(f"\\text{{\\{command} a}} é", ()) for command in sorted(COMMANDS)]
    formulas += [
        Marked(f"\\text{{\\{size} \\textdegree $\\{style}{{a}} \\lhd \\upalpha$}}", ())
        for style in styles
        for size in ("tiny", "large", "Huge")
    ]
    formulas += [Marked("\\text{面积} x", (), chinese=True)]

    def pages() -> list[tuple[Page, ...]]:
        with Typesetter() as typesetter:
            results = typesetter.typeset(formulas)
        return [result.pages if isinstance(result, Typeset) else () for result in results]

    found = pages()
    monkeypatch.setattr(module, "search_paths", lambda _: {})
    assert found == pages()
    assert sum(map(bool, found)) > len(formulas) / 2
