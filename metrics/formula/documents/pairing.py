"""Which delimiters of displayed formulas belong together, also where some are missing or stray.

`\\[ \\]` and environments say whether they open or close, `$$` does not. An even number of `$$` is paired in order,
whatever is between them. An odd number has one that is forgotten or stray, which would turn all the rest inside out.
Only then the `$$` of a text are paired together, by dynamic programming over them in order. Each either forms a
formula with its neighbour or is unpaired. A stretch between neighbours scores its evidence for mathematics
(`metrics.formula.documents.prose`) if it is a formula, minus that if it is text; each unpaired `$$` costs 200.
The highest sum wins; of equal ones, the one whose formulas begin first.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ...common.budget import Budget
from .delimiters import Delimiter, delimiters
from .prose import MAX_EVIDENCE, evidence, prose_start, word_count

COST_OF_LONE_DOLLARS = 200
_EVIDENCE_OF_DISPLAY_WITHIN = 100
_EVIDENCE_OF_WORD = 25
_IMPOSSIBLE = -(10**12)
_VISIBLE = re.compile(r"[^\s>]")


@dataclass(frozen=True, slots=True)
class Display:
    """A displayed formula: where it opens, where its content begins and ends, and where the text goes on.

    name: `$$`, `[` or the name of its environment.
    closed: whether its closing delimiter was found.
    """

    name: str
    offset: int
    start: int
    end: int
    after: int
    closed: bool = True


def displays(text: str, budget: Budget, start: int = 0, *, markdown: bool = False) -> list[Display]:
    """Returns the displayed formulas of `text` from `start` on, in order; one within another is part of it.

    `$$` are paired as the module says; no formula between `$$` has a blank line in it. `\\[` and environments nest and
    are closed by the next `\\]` or `\\end` of their kind, with or without a star (where none of the kind is open, by
    the end of any), unless there are displayed formulas within them and also a blank line or three words in a row.
    What is not closed ends at the next blank line behind some content, at the next delimiter, at three words in a row,
    or at the end of the text, whichever comes first; behind a `$$` it is no formula where it reads as prose. The time
    is that of sorting the delimiters; each of them costs 20 steps of the budget.
    """
    return _Pairing(text, delimiters(text, budget, start, markdown=markdown)).displays()


@dataclass(slots=True)
class _Open:
    """An environment or `\\[` that is open.

    content: where its content begins, blanks left out.
    inside: the closed ones directly within it.
    dollars: whether `$$` are within it. broken: whether it cannot be closed any more.
    """

    delimiter: Delimiter
    content: int
    inside: deque[Display] = field(default_factory=deque)
    dollars: bool = False
    broken: bool = False


class _Pairing:
    def __init__(self, text: str, found: Sequence[Delimiter]) -> None:
        self._text = text
        self._blanks = [each for each in found if each.role == "blank"]
        self._blank_starts = [blank.start for blank in self._blanks]
        self._starts = [each.start for each in found if each.role != "blank"]
        self._stack: list[_Open] = []
        self._open_kinds: dict[str, int] = {}
        self._closed: list[Display] = []
        unclosed = self._match_explicit(found)
        self._closed.sort(key=_offset)
        self._offsets = [display.offset for display in self._closed]
        self._unclosed = sorted(unclosed, key=lambda each: each.start)
        self._unclosed_starts = [each.start for each in self._unclosed]
        self._dollars = [
            each for each in found if each.role == "dollars" and not _covers(self._closed, self._offsets, each.start)
        ]

    def displays(self) -> list[Display]:
        pairs, lone = self._paired_dollars()
        pair_offsets = [pair.offset for pair in pairs]
        whole = [each for each in self._closed if not _covers(pairs, pair_offsets, each.offset)]
        whole = sorted([*whole, *pairs], key=_offset)
        offsets = [display.offset for display in whole]
        cut = [self._cut(each) for each in self._unclosed if not _covers(whole, offsets, each.start)]
        cut += [each for each in map(self._cut, lone) if evidence(self._text[each.start : each.end]) >= 0]
        return sorted([*whole, *cut], key=_offset)

    def _match_explicit(self, found: Sequence[Delimiter]) -> list[Delimiter]:
        """Fills `_closed` with the outermost environments and `\\[ \\]`; returns the openings without an end."""
        unclosed: list[Delimiter] = []
        stack = self._stack
        for delimiter in found:
            if delimiter.role == "open":
                while stack and self._has_blank_line(stack[-1].content, delimiter.start):
                    unclosed.append(self._abandon())
                stack.append(_Open(delimiter, self._content(delimiter.end)))
                self._open_kinds[_kind(delimiter)] = self._open_kinds.get(_kind(delimiter), 0) + 1
            elif delimiter.role == "close":
                unclosed += self._close(delimiter)
            elif delimiter.role == "dollars" and stack:
                stack[-1].dollars = True
        while stack:
            unclosed.append(self._abandon())
        return unclosed

    def _close(self, closing: Delimiter) -> list[Delimiter]:
        """Closes what `closing` closes; returns the openings that this leaves without an end."""
        kind, stack = _kind(closing), self._stack
        unclosed: list[Delimiter] = []
        if self._open_kinds.get(kind):
            while _kind(stack[-1].delimiter) != kind:
                unclosed.append(self._abandon())
        elif not stack or "[" in (kind, _kind(stack[-1].delimiter)):
            return unclosed
        opened = stack[-1]
        if opened.broken or self._is_broken(opened, closing.start):
            unclosed.append(self._abandon(broken=True))
            return unclosed
        self._pop()
        opening = opened.delimiter
        display = Display(opening.name, opening.start, opening.end, closing.start, closing.end)
        (stack[-1].inside if stack else self._closed).append(display)
        return unclosed

    def _abandon(self, broken: bool = False) -> Delimiter:
        """Takes back what was opened last; what is closed within it counts by itself."""
        opened = self._pop()
        if not self._stack:
            self._closed += opened.inside
            return opened.delimiter
        outer = self._stack[-1]
        if len(outer.inside) < len(opened.inside):
            opened.inside.extendleft(reversed(outer.inside))
            outer.inside = opened.inside
        else:
            outer.inside += opened.inside
        outer.dollars |= opened.dollars
        outer.broken |= opened.broken or broken
        return opened.delimiter

    def _pop(self) -> _Open:
        opened = self._stack.pop()
        self._open_kinds[_kind(opened.delimiter)] -= 1
        return opened

    def _is_broken(self, opened: _Open, end: int) -> bool:
        """Whether it is unlikely that an opening with displayed formulas behind it belongs to the end at `end`."""
        if not opened.inside and not opened.dollars:
            return False
        start, inside = opened.delimiter.end, opened.inside
        prose = any(prose_start(part) < len(part) for part in self._own_text(start, end, inside))
        return prose or self._has_blank_line(opened.content, end, inside)

    def _paired_dollars(self) -> tuple[list[Display], list[Delimiter]]:
        """The formulas between `$$`, and the unpaired `$$`."""
        dollars = self._dollars
        if len(dollars) % 2 == 0:
            return [_between(left, right) for left, right in zip(dollars[::2], dollars[1::2], strict=True)], []
        gains = [self._gain(left.end, right.start) for left, right in pairwise(dollars)]
        as_text = [0, *(MAX_EVIDENCE if gain is None else -gain for gain in gains)]
        best = [0]
        paired = []
        for index in range(len(dollars)):
            alone = best[index] + as_text[index] - COST_OF_LONE_DOLLARS
            gain = gains[index - 1] if index else None
            pair = _IMPOSSIBLE if gain is None else best[index - 1] + as_text[index - 1] + gain
            best.append(max(alone, pair))
            paired.append(pair > alone)
        pairs: list[Display] = []
        lone: list[Delimiter] = []
        index = len(dollars) - 1
        while index >= 0:
            right = dollars[index]
            if paired[index]:
                pairs.append(_between(dollars[index - 1], right))
                index -= 1
            else:
                lone.append(right)
            index -= 1
        return pairs[::-1], lone

    def _gain(self, start: int, end: int) -> int | None:
        """The evidence that what is between two `$$` is a formula; None where it cannot be one."""
        inside = self._closed[bisect_left(self._offsets, start) : bisect_left(self._offsets, end)]
        opened = self._unclosed[bisect_left(self._unclosed_starts, start) : bisect_left(self._unclosed_starts, end)]
        begins_with_environment = bool(opened) and opened[0].start == self._content(start) and opened[0].name != "["
        if opened and (inside or not begins_with_environment):
            return None
        if self._has_blank_line(self._content(start), end, inside):
            return None
        own = " ".join(self._own_text(start, end, inside))
        if not inside:
            return evidence(own)
        words = word_count(own)
        return max(-MAX_EVIDENCE, -_EVIDENCE_OF_WORD * words) if words else _EVIDENCE_OF_DISPLAY_WITHIN

    def _cut(self, opening: Delimiter) -> Display:
        """The formula behind an opening delimiter without an end."""
        start = opening.end
        following = bisect_left(self._starts, start)
        end = self._starts[following] if following < len(self._starts) else len(self._text)
        blank = bisect_left(self._blank_starts, self._content(start))
        end = min(end, self._blank_starts[blank]) if blank < len(self._blanks) else end
        end = start + prose_start(self._text[start:end])
        return Display(opening.name or "$$", opening.start, start, end, end, closed=False)

    def _content(self, start: int) -> int:
        """The place of the first character from `start` on that is not blank, and no `>` of a quote."""
        visible = _VISIBLE.search(self._text, start)
        return visible.start() if visible else len(self._text)

    def _has_blank_line(self, content: int, end: int, inside: Collection[Display] = ()) -> bool:
        """Whether there is a blank line between `content` and something before `end`, outside of `inside`."""
        index = bisect_left(self._blank_starts, content)
        for display in (*inside, None):
            stop = display.offset if display else end
            if index < len(self._blanks) and self._blank_starts[index] < stop:
                return display is not None or self._blanks[index].end < end
            if display:
                index = bisect_left(self._blank_starts, display.after)
        return False

    def _own_text(self, start: int, end: int, inside: Collection[Display]) -> list[str]:
        """What is between `start` and `end` outside of `inside`."""
        edges = [start, *(edge for display in inside for edge in (display.offset, display.after)), end]
        return [self._text[left:right] for left, right in zip(edges[::2], edges[1::2], strict=True)]


def _between(left: Delimiter, right: Delimiter) -> Display:
    return Display("$$", left.start, left.end, right.start, right.end)


def _offset(display: Display) -> int:
    return display.offset


def _kind(delimiter: Delimiter) -> str:
    return delimiter.name.rstrip("*")


def _covers(disjoint: Sequence[Display], offsets: Sequence[int], position: int) -> bool:
    """Whether one of the displays, which are in order, has `position` in it."""
    before = bisect_right(offsets, position) - 1
    return before >= 0 and position < disjoint[before].after
