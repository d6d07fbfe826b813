"""Expansion of the macros that the author of a LaTeX text has defined in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metrics.formula.documents.awaited import AwaitedArguments
from metrics.formula.documents.definitions import (
    DEFINERS,
    PREFIXES,
    Definition,
    Macro,
    read_arguments,
    read_definition,
)
from metrics.formula.documents.tokens import Call, ExpansionLimit, Token, TokenReader
from metrics.formula.documents.trace import TracedText, Tracer

_DOCUMENT = re.compile(r"\\begin[ \t]*\{document\}")
_DEFINER = re.compile("|".join(rf"{re.escape(definer)}(?![A-Za-z@])" for definer in sorted(DEFINERS)))
_ENDS_IN_LETTER = re.compile(r"\\[A-Za-z@]+\Z")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz@")


@dataclass(frozen=True, slots=True)
class ExpansionLimits:
    """How far macros may grow a text before it is given up.

    steps: tokens read, besides one for each character of the text.
    characters: characters written, besides those of the text.
    depth: calls within the expansion of calls.
    """

    steps: int = 1_000_000
    characters: int = 4_000_000
    depth: int = 200


def expand_macros(text: str, limits: ExpansionLimits | None = None) -> str:
    """Returns LaTeX text, without comments, with its author's macros expanded; see `expanded`.

    >>> expand_macros("\\\\newcommand{\\\\R}{\\\\mathbb{R}}x \\\\in \\\\R")
    'x \\\\in \\\\mathbb{R}'
    """
    return expanded(text, limits).text


def expanded(text: str, limits: ExpansionLimits | None = None) -> TracedText:
    """Returns LaTeX text, without comments, with its author's macros expanded and their definitions taken out.

    Definitions are `\\newcommand \\renewcommand \\providecommand \\DeclareRobustCommand` (with or without a star),
    `\\DeclareMathOperator` and its starred form (which give `\\operatorname`), `\\def \\edef \\gdef \\xdef` with
    numbered parameters and any text between them, and `\\let`. They hold from where they stand, as TeX reads: a
    later one replaces an earlier one, and what a body defines is defined when it is expanded. From
    `\\begin{document}` on (where there is none, from the start) they end with the braces or the environment that they
    stand in, save for `\\gdef`, `\\xdef`, `\\global` and operators. The body of `\\edef` and `\\xdef` is expanded where
    it is used.

    A call that stands as an argument without braces, as in `\\frac\\half 2`, is put into braces, since TeX takes it
    whole. A call within its own expansion is left as it stands, and so is a call without the arguments that its
    definition asks for, and a definition that cannot be read. No conditional is evaluated. Verbatim stretches stay.

    Raises ExpansionLimit where the text grows beyond `limits`.
    """
    if not _DEFINER.search(text):
        return TracedText(text, [0], [0])
    return _Expander(text, limits or ExpansionLimits()).expanded()


class _Scopes:
    """The macros in force, and what to put back where a group ends."""

    def __init__(self) -> None:
        self.macros: dict[str, Macro] = {}
        self._open: list[str] = []
        self._replaced: dict[int, dict[str, Macro | None]] = {}

    def open(self, kind: str) -> None:
        self._open.append(kind)

    def close(self, kind: str) -> None:
        """Ends the innermost group, if it is of this kind; a stray end is passed over."""
        if not self._open or self._open[-1] != kind:
            return
        for name, macro in self._replaced.pop(len(self._open), {}).items():
            if macro is None:
                del self.macros[name]
            else:
                self.macros[name] = macro
        self._open.pop()

    def define(self, definition: Definition, everywhere: bool) -> None:
        name = definition.command
        existing = self.macros.get(name)
        if definition.keeps_existing and existing is not None:
            return
        if everywhere or definition.everywhere:
            for replaced in self._replaced.values():
                replaced.pop(name, None)
        elif self._open:
            self._replaced.setdefault(len(self._open), {}).setdefault(name, existing)
        self.macros[name] = definition.macro


class _Expander:
    def __init__(self, text: str, limits: ExpansionLimits) -> None:
        document = _DOCUMENT.search(text)
        self._scoped_from = document.start() if document else 0
        self._reader = TokenReader(text, limits.steps + len(text))
        self._scopes = _Scopes()
        self._written = Tracer()
        self._most_written = limits.characters + len(text)
        self._deepest = limits.depth
        self._awaited = AwaitedArguments()
        self._after_command = False
        self._last_call = ""

    def expanded(self) -> TracedText:
        try:
            self._run()
        except ExpansionLimit as passed:
            where = f"; the macro last called was {self._last_call[:40]}" if self._last_call else ""
            raise ExpansionLimit(f"{passed}{where}") from None
        return self._written.finished()

    def _run(self) -> None:
        reader, macros = self._reader, self._scopes.macros
        while (token := reader.next_token()) is not None:
            text = token.text
            if text[0] != "\\":
                self._write(token)
                if text == "{" or text == "}":
                    self._mark_group(token, opens=text == "{", kind="{")
            elif text in macros:
                self._call(token, macros[text])
            elif text in DEFINERS:
                self._define(token, [])
            elif text in PREFIXES:
                self._prefixed(token)
            else:
                self._write(token)
                if text == "\\begin" or text == "\\end":
                    self._mark_group(token, opens=text == "\\begin", kind="\\begin")

    def _mark_group(self, token: Token, opens: bool, kind: str) -> None:
        if token.origin < self._scoped_from:
            return
        if opens:
            self._scopes.open(kind)
        else:
            self._scopes.close(kind)

    def _write(self, token: Token) -> None:
        text, written = token.text, self._written
        self._awaited.write(text)
        if self._after_command and text[0] in _LETTERS:
            written.append(" ", token.origin)
        written.append(text, token.origin)
        self._after_command = text[0] == "\\" and _ENDS_IN_LETTER.match(text) is not None
        if written.length > self._most_written:
            raise ExpansionLimit(f"macro expansion wrote more than {self._most_written:,} characters")

    def _define(self, token: Token, prefixes: list[Token]) -> None:
        """Reads a definition; one that cannot be read is written as it stands."""
        self._reader.begin()
        definition = read_definition(self._reader, token.text, self._scopes.macros)
        if definition is None:
            self._reader.give_up()
            for unread in (*prefixes, token):
                self._write(unread)
            return
        self._scopes.define(definition, everywhere=any(prefix.text == "\\global" for prefix in prefixes))

    def _prefixed(self, token: Token) -> None:
        """Reads `\\global` and its kin, and the definition after them."""
        prefixes = [token]
        self._reader.begin()
        following = self._reader.read_visible()
        while following is not None and following.text in PREFIXES and len(prefixes) < len(PREFIXES):
            prefixes.append(following)
            following = self._reader.read_visible()
        if following is not None and following.text in DEFINERS and following.text not in self._scopes.macros:
            self._define(following, prefixes)
        else:
            self._reader.give_up()
            self._write(token)

    def _call(self, token: Token, macro: Macro) -> None:
        """Puts the expansion of a call in front of what is still to be read."""
        self._last_call = token.text
        depth = token.call.depth + 1 if token.call else 1
        if depth > self._deepest:
            raise ExpansionLimit(f"macro expansion is nested deeper than {self._deepest}")
        self._reader.charge(depth)
        if _is_under_expansion(macro, token.call):
            self._write(token)
            return
        call = Call(macro, token.call, depth)
        self._reader.begin()
        arguments = read_arguments(self._reader, macro, token.origin, call)
        if arguments is None:
            self._reader.give_up()
            self._write(token)
            return
        if not macro.start and not macro.delimiters and token.text[-1] in _LETTERS:
            self._reader.skip_blanks_after_command()
        self._reader.charge(macro.size(arguments))
        replacement = macro.replaced(arguments, token.origin, call)
        if macro.final:
            for final in replacement:
                self._write(final)
        elif self._awaited.count and not _is_one_piece(replacement):
            braces = Token("{", token.origin, call), Token("}", token.origin, call)
            self._reader.put_in_front([braces[0], *replacement, braces[1]])
        else:
            self._reader.put_in_front(replacement)


def _is_under_expansion(macro: Macro, call: Call | None) -> bool:
    while call is not None:
        if call.macro is macro:
            return True
        call = call.parent
    return False


def _is_one_piece(tokens: Sequence[Token]) -> bool:
    return len(tokens) == 1 and (len(tokens[0].text) == 1 or tokens[0].text[0] == "\\")
