"""Expansion of the macros that the author of a LaTeX text has defined in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from ...common.budget import Budget
from ..latex.commands import FONTS, FRACTIONS, MARKS, STACKS, TEXTS

PROTECTED = frozenset({"\\begin", "\\end", "\\csname", "\\endcsname", "\\expandafter", "\\relax", "\\\\"})
"""Commands that stay what they are, whatever a text defines."""

PRIMITIVES = frozenset({"\\def", "\\gdef"})
DEFINERS = PRIMITIVES | {
    *("\\newcommand", "\\renewcommand", "\\providecommand", "\\DeclareRobustCommand", "\\DeclareMathOperator")
}
"""The commands that define others."""

_STEPS_OF_TOKEN = 2
_STEPS_OF_CALL = 5
_STEPS_OF_DEFINITION = 15
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|.)", re.DOTALL)
_TOKEN = re.compile(rf"{_COMMAND.pattern}|\s+|.", re.DOTALL)
_CONTROL_WORD_AT_END = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Za-z@]+\Z")
_LETTER = re.compile(r"[A-Za-z@]")
_ONE_ARGUMENT = "|".join(name[1:] for name in (*MARKS, *TEXTS, *FONTS, "\\sqrt", "\\operatorname"))
_TWO_ARGUMENTS = "|".join(name[1:] for name in (*STACKS, *FRACTIONS))
_AWAITED = re.compile(
    rf"\\(?:(?:{_ONE_ARGUMENT})(?:\[[^\[\]]*\])?|(?:{_TWO_ARGUMENTS})\s*"
    r"(?:\{[^{}]*\}|[^\\{}\s]|\\[A-Za-z]+(?![A-Za-z]))?)\s*\Z"
)
"""Commands that still await an argument, at the end of what is written."""
_MAX_AWAITED = 100


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """What a command stands for.

    body: texts of tokens, and the numbers (from 1) of parameters.
    default: the first argument where a call has none in brackets; None where the first argument is not optional.
    """

    body: tuple[str | int, ...]
    parameters: int = 0
    default: tuple[str, ...] | None = None


class Token(NamedTuple):
    """A command, white space or a character.

    origin: where it is in the source; for what a macro made, where the outermost call is.
    calls: the macros that it is from the body of, the outermost first; none where it is written in the source.
    """

    text: str
    origin: int
    calls: tuple[Macro, ...] = ()


class Expansion(NamedTuple):
    """A text with its macros expanded, made of pieces of its source.

    starts: where each piece begins in `text`, rising. origins: where its first character is in the source.
    """

    text: str
    starts: Sequence[int] = (0,)
    origins: Sequence[int] = (0,)

    def origin(self, offset: int) -> int:
        """Returns where in the source the character at `offset` of the text came from."""
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + offset - self.starts[piece]


class _NotUnderstood(Exception):
    """The tokens that come next are not what the construct asks for."""


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

    A token that is read costs two steps, a character that is written and a call nested in a call one; a call
    costs five besides, a definition 15.

    Raises OutOfBudget.

    >>> expand_macros("\\\\newcommand{\\\\R}{\\\\mathbb{R}}x \\\\in \\\\R", Budget(1000)).text
    'x \\\\in \\\\mathbb{R}'
    """
    return _Expander(text, budget).expanded()


class _Expander:
    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._budget = budget
        self._position = 0
        self._front: list[Token] = []
        """Tokens to be read before the text goes on, the next one last."""
        self._read: list[Token] = []
        """What was read of the construct that is being read, so that it can be put back."""
        self._macros: dict[str, Macro] = {}
        self._parts: list[str] = []
        self._tail = ""
        """The end of what is written."""
        self._length = 0
        self._starts, self._origins = [0], [0]

    def expanded(self) -> Expansion:
        self._copy_plain_text()
        while self._front or self._position < len(self._text):
            self._read.clear()
            token = self._next()
            try:
                if macro := self._macros.get(token.text):
                    self._call(token, macro)
                elif token.text in DEFINERS:
                    self._define(token.text)
                else:
                    self._write(token.text, token.origin)
            except _NotUnderstood:
                self._put_back(1)
                self._write(token.text, token.origin)
            self._copy_plain_text()
        return Expansion("".join(self._parts), self._starts, self._origins)

    def _copy_plain_text(self) -> None:
        """Writes the text up to the next macro or definition; it costs no steps but those of writing."""
        if self._front:
            return
        commands = _COMMAND.finditer(self._text, self._position)
        found = (each.start() for each in commands if each[0] in self._macros or each[0] in DEFINERS)
        start, self._position = self._position, next(found, len(self._text))
        self._write(self._text[start : self._position], start)

    def _write(self, text: str, origin: int) -> None:
        self._budget.spend(len(text))
        if _LETTER.match(text) and _CONTROL_WORD_AT_END.search(self._tail):
            text, origin = f" {text}", origin - 1  # two tokens never become one
        if self._origins[-1] + self._length - self._starts[-1] != origin:
            self._starts.append(self._length)
            self._origins.append(origin)
        self._parts.append(text)
        self._length += len(text)
        self._tail = (self._tail + text[-_MAX_AWAITED:])[-_MAX_AWAITED:]

    def _next(self) -> Token:
        """Reads a token."""
        self._budget.spend(_STEPS_OF_TOKEN)
        if self._front:
            token = self._front.pop()
        elif match := _TOKEN.match(self._text, self._position):
            token, self._position = Token(match[0], self._position), match.end()
        else:
            raise _NotUnderstood
        self._read.append(token)
        return token

    def _put_back(self, read: int) -> None:
        """Puts back what was read of the construct after its first `read` tokens."""
        self._front += reversed(self._read[read:])
        del self._read[read:]

    def _visible(self) -> Token:
        """Reads the next token that is not blank."""
        while (token := self._next()).text.isspace():
            pass
        return token

    def _follows(self, text: str) -> bool:
        """Reads the next visible token if it is `text`."""
        read = len(self._read)
        with suppress(_NotUnderstood):
            if self._visible().text == text:
                return True
        self._put_back(read)
        return False

    def _until(self, closing: str) -> list[Token]:
        """Reads up to `closing` outside of braces, and returns what is before it."""
        tokens: list[Token] = []
        depth = 0
        while (token := self._next()).text != closing or depth:
            depth += (token.text == "{") - (token.text == "}")
            if depth < 0:
                raise _NotUnderstood
            tokens.append(token)
        return tokens

    def _argument(self) -> list[Token]:
        """Reads an argument in braces or of one token."""
        first = self._visible()
        if first.text == "}":
            raise _NotUnderstood
        return self._until("}") if first.text == "{" else [first]

    def _name(self) -> str:
        """Reads the command that a definition names, in braces or not."""
        in_braces = self._follows("{")
        name = self._visible().text
        if name[0] != "\\" or name == "\\" or name in PROTECTED or (in_braces and not self._follows("}")):
            raise _NotUnderstood
        return name

    def _call(self, token: Token, macro: Macro) -> None:
        """Puts the expansion of a call in front of what is still to be read."""
        calls = (*token.calls, macro)
        self._budget.spend(_STEPS_OF_CALL + len(calls))
        if macro in token.calls:
            raise _NotUnderstood
        arguments: list[list[Token]] = []
        if macro.default is not None:
            self._budget.spend(2 * len(macro.default))
            default = [Token(text, token.origin, calls) for text in macro.default]
            arguments.append(self._until("]") if self._follows("[") else default)
        while len(arguments) < macro.parameters:
            arguments.append(self._argument())
        self._budget.spend(sum(1 if isinstance(part, str) else len(arguments[part - 1]) for part in macro.body))
        body: list[Token] = []
        for part in macro.body:
            body += [Token(part, token.origin, calls)] if isinstance(part, str) else arguments[part - 1]
        if len(body) != 1 and _AWAITED.search(self._tail):
            body = [Token("{", token.origin, token.calls), *body, Token("}", token.origin, token.calls)]
        self._front += reversed(body)

    def _define(self, definer: str) -> None:
        """Reads a definition behind its command, and remembers what it defines."""
        self._budget.spend(_STEPS_OF_DEFINITION)
        star = ("*",) if definer not in PRIMITIVES and self._follows("*") else ()
        name = self._name()
        default = None
        count = 0
        if definer in PRIMITIVES:
            while self._follows("#"):
                count += 1
                if self._visible().text != str(count):
                    raise _NotUnderstood
            if not self._follows("{"):
                raise _NotUnderstood
            self._put_back(len(self._read) - 1)
        elif definer != "\\DeclareMathOperator" and self._follows("["):
            digits = "".join(token.text for token in self._until("]")).strip() or "0"
            if digits not in set("0123456789"):
                raise _NotUnderstood
            count = int(digits)
            if count and self._follows("["):
                default = tuple(token.text for token in self._until("]"))
        body = _body(self._argument(), count)
        if definer == "\\DeclareMathOperator":
            body = ("\\operatorname", *star, "{", *body, "}")
        if definer != "\\providecommand" or name not in self._macros:
            self._macros[name] = Macro(body, count, default)


def _body(tokens: Sequence[Token], parameters: int) -> tuple[str | int, ...]:
    """A body with its `#1` as numbers and its `##` as `#`."""
    parts: list[str | int] = []
    texts = iter([token.text for token in tokens])
    for text in texts:
        following = next(texts, "#") if text == "#" else ""
        if following in set("123456789"[:parameters]):
            parts.append(int(following))
        else:
            parts += [text] if following in {"", "#"} else [text, following]
    return tuple(parts)
