"""The counted work of a formula is an upper bound of what TeX does, and a sample beyond its budget is rejected."""

from __future__ import annotations

import re
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.formula.cdm.scoring import normalize
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import marked
from beamscore.metrics.formula.limits import START_STEPS, SampleAllowances, matching_steps, reading_steps
from beamscore.metrics.formula.limits import typesetting_steps as steps_of
from beamscore.metrics.formula.records import FormulaOptions
from beamscore.metrics.formula.render import document
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.samples import benchmark_with, documents, pair, told

PROBE = r"\global\advance\count252 by 1\relax"
AROUND = [
    *(rf"\{name}{{b%s}}" for name in ("hat", "widehat", "vec", "boldsymbol", "pmb", "overrightarrow", "underline")),
    *(r"\phantom{b%s}", r"\smash{b%s}", r"\text{$%s$}", r"\textbf{$%s$}"),
    *(rf"\{name}{{a}}{{%s}}" for name in ("overset", "underset", "frac", "binom", "stackrel")),
    *(rf"\{name}{{%s}}{{a}}" for name in ("overset", "underset", "frac", "binom", "stackrel")),
    *(r"\sqrt[3]{%s}", r"\sqrt[{%s}]{a}", r"\xrightarrow[{%s}]{a}", r"\begin{array}{c}a\\%s\end{array}"),
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
    TABLE % "*{99}{*{50}{c}}": OF_TABLE + 1 + 99 + 99 * 50 * 2 + (1 + 99 + 99 * 50) ** 2,
    TABLE % '*{"FF}{c}': OF_TABLE + 1 + 99 * 2 + (1 + 99) ** 2,
    TABLE % ("c" * 1900): OF_TABLE + 1900 * 2 + 1900**2,
    r"\multicolumn{1}{*{9}{c}}{x}": PAGE + 300 + 1 + 9 * 2 + 2 + (1 + 9) ** 2,
    "*{9}{" + "y" * 50 + "}": PAGE + 1 + 9 * 50 * 2,  # no columns
    # Arrows and delimiters grow with lengths.
    r"\overrightarrow{x}" + LONG: PAGE + 50 + 5_000 + 4 * 2 + OF_LONG,
    r"\left( x \right)" + LONG: PAGE + 2 * (10 + 5_000 + 2) + 2 + OF_LONG,
    r"\left( 1000 \right)\hspace{99pt}": PAGE + 2 * (10 + 2) + 8 + 10 + 8,
    r"\sqrt{x} 3cm": PAGE + 10 + 5_000 + 2 + 6,
    # Counts end somewhere.
    r"\pmb{" * 300 + "x" + "}" * 300: PAGE + sum(min(12**depth, 10**9) * 150 for depth in range(300)) + 10**9 * 2,
    # What is not balanced.
    "}" * 10 + "x" + "{" * 10: PAGE + 2,
    r"\sqrt[ } ] x": PAGE + 10 + 2 + 4 * (2 + 2),
    "*{5} [ ]": PAGE + 4 + 4,
}


def test_steps() -> None:
    assert {text: steps_of(text) for text in STEPS} == STEPS
    # 8 each, and a fifteenth of the 30 that it may move for each.
    assert reading_steps(30) == 30 * 8 + 30 * 2
    assert matching_steps(100, 200) == 600 + 30 * 100 + 20_000 // 20 + 100 * 20_000 // 1000


def test_a_formula_may_take_as_many_steps_as_are_allowed() -> None:
    needed = marked(normal_form("x")).steps
    found = [normalize("x", FormulaOptions(max_steps=steps)) for steps in (needed, needed - 1)]
    assert [each.too_large for each in found] == [False, True]
    assert found[1].problem == f"the formula takes {needed} steps to typeset; max_steps is {needed - 1}"


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
        with pytest.raises(RejectedRecord, match=f"^{side}: ") if side else nullcontext():
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
