"""Displayed formulas of a text, in reading order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from metrics.formula.documents.comments import strip_comments, without_comments
from metrics.formula.documents.content import DISPLAYED, bare, without_labels
from metrics.formula.documents.macros import ExpansionLimits, expanded
from metrics.formula.documents.verbatim import COMMANDS, Verbatim

_ENVIRONMENT = r"\\(?P<edge>begin|end)\s*\{\s*(?P<name>[A-Za-z]+\*?)\s*\}"
_BLANK_LINE = r"\n[ \t\r]*\n\s*"
_MARK = re.compile(rf"{_ENVIRONMENT}|\\(?:[A-Za-z@]+|.)|\$\$?|{_BLANK_LINE}", re.DOTALL)
_NO_BLANK_LINE = r"[^$\\\n]*(?:(?:\\.|\n(?![ \t\r]*\n))[^$\\\n]*)*"
_INLINE = re.compile(rf"\${_NO_BLANK_LINE}\$", re.DOTALL)
_MARKDOWN_INLINE = re.compile(r"\$(?![\s$])(?:[^$\\\n]|\\.|\n(?![ \t\r]*\n)){1,2000}(?<!\s)\$(?!\d)", re.DOTALL)
_DOCUMENT_EDGE = re.compile(r"\\(?P<edge>begin|end)[ \t]*\{document\}|\\(?:[A-Za-z@]+|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Formula:
    """One displayed formula.

    latex: what to typeset, without delimiters, labels and tags; rows stand in `aligned` or `gathered`.
    content: the same without that environment, to compare with.
    offset: where its opening delimiter stands in the source; for one that a macro made, where the macro was called.
    closed: whether its closing delimiter was found.
    """

    latex: str
    content: str
    offset: int
    closed: bool = True


def latex_formulas(source: str, limits: ExpansionLimits | None = None) -> list[Formula]:
    """Returns the displayed formulas of a LaTeX source, its comments stripped and its author's macros expanded.

    Only what stands between `\\begin{document}` and `\\end{document}` counts; a source without them counts whole.

    Raises ExpansionLimit where its macros grow beyond `limits`.
    """
    uncommented = without_comments(source)
    text = expanded(uncommented.text, limits)
    start, end = document_body(text.text)
    found = displayed_formulas(text.text[:end], start)
    return [
        Formula(each.latex, each.content, uncommented.origin(text.origin(each.offset)), each.closed) for each in found
    ]


def document_body(text: str) -> tuple[int, int]:
    """Returns where the body of a LaTeX text begins and ends; all of it where it has no `\\begin{document}`."""
    verbatim = Verbatim(text)
    position, start = 0, 0
    while command := _DOCUMENT_EDGE.search(text, position):
        edge, position = command.group("edge"), command.end()
        if edge == "begin" and not start:
            start = position
        elif edge == "end":
            return start, command.start()
        elif edge is None and command.group() in COMMANDS:
            position = verbatim.end(command.start()) or position
    return start, len(text)


def displayed_formulas(text: str, start: int = 0, *, markdown: bool = False) -> list[Formula]:
    """Returns the displayed formulas of `text` from `start` on; those without content are left out.

    Displayed are `equation align gather multline eqnarray displaymath alignat flalign`, with or without *, and
    `\\[ \\]` and `$$ $$`. One within another (`$$\\begin{align}..\\end{align}$$`, not LaTeX but common) counts once.
    A formula whose closing delimiter is missing ends at the next blank line or displayed formula, whichever is first,
    or at the end of the text. `$$` cannot tell opening from closing, so a blank line always ends it, unless the
    closing `$$` follows at once.

    In LaTeX a single `$` opens inline mathematics up to the next `$` of the paragraph, and verbatim stretches are
    passed over. With `markdown`, `$` does so only where no blank follows the first and none precedes the last, since
    it may be a price; there is no verbatim; and a formula's own `%` comments are stripped here.

    The time is linear in the length.
    """
    return _Scanner(text, start, markdown).formulas()


class _Opening(NamedTuple):
    """What opened a formula: `\\[`, `$$` or the name of an environment; and where."""

    kind: str
    offset: int
    content: int


class _Scanner:
    def __init__(self, text: str, start: int, markdown: bool) -> None:
        self._text = text
        self._position = start
        self._markdown = markdown
        self._verbatim = Verbatim(text)

    def formulas(self) -> list[Formula]:
        found: list[Formula] = []
        while mark := _MARK.search(self._text, self._position):
            self._position = mark.end()
            opening = self._opening(mark)
            if opening is None:
                continue
            end, self._position, closed = _Closing(self._text, opening).found()
            raw = self._text[opening.content : end]
            content = without_labels(strip_comments(raw) if self._markdown else raw)
            content, latex = bare(content, opening.kind if opening.kind in DISPLAYED else "")
            if content:
                found.append(Formula(latex, content, opening.offset, closed))
        return found

    def _opening(self, mark: re.Match[str]) -> _Opening | None:
        """The formula that opens at `mark`; where none does, the position is set behind what opens there instead."""
        token, start = mark.group(), mark.start()
        if mark.group("edge") == "begin" and mark.group("name") in DISPLAYED:
            return _Opening(mark.group("name"), start, mark.end())
        if token in ("\\[", "$$"):
            return _Opening(token, start, mark.end())
        if token == "$":
            inline = (_MARKDOWN_INLINE if self._markdown else _INLINE).match(self._text, start)
            self._position = inline.end() if inline else mark.end()
        elif not self._markdown and (token in COMMANDS or mark.group("edge") == "begin"):
            self._position = self._verbatim.end(start) or mark.end()
        return None


class _Closing:
    """Finds where a formula ends: the end of its content, where to read on, and whether it was closed."""

    def __init__(self, text: str, opening: _Opening) -> None:
        self._text = text
        self._opening = opening
        self._nested = 0
        self._inline = False
        self._pause = -1
        """Where the first blank line stands after some content."""
        self._possible = -1
        """Where a `$$` stands that was taken for the end of one inline formula and the beginning of another."""

    def found(self) -> tuple[int, int, bool]:
        position = self._opening.content
        while mark := _MARK.search(self._text, position):
            position = mark.end()
            token = mark.group()
            if token[0] == "\n":
                end = self._at_blank_line(mark)
            elif token[0] == "$":
                end = self._at_dollars(mark)
            elif mark.group("edge"):
                end = self._at_environment(mark)
            elif token == "\\[":
                end = self._unclosed(mark.start())
            else:
                end = self._closed(mark) if token == "\\]" and self._opening.kind == "\\[" else None
            if end:
                return end
        return self._unclosed(len(self._text))

    def _closed(self, mark: re.Match[str]) -> tuple[int, int, bool]:
        return mark.start(), mark.end(), True

    def _unclosed(self, stop: int) -> tuple[int, int, bool]:
        if self._possible >= 0:
            return self._possible, self._possible + 2, True
        end = self._pause if self._pause >= 0 else stop
        return end, end, False

    def _at_blank_line(self, mark: re.Match[str]) -> tuple[int, int, bool] | None:
        if self._pause < 0:
            if not self._text[self._opening.content : mark.start()].strip():
                return None
            self._pause = mark.start()
        self._inline = False
        if self._opening.kind != "$$":
            return None
        if self._possible < 0 and self._text.startswith("$$", mark.end()):
            return mark.start(), mark.end() + 2, True
        return self._unclosed(mark.start())

    def _at_dollars(self, mark: re.Match[str]) -> tuple[int, int, bool] | None:
        if mark.group() == "$":
            self._inline = not self._inline
        elif self._inline:
            if self._possible < 0 and self._opening.kind == "$$":
                self._possible = mark.start()
        else:
            return self._closed(mark) if self._opening.kind == "$$" else self._unclosed(mark.start())
        return None

    def _at_environment(self, mark: re.Match[str]) -> tuple[int, int, bool] | None:
        if mark.group("name") not in DISPLAYED:
            return None
        in_environment = self._opening.kind in DISPLAYED
        if mark.group("edge") == "begin":
            if in_environment or self._pause >= 0:
                return self._unclosed(mark.start())
            self._nested += 1
        elif self._nested:
            self._nested -= 1
        elif in_environment:
            return self._closed(mark)
        return None
