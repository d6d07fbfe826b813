r"""What a sample may cost: the work of its formulas, counted from their LaTeX alone and before TeX sees it.

Many commands typeset their argument more than once: `\text` in each of the four styles that it may be set in, `\pmb`
three copies in each. Within one another they multiply, so that 60 characters can take minutes. The count is an upper
bound, about one step for a microsecond; it depends on the text alone, never on the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..benchmark import RejectedRecord, Side
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

    columns: where it is a specification of columns, how many those are; its inner groups share the list.
    columns_await: whether the next group in it is such a specification.
    """

    times: int
    closing: str = "}"
    argument_times: int = 1
    arguments: int = 0
    columns: list[int] = field(default_factory=lambda: [0])
    in_columns: bool = False
    columns_await: bool = False


def typesetting_steps(source: str) -> int:
    """Returns the steps of typesetting LaTeX with marks; Python's share, which reads what TeX wrote, is included."""
    parts = _PART.findall(source)
    growing = {} if _GROWING.isdisjoint(parts) else _growing(source)
    steps = PAGE_STEPS
    levels = [_Level(1)]
    level, times = levels[0], 1
    for part in parts:
        if part[0] == "\x01":
            steps += MARK_STEPS * times
            if part[-1] != "\x02":
                continue
            if level.in_columns:
                level.columns[0] += times
            else:
                steps += _STEPS.get(part[-3], _CHARACTER_STEPS) * times
            continue
        plain = _plain_steps(part)
        if plain is not None and not level.in_columns:
            steps += times * plain
            continue
        if part == "\x02" or part.isspace():
            continue
        if part == "{":
            columns = level.columns if level.in_columns else [0]
            levels.append(_Level(times, columns=columns, in_columns=level.in_columns or level.columns_await))
            level.columns_await = False
        elif part == level.closing and len(levels) > 1:
            levels.pop()
            if level.in_columns and not levels[-1].in_columns:
                steps += _STEPS_OF_COLUMNS * level.columns[0] ** 2 // level.times
            _argument_read(levels[-1], optional=part == "]")
        elif part == "}":
            while len(levels) > 1 and levels.pop().closing != "}":
                pass
            _argument_read(levels[-1])
        elif part == "[" and level.arguments:
            # The option of a root makes TeX typeset the root in all four styles.
            level.argument_times *= 4 if level.argument_times == 1 else 1
            levels.append(_Level(level.times * level.argument_times, "]"))
        elif part[0] == "*" and len(part) > 1:
            repeats = _REPEATED_COLUMN.fullmatch(part)
            _argument_awaited(level, int(repeats[1]) if repeats else _MAX_REPEATS, 1)
            steps += times
        elif part in _TIMES:
            _argument_awaited(level, *_TIMES[part])
            steps += times * (_STEPS.get(part, COMMAND_STEPS) + growing.get(part, 0))
        elif level.in_columns:
            level.columns[0] += times
            continue
        elif part.startswith(("\\begin", "\\multicolumn")):
            level.columns_await = part.endswith("}")
            steps += times * _STEPS["\\begin"]
            continue
        else:
            steps += times * (_own_steps(part) + growing.get(part, 0))
            continue
        level = levels[-1]
        times = min(level.times * level.argument_times if level.arguments else level.times, _MAX_TIMES)
    return steps


@lru_cache(maxsize=4096)
def _plain_steps(part: str) -> int | None:
    """The steps of a part that changes neither level nor arguments, nor grows with its surroundings; None of others."""
    plain = part not in _GROWING and part not in _TIMES and part not in {"{", "}", "[", "]", "\x02"}
    if not plain or part.isspace() or part.startswith(("\\begin", "\\multicolumn")) or (part[0] == "*" and part[1:]):
        return None
    return _own_steps(part)


def _own_steps(part: str) -> int:
    return _STEPS.get(part, COMMAND_STEPS if part[0] == "\\" else _CHARACTER_STEPS)


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


def _argument_awaited(level: _Level, times: int, arguments: int) -> None:
    """A command where an argument is expected counts as part of it: both repeat what follows."""
    level.argument_times = level.argument_times * times if level.arguments else times
    level.arguments = max(level.arguments, arguments)


def _argument_read(level: _Level, optional: bool = False) -> None:
    if level.arguments and not optional:
        level.arguments -= 1


def _lengths(source: str) -> int:
    """The sum of the lengths that the LaTeX gives, in pt, as far as a glance tells."""
    total = 0
    for number, unit in _LENGTH.findall(source):
        whole = re.split("[.,]", number)[0] or "0"
        total += _LONGEST if len(whole) > 5 else (int(whole) + 1) * _POINTS.get(unit, 1)
    return total


class Allowance:
    """What a typesetter asks before it does work that only shows on the way; this one allows everything."""

    def wanted(self, formula: Any) -> bool:
        """Whether a formula is still to be typeset."""
        return True

    def charge(self, formula: Any, steps: int) -> None:
        """Takes note of work that shows on the way: a process for one formula, or one that it stalls."""


UNLIMITED = Allowance()


class SampleAllowances(Allowance):
    """Charges each sample of a batch for the processes of TeX that its formulas need; one may belong to many.

    Which of its formulas need one shows in an order that depends on the batch. So the ground truth may spend half of
    what the sample has left after reading, and the prediction what the ground truth leaves, and the verdict does not
    depend on that order: what is spent only grows, and a ground truth within its half is typeset to the end.
    """

    def __init__(self) -> None:
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
        """Whether a sample that has it may still be scored."""
        return any(
            self._left[sample, "ground_truth"] >= 0 and self._left[sample, side] >= 0
            for sample, side in self._users[formula]
        )

    def charge(self, formula: Any, steps: int) -> None:
        """Charges all samples that have it."""
        for sample, side in self._users[formula]:
            self._left[sample, "prediction"] -= steps
            if side == "ground_truth":
                self._left[sample, side] -= steps

    def rejection(self, sample: int, max_steps: int) -> RejectedRecord | None:
        """Returns why a sample is not scored once all is typeset; None where it is."""
        for side in SIDES:
            if self._left[sample, side] < 0:
                return OutOfBudget(
                    side,
                    "so many formulas have to be typeset alone, because of errors or of their size, that scoring takes "
                    f"more work than max_steps={max_steps} allows: raise max_steps, or leave the sample out",
                )
        return None
