"""Hostile formulas and documents through the benchmark's own batch scoring, as the pipeline calls it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.cdm import scoring
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import MARK, UNMARK, Marked, marked
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render import document, typeset
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.damaged import told
from tests.metrics.formula.helpers import benchmark_with

FormulaPair = Pair[FormulaTruth, FormulaPrediction]

NEIGHBOURS = ((r"x^2+\frac{1}{2}", r"x^2+\frac{1}{3}"), (r"\alpha+\beta", r"\alpha+\beta"), (r"\sum_{i=1}^n i", r"i"))
SECRET = "squeamish-ossifrage"

HOSTILE = (
    # Files, programs and definitions.
    *(
        r"\input{/etc/passwd} x",
        r"\newread\r \openin\r=/etc/passwd \read\r to\z \z x",
        r"\csname input\endcsname{/etc/passwd}",
    ),
    *(
        "^^5cinput{/etc/passwd} x",
        r"\immediate\write18{touch SENTINEL} x",
        r"\def\a{\a\a}\a x",
        r"\loop\iftrue\repeat x",
    ),
    r"\newwrite\w\immediate\openout\w=SENTINEL\immediate\write\w{x} x",
    *(r"\gdef\frac#1#2{BAD} \global\let\alpha\beta x", r"\catcode`\{=12 x", r"\errorstopmode x", r"\def\alpha{x}"),
    *(r"\global\let\frac\sum", r"\global\catcode`\^=12 x", r"\global\mathcode`x=0"),
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


@pytest.fixture(scope="module")
def worker(benchmark_: FormulaBenchmark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FormulaBenchmark]:
    """A benchmark with a short time limit, whose scratch folder is the only thing in a folder of its own.

    It is made after the one that other tests share, whose folder is elsewhere.
    """
    scratch = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        patch.setattr(typeset, "SECONDS_OF_RUN", 1)
        with Typesetter(seconds=1) as typesetter:
            yield benchmark_with(typesetter, time_limit=1)
            assert [path.is_dir() for folder in scratch.iterdir() for path in folder.iterdir()].count(True) == 0
        assert list(scratch.iterdir()) == []
        assert processes_of_tex(scratch) == []


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hands a formula to TeX as it stands, past the normal form and the vocabulary: only TeX's own bounds are left."""

    def bypass(text: str) -> None:
        own = normal_form(text)
        monkeypatch.setattr(document, "sanitize", lambda source: source)
        monkeypatch.setattr(scoring, "marked", lambda form: Marked(text, ("x",)) if form == own else marked(form))

    return bypass


def neighbours() -> list[FormulaPair]:
    return [Pair(f"n{i}", FormulaTruth(left), FormulaPrediction(right)) for i, (left, right) in enumerate(NEIGHBOURS)]


def processes_of_tex(folder: Path) -> list[str]:
    """The processes of this machine that work below `folder`."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            place, command = os.readlink(process / "cwd"), (process / "cmdline").read_text("utf-8", "replace")
        except OSError:
            continue
        if Path(place.removesuffix(" (deleted)")).is_relative_to(folder):
            found.append(f"{process.name}: {command}")
    return found


def scratch_of(benchmark: FormulaBenchmark) -> Path:
    """The folder that all TeX processes of a benchmark work below."""
    scratch = benchmark.typesetter._scratch
    assert scratch is not None
    return Path(scratch.name)


@lru_cache
def undisturbed(worker: FormulaBenchmark) -> list[SampleScore | RejectedRecord]:
    """The scores that the neighbours have by themselves."""
    return worker.score(neighbours())


def scored_among_neighbours(worker: FormulaBenchmark, hostile: FormulaPair) -> SampleScore | RejectedRecord:
    """Scores a hostile pair between its neighbours, whose scores must be those that they have without it."""
    before, after = neighbours()[:2], neighbours()[2:]
    results = worker.score([*before, hostile, *after])
    assert [*results[:2], results[3]] == undisturbed(worker)
    assert all(isinstance(result, SampleScore) for result in (*results[:2], results[3]))
    return results[2]


def test_hostile_formulas_get_what_they_get_alone_and_leave_their_neighbours_alone(
    benchmark_: FormulaBenchmark, tmp_path: Path
) -> None:
    texts = [text.replace("SENTINEL", str(tmp_path / "sentinel.tex")) for text in HOSTILE]
    hostile: list[FormulaPair] = []
    for index, text in enumerate(texts):
        truth, prediction = (text, "x + y") if index % 2 else ("x + y", text)
        hostile.append(Pair(f"h{index}", FormulaTruth(truth), FormulaPrediction(prediction)))
    # Each is followed by a good formula that no other sample has.
    good: list[FormulaPair] = [
        Pair(
            f"n{index}",
            FormulaTruth(rf"\frac{{1}}{{ {index} }} + \alpha^x"),
            FormulaPrediction(rf"\frac{{x}}{{ {index} }}"),
        )
        for index in range(len(hostile))
    ]
    results = benchmark_.score([pair for both in zip(hostile, good, strict=True) for pair in both])
    assert list(map(told, results[::2])) == [told(benchmark_.score([pair])[0]) for pair in hostile]
    assert list(map(told, results[1::2])) == list(map(told, benchmark_.score(good)))
    assert "root:x:" not in str(results)
    assert list(tmp_path.iterdir()) == []
    assert processes_of_tex(scratch_of(benchmark_)) == []


FORBIDDEN = (
    *(r"\input{SECRET} x", r"\input SECRET x", r"\include{SECRET} x", r"\newread\r \openin\r=SECRET \read\r to\z \z x"),
    r"\verbatiminput{SECRET} \lstinputlisting{SECRET} \includegraphics{SECRET} x",
    r"\newwrite\w\immediate\openout\w=SENTINEL\immediate\write\w{x}\immediate\closeout\w x",
    r"\begin{filecontents}{SENTINEL} x \end{filecontents} x",
    *(r"\immediate\write18{touch SENTINEL} x", r"\input{|touch SENTINEL} x", r"\special{psfile=`touch SENTINEL} x"),
)


@pytest.mark.parametrize("text", FORBIDDEN)
@pytest.mark.parametrize("past_the_vocabulary", [False, True])
def test_nothing_is_read_written_or_run(
    text: str, past_the_vocabulary: bool, worker: FormulaBenchmark, bare: Callable[[str], None], tmp_path: Path
) -> None:
    secret, sentinel = tmp_path / "secret.tex", tmp_path / "sentinel.tex"
    secret.write_text(SECRET)
    text = text.replace("SECRET", str(secret)).replace("SENTINEL", str(sentinel))
    if past_the_vocabulary:
        bare(text)
    # What it reads would match the ground truth.
    truth = FormulaTruth(f"\\text{{{SECRET}}}")
    result = scored_among_neighbours(worker, Pair("h", truth, FormulaPrediction(text)))
    assert isinstance(result, SampleScore)
    assert (result.metrics["cdm"] or 0) < 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["secret.tex"]


ENDLESS = (
    r"\def\a{xx}\loop\edef\a{\a\a}\iftrue\repeat",
    r"\immediate\openout3=full \loop\immediate\write3{" + "x" * 1000 + r"}\iftrue\repeat",
    r"\errorstopmode\read-1to\a",
)
"""Grows its memory, fills the disk, waits."""


@pytest.mark.parametrize("text", ENDLESS)
def test_what_has_no_end_is_ended_and_charged_to_its_formula(
    text: str, worker: FormulaBenchmark, bare: Callable[[str], None]
) -> None:
    bare(text)
    result = scored_among_neighbours(worker, Pair("h", FormulaTruth("x"), FormulaPrediction(text)))
    assert isinstance(result, SampleScore)
    assert result.metrics["cdm"] == 0
    assert result.metrics["render_failure"] == 1
    assert result.details[0]["prediction_problem"]
    assert processes_of_tex(scratch_of(worker)) == []


def test_every_unicode_plane_is_scored(benchmark_: FormulaBenchmark) -> None:
    codes = (0x41, 0x2200, 0x4E00, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF)
    texts = ["x" + "".join(chr(0x10000 * plane + code) for code in codes) for plane in range(17)]
    pairs = [Pair(text, FormulaTruth("x"), FormulaPrediction(text)) for text in texts]
    between = benchmark_.score([*neighbours(), *pairs, *neighbours()])
    assert between[: len(NEIGHBOURS)] == between[-len(NEIGHBOURS) :] == benchmark_.score(neighbours())
    results = between[len(NEIGHBOURS) : -len(NEIGHBOURS)]
    assert results == benchmark_.score(pairs[::-1])[::-1]
    assert all(isinstance(each, SampleScore) and 0 < (each.metrics["cdm"] or 0) <= 1 for each in results)


def test_control_characters_are_blanks(benchmark_: FormulaBenchmark) -> None:
    codes = [*range(32), *range(127, 160), 0xD800, 0xDFFF, 0x2028, 0xFEFF]
    pairs = [Pair(str(code), FormulaTruth("x + y"), FormulaPrediction(f"x +{chr(code)}y")) for code in codes]
    results = benchmark_.score(pairs)
    assert [each.metrics["cdm"] for each in results if isinstance(each, SampleScore)] == [1] * len(codes)


def test_hostile_documents_leave_their_neighbours_alone(worker: FormulaBenchmark, tmp_path: Path) -> None:
    texts = [*HOSTILE, *FORBIDDEN]
    document = "\n\n".join(f"\\[ {text.replace('SECRET', '/etc/passwd')} \\]" for text in texts)
    pair: FormulaPair = Pair(
        "h", FormulaTruth(document="\\[ a + b \\] \\[ x \\]"), FormulaPrediction(document=document, dialect="latex")
    )
    result = scored_among_neighbours(worker, pair)
    assert isinstance(result, SampleScore)
    assert processes_of_tex(scratch_of(worker)) == []
