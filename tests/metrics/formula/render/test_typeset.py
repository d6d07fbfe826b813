"""No formula reaches another: its page in a batch is the one that it has alone, and TeX's processes are bounded."""

import os
import signal
from pathlib import Path

import pytest

from beamscore.metrics.benchmark import MissingTool
from beamscore.metrics.formula.latex.token_markup import Marked
from beamscore.metrics.formula.render import document, tex
from beamscore.metrics.formula.render.boxes import token_boxes
from beamscore.metrics.formula.render.document import finished
from beamscore.metrics.formula.render.tex import environment, find_file, require_tex, run_bounded
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter, _Run
from tests.generate.formula import sample
from tests.metrics.formula.samples import as_marked, inks_of, typeset_all

REPAIRED = (
    *(r"a \undefinedcommand b", "a & b", "a } b", r"\left( a", r"a \right)", "{ a", r"a \end{array}"),
    *(r"\hspace { b } c", r"\begin{cases} a & b \\ c", r"\begin{aligned} a &= b", r"\left. a \right"),
    *(r"\begin{pmatrix} a & \text{if } b \\ c", r"\begin{cases} a \\ b \end{cases} a \\ b \end{cases}"),
    *(r"\text{面积} \undefinedcommand", r"\begin{array}{c} \text{面积}"),
)
GLOBAL = (
    r"\begin{tabular}{cc} \toprule a & b \\ \cmidrule(lr){1-2} \end{tabular}",
    r"\begin{tabular}{cc} \cmidrule(l){1-1} \toprule \end{tabular}",
    r"\boldsymbol{x \mathbf{y}} \text{\Huge $x \boldsymbol{y}$}",
    *(r"\text{面积} \mathbf{x}", r"\hat{\hat{x}} \pmb{\hat{y}}", r"\begin{array}{cc} a & b \\ \hline \end{array}"),
    *(r"\dots + \dots , \dots", r"\ensuremath{x} \lhd \mathsf{x} \texttt{x}"),
    r"\begin{array}{c}" + r"x\\" * 60 + r"\end{array}",
)
USUAL = [truth["latex"] for index in range(11) if "latex" in (truth := sample(index, 7)[0])]
ODD_CHARACTERS = "\u202e\u00e9\u05d0\u3042\ufffd\U0001d400"
OPEN = (
    *(r"\frac { 1 } {3 + x", r"\text{ a", r"\begin{array}{c} x", r"\left( x", r"\sqrt[ x", r"\multicolumn{2}{c"),
    *("x^{ y", r"\hbox{ a $ b", "a $$ b", "x \\", r"\begin{tabular}{c} \text{ $ \end{tabular}"),
)
TORN = (
    *(r"a \frac", r"{ \left( \frac", r"\begin{array}{ 3 } a \end{array}", r"a \end{array} b"),
    r"\begin{tabular}{c} a $ \frac & b $ \end{tabular}",
    r"\begin{cases} a \end{cases} b \end{cases} c",
)


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


def alone(typesetter: Typesetter, formulas: list[Marked]) -> list[object]:
    return [shown(typesetter._alone(formula)) for formula in formulas]


def test_formulas_that_harm_no_other_share_a_run(typesetter: Typesetter) -> None:
    """Also those with errors that TeX repairs where they are; formulas with Chinese text have a run of their own."""
    texts = [part for number, faulty in enumerate(REPAIRED) for part in (faulty, f"x + {number}")]
    texts += [*GLOBAL, *(rf"x \quad {text}" for text in GLOBAL if "tabular" not in text), *USUAL]
    formulas = list(dict.fromkeys(as_marked(texts)))
    expected = alone(typesetter, formulas)
    for order in (1, -1):
        before = typesetter.runs
        assert list(map(shown, typeset_all(typesetter, formulas[::order])))[::order] == expected
        assert typesetter.runs == before + 2


def test_tex_itself_lets_nothing_run_on(typesetter: Typesetter) -> None:
    """Even where formulas come unread and unchecked, or beside Chinese text, which gave a direction mark ink."""
    texts = [part for number, text in enumerate(OPEN) for part in (f"a_{number}", text, f"y_{number} }}")]
    formulas = [Marked(f"\x01{{0}}{text}\x02", ("x",)) for text in (*texts, r"\end{array}")]
    formulas += [Marked(f"\x01{{0}}x\x02 {text}", ("x", "y"), steps=500) for text in TORN]
    formulas += [Marked(f"\x01{{0}} {text} \x02 \x01{{1}} y \x02", ("x", "y"), steps=500) for text in TORN]
    odd = as_marked([text for char in ODD_CHARACTERS for text in (char, rf"\text{{速{char}}}")])
    formulas = [*as_marked([r"\text{速度} = 6"]), *odd, *formulas]
    assert list(map(shown, typeset_all(typesetter, formulas))) == alone(typesetter, formulas)


def test_equal_formulas_are_typeset_once_and_marks_of_another_are_not_believed(typesetter: Typesetter) -> None:
    before = typesetter.runs
    first, second, third = typeset_all(typesetter, as_marked(["a + b", "a+b", "{a}+b"]))
    assert typesetter.runs == before + 1
    assert first is second
    assert first is not third
    # The second claims a mark that it does not have, and is typeset alone.
    both = typeset_all(typesetter, [Marked("\x01{0}x\x02", ("x",)), Marked("\x01{1}y\x02", ("y",))])
    assert typesetter.runs == before + 1 + 2
    assert [token_boxes(each, ("x",)).tokens for each in both if isinstance(each, Typeset)] == [("x",), ()]


def test_a_run_without_a_log_leaves_its_first_formula_to_be_typeset_alone(
    typesetter: Typesetter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typesetter, "_run", lambda *_: _Run([], "", 0, ended=False))
    (formula,) = as_marked(["a"])
    assert typesetter._batch([formula]) == ({}, [formula])


@pytest.mark.parametrize(("count", "width"), [(600, 210.0), (601, 297.0), (1300, 297.0), (1301, 420.0)])
def test_the_paper_is_chosen_by_the_number_of_tokens(count: int, width: float) -> None:
    # In scaled points, 65536 x 72.27 to the inch of 25.4 mm. The paper is width / sqrt 2 high; two fifths of 2 % of it
    # are above the text, and 12 points.
    places = width * 0.01, width / 2**0.5 * 0.02 * 0.4 + 12 / 72.27 * 25.4, width
    assert document.on_paper(Marked("x", ("x",) * count)) == tuple(round(mm / 25.4 * 72.27 * 65536) for mm in places)


def log(*parts: str | int) -> str:
    """A number is a formula without a fault."""
    return "".join(
        part if isinstance(part, str) else f"=formula {part} begins\n=formula {part} ends with 1\n" for part in parts
    )


NEXT = "=formula 2 begins\n"


def second(errors: str, end: str = "1") -> str:
    return log(0, "=formula 1 begins\n", errors, f"=formula 1 ends with {end}\n", NEXT)


LOGS = {
    log(0, 1, NEXT): ({0, 1}, 1),
    "": (set(), -1),
    # Without the beginning of the next it is not known what the last one left behind.
    log(0, 1): ({0}, 1),
    # An error that TeX repairs where it is does no harm, also where it leads to a second display without ink ...
    second("! Missing $ inserted.\n"): ({0, 1}, 1),
    second("! Extra }, or\n", "2"): ({0, 1}, 1),
    second("! Undefined control sequence.\n" * 50): ({0, 1}, 1),
    # ... but not where more follows or there is no display, a command takes a mark or reads on, or there are too many.
    **{second("! Extra }, or\n", end): ({0}, 1) for end in ("1 and more", "0")},
    **{second(f"! {error}\n"): ({0}, 1) for error in ("Missing { inserted.", "Forbidden control")},
    second("! LaTeX Error: Illegal pream-token\n! Undefined control sequence.\n"): ({0}, 1),
    second("! Undefined control sequence.\n" * 51): ({0}, 1),
    second("", "1 and more"): ({0, 1}, 1),
    log(0, 1, "! Too many }'s.\n", NEXT): ({0}, 1),
    log(0, "=formula 1 begins\n", NEXT): ({0}, 1),
    log("=formula 0 begins\n=formula 0 ends with 2\n", 1, NEXT): ({1}, 1),
    log(0, "=formula 0 ends with 1\n", 1, NEXT): ({1}, 1),
    log("=formula 0 begins\n=formula 1 ends with 1\n", 1, NEXT): ({1}, 1),
    # A number out of turn ends what is believed, and only a line that starts so counts.
    log(0, 0, 1): (set(), 0),
    log(1): (set(), -1),
    log("=formula 0 begins\nl.3 ! x\n  =formula 1 begins\n=formula 0 ends with 1\n=formula 1 begins\n"): ({0}, 1),
}


def test_which_formulas_are_clean() -> None:
    assert {log: finished(log, 2) for log in LOGS} == {log: (frozenset(clean), n) for log, (clean, n) in LOGS.items()}


def test_a_machine_without_tex_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tex, "PACKAGES", ("amsmath", "nosuch"))
    with pytest.raises(MissingTool, match=r"^LaTeX lacks nosuch\.sty: apt-get install"):
        require_tex()
    with pytest.raises(MissingTool, match="nosuchtex cannot be started"):
        run_bounded(["nosuchtex"], tmp_path, seconds=5)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"^the formula benchmark needs the program latex: apt-get install .*texlive"):
        require_tex()


def test_the_environment_of_tex_is_bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    bare = environment()
    assert "A_SECRET" not in bare
    assert bare["PATH"] == os.environ["PATH"]
    assert bare["openin_any"] == bare["openout_any"] == "p"


def test_how_a_process_ended_is_told(tmp_path: Path) -> None:
    ends = {"exit 3": 3, "while :; do :; done": -signal.SIGXCPU, "kill -SEGV $$": -signal.SIGSEGV}
    assert {script: run_bounded(["/bin/sh", "-c", script], tmp_path, seconds=1) for script in ends} == ends
    # What the machine does to a process is its fault.
    for script, words in (
        ("kill -9 $$", "was ended from outside by the signal SIGKILL$"),
        ("echo 'No space left on device' >&2; exit 1", "cannot write its files: No space left"),
    ):
        with pytest.raises(OSError, match=f"^the program /bin/sh {words}"):
            run_bounded(["/bin/sh", "-c", script], tmp_path, seconds=1)


def test_a_search_that_fails_finds_no_absent_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty answer would be taken for a font without glyphs, and kept for all later formulas."""
    (tmp_path / "kpsewhich").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "kpsewhich").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(OSError, match="kpsewhich failed"):
        find_file("nosuchfont.tfm")
