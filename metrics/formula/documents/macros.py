"""Expansion of the macros that the author of a LaTeX text has defined in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...common.budget import Budget, OutOfBudget

MAX_RUN = 64
"""Plain text is read in runs of at most this many characters, so that taking one off costs little."""
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
_TOKEN = re.compile(rf"\\(?:[A-Za-z@]+|.)|[{{}}#\[\]*=]|\s+|[^\\{{}}#\[\]*=\s]{{1,{MAX_RUN}}}|\\", re.DOTALL)
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|.)", re.DOTALL)
_CONTROL_WORD_AT_END = re.compile(r"\\[A-Za-z@]+\Z")
_LETTER = re.compile(r"[A-Za-z@]")
_ONE_ARGUMENT = (
    "acute|bar|boldsymbol|bm|breve|check|d?dot|grave|hat|math(?:bb|bf|cal|frak|it|ring|rm|scr|sf|tt)|operatorname|"
    "overline|sqrt|text|text(?:bf|it|rm)|tilde|underline|vec|widehat|widetilde"
)
_AWAITED = re.compile(
    rf"\\(?:(?:{_ONE_ARGUMENT})(?:\[[^\[\]]*\])?|(?:[cdt]?frac|[dt]?binom|overset|stackrel|underset)\s*"
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
    """A command, a brace, white space or a run of plain text.

    origin: where it is in the source; for what a macro made, where the outermost call is.
    calls: the macros that it is from the body of, the outermost first; none where it is written in the source.
    """

    text: str
    origin: int
    calls: tuple[Macro, ...] = ()


@dataclass(slots=True)
class Expansion:
    """A text with its macros expanded, made of pieces of its source.

    starts: where each piece begins in `text`, rising. origins: where its first character is in the source.
    """

    text: str = ""
    starts: list[int] = field(default_factory=lambda: [0])
    origins: list[int] = field(default_factory=lambda: [0])

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

    Raises OutOfBudget, naming the macro that was called last.

    >>> expand_macros("\\\\newcommand{\\\\R}{\\\\mathbb{R}}x \\\\in \\\\R", Budget(1000)).text
    'x \\\\in \\\\mathbb{R}'
    """
    if DEFINERS.isdisjoint(_COMMAND.findall(text)):
        budget.spend(len(text))
        return Expansion(text)
    expander = _Expander(text, budget)
    try:
        return expander.expanded()
    except OutOfBudget as passed:
        where = f"; the macro last called was {expander.last_call[:40]}" if expander.last_call else ""
        raise OutOfBudget(passed.side, f"{passed.message}{where}") from None


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
        self._length = 0
        self._expansion = Expansion()
        self.last_call = ""

    def expanded(self) -> Expansion:
        macros = self._macros
        while True:
            self._copy_plain_text()
            self._read.clear()
            token = self._next()
            if token is None:
                break
            try:
                if token.text in macros:
                    self._call(token, macros[token.text])
                elif token.text in DEFINERS:
                    self._define(token.text)
                else:
                    self._write(token.text, token.origin)
            except _NotUnderstood:
                self._front += reversed(self._read[1:])
                self._write(token.text, token.origin)
        self._expansion.text = "".join(self._parts)
        return self._expansion

    def _copy_plain_text(self) -> None:
        """Writes the text up to the next macro or definition; it costs no steps but those of writing."""
        if self._front:
            return
        start, end = self._position, len(self._text)
        for command in _COMMAND.finditer(self._text, start):
            if command.group() in self._macros or command.group() in DEFINERS:
                end = command.start()
                break
        self._position = end
        self._write(self._text[start:end], start)

    def _write(self, text: str, origin: int) -> None:
        if not text:
            return
        self._budget.spend(len(text))
        if self._parts and _LETTER.match(text) and _CONTROL_WORD_AT_END.search(self._parts[-1][-_MAX_AWAITED:]):
            text, origin = f" {text}", origin - 1  # two tokens never become one
        expansion = self._expansion
        if expansion.origins[-1] + self._length - expansion.starts[-1] != origin:
            expansion.starts.append(self._length)
            expansion.origins.append(origin)
        self._parts.append(text)
        self._length += len(text)

    def _next(self) -> Token | None:
        self._budget.spend(_STEPS_OF_TOKEN)
        if self._front:
            token = self._front.pop()
        else:
            match = _TOKEN.match(self._text, self._position)
            if match is None:
                return None
            token = Token(match.group(), self._position)
            self._position = match.end()
        self._read.append(token)
        return token

    def _visible(self) -> Token:
        """Reads the next token that is not blank; of plain text, its first character alone."""
        token = self._next()
        while token is not None and token.text.isspace():
            token = self._next()
        if token is None:
            raise _NotUnderstood
        text = token.text
        if len(text) > 1 and text[0] != "\\":
            self._front.append(Token(text[1:], token.origin + (not token.calls), token.calls))
            token = self._read[-1] = Token(text[0], token.origin, token.calls)
        return token

    def _follows(self, text: str) -> bool:
        """Reads the next visible token if it is `text`."""
        read = len(self._read)
        try:
            if self._visible().text == text:
                return True
        except _NotUnderstood:
            pass
        self._front += reversed(self._read[read:])
        del self._read[read:]
        return False

    def _until(self, closing: str) -> list[Token]:
        """Reads up to `closing` outside of braces, and returns what is before it."""
        tokens: list[Token] = []
        depth = 0
        while (token := self._next()) is not None:
            if not depth and token.text == closing:
                return tokens
            depth += (token.text == "{") - (token.text == "}")
            tokens.append(token)
            if depth < 0:
                break
        raise _NotUnderstood

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
        self.last_call = token.text
        calls = (*token.calls, macro)
        self._budget.spend(_STEPS_OF_CALL + len(calls))
        if macro in token.calls:
            raise _NotUnderstood
        arguments: list[list[Token]] = []
        if macro.default is not None:
            option = self._until("]") if self._follows("[") else None
            self._budget.spend(2 * len(macro.default))
            arguments.append([Token(each, token.origin, calls) for each in macro.default] if option is None else option)
        while len(arguments) < macro.parameters:
            arguments.append(self._argument())
        self._budget.spend(sum(1 if isinstance(part, str) else len(arguments[part - 1]) for part in macro.body))
        body: list[Token] = []
        for part in macro.body:
            body += [Token(part, token.origin, calls)] if isinstance(part, str) else arguments[part - 1]
        whole = len(body) == 1 and (len(body[0].text) == 1 or body[0].text[0] == "\\")
        if not whole and _AWAITED.search("".join(part[-_MAX_AWAITED:] for part in self._parts[-8:])):
            body = [Token("{", token.origin, token.calls), *body, Token("}", token.origin, token.calls)]
        self._front += reversed(body)

    def _define(self, definer: str) -> None:
        """Reads a definition behind its command, and remembers what it defines."""
        self._budget.spend(_STEPS_OF_DEFINITION)
        if definer in PRIMITIVES:
            name = self._name()
            count = 0
            while self._follows("#"):
                count += 1
                if count > 9 or self._visible().text != str(count):
                    raise _NotUnderstood
            if not self._follows("{"):
                raise _NotUnderstood
            self._macros[name] = Macro(_body(self._until("}"), count), count)
            return
        star = ("*",) if self._follows("*") else ()
        name = self._name()
        if definer == "\\DeclareMathOperator":
            self._macros[name] = Macro(("\\operatorname", *star, "{", *_body(self._argument(), 0), "}"))
            return
        digits = "".join(token.text for token in self._until("]")).strip() if self._follows("[") else ""
        digits = digits or "0"
        if digits not in set("0123456789"):
            raise _NotUnderstood
        default = None
        if digits != "0" and self._follows("["):
            default = tuple(token.text for token in self._until("]"))
        macro = Macro(_body(self._argument(), int(digits)), int(digits), default)
        if definer != "\\providecommand" or name not in self._macros:
            self._macros[name] = macro


def _body(tokens: Sequence[Token], parameters: int) -> tuple[str | int, ...]:
    """A body with its `#1` as numbers and its `##` as `#`."""
    parts: list[str | int] = []
    sharp = False
    for token in tokens:
        text = token.text
        if sharp and text[0] in "123456789" and int(text[0]) <= parameters:
            parts += [int(text[0]), *([text[1:]] if text[1:] else [])]
        elif sharp:
            parts += ["#", *([text] if text != "#" else [])]
        elif text != "#":
            parts.append(text)
        sharp = text == "#" and not sharp
    return (*parts, "#") if sharp else tuple(parts)
