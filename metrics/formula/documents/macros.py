"""Expansion of the macros that the author of a LaTeX text has defined in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...common.budget import Budget, OutOfBudget
from .awaited import AWAITING, AwaitedArguments
from .definitions import (
    DEFINERS,
    PREFIXES,
    Definition,
    Macro,
    Surroundings,
    read_arguments,
    read_definition,
    read_star,
)
from .token_reader import Call, Token, TokenReader
from .trace import TracedText, Tracer
from .verbatim import COMMANDS

_DOCUMENT = re.compile(r"\\begin[ \t]*\{document\}")
_DEFINER = re.compile("|".join(rf"{re.escape(definer)}(?![A-Za-z@])" for definer in sorted(DEFINERS)))
_ENDS_IN_LETTER = re.compile(r"\\[A-Za-z@]+\Z")
_GROUP_EDGES = {"{": (True, "{"), "}": (False, "{"), "\\begin": (True, "\\begin"), "\\end": (False, "\\begin")}
"""What begins and ends a group: whether it begins one, and of which kind."""
_NOT_PLAIN = frozenset({*DEFINERS, *PREFIXES, *COMMANDS, *_GROUP_EDGES, *AWAITING})
_NOT_EXPANDING = frozenset({"\\noexpand", "\\protect", "\\unexpanded"})
_STEPS_OF_CALL = 5
_STEPS_OF_DEFINITION = 15
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz@")


def expand_macros(text: str, budget: Budget) -> str:
    """Returns LaTeX text, without comments, with its author's macros expanded; see `expanded`.

    >>> expand_macros("\\\\newcommand{\\\\R}{\\\\mathbb{R}}x \\\\in \\\\R", Budget(1000))
    'x \\\\in \\\\mathbb{R}'
    """
    return expanded(text, budget).text


def expanded(text: str, budget: Budget) -> TracedText:
    """Returns LaTeX text, without comments, with its author's macros expanded and their definitions taken out.

    Definitions are `\\newcommand \\renewcommand \\providecommand \\DeclareRobustCommand` (with or without a star),
    `\\DeclareMathOperator` and its starred form (which become `\\operatorname`), `\\DeclarePairedDelimiter` and
    `\\DeclarePairedDelimiterX`, `\\def \\edef \\gdef \\xdef` with numbered parameters and any text between them, and
    `\\let`. They hold from where they are, as TeX reads: a later one replaces an earlier one, and what a body defines
    is defined when it is expanded. From `\\begin{document}` on (where there is none, from the start) they end with the
    braces or the environment that they are in, save for `\\gdef`, `\\xdef`, `\\global`, operators and paired
    delimiters. The body of `\\edef` and `\\xdef` is expanded at the definition, save for what follows `\\noexpand` or
    `\\protect` and what is inside `\\unexpanded{..}`.

    A call that is an argument without braces, as in `\\frac\\half 2`, is put into braces, since TeX takes it
    whole. A call within its own expansion is left unchanged, and so is a call without the arguments that its
    definition asks for, and a definition that cannot be read. No conditional is evaluated. Verbatim stretches stay.
    Blanks after a call without arguments stay, though TeX skips them: they leave no ink in a formula.

    A token that is read costs two steps, a character that is written and a call nested in a call one; a call
    costs five besides, a definition 15.

    Raises OutOfBudget, naming the macro that was called last.
    """
    if not _DEFINER.search(text):
        budget.spend(len(text))
        return TracedText(text, [0], [0])
    return _Expander(text, budget).expanded()


class _Scopes:
    """The macros in force, and what to put back where a group ends."""

    def __init__(self) -> None:
        self.macros: dict[str, Macro] = {}
        self._open: list[str] = []
        self._replaced: dict[int, dict[str, Macro | None]] = {}
        self._levels: dict[str, set[int]] = {}
        """For each command the groups that have something of it to put back."""

    def open(self, kind: str) -> None:
        self._open.append(kind)

    def close(self, kind: str) -> None:
        """Ends the innermost group, if it is of this kind; a stray end is passed over."""
        if not self._open or self._open[-1] != kind:
            return
        level = len(self._open)
        for name, macro in self._replaced.pop(level, {}).items():
            self._levels[name].discard(level)
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
            for level in self._levels.pop(name, ()):
                del self._replaced[level][name]
        elif self._open:
            level = len(self._open)
            self._replaced.setdefault(level, {}).setdefault(name, existing)
            self._levels.setdefault(name, set()).add(level)
        self.macros[name] = definition.macro


class _Expander:
    def __init__(self, text: str, budget: Budget) -> None:
        document = _DOCUMENT.search(text)
        self._scoped_from = document.start() if document else 0
        self._reader = TokenReader(text, budget)
        self._budget = budget
        self._scopes = _Scopes()
        self._written = Tracer()
        self._awaited = AwaitedArguments()
        self._after_command = False
        self._last_call = ""

    def expanded(self) -> TracedText:
        try:
            self._run()
        except OutOfBudget as passed:
            where = f"; the macro last called was {self._last_call[:40]}" if self._last_call else ""
            raise OutOfBudget(passed.side, f"{passed.message}{where}") from None
        return self._written.finished()

    def _run(self) -> None:
        reader, macros = self._reader, self._scopes.macros
        while True:
            if not self._awaited.count:
                self._write_plain(*reader.read_plain(_NOT_PLAIN, macros))
            token = reader.next_token()
            if token is None:
                return
            text = token.text
            if text in macros:
                self._call(token, macros[text])
            elif text in DEFINERS:
                self._define(token, [])
            elif text in PREFIXES:
                self._prefixed(token)
            else:
                self._write(token)
                if text in _GROUP_EDGES:
                    self._mark_group(token, *_GROUP_EDGES[text])

    def _mark_group(self, token: Token, opens: bool, kind: str) -> None:
        if token.origin < self._scoped_from:
            return
        if opens:
            self._scopes.open(kind)
        else:
            self._scopes.close(kind)

    def _write(self, token: Token) -> None:
        self._awaited.write(token.text)
        self._write_plain(token.text, token.origin, token.text)

    def _write_plain(self, text: str, origin: int, last_token: str) -> None:
        if not text:
            return
        self._budget.spend(len(text))
        written = self._written
        if self._after_command and text[0] in _LETTERS:
            written.append(" ", origin)
        written.append(text, origin)
        self._after_command = last_token[0] == "\\" and _ENDS_IN_LETTER.match(last_token) is not None

    def _define(self, token: Token, prefixes: list[Token]) -> None:
        """Reads a definition; one that cannot be read is written unchanged."""
        self._reader.begin()
        self._reader.charge(_STEPS_OF_DEFINITION)
        surroundings = Surroundings(self._scopes.macros, self._expanded_body)
        definition = read_definition(self._reader, token.text, surroundings)
        if definition is None:
            self._reader.backtrack()
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
            self._reader.backtrack()
            self._write(token)

    def _call(self, token: Token, macro: Macro) -> None:
        """Puts the expansion of a call in front of what is still to be read."""
        replacement = self._replacement(token, macro)
        if replacement is None:
            self._write(token)
        elif macro.final:
            for final in replacement:
                self._write(final)
        elif self._awaited.count and not _is_one_piece(replacement):
            braces = Token("{", token.origin, token.call), Token("}", token.origin, token.call)
            self._reader.put_in_front([braces[0], *replacement, braces[1]])
        else:
            self._reader.put_in_front(replacement)

    def _replacement(self, token: Token, macro: Macro) -> list[Token] | None:
        """What a call stands for; None, with nothing read, where it is left unchanged."""
        self._last_call = token.text
        depth = token.call.depth + 1 if token.call else 1
        self._reader.charge(_STEPS_OF_CALL + depth)
        if _is_under_expansion(macro, token.call):
            return None
        call = Call(macro, token.call, depth)
        self._reader.begin()
        taken = read_star(self._reader, macro)
        arguments = read_arguments(self._reader, taken, token.origin, call)
        if arguments is None:
            self._reader.backtrack()
            return None
        self._reader.charge(taken.size(arguments))
        return taken.replaced(arguments, token.origin, call)

    def _expanded_body(self, body: Sequence[Token]) -> list[Token]:
        """The body of an `\\edef`, its macros expanded by what they stand for now."""
        end = Token("}", body[-1].origin if body else 0, None)
        self._reader.put_in_front([*body, end])
        result: list[Token] = []
        depth = 0
        while (token := self._reader.next_token()) is not None:
            depth += (token.text == "{") - (token.text == "}")
            if depth < 0:
                break
            if token.text in _NOT_EXPANDING:
                result += self._kept(token)
                continue
            macro = self._scopes.macros.get(token.text)
            replacement = None if macro is None or macro.final else self._replacement(token, macro)
            if replacement is None:
                result.append(token)
            else:
                self._reader.put_in_front(replacement)
        return result

    def _kept(self, command: Token) -> list[Token]:
        """What `command`, one of `\\noexpand \\protect \\unexpanded`, keeps from being expanded."""
        self._reader.begin()
        following = self._reader.read_visible()
        if following is not None and command.text == "\\unexpanded" and following.text == "{":
            group = self._reader.read_group(following)
            if group is not None:
                return group
        if following is None or following.text in ("{", "}"):
            self._reader.backtrack()
            return []
        return [following]


def _is_under_expansion(macro: Macro, call: Call | None) -> bool:
    while call is not None:
        if call.macro is macro:
            return True
        call = call.parent
    return False


def _is_one_piece(tokens: Sequence[Token]) -> bool:
    return len(tokens) == 1 and (len(tokens[0].text) == 1 or tokens[0].text[0] == "\\")
