"""What random formulas become is what the last release made of them: their tokens, and what TeX is given.

Whoever changes it, or the commands that are known, writes the new digests here; a failure names a file with all that
was made.
"""

import random
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from beamscore.metrics.formula.latex import commands
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.parser import Unparsable, clean_formula, normal_tokens
from beamscore.metrics.formula.latex.token_markup import marked
from tests.metrics.samples import digest

MADE = {"published": "4c3eccc342eab893", "released": "57252750a7b3d22f"}
SPECIAL = sorted(
    commands.MARKS.union(commands.FRACTIONS, commands.INFIXES, commands.WITH_DELIMITERS, commands.STACKS)
    .union(commands.OPTIONAL_THEN_ONE, commands.TEXT_BOXES, commands.TEXT_SYMBOLS, commands.FONTS, commands.CLASSES)
    .union(commands.PHANTOMS, commands.ROWS, commands.LAPS, commands.SWITCHES, commands.SIZED, commands.DOTS)
    .union(commands.SPELLED, commands.LIMIT_OPERATORS, commands.MODULI, commands.COLORS, commands.DROPPED)
)
PLAIN = sorted(f"\\{name}" for name in commands.COMMANDS)
ATOMS = [*"aabxyz0127+-=()[]|/<>,.!:;'*~&%$#@", *(rf"\{each}" for each in r",;:!{}|_&#%$ \ ")]
ATOMS += [r"\hspace{1cm}", r"\hspace*{ 2 e m}", r"\kern 3pt", r"\mkern-3mu", r"\\[2pt]", r"\\*", r"\rule{1pt}{2 em}"]
ATOMS += [
    r"\multicolumn{2}{|c|}{ab}",
    r"\multirow{2}*{x}",
    r"\multirow{2}[-3pt]{1 cm}{$x$}",
    r"\cline{1-2}",
    "面积",
    "…",
]
ATOMS += [r"\begin{array}[t]{l|c@{}r}", r"\begin{tabular}{cc}", r"\begin", r"\end{array}", r"\left", r"\right.", r"\\"]

OPENING, CLOSING = ([*"([|./<", r"\{", r"\langle "], [*")]|.", r"\}", r"\rangle "])


def formula(rng: random.Random, depth: int) -> str:
    """Returns the LaTeX of a random formula, whose groups are nested up to `depth` deep and at times not closed."""
    return "".join(_part(rng, depth) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5])))


def _part(rng: random.Random, depth: int) -> str:
    if not depth or rng.random() < 0.3:
        return rng.choice([rng.choice(ATOMS[:13]), rng.choice(ATOMS), f"{rng.choice(PLAIN)} "])
    inner, other = (formula(rng, depth - 1) for _ in range(2))
    group = rng.choice(["{%s}"] * 8 + ["%s", " {%s }", "{{%s}}", "{%s"]) % inner
    name = rng.choice(sorted(commands.ENVIRONMENTS))
    forms = [
        *[f"{rng.choice(SPECIAL)}{group}"] * 4,
        *[f"{rng.choice(SPECIAL)}{group}{{{other}}}"] * 2,
        *(f"{rng.choice('^_')}{group}", f"x_{group}^{{{other}}}", f"{rng.choice(PLAIN)}{group}"),
        f"{rng.choice(sorted(commands.OPTIONAL_THEN_ONE))}[{other}]{group}",
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
def test_what_is_made(protocol: str, tmp_path: Path) -> None:
    rng = random.Random(0)
    found = [made(formula(rng, 3), protocol == "released") for _ in range(1500)]
    (tmp_path / "made.txt").write_text("\n".join(map(str, found)))
    assert digest(iter(found)) == MADE[protocol], f"see {tmp_path}/made.txt"
