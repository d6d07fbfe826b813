"""Hostile formulas and documents through the benchmark's own batch scoring, as the pipeline calls it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.cdm import scoring
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import MARK, UNMARK, Marked, marked
from beamscore.metrics.formula.render import document, typeset
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.samples import benchmark_with, documents, pair, score, told

SECRET = "squeamish-ossifrage"

FORBIDDEN = (
    *(r"\input{SECRET} x", r"\input SECRET x", r"\include{SECRET} x", r"\newread\r \openin\r=SECRET \read\r to\z \z x"),
    r"\verbatiminput{SECRET} \lstinputlisting{SECRET} \includegraphics{SECRET} x",
    r"\newwrite\w\immediate\openout\w=SENTINEL\immediate\write\w{x}\immediate\closeout\w x",
    r"\begin{filecontents}{SENTINEL} x \end{filecontents} x",
    *(r"\immediate\write18{touch SENTINEL} x", r"\input{|touch SENTINEL} x", r"\special{psfile=`touch SENTINEL} x"),
)
HOSTILE = (
    # Files and definitions.
    *(r"\input{/etc/passwd} x", r"\csname input\endcsname{/etc/passwd}", "^^5cinput{/etc/passwd} x"),
    *(r"\def\a{\a\a}\a x", r"\loop\iftrue\repeat x", r"\errorstopmode x", r"\def\alpha{x}", r"\catcode`\{=12 x"),
    *(r"\gdef\frac#1#2{BAD} \global\let\alpha\beta x", r"\global\catcode`\^=12 x", r"\global\mathcode`x=0"),
    # What TeX takes for a backslash or a letter of a command, where it is written as it is.
    *(r"x } \phantom { ^^5cgdef\alpha{} }", r"x } ^^^5cgdef\alpha{} } y", r"x } \phantom { \^^67def\alpha{} }"),
    # Primitives that amsmath defines again at their first use.
    *(r"a \atop b \atop c }", r"x \rlap{\atop} \over a \over b"),
    # The end of the display and of the document, and the marks.
    *(r"x \end{document} y", r"x \] y \end{displaymath} z", r"\special{0} x"),
    f"a {MARK}{{0}} x {UNMARK} {UNMARK} y \x04 \x05",
    # What is not balanced, and errors.
    *("{ { { x", "} } } x", r"\begin{array}{c} x \\ y", r"x \end{array}", r"\left( x", r"x ^ 1 ^ 2 \text{ y", "x \\"),
    *(r"a & b \\ c", "a # b #1", "% x", "", "^", r"\begin", r"\undefinedcommand " * 300 + "x"),
    # Odd characters, and what is large or deep.
    *("a\x00b\x1b[2Jc\x7fd", "x\ud800y", "x" + "".join(chr(0x10000 * plane + 0x41) for plane in range(17)) + "é中한ب"),
    *(r"\rule{16000pt}{16000pt} \hspace{16000pt} x", r"\kern99999999999pt x", "{" * 300 + "x" + "}" * 300),
    *(r"\begin{tabular}{*{99999999}{c}} x \end{tabular}", r"\boldsymbol{" * 60 + "x" + "}" * 60),
)
ENDLESS = (
    r"\def\a{xx}\loop\edef\a{\a\a}\iftrue\repeat",
    r"\immediate\openout3=full \loop\immediate\write3{" + "x" * 1000 + r"}\iftrue\repeat",
    r"\errorstopmode\read-1to\a",
)
"""Grows its memory, fills the disk, waits."""


def processes_of_tex(folder: Path) -> list[Path]:
    """The processes of this machine that work below `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append(Path(os.readlink(process / "cwd").removesuffix(" (deleted)")))
    return [place for place in found if place.is_relative_to(folder)]


@pytest.fixture(scope="module")
def worker(typesetter: Typesetter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FormulaBenchmark]:
    """A benchmark with a short time limit, whose scratch folder is the only thing in a folder of its own.

    It is made after the one that other tests share, whose folder is elsewhere.
    """
    scratch = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        patch.setattr(typeset, "SECONDS_OF_RUN", 1)
        own = Typesetter(seconds=1)
        own.open()
        yield benchmark_with(own, time_limit=1)
        assert [path.is_dir() for folder in scratch.iterdir() for path in folder.iterdir()].count(True) == 0
        own.close()
        assert list(scratch.iterdir()) == []
        assert processes_of_tex(scratch) == []


def neighbours(count: int) -> list[str]:
    return [rf"\frac{{1}}{{ {index} }} + \alpha^x" for index in range(count)]


def unvetted(monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> None:
    """Hands these to TeX as they are, past the normal form and the vocabulary: only TeX's own bounds are left."""
    forms = {normal_form(text): text for text in texts}
    monkeypatch.setattr(document, "sanitize", lambda source: source)
    monkeypatch.setattr(scoring, "marked", lambda form: Marked(forms[form], ("x",)) if form in forms else marked(form))


def with_secret(folder: Path, texts: Sequence[str]) -> list[str]:
    (folder / "secret.tex").write_text(SECRET)
    return [each.replace("SECRET", f"{folder}/secret").replace("SENTINEL", f"{folder}/sentinel") for each in texts]


def test_hostile_formulas_get_what_they_get_alone_and_leave_their_neighbours_alone(
    worker: FormulaBenchmark, tmp_path: Path
) -> None:
    texts = with_secret(tmp_path, [*HOSTILE, *FORBIDDEN])
    # What it reads would match the other side.
    wanted = f"\\text{{{SECRET}}}"
    hostile = [pair(*((text, wanted) if index % 2 else (wanted, text))) for index, text in enumerate(texts)]
    good = [pair(text, r"\frac{x}{1}") for text in neighbours(len(hostile))]
    results = worker.score([each for both in zip(hostile, good, strict=True) for each in both])
    assert told(results[::2]) == [told(worker.score([each]))[0] for each in hostile]
    assert told(results[1::2]) == told(worker.score(good))
    assert all((getattr(each, "metrics", {}).get("cdm") or 0) < 0.9 for each in results[::2])
    assert "root:x:" not in str(results)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.tex"]
    # A document of them all is scored, too.
    whole = "\n\n".join(rf"\[ {each} \]" for each in texts)
    assert score(worker, documents(r"\[ a + b \] \[ x \]", whole, "latex"))[0].metrics["cdm"] is not None


def test_nothing_is_read_written_or_run_past_the_vocabulary(
    worker: FormulaBenchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = with_secret(tmp_path, FORBIDDEN)
    unvetted(monkeypatch, texts)
    results = score(worker, *(pair(f"\\text{{{SECRET}}}", text) for text in texts))
    assert all((each.metrics["cdm"] or 0) < 0.9 for each in results)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.tex"]


def test_what_has_no_end_is_ended_and_charged_to_its_formula(
    worker: FormulaBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [pair(text, text) for text in neighbours(3)]
    expected = score(worker, *good)
    loops = [rf"\loop\iftrue\repeat {number}" for number in range(20)]
    unvetted(monkeypatch, [*ENDLESS, *loops])
    many = documents(r"\[ x \]", "".join(rf"\[ {each} \]" for each in loops), "latex")
    start, *endless, middle, end = score(worker, good[0], *(pair("x", text) for text in ENDLESS), *good[1:])
    assert [start, middle, end] == expected
    for each in endless:
        assert (each.metrics["cdm"], each.metrics["render_failure"]) == (0, 1)
        assert each.details[0]["prediction_problem"]
    # A second of TeX is a million steps, which abandons the document. Two runs end with its first formula, of which the
    # second shows where, and it has one alone. What comes after is typeset in another.
    before, small = worker.typesetter.runs, benchmark_with(worker.typesetter, time_limit=1, max_steps=750_000)
    first, abandoned, last = small.score([good[0], many, good[1]])
    assert [first, last] == expected[:2]
    assert str(abandoned).startswith("prediction: so many formulas have to be typeset alone")
    assert worker.typesetter.runs == before + 4
