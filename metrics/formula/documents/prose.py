"""Whether a stretch of text reads as mathematics or as prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTING = (
    "text|textrm|textbf|textit|textsf|texttt|textsc|textup|textnormal|mbox|hbox|intertext|shortintertext|mathrm|mathbf|"
    "mathit|mathsf|mathtt|operatorname|label|tag|begin|end"
)
_RUNNING = "(?:sub)*section|paragraph|cite[a-z]*|ref|eqref|item|footnote|caption|emph|url|href|noindent|par"
_LETTER = r"[^\W\d_]"
_PIECE = re.compile(
    rf"(?P<quoted>\\(?:{_QUOTING})\*?\s*\{{[^{{}}]*\}})"
    rf"|(?P<running>\\(?:{_RUNNING})(?![A-Za-z])|\$[^$]+\$|^[ \t]*\#{{1,6}}[ \t])"
    r"|(?P<sign>\\[A-Za-z]+|\\\\|[=+<>&]|[_^](?=\s*[{\\\w]))"
    r"|\\."
    rf"|(?P<word>(?<![\w\\{{^_@]){_LETTER}{{2,}}(?![\w}}^_{{(]))",
    re.DOTALL | re.MULTILINE,
)
_FIRST_IDEOGRAPH = "\u2e80"

MAX_EVIDENCE = 300
_EVIDENCE_OF_PIECE = 25
_RUNNING_WORDS = 2
_WORDS_OF_PROSE = 3


def evidence(text: str) -> int:
    """Returns how far `text` reads as mathematics: from -300 for prose to 300.

    Words `w` are runs of three or more letters outside commands, scripts and the arguments of `\\text` and its kin; a
    heading, a citation or inline mathematics counts as two. Signs `s` are commands, relations, `+`, `&`, scripts and
    line breaks. The result is `25 min(s + w, 12) (s - w) / (s + w)`; without either, 25 where there is a letter or a
    digit and no word of two letters, else -25; 0 for blank text. The time is linear in the length.
    """
    signs = words = short = 0
    for _, weight in _pieces(text):
        if not weight:
            short += 1
        elif weight > 0:
            words += weight
        else:
            signs -= weight
    count = signs + words
    if not count:
        if not text.strip():
            return 0
        mathematics = any(map(str.isalnum, text)) and not short
        return _EVIDENCE_OF_PIECE if mathematics else -_EVIDENCE_OF_PIECE
    strength = min(_EVIDENCE_OF_PIECE * count, MAX_EVIDENCE) * abs(signs - words) // count
    return strength if signs > words else -strength


def word_count(text: str) -> int:
    """Returns the words of `text`, counted as in `evidence`."""
    return sum(weight for _, weight in _pieces(text) if weight > 0)


def prose_start(text: str) -> int:
    """Returns where the first three words without a sign between them begin; the length of `text` where none do."""
    start, words = 0, 0
    for position, weight in _pieces(text):
        if weight <= 0:
            words = 0 if weight else words
            continue
        start = start if words else position
        words += weight
        if words >= _WORDS_OF_PROSE:
            return start
    return len(text)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where each word (its weight above 0, or 0 if it has two letters) and each sign (-1) is."""
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "sign":
            yield piece.start(), -1
        elif kind == "running":
            yield piece.start(), _RUNNING_WORDS
        elif kind == "word":
            word = piece.group()
            yield piece.start(), len(word) // 2 if word[0] >= _FIRST_IDEOGRAPH else min(len(word) - 2, 1)
