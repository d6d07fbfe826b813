r"""What a sample may cost: the work of its formulas, counted from their LaTeX alone and before TeX sees it.

Many commands typeset their argument more than once: `\text` in each of the four styles that it may be set in, `\pmb`
three copies in each. If nested, these factors multiply, so that 60 characters can take minutes. The count is an upper
bound, about one step for a microsecond; it depends on the text alone, never on the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ..benchmark import Side
from ..common.budget import OutOfBudget
from .latex.commands import ACCENTS, SWITCHES, TEXTS, words

SIDES: tuple[Side, ...] = ("ground_truth", "prediction")

PAGE_STEPS = 300
"""The steps of an empty formula: its page, its paragraph, its place in the log."""
START_STEPS = 40_000
"""The steps of starting a process of TeX."""

_TIMES = {
    **dict.fromkeys(ACCENTS | TEXTS | words(r"\phantom \hphantom \vphantom \smash \multirow \of"), (4, 1)),
    **dict.fromkeys((r"\overset", r"\underset"), (3, 2)),
    **dict.fromkeys((r"\xrightarrow", r"\xleftarrow"), (2, 1)),
    r"\boldsymbol": (6, 1),
    r"\pmb": (12, 1),
    r"\sqrt": (1, 1),
}
"""By command: how often it typesets each argument, and the number of arguments."""
_STEPS = {
    **dict.fromkeys("\x01\x03", 8),
    "}": 0,
    **dict.fromkeys("$&", 20),
    r"\\": 40,
    **dict.fromkeys(ACCENTS | words(r"\phantom \hphantom \vphantom \smash \hbox \mbox \boxed \fbox"), 50),
    **dict.fromkeys(TEXTS | words(r"\circledR \yen \checkmark \maltese \copyright \ensuremath"), 100),
    **dict.fromkeys(SWITCHES | words(r"\boldsymbol \pmb \overset \underset"), 150),
    **dict.fromkeys(words(r"\begin \multicolumn \cmidrule \cline \vspace \xrightarrow \xleftarrow \vcenter"), 300),
    **dict.fromkeys(words(r"\toprule \midrule \bottomrule \specialrule"), 300),
    r"\multirow": 500,
}
"""The steps of a command or a character without its arguments: 10 for other commands, 2 for other characters."""

_GROWING = words(
    r"\overrightarrow \overleftarrow \overleftrightarrow \underrightarrow \underleftarrow \underleftrightarrow "
    r"\xrightarrow \xleftarrow \leftarrowfill \rightarrowfill \left \right \middle \sqrt \root \brace \brack \choose "
    r"\binom \dbinom \tbinom"
)
"""Commands whose own ink is as wide or as tall as its neighbors: TeX assembles it from many pieces."""
_LONG = re.compile(
    r"\d\d\d[\d.,]*\s*(?:true\s*)?(?:pt|bp|mm|dd|sp|ex|mu)|\d[\d.,]*\s*(?:true\s*)?(?:pc|in|cm|em|cc)"
    r"|\\(?:(?:text|line|column)width|hsize)"
)
"""A length that may be long."""
_STEPS_PER_LONG_LENGTH = 5_000
"""The steps of a growing command where a length is long: TeX's longest, 16,384 pt, takes 2,700 pieces."""

_REPEATED = r"\*\s*(?:\{[^{}]*\}|\d|\\[a-zA-Z]+(?![a-zA-Z]))"
_REPEATED_UNBRACED = re.compile(rf"({_REPEATED})\s*([^\s{{}}\\])")
_PART = re.compile(
    r"[\s\x02]*([\x01\x03]\{\d*\}|\\begin\s*\{\s*(?:array|tabular)\s*\}|\\multicolumn\s*\{[^{}]*\}"
    rf"|{_REPEATED}(?=\s*\{{)|\\[a-zA-Z]+|\\.|.)",
    re.DOTALL,
)
"""A mark, the beginning of a table or of a wide cell, a repeated column, a command or a character, behind blanks."""
_REPEATED_COLUMN = re.compile(r"\*\s*\{?\s*(\d{1,2})\s*\}?")
_MAX_REPEATS = 99
_MAX_TIMES = 10**9
"""Counting ends here: it is beyond all limits."""


def typesetting_steps(source: str) -> int:
    """Returns the steps of typesetting LaTeX with marks; Python's share, which reads what TeX wrote, is included.

    A command where an argument is expected counts as part of it: both repeat what follows. An option makes TeX typeset
    a root in all four styles. LaTeX writes the template of a table anew for each column: they count squared.
    """
    parts = _PART.findall(_REPEATED_UNBRACED.sub(r"\1{\2}", source))
    long = _STEPS_PER_LONG_LENGTH if _LONG.search(source) else 0
    steps, columns = PAGE_STEPS, 0
    times, repeats, arguments = 1, 1, 0
    in_columns = columns_next = False
    outer: list[tuple[int, int, int, bool]] = []
    for part in parts:
        if part == "{":
            outer.append((times, repeats, arguments, in_columns))
            in_columns, columns_next = in_columns or columns_next, False
            times, repeats, arguments = min(times * repeats, _MAX_TIMES), 1, 0
        elif part == "}" and outer:
            times, repeats, arguments, in_columns = outer.pop()
            arguments -= arguments > 0
            repeats = repeats if arguments else 1
        else:
            own, repeated, of_arguments, before_columns = _meaning(part)
            steps += times * repeats * (own + long * (part in _GROWING))
            columns += times * repeats if in_columns and own else 0
            columns_next = columns_next or before_columns
            if part == "[" and arguments:
                repeats, arguments = max(repeats, 4), arguments + 1
            elif of_arguments:
                repeats, arguments = repeats * repeated, max(arguments, of_arguments)
    return steps + columns**2


@lru_cache(maxsize=4096)
def _meaning(part: str) -> tuple[int, int, int, bool]:
    """Returns a part's own steps, its repeats per argument, its arguments, and whether columns come next."""
    if part[0] == "*" and part[1:]:
        plain = _REPEATED_COLUMN.fullmatch(part)
        # If there are no columns, a command has up to two arguments of its own.
        return 1, int(plain[1]) if plain else _MAX_REPEATS, 2 if "\\" in part else 1, False
    name = part.partition("{")[0].strip() if part[1:] else part
    own = _STEPS.get(name, 10 if part[0] == "\\" else 2)
    return own, *_TIMES.get(part, (1, 0)), part[0] == "\\" and name != part


def reading_steps(tokens: int) -> int:
    """Returns the steps of bringing so many LaTeX tokens to a normal form: filling in braces moves all that follow."""
    return tokens * (8 + tokens // 15)


def matching_steps(truth: int, prediction: int) -> int:
    """Returns the steps of matching so many tokens: assignment is cubic if all costs are nearly equal."""
    pairs, least = truth * prediction, min(truth, prediction)
    return 600 + 30 * least + pairs // 20 + pairs * least // 1000


class SampleAllowances:
    """Charges each sample of a batch for the processes of TeX that its formulas need; one may belong to many.

    Which of its formulas need one shows in an order that depends on the batch. So the ground truth may spend half of
    what the sample has left after reading, and the prediction what the ground truth leaves, and the verdict does not
    depend on that order: what is spent only grows, and a ground truth within its half is typeset to the end.
    """

    def __init__(self, max_steps: int = 0) -> None:
        self._max_steps = max_steps
        self._users: dict[Any, list[tuple[int, Side]]] = {}
        self._left: dict[tuple[int, Side], int] = {}

    def add(self, sample: int, left: int, truths: Iterable[Any], predictions: Iterable[Any]) -> None:
        """Adds a sample by its number, with the steps that it has left."""
        wanted = set(truths)
        for side, formulas, steps in zip(SIDES, (wanted, set(predictions) - wanted), (left // 2, left), strict=True):
            self._left[sample, side] = steps
            for formula in formulas:
                self._users.setdefault(formula, []).append((sample, side))

    def wanted(self, formula: Any) -> bool:
        """Returns whether a sample that has the formula may still be scored, or none has it."""
        users = self._users.get(formula)
        return not users or any(
            self._left[sample, "ground_truth"] >= 0 and self._left[sample, side] >= 0 for sample, side in users
        )

    def charge(self, formula: Any, steps: int) -> None:
        """Charges all samples that have the formula."""
        for sample, side in self._users.get(formula, ()):
            self._left[sample, "prediction"] -= steps
            if side == "ground_truth":
                self._left[sample, side] -= steps

    def check(self, sample: int) -> None:
        """Raises OutOfBudget, once all is typeset, if a side of the sample has spent more than it may."""
        for side in SIDES:
            if self._left[sample, side] < 0:
                raise OutOfBudget(
                    side,
                    "so many formulas have to be typeset alone, because of errors or of their size, that scoring takes "
                    f"more work than max_steps={self._max_steps} allows: raise max_steps, or leave the sample out",
                )
