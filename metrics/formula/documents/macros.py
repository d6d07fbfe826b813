"""Expansion of the macros that the author of a LaTeX text has defined in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...common.budget import Budget
from ..latex.commands import FONTS, FRACTIONS, MARKS, STACKS, TEXTS

MAX_DEPTH = 60
"""A call deeper within the expansions and the arguments of others is left unchanged."""
PROTECTED = frozenset({"\\begin", "\\end", "\\csname", "\\endcsname", "\\expandafter", "\\relax", "\\\\"})
"""Commands that stay what they are, whatever a text defines."""

_STEPS_OF_CALL = 20
_STEPS_OF_DEFINITION = 15
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|.)", re.DOTALL)
_DEFINITION = re.compile(
    r"\\(?P<definer>g?def|(?:re)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)(?![A-Za-z@])"
    rf"\s*(?P<star>\*?)\s*(?:\{{\s*(?P<braced>{_COMMAND.pattern})\s*\}}|(?P<bare>{_COMMAND.pattern}))"
    r"(?P<parameters>(?:\s*#[0-9])*)\s*(?:\[\s*(?P<count>[0-9]?)\s*\]\s*)?",
    re.DOTALL,
)
"""A definition up to its default or its body."""
_TOKEN = re.compile(rf"\s*({_COMMAND.pattern}|[^}}\s])", re.DOTALL)
_BRACKET = re.compile(r"\s*\[")
_EDGE = re.compile(r"\\.|[{}\]]", re.DOTALL)
_PARAMETER = re.compile(rf"({_COMMAND.pattern}|#[#1-9])", re.DOTALL)
_LETTER = re.compile(r"[A-Za-z@]")
_CONTROL_WORD_AT_END = re.compile(r"(?<!\\)(?:\\\\)*(\\[A-Za-z@]+)\Z")
_ONE_ARGUMENT = "|".join(name[1:] for name in (*MARKS, *TEXTS, *FONTS, "\\sqrt", "\\operatorname"))
_TWO_ARGUMENTS = "|".join(name[1:] for name in (*STACKS, *FRACTIONS))
_AWAITED = re.compile(
    rf"\\(?:(?:{_ONE_ARGUMENT})(?:\[[^\[\]]*\])?|(?:{_TWO_ARGUMENTS})\s*"
    r"(?:\{[^{}]*\}|[^\\{}\s]|\\[A-Za-z]+(?![A-Za-z]))?)\s*\Z"
)
"""Commands that still await an argument, at the end of what precedes a call."""
_MAX_AWAITED = 100


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """What a command stands for; the default is None where the first argument is not optional."""

    body: str
    parameters: int = 0
    default: str | None = None


class Piece(NamedTuple):
    """A piece of an expanded text: where it came from, and whether it is a piece of the source itself."""

    text: str
    origin: int
    copied: bool = False


class Expansion:
    """A text with its macros expanded."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.text = "".join(piece.text for piece in pieces)
        self._pieces = pieces
        self._starts = [0]
        for piece in pieces:
            self._starts.append(self._starts[-1] + len(piece.text))

    def origin(self, offset: int) -> int:
        """Returns where in the source the character at `offset` of the text, or the call that made it, is."""
        index = bisect_right(self._starts, offset) - 1
        piece = self._pieces[index]
        return piece.origin + (offset - self._starts[index] if piece.copied else 0)


def expand_macros(text: str, budget: Budget) -> Expansion:
    """Returns LaTeX text, without comments, with its author's macros expanded and their definitions taken out.

    Definitions are `\\newcommand \\renewcommand \\providecommand \\DeclareRobustCommand` (with or without a star),
    `\\DeclareMathOperator` and its starred form (which become `\\operatorname`), and `\\def` and `\\gdef` with nothing
    between their parameters. They hold from where they are to the end of the text; a later one replaces an earlier one,
    and what a body defines is defined when it is expanded.

    A call that is an argument without braces, as in `\\frac\\half 2`, is put into braces, since TeX takes it
    whole. A call within its own expansion is left unchanged, and so is a call without the arguments that its
    definition asks for, and a definition that cannot be read. No conditional is evaluated.
    Blanks after a call without arguments stay, though TeX skips them: they leave no ink in a formula.

    A character that is read, of the text, of an argument or of a body, costs a step, a call 20, a definition 15.

    Raises OutOfBudget.

    >>> expand_macros("\\\\newcommand{\\\\R}{\\\\mathbb{R}}x \\\\in \\\\R", Budget(1000)).text
    'x \\\\in \\\\mathbb{R}'
    """
    return Expansion(list(_Expander(budget).pieces(text, ())))


class _Expander:
    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._macros: dict[str, Macro] = {}

    def pieces(self, text: str, calls: tuple[Macro | None, ...]) -> list[Piece]:
        """Returns a text expanded; `calls` are the macros that it is from the body of, None for an argument."""
        self._budget.spend(len(text))
        pieces: list[Piece] = []
        at = 0
        for command in _COMMAND.finditer(text):
            start, end = command.span()
            if start < at:
                continue
            macro = self._macros.get(command[0])
            body = ""
            if macro and macro not in calls and len(calls) < MAX_DEPTH:
                expansion = self._call(macro, text, end, calls)
                if expansion is None:
                    continue
                body, end = expansion
                if not _TOKEN.fullmatch(body) and _AWAITED.search(text[max(0, start - _MAX_AWAITED) : start]):
                    body = f"{{{body}}}"
            elif definition := _DEFINITION.match(text, start):
                after = self._define(definition)
                if after is None:
                    continue
                end = after
            else:
                continue
            _add(pieces, Piece(text[at:start], at, copied=True))
            _add(pieces, Piece(body, start))
            at = end
        _add(pieces, Piece(text[at:], at, copied=True))
        return pieces

    def _call(self, macro: Macro, text: str, at: int, calls: tuple[Macro | None, ...]) -> tuple[str, int] | None:
        """Returns the expansion of a call whose arguments begin at `at`, and where they end; None where one lacks."""
        self._budget.spend(_STEPS_OF_CALL + len(calls))
        arguments: list[str] = []
        if macro.default is not None:
            option = self._option(text, at)
            default, at = option or (macro.default, at)
            arguments.append(default)
        while len(arguments) < macro.parameters:
            argument = self._argument(text, at)
            if argument is None:
                return None
            arguments.append(argument[0])
            at = argument[1]
        arguments = [self._expanded(each, (*calls, None)) for each in arguments]
        values = {"##": "#"} | {f"#{number}": argument for number, argument in enumerate(arguments, start=1)}
        parts = [values.get(part, part) for part in _PARAMETER.split(macro.body)]
        self._budget.spend(sum(map(len, parts)))
        pieces: list[Piece] = []
        for part in parts:
            _add(pieces, Piece(part, at))
        body = self._expanded("".join(piece.text for piece in pieces), (*calls, macro))
        last = _CONTROL_WORD_AT_END.search(body[-_MAX_AWAITED:])
        following = self._macros.get(last[1]) if last else None
        if last and following and following.parameters and following not in (*calls, macro) and len(calls) < MAX_DEPTH:
            # The arguments of a call that ends a body are behind the call of the body.
            more = self._call(following, text, at, (*calls, None))
            body, at = (body[: -len(last[1])] + more[0], more[1]) if more else (body, at)
        return body, at

    def _expanded(self, text: str, calls: tuple[Macro | None, ...]) -> str:
        return "".join(piece.text for piece in self.pieces(text, calls))

    def _define(self, definition: re.Match[str]) -> int | None:
        """Remembers what a definition defines, and returns where it ends; None where it cannot be read."""
        self._budget.spend(_STEPS_OF_DEFINITION)
        text, at = definition.string, definition.end()
        name = definition["braced"] or definition["bare"]
        parameters = re.findall("[0-9]", definition["parameters"])
        count = int(definition["count"] or len(parameters))
        if definition["definer"] in {"def", "gdef"}:
            in_order = "".join(parameters) == "123456789"[:count]
            valid = in_order and text[at : at + 1] == "{" and not (definition["star"] or definition["count"])
        else:
            valid = not parameters and (definition["count"] is not None or text[at : at + 1] != "[")
        default, at = (self._option(text, at) if definition["count"] and count else None) or (None, at)
        argument = self._argument(text, at) if valid and name not in PROTECTED else None
        if argument is None:
            return None
        body, end = argument
        if definition["definer"] == "DeclareMathOperator":
            body = f"\\operatorname{definition['star']}{{{body}}}"
        if definition["definer"] != "providecommand" or name not in self._macros:
            self._macros[name] = Macro(body, count, default)
        return end

    def _option(self, text: str, at: int) -> tuple[str, int] | None:
        """Returns an argument in brackets and where it ends; None where there is none."""
        bracket = _BRACKET.match(text, at)
        return self._until("]", text, bracket.end()) if bracket else None

    def _argument(self, text: str, at: int) -> tuple[str, int] | None:
        """Returns an argument in braces or of one token, and where it ends; None where there is none."""
        token = _TOKEN.match(text, at)
        if token is None or token[1] != "{":
            return (token[1], token.end()) if token else None
        return self._until("}", text, token.end())

    def _until(self, closing: str, text: str, start: int) -> tuple[str, int] | None:
        """Returns what is before `closing` outside of braces, and where that ends; None where there is none."""
        depth = 0
        for edge in _EDGE.finditer(text, start):
            if edge[0] == closing and not depth:
                self._budget.spend(edge.end() - start)
                return text[start : edge.start()], edge.end()
            depth += (edge[0] == "{") - (edge[0] == "}")
            if depth < 0:
                break
        self._budget.spend(len(text) - start)
        return None


def _add(pieces: list[Piece], piece: Piece) -> None:
    """Adds a piece; two tokens never become one."""
    if pieces and _LETTER.match(piece.text) and _CONTROL_WORD_AT_END.search(pieces[-1].text[-_MAX_AWAITED:]):
        piece = Piece(f" {piece.text}", piece.origin - piece.copied, piece.copied)
    if piece.text:
        pieces.append(piece)
