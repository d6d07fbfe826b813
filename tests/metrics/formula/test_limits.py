"""The counted work of a formula is an upper bound of what TeX does, and a sample beyond its budget is rejected."""

from __future__ import annotations

import random
import re
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.latex.commands import sanitize
from beamscore.metrics.formula.latex.normal_form import normal_form
from beamscore.metrics.formula.latex.token_markup import marked
from beamscore.metrics.formula.limits import (
    START_STEPS,
    SampleAllowances,
    matching_steps,
    reading_steps,
    typesetting_steps,
)
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render import boxes, document, typeset
from beamscore.metrics.formula.render.boxes import PIXELS_PER_UNIT, drawing_steps
from beamscore.metrics.formula.render.dvi import Ink
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.helpers import benchmark_with, page_of

PROBE = r"\global\advance\count252 by 1\relax"
ONE = "hat widehat vec text textbf phantom smash boldsymbol pmb overrightarrow underline"
TWO = "overset underset frac binom stackrel"


def nested(generator: random.Random, depth: int) -> str:
    """Commands within one another, and {} within them all."""
    if not depth:
        return "{}"
    inner = nested(generator, depth - 1)
    match generator.randrange(5):
        case 0:
            command = generator.choice(TWO.split())
            return rf"\{command}{{a}}{{{inner}}}" if generator.random() < 0.5 else rf"\{command}{{{inner}}}{{a}}"
        case 1:
            return generator.choice(
                (rf"\sqrt[3]{{{inner}}}", rf"\sqrt[{{{inner}}}]{{a}}", rf"\xrightarrow[{{{inner}}}]{{a}}")
            )
        case 2:
            return rf"\begin{{array}}{{c}}a\\{inner}\end{{array}}"
        case _:
            command = generator.choice(ONE.split())
            return rf"\{command}{{${inner}$}}" if command.startswith("text") else rf"\{command}{{b{inner}}}"


def executions(bodies: list[str], folder: Path) -> list[int]:
    """How often TeX executes the probe in each of the displays."""
    lines = [
        rf"\global\count252=0 \setbox0\vbox{{\[{body}\]}}\immediate\write-1{{=count \number\count252}}"
        for body in bodies
    ]
    text = document.PREAMBLE.replace("\\dump", "\\begin{document}") + "\n".join(lines) + "\\end{document}"
    (folder / "probe.tex").write_text(text)
    command = ["latex", "-interaction=batchmode", "probe.tex"]
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    log = (folder / "probe.log").read_text("latin-1")
    return [int(count) for count in re.findall(r"^=count (\d+)", log, re.MULTILINE)]


def test_no_part_is_typeset_more_often_than_counted(tmp_path: Path) -> None:
    generator = random.Random(3)
    bodies = [nested(generator, depth) for depth in (1, 2, 3) for _ in range(60)]
    found = executions([body.replace("{}", f"{{{PROBE} x}}") for body in bodies], tmp_path)
    assert len(found) == len(bodies)
    # A hundred letters more in the innermost group are worth two steps each, as often as that is typeset.
    short, long = (
        [typesetting_steps(body.replace("{}", f"{{{'x' * count}}}")) for body in bodies] for count in (1, 101)
    )
    counted = [(more - less) // 200 for less, more in zip(short, long, strict=True)]
    assert [body for body, times, limit in zip(bodies, found, counted, strict=True) if times > limit] == []
    assert max(found) >= 50


@pytest.mark.parametrize(
    ("opening", "closing", "times"),
    [(r"\pmb{", "}", 12), (r"\boldsymbol{", "}", 6), (r"\text{$", "$}", 4), (r"\overset{a}{", "}", 3)],
)
def test_steps_multiply_with_each_level(opening: str, closing: str, times: int) -> None:
    steps = [typesetting_steps(opening * depth + "x" * 50 + closing * depth) for depth in (5, 6)]
    assert steps[1] > (times - 1) * steps[0]


TABLE = r"\begin{tabular}{%s} x \end{tabular}"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        (r"\pmb\pmb\pmb\pmb x" + "{y}" * 3, 12**4, 10**7),  # arguments without braces
        (r"\pmb{x} " + "{y}" * 500, 1_000, 2_500),  # what follows an argument is typeset once
        (r"\overset{a}{" + "x" * 500 + "}", 3 * 1_000, 3 * 1_000 + 1_500),
        # Repeated columns multiply and count squared, and so do written ones; 3 * 2 + 2 here.
        (TABLE % "*{99}{*{50}{c}}", (99 * 50) ** 2, 10**9),
        (r"\multicolumn{1}{*{99}{*{50}{c}}}{x}", (99 * 50) ** 2, 10**9),
        (TABLE % ("c" * 1900), 1900**2, 2000**2),
        (TABLE % "*{3}{cl}rr", 8**2 + 300, 1_500),
        # Arrows and delimiters grow with lengths.
        (r"\overrightarrow{x}\hspace{16000pt}", 5_000, 100_000),
        (r"\left( x \right)\hspace{16000pt}", 5_000, 100_000),
        (r"\left( 1000 \right)\hspace{99pt}", 300, 1_000),
        (r"\pmb{" * 300 + "x" + "}" * 300, 10**9, 10**15),  # counts end somewhere
        *((text, 1, 10**5) for text in ("}" * 10 + "x", "{" * 10, r"\sqrt[ } ] x", r"\sqrt[ { ] }", r"\begin{array}")),
        *((text, 1, 10**5) for text in ("*{5}", "[ ]", "")),
    ],
)
def test_steps_of_typesetting(text: str, least: int, most: int) -> None:
    assert least < typesetting_steps(text) < most


@pytest.mark.parametrize("times", ["100", "+100", '"FFFF', "'777", "`a", r"\leq", " 0099 "])
def test_a_column_is_repeated_99_times_at_most(times: str) -> None:
    assert sanitize(f"\\begin{{tabular}}{{*{{{times}}}{{c}}}}") == "\\begin{tabular}{*{99}{c}}"


def test_steps_of_reading_and_matching() -> None:
    # 8 each, and a fifteenth of the 30 that it may move for each.
    assert reading_steps(30) == 30 * 8 + 30 * 2
    # 600 + 30 * 100 + 20,000 / 20 + 100 * 20,000 / 1000.
    assert matching_steps(1_500, 1_500) < 4_000_000
    assert matching_steps(100, 200) == 600 + 3000 + 1000 + 2000


@pytest.mark.parametrize(
    ("truth_steps", "prediction_steps", "side"), [(50, 50, None), (51, 0, "ground_truth"), (50, 51, "prediction")]
)
def test_the_ground_truth_may_spend_half_and_the_prediction_the_rest(
    truth_steps: int, prediction_steps: int, side: str | None
) -> None:
    allowances = SampleAllowances(100)
    allowances.add(0, 100, ["truth"], ["prediction"])
    allowances.charge("truth", truth_steps)
    allowances.charge("prediction", prediction_steps)
    assert allowances.wanted("truth") == (side != "ground_truth")
    assert allowances.wanted("prediction") == (side is None)
    with nullcontext() if side is None else pytest.raises(RejectedRecord) as rejected:
        allowances.check(0)
    assert rejected is None or rejected.value.side == side


def score(benchmark: FormulaBenchmark, text: str) -> SampleScore | RejectedRecord:
    return benchmark.score([Pair("1", FormulaTruth("x"), FormulaPrediction(text))])[0]


def test_a_formula_beyond_the_budget_is_rejected_before_tex_sees_it(benchmark_: FormulaBenchmark) -> None:
    before = benchmark_.typesetter.runs
    columns = r"\begin{tabular}{*{99}{*{99}{*{99}{*{99}{c}}}}} x \end{tabular}"
    for text in (r"\pmb{" * 8 + "x" + "}" * 8, r"\text{\text{$\text{$" * 20 + "x" + "$}$}}" * 20, columns):
        (result,) = benchmark_.score([Pair("1", FormulaTruth("x"), FormulaPrediction(text))])
        assert isinstance(result, RejectedRecord)
        assert result.side == "prediction"
        assert "max_steps is 4000000" in result.message
    assert benchmark_.typesetter.runs == before


def test_in_a_document_it_is_left_out_or_cannot_be_typeset(benchmark_: FormulaBenchmark) -> None:
    costly = r"\pmb{" * 8 + "x" + "}" * 8
    text = rf"\[ {costly} \] \[ a + b \]"
    document = FormulaPrediction(document=text)
    result = benchmark_.score_sample(FormulaTruth(document=text), document)
    assert result.coverage == {"ground_truth_too_large": 1}
    assert result.metrics["cdm"] == 1
    assert "max_steps is 4000000" in result.details["formulas"][0]["ground_truth_problem"]
    result = benchmark_.score_sample(FormulaTruth(document=r"\[ a + b \]"), document)
    assert result.metrics["render_failure"] == result.metrics["cdm"] == 0.5
    assert "max_steps is 4000000" in result.details["formulas"][1]["prediction_problem"]


def test_a_sample_whose_formulas_cost_too_much_together_is_rejected(typesetter: Typesetter) -> None:
    # 30,000 steps for each: one is within the budget, four are not.
    costly = r"\pmb{\pmb{\pmb{x}}}"
    assert 20_000 < marked(normal_form(costly)).steps < 80_000
    benchmark = benchmark_with(typesetter, max_steps=100_000)
    one = FormulaPrediction(document=rf"\[ {costly} \]")
    many = FormulaPrediction(document="".join(rf"\[ {costly} + {number} \]" for number in range(4)))
    truth = FormulaTruth(document=r"\[ x \]")
    first, second = benchmark.score([Pair("1", truth, one), Pair("2", truth, many)])
    assert isinstance(first, SampleScore)
    assert isinstance(second, RejectedRecord)
    assert second.side == "prediction"
    assert "max_steps=100000" in second.message


@pytest.mark.parametrize("order", [1, -1])
def test_processes_of_their_own_are_charged_to_the_sample_and_to_it_alone(order: int, typesetter: Typesetter) -> None:
    faulty = FormulaPrediction(document="".join(rf"\[ a \end{{array}} b + {number} \]" for number in range(30)))
    few = FormulaPrediction(document=r"\[ a \end{array} b + 1 \] \[ c \]")
    truth = FormulaTruth(document=r"\[ x \]")
    benchmark = benchmark_with(typesetter, max_steps=10 * START_STEPS)
    before = typesetter.runs
    results = benchmark.score([Pair("1", truth, faulty), Pair("2", truth, few)][::order])[::order]
    assert typesetter.runs - before < 15
    alone = benchmark.score([Pair("2", truth, few)])
    assert isinstance(results[0], RejectedRecord)
    assert results[0].side == "prediction"
    assert results[1] == alone[0]


def test_images_are_charged_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch, typesetter: Typesetter) -> None:
    # More than 1000 x 8000 pixels: a step for 100 of them on each side, which it does not take without images.
    large = r"x \rule{400pt}{9000pt}"
    drawn: list[object] = []
    monkeypatch.setattr(boxes, "draw_image", lambda *_: drawn.append(1))
    assert isinstance(score(benchmark_with(typesetter, max_steps=150_000), large), SampleScore)
    result = score(benchmark_with(typesetter, max_steps=150_000, images=True), large)
    assert isinstance(result, RejectedRecord)
    assert result.side == "sample"
    assert "max_steps=150000" in result.message
    assert not drawn


def test_the_steps_of_images_count_pieces_covered_pixels_and_padded_pixels() -> None:
    pixel = 1 / PIXELS_PER_UNIT

    def square(side: int) -> typeset.Typeset:
        ink = Ink(0, 0, 0, round(side * pixel), round(side * pixel), 0, -1, 0)
        return typeset.Typeset((page_of(ink),), {}, 0, 0, round(9000 * pixel))

    # 1000 + 16 pixels each way; one piece is 25, 1000 x 1000 covered / 4000 is 250.
    alone = 25 + 250 + 1016 * 1016 // 500 + 1016 * 1016 // 100
    assert drawing_steps([square(1000)]) == pytest.approx(alone, abs=50)
    # The smaller is padded to the larger: its own 25, 10 x 10 / 4000 is 0.
    both = 50 + 250 + 2 * 1016 * 1016 // 500 + 2 * 1016 * 1016 // 100
    assert drawing_steps([square(1000), square(10)]) == pytest.approx(both, abs=100)
    assert drawing_steps([]) == 0
