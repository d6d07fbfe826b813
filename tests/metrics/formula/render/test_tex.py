from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from beamscore.metrics.benchmark import MissingTool
from beamscore.metrics.formula.render import tex
from beamscore.metrics.formula.render.tex import (
    environment,
    find_file,
    require_tex,
    run_bounded,
)


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


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 3", 3), ("while :; do :; done", -signal.SIGXCPU), ("kill -SEGV $$", -signal.SIGSEGV)],
)
def test_how_a_process_ended_is_told(tmp_path: Path, script: str, code: int) -> None:
    assert run_bounded(["/bin/sh", "-c", script], tmp_path, seconds=1) == code


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("kill -9 $$", "ended from outside by the signal SIGKILL"),
        ("kill -TERM $$", "ended from outside by the signal SIGTERM"),
        ("echo 'latex: fwrite: No space left on device' >&2; exit 1", "cannot write its files: latex: fwrite"),
        ("echo 'fwrite: Disk quota exceeded' >&2; exit 1", "cannot write its files"),
    ],
)
def test_what_the_machine_does_to_a_process_is_its_fault(script: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=error):
        run_bounded(["/bin/sh", "-c", script], tmp_path, seconds=5)


def test_a_program_that_is_gone_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match="nosuchtex cannot be started"):
        run_bounded(["nosuchtex"], tmp_path, seconds=5)


def test_a_search_that_fails_finds_no_absent_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty answer would be taken for a font without glyphs, and kept for all later formulas."""
    (tmp_path / "kpsewhich").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "kpsewhich").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(OSError, match="kpsewhich failed"):
        find_file("nosuchfont.tfm")
