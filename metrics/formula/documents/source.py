"""Reads LaTeX text as TeX does: removes comments and skipped conditionals, and expands the author's macros."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...common.budget import Budget
from ..latex.commands import FONTS, FRACTIONS, MARKS, OPTIONAL_THEN_ONE, STACKS, TEXTS

MAX_DEPTH = 60
"""A call nested deeper in the expansions and arguments of other calls is left unchanged."""
PROTECTED = frozenset({"\\begin", "\\end", "\\csname", "\\endcsname", "\\expandafter", "\\relax", "\\\\"})
"""Commands that a text cannot redefine."""

_STEPS_PER_CALL = 40
_STEPS_PER_DEFINITION = 15
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|.)", re.DOTALL)
_DEFINITION = re.compile(
    r"\\(?P<definer>g?def|(?:re)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)(?![A-Za-z@])"
    rf"\s*(?P<star>\*?)\s*(?:\{{\s*(?P<braced>{_COMMAND.pattern})\s*\}}|(?P<bare>{_COMMAND.pattern}))"
    r"(?P<parameters>(?:\s*#[0-9])*)\s*(?:\[\s*(?P<count>[0-9]?)\s*\]\s*)?",
    re.DOTALL,
)
"""The beginning of a definition, up to its default or its body."""
_TOKEN = re.compile(rf"\s*({_COMMAND.pattern}|[^}}\s])", re.DOTALL)
_BRACKET = re.compile(r"\s*\[")
_EDGE = re.compile(r"\\.|[{}\]]", re.DOTALL)
_PARAMETER = re.compile(rf"({_COMMAND.pattern}|#[#1-9])", re.DOTALL)
_LETTER = re.compile(r"[A-Za-z@]")
_CONTROL_WORD_AT_END = re.compile(r"(?<!\\)(?:\\\\)*(\\[A-Za-z@]+)\Z")
_ONE_ARGUMENT = "|".join(name[1:] for name in (*MARKS, *TEXTS, *FONTS, *OPTIONAL_THEN_ONE, "\\operatorname"))
_TWO_ARGUMENTS = "|".join(name[1:] for name in (*STACKS, *FRACTIONS))
_AWAITED = re.compile(
    rf"\\(?:(?:{_ONE_ARGUMENT})(?:\[[^\[\]]*\])?|(?:{_TWO_ARGUMENTS})\s*"
    r"(?:[^\\{}\s]|\\(?:[A-Za-z]+|[^A-Za-z\s]))?)\s*\Z"
)
"""Commands that still await an argument, at the end of what precedes a call."""
_TWO_AWAITED = re.compile(rf"\\(?:{_TWO_ARGUMENTS})\s*\Z")
_MAX_AWAITED = 100
_ESCAPE_AT_END = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_MARK = re.compile(
    r"%[^\n]*"
    r"|\\begin[ \t]*\{(?P<environment>comment|(?:[BL]?[Vv]erbatim|lstlisting|minted|filecontents)\*?)\}"
    r"|(?P<inline>\\(?:verb|lstinline))(?:(?<=verb)\*|(?<=inline)\[[^\]\n]{0,200}\])?(?P<quote>[^A-Za-z@*\s])"
    r"|\\(?:url|path|href|nolinkurl)[ \t]*\{(?P<address>[^{}\n]*)\}"
    r"|\\newif\s*\\if[A-Za-z@]+"
    r"|(?P<conditional>\\if(?!f(?![A-Za-z@]))[A-Za-z@]*)(?![A-Za-z@{])"
    r"|\\(?:[A-Za-z@]+|.)",
    re.DOTALL,
)
_NOT_EVALUATED = re.compile(
    r"\\(?:let|(?:re)?newcommand)\s*(?:\{?\\[A-Za-z@]+\}?|\\csname[^\\]*\\endcsname)\s*(?:=\s*)?\\[A-Za-z@]+"
    r"|\\iffalse(?=(?:\s|%[^\n]*\n)*\}(?!\s*\\fi))"
)
"""A command given to another, and an `\\iffalse` that ends the body of a definition: `\\def\\ifdraft{\\iffalse}`."""
_MAX_QUOTED = 2_000
_REST_OF_BLANK_LINE = re.compile(r"[ \t\r]*\n")
_VISIBLE = re.compile(r"\S")


def visible_source(source: str) -> str:
    """Returns LaTeX text with blanks for what TeX skips or takes verbatim; every other character keeps its place.

    - An unescaped `%` and the rest of its line. The line break stays, unless nothing else is on the line: a blank line
      would end the paragraph.
    - `\\iffalse ... \\fi`. Conditionals within it nest: commands but `\\iff` that begin with `\\if`, with no brace
      behind. What is between its `\\else` and its `\\fi` stays. What only gives `\\iffalse` to another command, by
      `\\let`, as a body or at the end of one, skips nothing.
    - `\\begin{comment} ... \\end{comment}`, which does not nest.
    - What is inside of the environments verbatim, Verbatim, lstlisting, minted and filecontents, of `\\verb` and
      `\\lstinline`, and the address of `\\url`, `\\href`, `\\path` and `\\nolinkurl`. There, line breaks stay. What is
      never closed, `\\verb` within 2,000 characters, is not verbatim.

    Where `\\iffalse` or the comment environment is never closed, the rest of the text goes, as in TeX. The time is
    linear in the length.

    >>> visible_source("a % b\\n100\\\\% c")
    'a    \\n100\\\\% c'
    """
    parts: list[str] = []
    end, blank_line = 0, True
    for start, stop, hides_line in _hidden(source):
        written = source[end:start]
        _, line_break, line = written.rpartition("\n")
        blank_line = (blank_line or bool(line_break)) and not line.strip()
        if not hides_line:
            shown = _VISIBLE.sub(" ", source[start:stop])
        else:
            rest = _REST_OF_BLANK_LINE.match(source, stop) if blank_line else None
            stop = rest.end() if rest else stop
            shown = " " * (stop - start)
        parts += [written, shown]
        end = stop
    return "".join([*parts, source[end:]])


def _hidden(source: str) -> Iterator[tuple[int, int, bool]]:
    """Yields (start, end, skipped) of what TeX skips, including its line breaks, or takes verbatim."""
    unclosed: set[str] = set()
    live: list[bool] = []  # the open conditionals; True for an \iffalse whose \else has been passed
    false_start, depth = -1, 0
    position = 0
    while mark := _MARK.search(source, position):
        token, start, position = mark.group(), mark.start(), mark.end()
        name, quoted, quoted_end = mark["environment"], position, -1
        if mark["quote"]:
            quoted_end = _quoted_end(source, mark["quote"], quoted)
            position = mark.end("inline") if quoted_end < 0 else quoted_end + 1
        if false_start >= 0:
            if mark["conditional"]:
                depth += 1
            elif token == "\\fi" and depth:
                depth -= 1
            elif token == "\\fi" or (token == "\\else" and not depth):
                yield false_start, position, True
                false_start = -1
                live += [True] if token == "\\else" else []
        elif given := _NOT_EVALUATED.match(source, start):
            position = given.end()
        elif token[0] == "%":
            yield start, position, True
        elif name == "comment":
            end = source.find("\\end{comment}", position)
            position = end + len("\\end{comment}") if end >= 0 else len(source)
            yield start, position, True
        elif token == "\\iffalse":
            false_start = start
        elif mark["conditional"]:
            live.append(False)
        elif token == "\\fi":
            if live and live.pop():
                yield start, position, True
        elif name and name not in unclosed:
            end = source.find(f"\\end{{{name}}}", position)
            if end >= 0:
                yield position, end, False
                position = end
            else:
                unclosed.add(name)
        elif quoted_end > quoted:
            yield quoted, quoted_end, False
        elif mark["address"]:
            yield position - 1 - len(mark["address"]), position - 1, False
    if false_start >= 0:
        yield false_start, len(source), True


def _quoted_end(source: str, quote: str, start: int) -> int:
    """Returns the end of what `\\verb` takes from `start` on, in the same line; -1 if it is never closed."""
    end = source.find("}" if quote == "{" else quote, start, start + _MAX_QUOTED + 1)
    return end if end < 0 or source.find("\n", start, end) < 0 else -1


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """The definition of a command; its default is None unless the first argument is optional."""

    body: str
    parameters: int = 0
    default: str | None = None


class Expansion(NamedTuple):
    """A text with its macros expanded. origins: where each character, or the call that made it, was in the source."""

    text: str
    origins: array[int]

    def cut(self, start: int, end: int) -> Expansion:
        """Returns the part from `start` to before `end`."""
        return Expansion(self.text[start:end], self.origins[start:end])


def _written(text: str, origin: int) -> Expansion:
    """Returns text that is not in the source; `origin` is the origin of each character."""
    return Expansion(text, array("i", [origin]) * len(text))


def _joined(parts: Iterable[Expansion]) -> Expansion:
    """Joins the parts of a text, with a blank if two tokens would otherwise become one."""
    texts, origins = [""], array("i")
    for text, places in parts:
        if _LETTER.match(text) and _CONTROL_WORD_AT_END.search(texts[-1][-_MAX_AWAITED:]):
            texts.append(" ")
            origins.append(places[0])
        if text:
            texts.append(text)
            origins += places
    return Expansion("".join(texts), origins)


def _is_escaped(text: str, at: int) -> bool:
    return _ESCAPE_AT_END.search(text, max(0, at - _MAX_AWAITED), at) is not None


def expand_macros(text: str, budget: Budget) -> Expansion:
    """Returns LaTeX text without comments, with its author's macros expanded and their definitions removed.

    Definitions are `\\newcommand \\renewcommand \\providecommand \\DeclareRobustCommand` (with or without a star),
    `\\DeclareMathOperator` and its starred form (which become `\\operatorname`), and `\\def` and `\\gdef` with nothing
    between their parameters. A definition holds from its place to the end of the text; a later one replaces an earlier
    one, and a definition in a body takes effect when the body is expanded.

    A call that is an argument without braces, as in `\\frac\\half 2`, is put into braces, since TeX reads it as
    one argument. Left unchanged are a call within its own expansion, a call without the arguments that its
    definition requires, and a definition that cannot be read. No conditional is evaluated.
    Blanks after a call without arguments stay, though TeX skips them: they leave no ink in a formula.

    A character that is read, of the text, of an argument or of a body, costs a step, a call 40, a definition 15.

    Raises OutOfBudget.

    >>> expand_macros("\\\\newcommand{\\\\R}{\\\\mathbb{R}}x \\\\in \\\\R", Budget(1000)).text
    'x \\\\in \\\\mathbb{R}'
    """
    return _Expander(budget).expanded(Expansion(text, array("i", range(len(text)))), ())


class _Expander:
    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._macros: dict[str, Macro] = {}

    def expanded(self, source: Expansion, calls: tuple[Macro | None, ...]) -> Expansion:
        """Returns a text expanded; calls: the macros whose bodies it comes from, and None for each argument."""
        text = source.text
        self._budget.spend(len(text))
        parts: list[Expansion] = []
        at = 0
        for command in _COMMAND.finditer(text):
            start, end = command.span()
            if start < at:
                continue
            macro = self._macro(command[0])
            body = Expansion("", array("i"))
            if macro and macro not in calls and len(calls) < MAX_DEPTH:
                call = self._call(macro, source, start, end, calls)
                if call is None:
                    continue
                body, end = call
                if not _TOKEN.fullmatch(body.text) and self._is_argument(text, start):
                    origin = source.origins[start]
                    body = _joined([_written("{", origin), body, _written("}", origin)])
            elif definition := _DEFINITION.match(text, start):
                after = self._define(definition)
                if after is None:
                    continue
                end = after
            else:
                continue
            parts += [source.cut(at, start), body]
            at = end
        return _joined([*parts, source.cut(at, len(text))])

    def _is_argument(self, text: str, start: int) -> bool:
        """Returns whether what is at `start` is an argument without braces of a command before it."""
        before = text[max(0, start - _MAX_AWAITED) : start]
        end = start - len(before) + len(before.rstrip())
        if text[end - 1 : end] != "}" or _is_escaped(text, end - 1):
            return _AWAITED.search(before) is not None
        group = self._group_start(text, end)
        return _TWO_AWAITED.search(text[max(0, group - _MAX_AWAITED) : group]) is not None

    def _group_start(self, text: str, end: int) -> int:
        """Returns the start of the group that ends before `end`; 0 if nothing opens it."""
        depth = 0
        for at in range(end - 1, -1, -1):
            if text[at] in "{}" and not _is_escaped(text, at):
                depth += 1 if text[at] == "}" else -1
                if not depth:
                    self._budget.spend(end - at)
                    return at
        self._budget.spend(end)
        return 0

    def _macro(self, name: str) -> Macro | None:
        """Returns the macro of a command, or None. If its body is the name of another macro, it is that macro."""
        macro = self._macros.get(name)
        for _ in range(MAX_DEPTH):
            if macro is None or macro.parameters or macro.body.strip() not in self._macros:
                break
            macro = self._macros[macro.body.strip()]
        return macro

    def _call(
        self, macro: Macro, source: Expansion, start: int, at: int, calls: tuple[Macro | None, ...]
    ) -> tuple[Expansion, int] | None:
        """Returns the expansion of the call at `start`, and the end of its arguments; None if they are missing."""
        self._budget.spend(_STEPS_PER_CALL + len(calls))
        origin = source.origins[start]
        arguments: list[Expansion] = []
        if macro.default is not None:
            option = self._option(source.text, at)
            arguments.append(source.cut(*option[:2]) if option else _written(macro.default, origin))
            at = option[2] if option else at
        while len(arguments) < macro.parameters:
            argument = self._argument(source.text, at)
            if argument is None:
                return None
            arguments.append(source.cut(*argument[:2]))
            at = argument[2]
        values = {f"#{number}": self.expanded(each, (*calls, None)) for number, each in enumerate(arguments, start=1)}
        values["##"] = _written("#", origin)
        parts = [values.get(part) or _written(part, origin) for part in _PARAMETER.split(macro.body)]
        self._budget.spend(sum(len(part.text) for part in parts))
        return self.expanded(_joined(parts), (*calls, macro)), at

    def _define(self, definition: re.Match[str]) -> int | None:
        """Stores a definition and returns the index after it; None if it cannot be read."""
        self._budget.spend(_STEPS_PER_DEFINITION)
        text, at = definition.string, definition.end()
        name = definition["braced"] or definition["bare"]
        parameters = re.findall("[0-9]", definition["parameters"])
        count = int(definition["count"] or len(parameters))
        if definition["definer"] in {"def", "gdef"}:
            in_order = "".join(parameters) == "123456789"[:count]
            valid = in_order and text[at : at + 1] == "{" and not (definition["star"] or definition["count"])
        else:
            valid = not parameters and (definition["count"] is not None or text[at : at + 1] != "[")
        option = self._option(text, at) if definition["count"] and count else None
        at = option[2] if option else at
        argument = self._argument(text, at) if valid and name not in PROTECTED else None
        if argument is None:
            return None
        body, end = text[argument[0] : argument[1]], argument[2]
        if definition["definer"] == "DeclareMathOperator":
            body = f"\\operatorname{definition['star']}{{{body}}}"
        if definition["definer"] != "providecommand" or name not in self._macros:
            self._macros[name] = Macro(body, count, text[option[0] : option[1]] if option else None)
        return end

    def _option(self, text: str, at: int) -> tuple[int, int, int] | None:
        """Returns the start and end of an argument in brackets, and where the text continues; None if it is absent."""
        bracket = _BRACKET.match(text, at)
        return self._until("]", text, bracket.end()) if bracket else None

    def _argument(self, text: str, at: int) -> tuple[int, int, int] | None:
        """Returns the same for an argument in braces or of one token."""
        token = _TOKEN.match(text, at)
        if token is None or token[1] != "{":
            return (*token.span(1), token.end()) if token else None
        return self._until("}", text, token.end())

    def _until(self, closing: str, text: str, start: int) -> tuple[int, int, int] | None:
        """Returns `start`, the place of `closing` outside braces, and the place after it; None without `closing`."""
        depth = 0
        for edge in _EDGE.finditer(text, start):
            if edge[0] == closing and not depth:
                self._budget.spend(edge.end() - start)
                return start, *edge.span()
            depth += (edge[0] == "{") - (edge[0] == "}")
            if depth < 0:
                break
        self._budget.spend(len(text) - start)
        return None
