from __future__ import annotations

import os
from pathlib import Path

import pytest

from metrics.benchmark import MissingTool
from metrics.formula import tex
from metrics.formula.tex import environment, require_tex


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
