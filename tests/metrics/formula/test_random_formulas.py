"""What random formulas become is what the last release made of them: their tokens, and what TeX is given.

The draws change with the commands that are known.
"""

import random
import re
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from beamscore.metrics.benchmark import DrawnPair
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.benchmark import SamplePair
from beamscore.metrics.formula.documents.dialects import document_formulas
from beamscore.metrics.formula.latex import commands
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.parser import Unparsable, clean_formula, normal_tokens
from beamscore.metrics.formula.latex.token_markup import Marked, marked
from beamscore.metrics.formula.render.dvi import Ink
from beamscore.metrics.formula.render.typeset import Failure, Typeset, Typesetter
from tests.metrics.formula.render.test_boxes import ink, typeset
from tests.metrics.formula.samples import benchmark_with, documents, pair
from tests.metrics.samples import assert_pinned, scores_as_json
from tests.metrics.test_sample_corpora import another
from tests.plain_loop import total

MADE = {"published": "14b6425db026dbcd", "released": "d9153c386e8e0758"}
SPECIAL = sorted(
    commands.MARKS.union(commands.FRACTIONS, commands.INFIXES, commands.WITH_DELIMITERS, commands.STACKS)
    .union(commands.OPTIONAL_THEN_ONE, commands.TEXT_BOXES, commands.TEXT_SYMBOLS, commands.FONTS, commands.CLASSES)
    .union(commands.PHANTOMS, commands.ROWS, commands.LAPS, commands.SWITCHES, commands.SIZED, commands.DOTS)
    .union(commands.SPELLED, commands.LIMIT_OPERATORS, commands.MODULI, commands.COLORS, commands.DROPPED)
)
ENVIRONMENTS, WITH_OPTION = sorted(commands.ENVIRONMENTS), sorted(commands.OPTIONAL_THEN_ONE)
PLAIN = sorted(f"\\{name}" for name in commands.COMMANDS)
ATOMS: list[str] = [*"aabxyz0127+-=()[]|/<>,.!:;'*~&%$#@", *(rf"\{each}" for each in r",;:!{}|_&#%$ \ ")]
ATOMS += [
    r"\hspace{1cm}", r"\hspace*{ 2 e m}", r"\kern 3pt", r"\mkern-3mu", r"\\[2pt]", r"\\*", r"\rule{1pt}{2 em}",
    r"\multicolumn{2}{|c|}{ab}", r"\multirow{2}*{x}", r"\multirow{2}[-3pt]{1 cm}{$x$}", r"\cline{1-2}", "面积", "…",
    rf"\begin{{{'long' * 11}}}", r"\begin{array}[t]{l|c@{}r}", r"\begin{tabular}{cc}", r"\begin", r"\end{array}",
    r"\left", r"\right.", r"\\",
]  # fmt: skip

OPENING, CLOSING = [*"([|./<", r"\{", r"\langle "], [*")]|.", r"\}", r"\rangle "]


def formula(rng: random.Random, depth: int) -> str:
    """Returns the LaTeX of a random formula, whose groups are nested up to `depth` deep and at times not closed."""
    return "".join(_part(rng, depth) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5])))


def _part(rng: random.Random, depth: int) -> str:
    if not depth or rng.random() < 0.3:
        return rng.choice([rng.choice(ATOMS[:13]), rng.choice(ATOMS), f"{rng.choice(PLAIN)} "])
    inner, other = (formula(rng, depth - 1) for _ in range(2))
    group = rng.choice(["{%s}"] * 8 + ["%s", " {%s }", "{{%s}}", "{%s"]) % inner
    name = rng.choice(ENVIRONMENTS)
    forms: list[str] = [
        *[f"{rng.choice(SPECIAL)}{group}"] * 4,
        *[f"{rng.choice(SPECIAL)}{group}{{{other}}}"] * 2,
        *(f"{rng.choice('^_')}{group}", f"x_{group}^{{{other}}}", f"{rng.choice(PLAIN)}{group}"),
        f"{rng.choice(WITH_OPTION)}[{other}]{group}",
        rf"\left{rng.choice(OPENING)}{inner}\right{rng.choice(CLOSING)}",
        rf"\begin{{{name}}}{'{cc}' * (name in commands.ARRAYS)}{inner}&{other}\\{inner}\end{{{name}}}",
        rf"\text{{{inner} ${other}$ }}",
    ]
    return rng.choice(forms)


def made(latex: str, released: bool) -> list[Any]:
    """Returns the tokens of a formula and what TeX is given, or why there is none, and why it does not parse."""
    parts: list[Any] = [latex]
    try:
        form = normal_form(latex, released)
        parts += [*form, *astuple(marked(form, released))]
        normal_tokens(clean_formula(latex, released), released)
    except (Unbalanced, Unparsable) as error:
        parts.append(str(error))
    return parts


@pytest.mark.parametrize("protocol", MADE)
def test_tokens_and_what_tex_is_given(protocol: str, tmp_path: Path) -> None:
    rng = random.Random(0)
    assert_pinned([made(formula(rng, 3), protocol == "released") for _ in range(1500)], MADE[protocol], tmp_path)


PROSE = [
    "Words.", "\n", "\n\n", "\f", " ", "    ", "% a", "\\%", "\\$5", "\\verb|$$|", "> ", "- ", "| a | b |\n|--|--|\n",
    "\r\n",
    "```\n", "```latex\n", "``` math", "~~~\n", "~~~ text\n", "~~~", "`$$`", "$", "$$", "\\(", "\\)", "\\[", "\\]",
    "<pre>",
    "\\iffalse ", "\\fi ", "\\begin{comment}\n", "\\end{comment}\n", "\\begin{verbatim}", "\\end{verbatim}", "\\par ",
    "\\newcommand{\\mine}[1]{(#1)}", "\\def\\be{\\begin{equation}}", "\\def\\ee{\\end{equation}}", "\\let\\ee\\fi",
    "\\mine{x}",
]  # fmt: skip
DISPLAYS = [
    "$$%s$$", "\\[%s\\]", "$%s$", "\\begin{equation}%s\\end{equation}", "\\begin{align*}%s&=1\\\\2\\end{align*}",
    "\\be %s\\ee ",
    "```latex\n%s\n```\n", "\\begin{equation}\\label{a}%s\\tag{1}\\end{equation}", "\n$$\n%s\n$$\n",
    "\\begin{gather}%s\\end{gather}",
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [("latex", "bf088e52ac38aae0"), ("mathpix", "96b1bb2cf7e2da69"), ("gpt4o", "7f5ddf699debbb58")],
)
def test_formulas_of_documents(dialect: str, expected: str, tmp_path: Path) -> None:
    rng, found = random.Random(dialect), list[Any]()
    for _ in range(600):
        parts = [rng.choice(DISPLAYS) % formula(rng, 1) if rng.random() < 0.5 else rng.choice(PROSE) for _ in range(8)]
        text = "".join(parts)
        found.append([text, *document_formulas(text, dialect, Budget(10**9))])
    assert_pinned(found, expected, tmp_path)


class WithoutTex(Typesetter):
    """Lays the tokens of a formula side by side, each a little off its place; some have no ink, some formulas fail."""

    def open(self) -> None:
        """Needs no format of TeX."""

    def typeset(self, formulas: Iterable[Marked], allowances: Any = None) -> dict[Marked, Typeset | Failure]:
        return {each: self._laid(each) for each in formulas}

    def _laid(self, formula: Marked) -> Typeset | Failure:
        rng, inks = random.Random(formula.source), list[Ink]()
        if rng.random() < 0.05:
            return Failure("it fails")
        for mark, _ in enumerate(formula.labels):
            x, y = 15 * mark + rng.choice([0, 0.5, 2, 30]), rng.choice([0, 0, 0.4, 3, 25])
            sides = x, y, x + rng.choice([0.3, 8, 12.5]), y + rng.choice([0.3, 10, 14.5])
            inks += [ink(rng.choice([mark] * 9 + [-1]), *sides)] * (rng.random() < 0.95)
        return typeset(*inks, width=2000)


FENCES = ("```latex\n%s\n```", "```%s```", "~~~\n%s\n~~~", "~~~ tex\n%s\n~~~", "~~~~\n%s\n~~~", "~~~ a b\n%s\n~~~")


def sample(rng: random.Random) -> SamplePair:
    """Returns a formula, or a document with up to four, and a prediction that often differs in few characters."""
    truths = [formula(rng, 2) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
    predicted = [rng.choice([each, another(each, rng), another(each, rng), formula(rng, 1)]) for each in truths]
    if len(truths) == 1:
        return pair(truths[0], rng.choice([*(each % predicted[0] for each in FENCES), *predicted * 9, None]))
    pages = ["Words\n".join(f"$$ {each} $$\n" for each in side) for side in (truths, predicted)]
    return documents(pages[0], rng.choice([*pages[1:] * 9, None]), rng.choice(["latex", "mathpix", "gpt4o"]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"images": True}, "14d98b53023c0c94"),
        ({"protocol": "released", "max_tokens": 9}, "cf91c9604f01ec8d"),
        ({"images": True, "max_characters": 60, "max_formulas": 3, "max_steps": 20_000}, "1099de4ee5012744"),
    ],
)
def test_scores_and_drawings(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    rng = random.Random(0)
    benchmark, samples = benchmark_with(WithoutTex(1), **options), [sample(rng) for _ in range(200)]
    scores = benchmark.score(samples)
    drawn = benchmark.draw_batch([DrawnPair("", each.truth, each.prediction) for each in samples[:40]])
    # The bytes of a picture are those of a version of zlib.
    svg = [re.sub('base64,[^"]*', "", str(each)) for each in drawn]
    assert_pinned([*scores_as_json(scores), benchmark.values(total(scores)), *svg], expected, tmp_path)
