"""The counted work of a formula bounds what TeX does, and neither costly nor hostile formulas harm their batch."""

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.cdm import scoring
from beamscore.metrics.formula.cdm.scoring import normalize
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import MARK, UNMARK, Marked, marked
from beamscore.metrics.formula.limits import (
    START_STEPS,
    SampleAllowances,
    matching_steps,
    reading_steps,
    typesetting_steps as steps_of,
)
from beamscore.metrics.formula.records import FormulaOptions
from beamscore.metrics.formula.render import document, typeset
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.samples import benchmark_with, documents, pair, score, told

PROBE = r"\global\advance\count252 by 1\relax"
AROUND = [
    *(rf"\{name}{{b%s}}" for name in ("hat", "widehat", "vec", "boldsymbol", "pmb", "overrightarrow", "underline")),
    *(r"\phantom{b*\overset{a}{%s}}", r"\smash{b%s}", r"\text{$%s$}", r"\textbf{$%s$}"),
    *(rf"\{name}{{a}}{{%s}}" for name in ("overset", "underset", "frac", "binom", "stackrel")),
    *(rf"\{name}{{%s}}{{a}}" for name in ("overset", "underset", "frac", "binom", "stackrel")),
    *(r"\sqrt[3]{%s}", r"\sqrt[{%s}]{a}", r"\xrightarrow[{%s}]{a}", r"\begin{array}{c}a\\%s\end{array}"),
    *(r"{a\atop{%s}}", r"{{%s}\atop b}"),
]
"""Commands around a part; two of them around one another tell how often they typeset it together."""


def executions(bodies: list[str], folder: Path) -> list[int]:
    """How often TeX executes the probe in each of the displays."""
    displays = (rf"\global\count252=0 \setbox0\vbox{{\[{body}\]}}" for body in bodies)
    lines = [rf"{display}\immediate\write-1{{=count \number\count252}}" for display in displays]
    text = [document.PREAMBLE.replace("\\dump", "\\begin{document}"), *lines, "\\end{document}"]
    (folder / "probe.tex").write_text("\n".join(text))
    command = ["latex", "-interaction=batchmode", "probe.tex"]
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return [*map(int, re.findall(r"^=count (\d+)", (folder / "probe.log").read_text("latin-1"), re.MULTILINE))]


def test_no_part_is_typeset_more_often_than_counted(tmp_path: Path) -> None:
    bodies = [*(outer % "{}" for outer in AROUND), *(outer % (inner % "{}") for outer in AROUND for inner in AROUND)]
    found = executions([body.replace("{}", f"{{{PROBE} x}}") for body in bodies], tmp_path)
    assert len(found) == len(bodies)
    # A hundred letters more in the innermost group are worth two steps each, as often as that is typeset.
    short, long = ([steps_of(body.replace("{}", f"{{{'x' * count}}}")) for body in bodies] for count in (1, 101))
    counted = [(more - less) // 200 for less, more in zip(short, long, strict=True)]
    assert [body for body, times, limit in zip(bodies, found, counted, strict=True) if times > limit] == []
    assert max(found) >= 50


PAGE = 300
TABLE, OF_TABLE = r"\begin{tabular}{%s} x \end{tabular}", PAGE + 300 + 2 + 10 + 7 * 2
LONG, OF_LONG = r"\hspace{16000pt}", 10 + 7 * 2
STEPS = {
    "": PAGE,
    r"x \alpha $ & \\": PAGE + 2 + 10 + 20 + 20 + 40,
    r"\hat{x} \text{x} \rm": PAGE + (50 + 4 * 2) + (100 + 4 * 2) + 150,
    r"\frac{a}{b} \overset{a}{" + "x" * 500 + "}": PAGE + (10 + 2 + 2) + (150 + 3 * 2 + 3 * 500 * 2),
    r"\sqrt{x} \sqrt[3]{x}": PAGE + (10 + 2) + (10 + 2 + 4 * (2 + 2 + 2)),  # an option: in all four styles
    r"\xrightarrow[a]{b}": PAGE + 300 + 2 * 2 + 4 * (2 + 2 + 2),
    # An argument without braces, and what it leaves to its command, is repeated; what follows is typeset once.
    r"\pmb\pmb x{y}": PAGE + 150 + 12 * 150 + 12**2 * (2 + 2),
    r"\pmb{x} " + "{y}" * 500: PAGE + 150 + 12 * 2 + 500 * 2,
    # Repeated columns multiply and count squared, and so do written ones.
    TABLE % "*{3}{cl}rr": OF_TABLE + 1 + 3 * 4 + 4 + (1 + 3 * 2 + 2) ** 2,
    TABLE % "*{99}{*{50}c}": OF_TABLE + 1 + 99 + 99 * 50 * 2 + (1 + 99 + 99 * 50) ** 2,
    TABLE % r"*\leq c": OF_TABLE + 1 + 99 * 2 + (1 + 99) ** 2,
    TABLE % ("c" * 1900): OF_TABLE + 1900 * 2 + 1900**2,
    r"\multicolumn{1}{*{9}{c}}{x}": PAGE + 300 + 1 + 9 * 2 + 2 + (1 + 9) ** 2,
    "*{9}{" + "y" * 50 + "}": PAGE + 1 + 9 * 50 * 2,  # no columns
    # Arrows and delimiters grow with lengths.
    r"\overrightarrow{x}" + LONG: PAGE + 50 + 5_000 + 4 * 2 + OF_LONG,
    r"\left( x \right)" + LONG: PAGE + 2 * (10 + 5_000 + 2) + 2 + OF_LONG,
    r"\left( 1000 \right)\hspace{99pt}": PAGE + 2 * (10 + 2) + 8 + 10 + 8,
    r"\sqrt{x} 3cm": PAGE + 10 + 5_000 + 2 + 6,
    r"\sqrt{x} 9\hsize": PAGE + 10 + 5_000 + 2 + 2 + 10,
    # Counts end somewhere.
    r"\pmb{" * 300 + "x" + "}" * 300: PAGE + sum(min(12**depth, 10**9) * 150 for depth in range(300)) + 10**9 * 2,
    # What is not balanced.
    "}" * 10 + "x" + "{" * 10: PAGE + 2,
    r"\sqrt[ } ] x": PAGE + 10 + 2 + 4 * (2 + 2),
    "*{5} [ ]": PAGE + 1 + 5 * 2 + 2,
}


def test_steps() -> None:
    assert {text: steps_of(text) for text in STEPS} == STEPS
    # 8 each, and a fifteenth of the 30 that it may move for each.
    assert reading_steps(30) == 30 * 8 + 30 * 2
    assert matching_steps(100, 200) == 600 + 30 * 100 + 20_000 // 20 + 100 * 20_000 // 1000
    # As many are allowed.
    needed = marked(normal_form("x")).steps
    assert not normalize("x", FormulaOptions(max_steps=needed)).too_large
    problem = f"the formula takes {needed} steps to typeset; max_steps is {needed - 1}"
    assert normalize("x", FormulaOptions(max_steps=needed - 1)).problem == problem


def test_the_ground_truth_may_spend_half_and_the_prediction_the_rest() -> None:
    """A formula of both sides is charged once."""
    for truth_steps, prediction_steps, side in ((50, 50, ""), (51, 0, "ground truth"), (50, 51, "prediction")):
        allowances = SampleAllowances(100)
        allowances.add(0, 100, ["truth"], ["truth", "prediction"])
        allowances.add(1, 101, ["other"], ["prediction"])
        allowances.charge("truth", truth_steps)
        allowances.charge("prediction", prediction_steps)
        wanted = [allowances.wanted(each) for each in ("truth", "prediction", "other")]
        assert wanted == [side != "ground truth", True, True]
        with pytest.raises(RejectedRecord, match=f"^{side}: ") if side else contextlib.nullcontext():
            allowances.check(0)
        allowances.check(1)
        allowances.charge("other", 51)
        assert [allowances.wanted(each) for each in ("prediction", "other")] == [not side, False]


def test_a_sample_whose_formulas_cost_too_much_together_is_rejected(typesetter: Typesetter) -> None:
    # 30,000 steps for each: one is within the budget, four are not.
    costly = r"\pmb{\pmb{\pmb{x}}}"
    one, many = rf"\[ {costly} \]", "".join(rf"\[ {costly} + {number} \]" for number in range(4))
    pairs = [documents(r"\[ x \]", text, "latex") for text in (one, many)]
    first, second = benchmark_with(typesetter, max_steps=100_000).score(pairs)
    assert not isinstance(first, RejectedRecord)
    assert str(second).startswith("prediction: scoring takes more work than max_steps=100000")
    # Matching 1,000 tokens with others takes 10^6 steps, and with themselves none.
    large = [pair("x" * 1_000, letter * 1_000) for letter in "xy"]
    same, other = benchmark_with(typesetter, max_steps=500_000).score(large)
    assert not isinstance(same, RejectedRecord)
    assert str(other).startswith("sample: scoring takes more work than max_steps=500000")


def test_processes_of_their_own_are_charged_to_the_sample_and_to_it_alone(typesetter: Typesetter) -> None:
    faulty = "".join(rf"\[ a \end{{array}} b + {number} \]" for number in range(30))
    few = r"\[ a \end{array} b + 1 \] \[ c \]"
    pairs = [documents(r"\[ x \]", text, "latex") for text in (faulty, few)]
    benchmark = benchmark_with(typesetter, max_steps=20 * START_STEPS)
    alone = told(benchmark.score(pairs[1:]))
    for order in (1, -1):
        before = typesetter.runs
        first, second = benchmark.score(pairs[::order])[::order]
        assert typesetter.runs - before < 15
        assert str(first).startswith("prediction: so many formulas have to be typeset alone")
        assert told([second]) == alone


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
    """A benchmark with a short time limit, made after the shared one, and alone in its scratch folder."""
    scratch = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        patch.setattr(typeset, "SECONDS_OF_RUN", 1)
        own = Typesetter(seconds=1)
        own.open()
        yield benchmark_with(own, time_limit=1)
        assert not [path for path in scratch.glob("*/*") if path.is_dir()]
        own.close()
        assert list(scratch.iterdir()) == []
        assert processes_of_tex(scratch) == []


def neighbours(count: int) -> list[str]:
    return [rf"\frac{{1}}{{ {index} }} + \alpha^x" for index in range(count)]


def unvetted(monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> None:
    """Hands these to TeX as they are, past the normal form and the vocabulary: only TeX's own bounds are left."""
    forms = {normal_form(text): text for text in texts}
    monkeypatch.setattr(document, "sanitize", lambda source: source)
    monkeypatch.setattr(scoring, "marked", lambda key, _: Marked(forms[key], ("x",)) if key in forms else marked(key))


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
    good = [pair(text, text) for text in neighbours(90)]
    expected = score(worker, *good)
    loops = [rf"\loop\iftrue\repeat {number}" for number in range(20)]
    unvetted(monkeypatch, [*ENDLESS, *loops])
    many = documents(r"\[ x \]", "".join(rf"\[ {each} \]" for each in loops), "latex")
    start, *endless, middle, end = score(worker, good[0], *(pair("x", text) for text in ENDLESS), *good[1:3])
    assert [start, middle, end] == expected[:3]
    for each in endless:
        assert (each.metrics["cdm"], each.metrics["render_failure"]) == (0, 1)
        assert each.details[0]["prediction_problem"]
    # A second of TeX is a million steps, which abandons the document. Two runs end with its first formula, of which the
    # second shows where, and it has one alone. What comes after is typeset in another.
    before, small = worker.typesetter.runs, benchmark_with(worker.typesetter, time_limit=1, max_steps=750_000)
    *first, abandoned, last = small.score([*good[1:], many, good[0]])
    assert [last, *first] == expected
    assert str(abandoned).startswith("prediction: so many formulas have to be typeset alone")
    assert worker.typesetter.runs == before + 4
