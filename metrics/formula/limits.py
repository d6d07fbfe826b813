r"""What a sample may cost: the work of its formulas, counted from their LaTeX alone and before TeX sees it.

Many commands typeset their argument more than once: `\text` in each of the four styles that it may be set in, `\pmb`
three copies in each. Within one another they multiply, so that 60 characters can take minutes. The count is an upper
bound, about one step for a microsecond; it depends on the text alone, never on the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..benchmark import Side
from ..common.budget import OutOfBudget
from .latex.commands import ACCENTS, SWITCHES, TEXTS, words

SIDES: tuple[Side, ...] = ("ground_truth", "prediction")

PAGE_STEPS = 300
"""The steps of an empty formula: its page, its paragraph, its place in the log."""
START_STEPS = 40_000
"""The steps of a process of TeX of its own."""
MARK_STEPS = 8
_STEPS_OF_COLUMNS = 1
"""Times the square of the columns: LaTeX writes the template of a table anew for each."""
COMMAND_STEPS = 10

_TIMES = {
    **dict.fromkeys(ACCENTS, (4, 1)),
    **dict.fromkeys(TEXTS, (4, 1)),
    **dict.fromkeys(("\\phantom", "\\hphantom", "\\vphantom", "\\smash", "\\multirow", "\\of"), (4, 1)),
    **dict.fromkeys(("\\overset", "\\underset"), (3, 2)),
    **dict.fromkeys(("\\xrightarrow", "\\xleftarrow"), (2, 1)),
    "\\boldsymbol": (6, 1),
    "\\pmb": (12, 1),
    "\\sqrt": (1, 1),
}
"""How often a command typesets each of its arguments, and how many arguments that holds for."""

_STEPS = {
    **dict.fromkeys(SWITCHES, 150),
    **dict.fromkeys(TEXTS, 100),
    **dict.fromkeys(ACCENTS, 50),
    **dict.fromkeys(("\\boldsymbol", "\\pmb", "\\overset", "\\underset"), 150),
    **dict.fromkeys(("\\begin", "\\cmidrule", "\\cline", "\\vspace", "\\xrightarrow"), 300),
    **dict.fromkeys(("\\toprule", "\\midrule", "\\bottomrule", "\\specialrule", "\\xleftarrow", "\\vcenter"), 300),
    **dict.fromkeys(("\\phantom", "\\hphantom", "\\vphantom", "\\smash", "\\hbox", "\\mbox", "\\boxed", "\\fbox"), 50),
    **dict.fromkeys(("\\circledR", "\\yen", "\\checkmark", "\\maltese", "\\copyright", "\\ensuremath"), 100),
    "\\multirow": 500,
    "$": 20,
    "&": 20,
    "\\\\": 40,
}

_WIDE = words(
    r"\overrightarrow \overleftarrow \overleftrightarrow \underrightarrow \underleftarrow \underleftrightarrow "
    r"\xrightarrow \xleftarrow \leftarrowfill \rightarrowfill"
)
_TALL = words(r"\left \right \middle \sqrt \root \brace \brack \choose \binom \dbinom \tbinom")
"""Commands whose own ink is as wide or as tall as what is beside it: TeX assembles it from many pieces."""
_GROWING = _WIDE | _TALL
_STACKING = re.compile(
    r"\\\\|\\(?:cr|over|atop|above|choose|brace|brack|[a-z]*frac|[a-z]*binom|[a-z]+set|stackrel|of)(?![a-z])"
)
_LONGEST = 16_384
"""TeX's longest length, in pt."""
_WIDTH_OF_PART = 20
_HEIGHT_OF_LINE = 60
_STEPS_OF_WIDTH = 3
_STEPS_OF_HEIGHT = 2
_LENGTH = re.compile(r"([\d.,]+)\s*(?:true\s*)?(pt|pc|in|bp|cm|mm|dd|cc|sp|em|ex|mu)")
_POINTS = {"pc": 12, "in": 73, "cm": 29, "mm": 3, "em": 25, "ex": 12, "dd": 2, "cc": 13, "bp": 2}

_COMMAND = r"\\begin\s*\{\s*(?:array|tabular)\s*\}|\\multicolumn\s*\{[^{}]*\}|\\[a-zA-Z]+|\\.|\*\s*\{[^{}]*\}(?=\s*\{)"
_PART = re.compile(
    rf"[\s\x02]*(\x01\{{\d*\}}(?: [^\\{{}}\[\]*\s\x01-\x06] \x02)?|{_COMMAND}|.)",
    re.DOTALL,
)
"""A mark, alone or with the one character that it marks, a command or a character, behind blanks and ends of marks."""
_SMALLEST_PART = re.compile(rf"\x01\{{\d*\}}|{_COMMAND}|\s+|.", re.DOTALL)
_REPEATED_COLUMN = re.compile(r"\*\s*\{\s*(\d{1,2})\s*\}")
_MAX_REPEATS = 99
_MAX_TIMES = 10**9
"""Counting ends here: it is beyond all limits."""
_CHARACTER_STEPS = 2
_STEPS_OF_TOKEN = 6
_DEEPEST = 150
"""Deeper groups are not read: metrics.formula.latex.token_markup.DEEPEST."""
_STEPS_OF_PAIR = 600


@dataclass(slots=True)
class _Level:
    """A group: how often it is typeset, and how often the next arguments in it are, beyond that.

    in_columns: whether it is a specification of columns. columns_await: whether the next group in it is one.
    """

    times: int
    closing: str = "}"
    argument_times: int = 1
    arguments: int = 0
    in_columns: bool = False
    columns_await: bool = False


def typesetting_steps(source: str) -> int:
    """Returns the steps of typesetting LaTeX with marks; Python's share, which reads what TeX wrote, is included."""
    parts = _PART.findall(source)
    growing = {} if _GROWING.isdisjoint(parts) else _growing(source)
    steps, columns = PAGE_STEPS, 0
    level, times = _Level(1), 1
    outer: list[_Level] = []
    for part in parts:
        if part[0] == "\x01":
            steps += MARK_STEPS * times
            if part[-1] != "\x02":
                continue
            part = part[-3]
        own, repeats, arguments, before_columns = _meaning(part)
        if part == "{" or (part == "[" and level.arguments):
            if part == "[":
                # The option of a root makes TeX typeset the root in all four styles.
                level.argument_times = max(level.argument_times, 4)
                times = level.times * level.argument_times
            outer.append(level)
            in_columns = part == "{" and (level.in_columns or level.columns_await)
            level.columns_await = level.columns_await and part == "["
            level = _Level(times, "}" if part == "{" else "]", in_columns=in_columns)
        elif outer and (part == "}" or part == level.closing):
            # A brace closes the brackets within it, too.
            while level.closing != part and len(outer) > 1:
                level = outer.pop()
            level = outer.pop()
            level.arguments -= part == "}" and level.arguments > 0
        else:
            columns += times if level.in_columns and own else 0
            steps += times * (own + growing.get(part, 0))
            if not arguments and not before_columns:
                continue
            level.columns_await = level.columns_await or before_columns
            # A command where an argument is expected counts as part of it: both repeat what follows.
            level.argument_times = level.argument_times * repeats if level.arguments else repeats
            level.arguments = max(level.arguments, arguments)
        times = min(level.times * level.argument_times if level.arguments else level.times, _MAX_TIMES)
    return steps + _STEPS_OF_COLUMNS * columns**2


@lru_cache(maxsize=4096)
def _meaning(part: str) -> tuple[int, int, int, bool]:
    """The steps of a part itself, how often it repeats how many arguments, and whether columns come next."""
    if part in {"{", "}", "\x02"} or part.isspace():
        return 0, 1, 0, False
    if part[0] == "*" and part[1:]:
        repeats = _REPEATED_COLUMN.fullmatch(part)
        return 1, int(repeats[1]) if repeats else _MAX_REPEATS, 1, False
    before_columns = part.startswith(("\\begin", "\\multicolumn"))
    own = _STEPS.get("\\begin" if before_columns else part, COMMAND_STEPS if part[0] == "\\" else _CHARACTER_STEPS)
    return own, *_TIMES.get(part, (1, 0)), before_columns and part.endswith("}")


def reading_steps(tokens: Sequence[str]) -> int:
    """Returns the steps of bringing LaTeX tokens to a normal form.

    Each is read once for every group round it, and filling in braces moves all the tokens that follow.
    """
    steps = _STEPS_OF_TOKEN * len(tokens) + len(tokens) ** 2 // 15
    depth = last = 0
    for place, token in enumerate(tokens):
        if token == "{" or token == "}":
            # A brace that opens is in its group, one that closes is not.
            steps += min(depth, _DEEPEST) * (place - last)
            last = place
            depth = depth + 1 if token == "{" else max(depth - 1, 0)
    return steps + min(depth, _DEEPEST) * (len(tokens) - last)


def matching_steps(truth: int, prediction: int) -> int:
    """Returns the steps of matching so many tokens: the assignment takes their cube where all cost nearly the same."""
    pairs, least = truth * prediction, min(truth, prediction)
    return _STEPS_OF_PAIR + 30 * least + pairs // 20 + pairs * least // 1000


def _growing(source: str) -> dict[str, int]:
    """The steps of each command that grows with its surroundings, from how wide and how tall those may be."""
    parts = len(_SMALLEST_PART.findall(source))
    lengths = _lengths(source)
    width = min(_LONGEST, _WIDTH_OF_PART * parts + lengths) * _STEPS_OF_WIDTH
    height = min(_LONGEST, _HEIGHT_OF_LINE * (1 + len(_STACKING.findall(source))) + lengths) * _STEPS_OF_HEIGHT
    return {**dict.fromkeys(_WIDE, width), **dict.fromkeys(_TALL, height)}


def _lengths(source: str) -> int:
    """The sum of the lengths that the LaTeX gives, in pt, as far as a glance tells."""
    total = 0
    for number, unit in _LENGTH.findall(source):
        whole = re.split("[.,]", number)[0] or "0"
        total += _LONGEST if len(whole) > 5 else (int(whole) + 1) * _POINTS.get(unit, 1)
    return total


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
        """Raises OutOfBudget, once all is typeset, where a side of the sample has spent more than it may."""
        for side in SIDES:
            if self._left[sample, side] < 0:
                raise OutOfBudget(
                    side,
                    "so many formulas have to be typeset alone, because of errors or of their size, that scoring takes "
                    f"more work than max_steps={self._max_steps} allows: raise max_steps, or leave the sample out",
                )
