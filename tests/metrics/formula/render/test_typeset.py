"""No score depends on its batch: no formula reaches another, and its page in a batch is the one that it has alone."""

from __future__ import annotations

import numpy as np
import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.token_markup import Marked, marked
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render import document
from beamscore.metrics.formula.render import typeset as module
from beamscore.metrics.formula.render.boxes import token_boxes
from beamscore.metrics.formula.render.document import PAPERS
from beamscore.metrics.formula.render.dvi import Font
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter
from tests.generate.formula import sample
from tests.metrics.formula.damaged import CORPUS, damaged_pairs, differences, real_formulas, told
from tests.metrics.formula.helpers import benchmark_with, inks_of, typeset_all


def test_damaged_formulas_get_in_any_batch_what_they_get_alone(benchmark_: FormulaBenchmark) -> None:
    formulas = real_formulas(CORPUS)
    formulas += [truth["latex"] for truth, _ in (sample(index, 23) for index in range(60)) if "latex" in truth]
    assert list(differences(benchmark_, damaged_pairs(formulas, 12, seed=23), seed=23)) == []


OPEN = (
    *(
        r"\frac { 1 } {3 + x",
        r"\text{ a",
        r"\begin{array}{c} x",
        r"\left( x",
        r"\sqrt[ x",
        r"\multicolumn{2}{c",
        "x^{ y",
    ),
    *(r"\hbox{ a $ b", "a $$ b", "x \\", r"\begin{tabular}{c} \text{ $ \end{tabular}"),
)
CLOSING = ("y }", r"y ] } \end{array} \right)", r"$$ y } } }")


def test_what_is_left_open_is_not_closed_by_the_next_formula(benchmark_: FormulaBenchmark) -> None:
    truth = FormulaTruth(r"\frac { 1 } { 3 + x }")
    closing = [Pair(text, truth, FormulaPrediction(text)) for text in CLOSING]
    expected = [told(benchmark_.score([pair])[0]) for pair in closing]
    for text in OPEN:
        pair = Pair("open", truth, FormulaPrediction(text))
        alone, *following = map(told, benchmark_.score([pair, *closing]))
        assert following == expected, text
        assert told(benchmark_.score([pair])[0]) == alone, text


def test_tex_itself_lets_nothing_run_on(typesetter: Typesetter) -> None:
    """Even where formulas come unread and unchecked."""
    texts = [part for number, text in enumerate(OPEN) for part in (f"a_{number}", text, f"y_{number} }}")]
    formulas = [Marked(f"\x01{{0}}{text}\x02", ("x",)) for text in (*texts, r"\end{array}")]
    alone = [shown(typesetter._alone(formula)) for formula in formulas]
    for order in (1, -1):
        assert list(map(shown, typeset_all(typesetter, formulas[::order])))[::order] == alone


REPAIRED = (
    *(
        r"a \undefinedcommand b",
        "a & b",
        "a } b",
        r"\left( a",
        r"a \right)",
        "{ a",
        r"a \end{array}",
        r"\hspace { b } c",
    ),
    *(
        r"\begin{cases} a & b \\ c",
        r"\begin{aligned} a &= b",
        r"\begin{pmatrix} a & \text{if } b \\ c",
        r"\left. a \right",
    ),
    r"\begin{cases} a \\ b \end{cases} a \\ b \end{cases}",
    *(r"\text{面积} \undefinedcommand", r"\begin{array}{c} \text{面积}"),
)


def test_errors_that_tex_repairs_where_they_are_take_no_process_of_their_own(typesetter: Typesetter) -> None:
    formulas = [
        marked(normal_form(text)) for number, faulty in enumerate(REPAIRED) for text in (faulty, f"x + {number}")
    ]
    runs = typesetter.runs
    forward, backward = typeset_all(typesetter, formulas), typeset_all(typesetter, formulas[::-1])[::-1]
    # Formulas with Chinese text have a run of their own.
    assert typesetter.runs == runs + 2 * 2
    assert list(map(shown, forward)) == list(map(shown, backward))
    assert list(map(shown, forward[::2])) == [shown(typesetter._alone(formula)) for formula in formulas[::2]]


ODD_CHARACTERS = (
    "\u202e\u200b\u00e9\u0410\u05d0\u0627\u20ac\u2260\u3042\u3000\uff21\ufffd\U0001d400\U0001f600\U00020000"
)


def test_a_character_gets_beside_chinese_text_what_it_gets_alone(typesetter: Typesetter) -> None:
    """What the Chinese environment leaves behind gave a direction mark ink."""
    chinese = marked(normal_form(r"\text{速度} = 6"))
    odd = [marked(normal_form(text)) for char in ODD_CHARACTERS for text in (char, rf"\text{{速{char}}}")]
    results = typeset_all(typesetter, [chinese, *odd, chinese])
    assert list(map(shown, results[1:-1])) == [shown(typesetter._alone(formula)) for formula in odd]


TORN = (
    r"a \frac",
    r"{ \left( \frac",
    r"\begin{array}{ 3 } a \end{array}",
    r"a \end{array} b",
    r"\begin{tabular}{c} a $ \frac & b $ \end{tabular}",
    r"\begin{cases} a \end{cases} b \end{cases} c",
)


def test_other_errors_get_in_a_batch_what_they_get_alone(typesetter: Typesetter) -> None:
    formulas = [Marked(f"\x01{{0}}x\x02 {text}", ("x", "y"), steps=500) for text in TORN]
    formulas += [Marked(f"\x01{{0}} {text} \x02 \x01{{1}} y \x02", ("x", "y"), steps=500) for text in TORN]
    results = typeset_all(typesetter, formulas)
    assert list(map(shown, results)) == [shown(typesetter._alone(formula)) for formula in formulas]


STALLED = (
    r"\begin{tabular}{|l|r|c|} \hline a n d & 2 9 & $ \sum _ { i = 1 & } ^ { n } w $ \\ \hline o & 8 0 & "
    r"$ \sqrt { \beta } $ \\ \hline \end{tabular}"
)


def test_a_document_of_formulas_that_stall_tex_is_soon_rejected(
    monkeypatch: pytest.MonkeyPatch, typesetter: Typesetter
) -> None:
    monkeypatch.setattr(module, "SECONDS_OF_RUN", 1)
    benchmark = benchmark_with(typesetter, max_steps=750_000)
    neighbour = Pair("1", FormulaTruth("x"), FormulaPrediction("x + y"))
    document = "".join(rf"\[ {STALLED} + {number} \]" for number in range(20))
    pair = Pair("2", FormulaTruth(document=r"\[ x \]"), FormulaPrediction(document=document))
    runs = typesetter.runs
    (rejected, beside) = benchmark.score([pair, neighbour])
    assert typesetter.runs - runs <= 4
    assert isinstance(rejected, RejectedRecord)
    assert rejected.side == "prediction"
    assert told(beside) == told(benchmark.score([neighbour])[0])


ENDLESS = Marked(r"\loop\iftrue\repeat", ())


def test_a_formula_that_takes_too_long_fails_alone(monkeypatch: pytest.MonkeyPatch, typesetter: Typesetter) -> None:
    monkeypatch.setattr(document, "sanitize", lambda source: source)
    monkeypatch.setattr(module, "SECONDS_OF_RUN", 1)
    formulas = [Marked("a", ()), Marked("b", ()), ENDLESS, Marked("c", ())]
    runs = typesetter.runs
    results = typeset_all(typesetter, formulas)
    # One run ends with it, it has one alone, and what was not yet written or came after is typeset in another.
    assert typesetter.runs == runs + 3
    assert isinstance(results[2], Failure)
    assert "takes more than 1 second," in results[2].reason
    assert [isinstance(result, Typeset) for result in results] == [formula != ENDLESS for formula in formulas]


def test_a_formula_that_is_ended_for_what_others_spent_gets_its_own_limit(
    monkeypatch: pytest.MonkeyPatch, typesetter: Typesetter
) -> None:
    """A batch that is ended from outside blames nobody."""
    run, before = Typesetter._run, typesetter.runs

    def ended(self: Typesetter, source: str, fonts: dict[int, Font], seconds: int, marks: int = 0) -> module._Run:
        done = run(self, source, fonts, seconds, marks)
        if self.runs > before + 1:
            return done
        return done._replace(pages=[], log="=formula 0 begins\n", begun=1, ended=True)

    monkeypatch.setattr(Typesetter, "_run", ended)
    results = typeset_all(typesetter, [Marked("a", ()), Marked("b", ()), Marked("c", ())])
    assert typesetter.runs == before + 4
    assert all(isinstance(result, Typeset) for result in results)


GLOBAL = (
    r"\begin{tabular}{cc} \toprule a & b \\ \cmidrule(lr){1-2} \end{tabular}",
    r"\begin{tabular}{cc} \cmidrule(l){1-1} \toprule \end{tabular}",
    r"\boldsymbol{x \mathbf{y}} \text{\Huge $x \boldsymbol{y}$}",
    r"\text{面积} \mathbf{x}",
    r"\hat{\hat{x}} \pmb{\hat{y}}",
    r"\begin{array}{cc} a & b \\ \hline \end{array}",
    r"\dots + \dots , \dots",
    r"\ensuremath{x} \lhd \mathsf{x} \texttt{x}",
)


def test_nothing_that_latex_changes_globally_is_seen_by_the_next_formula(typesetter: Typesetter) -> None:
    formulas = [marked(normal_form(text)) for text in (*GLOBAL, *map(_with_a_blank, GLOBAL))]
    expected = [shown(typesetter._alone(formula)) for formula in formulas]
    for order in (range(len(formulas)), range(len(formulas))[::-1]):
        results = typeset_all(typesetter, [formulas[index] for index in order])
        assert list(map(shown, results)) == [expected[index] for index in order]


def _with_a_blank(text: str) -> str:
    return rf"x \quad {text}" if "tabular" not in text else text.replace("a &", "c &")


def shown(result: Typeset | Failure) -> object:
    """All ink of a result, its fonts by name."""
    if isinstance(result, Failure):
        return result
    inks = [
        [(*ink[:6], result.fonts[ink.font].name if ink.font >= 0 else "", ink.character) for ink in inks_of(page)]
        for page in result.pages
        if page.cells
    ]
    return (inks[:1], result.margin, result.fall, result.width)


def test_a_good_formula_is_in_a_batch_to_the_bit_what_it_is_alone(typesetter: Typesetter) -> None:
    formulas = []
    for text in dict.fromkeys(
        [*real_formulas(CORPUS)[:25], "面积 = x", r"\begin{array}{c}" + r"x\\" * 60 + r"\end{array}"]
    ):
        try:
            formulas.append(marked(normal_form(text)))
        except Unbalanced:
            continue
    runs = typesetter.runs
    results = typeset_all(typesetter, formulas)
    assert typesetter.runs == runs + 2
    for formula, result in zip(formulas, results, strict=True):
        assert shown(result) == shown(typesetter._alone(formula))


@pytest.mark.parametrize(("count", "width"), [(600, 210.0), (601, 297.0), (1300, 297.0), (1301, 420.0)])
def test_the_paper_is_chosen_by_the_number_of_tokens(typesetter: Typesetter, count: int, width: float) -> None:
    (result,) = typeset_all(typesetter, [Marked(rb"\x01{0}x\x02".decode("unicode_escape"), ("x",) * count)])
    assert isinstance(result, Typeset)
    # In scaled points: 65536 x 72.27 to the inch of 25.4 mm.
    assert result.width == round(width / 25.4 * 72.27 * 65536)
    assert PAPERS[0][0] == 600


def test_the_first_baseline_is_12_points_below_the_margin(typesetter: Typesetter) -> None:
    # A5 on its side is 210 mm wide and 210 / sqrt 2 high; two fifths of 2 % of that are above the text.
    (result,) = typeset_all(typesetter, [marked(normal_form("x"))])
    assert isinstance(result, Typeset)
    margin = 210 / 2**0.5 * 0.02 * 0.4 / 25.4 * 72.27
    assert result.fall / 65536 == pytest.approx(margin + 12, abs=1e-4)


def test_marks_of_another_formula_are_not_believed(typesetter: Typesetter) -> None:
    own, foreign = Marked("\x01{0}x\x02", ("x",)), Marked("\x01{1}y\x02", ("y",))
    runs = typesetter.runs
    results = typeset_all(typesetter, [own, foreign])
    # The second claims a mark that it does not have, and is typeset alone.
    assert typesetter.runs == runs + 2
    assert all(isinstance(result, Typeset) for result in results)
    first, second = results
    assert isinstance(first, Typeset)
    assert isinstance(second, Typeset)
    assert np.array_equal(token_boxes(first, ("x",)).boxes.shape, (1, 4))
    assert len(token_boxes(second, ("y",))) == 0


def test_equal_formulas_are_typeset_once(typesetter: Typesetter) -> None:
    before = typesetter.runs
    texts = (normal_form(text) for text in ("a + b", "a+b", "{a}+b"))
    first, second, third = typeset_all(typesetter, [marked(form) for form in texts])
    assert typesetter.runs == before + 1
    assert first is second
    assert first is not third
