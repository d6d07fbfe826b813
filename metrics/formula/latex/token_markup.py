"""Writes LaTeX in which each token of a normal form is marked, so that the output shows which ink belongs to it.

A mark is `MARK{n}` before a token and `UNMARK` after it; both are active characters that a formula cannot contain,
and both leave a \\special in the output. Scripts stay next to their nucleus: they come between it and its UNMARK,
under `MARK{}`, so the ink in them belongs to no token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..limits import typesetting_steps
from . import commands
from .normal_form import NormalForm, Unbalanced, after_option, closing

MARK = "\x01"
UNMARK = "\x02"
SWALLOWING_MARK = "\x03"
MAX_DEPTH = 150

_WITHOUT_BOX = re.compile(r"\{|\}|\\begin\{.*?\}|\\end\{.*?\}|\^|_|\\.*rule.*|\\.*line.*|[\[\]].")
_SCRIPTS = frozenset({"^", "_"})
_NO_SCRIPT = frozenset({"^", "_", "}", "&", "\\\\"})
_OPENING = re.compile(r"\\(?:begin|left)(?![A-Za-z])")
_OVER_AND_UNDER = frozenset({"\\frac", "\\binom"})
_TAKING_ARGUMENTS = commands.PHANTOMS | commands.MARKS | _OVER_AND_UNDER | commands.STACKS | commands.INVISIBLE
_TAKING_ARGUMENTS |= commands.OPTIONAL_THEN_ONE | commands.SPANS
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_CHINESE_PUNCTUATION = str.maketrans({"，": ",", "：": ":", "；": ";"})


@lru_cache(maxsize=4096)
def _is_ordinary(token: str) -> bool:
    """Returns whether a token leaves ink of its own and takes no arguments."""
    return not (token in _TAKING_ARGUMENTS or token in commands.INKLESS or _WITHOUT_BOX.match(token))


@dataclass(frozen=True, slots=True)
class Marked:
    """LaTeX with marks; the token of mark n is labels[n].

    chinese: whether it needs a Chinese font. steps: the work of typesetting it, as metrics.formula.limits counts it.
    """

    source: str
    labels: tuple[str, ...]
    chinese: bool = False
    steps: int = 0


def marked(form: NormalForm, released: bool = False) -> Marked:
    """Returns the LaTeX of a normal form with its tokens marked.

    `released`: as the released CDM tool writes it, with blanks between all tokens; in a text that does not parse,
    `\\left{` swallows what follows.

    Raises Unbalanced if a command lacks the arguments that it needs, or commands are nested too deeply.
    """
    writer = _Writer(list(form.tokens), swallowing=released and not form.parsed, released=released)
    writer.write(0, len(form.tokens))
    source = " ".join(writer.pieces)
    return Marked(source, tuple(writer.labels), bool(_CHINESE.search(source)), typesetting_steps(source))


def _end_of_script(tokens: list[str], opening: int) -> int | None:
    """Returns the index of the token before which the script that opens at `opening` ends; None if unknown.

    This is its closing brace. If it has none, TeX closes it before the \\right of a \\left that precedes it, or at the
    end of the formula. A script that is not closed within its array cell is unknown.
    """
    braces = sizes = rows = 0
    stacked = False
    for index in range(opening, len(tokens)):
        token = tokens[index]
        braces += (token == "{") - (token == "}")
        if not braces:
            return index
        sizes += token.startswith("\\left") and not token[5:6].isalpha()
        sizes -= token.startswith("\\right") and not token[6:7].isalpha()
        if sizes < 0:
            return index
        rows += token.startswith("\\begin") - token.startswith("\\end")
        stacked = stacked or token in commands.ROWS  # whose rows are within the script
        if rows < 0 or (not rows and not stacked and token in {"&", "\\\\"}):
            return None
    return len(tokens)


class _Writer:
    def __init__(self, tokens: list[str], swallowing: bool, released: bool) -> None:
        self._tokens = tokens
        self._swallowing = swallowing
        self._released = released
        # The released tool puts the argument of _ in braces, but not that of ^, which takes the scripts behind it.
        self._with_lone_argument = {"_"} if released else _SCRIPTS
        self._depth = 0
        self.pieces: list[str] = []
        self.labels: list[str] = []

    def write(self, start: int, end: int, braced: bool = False) -> None:
        """Writes the tokens from `start` to before `end`; `braced` puts each marked token in braces."""
        at = start
        while at < end:
            at = self._token(at, braced)

    def _token(self, at: int, braced: bool) -> int:
        """Writes the token at `at` with the arguments it needs, and returns the index after them."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unbalanced(f"commands stand more than {MAX_DEPTH} deep in each other")
        token = self._tokens[at]
        if _is_ordinary(token):
            end = self._ordinary(at, braced)
        elif token in _TAKING_ARGUMENTS:
            end = self._command(token, at)
        elif token in _SCRIPTS and not self._released and (after := self._script(at)) is not None:
            end = after
        else:
            self.pieces.append(_typeset(token))
            end = at + 1
        self._depth -= 1
        return end

    def _command(self, token: str, at: int) -> int:
        """Writes a command with its arguments; marks it if it has ink around them. Returns the index after them."""
        tokens, pieces = self._tokens, self.pieces
        if token in commands.PHANTOMS:
            end = closing(tokens, at + 1) + 1 if tokens[at + 1 : at + 2] == ["{"] else at + 1
            pieces += tokens[at:end]
            return end
        if token in commands.OPTIONAL_THEN_ONE:
            return self._root(at)
        if token in commands.SPANS:
            return self._span(at)
        start = end = at + 1
        for _ in range(2 if token in _OVER_AND_UNDER | commands.STACKS else 1):
            end = closing(tokens, end) + 1
        has_ink = token in commands.MARKS or token in _OVER_AND_UNDER
        # If both are in braces, TeX sets a subscript to the right of the mark, not below it.
        apart = token in commands.MARKS and tokens[end : end + 1] == ["_"] and token != "\\underbrace"
        if has_ink:
            self._open(token)
        pieces += ["{"] * apart + tokens[at:start]
        self.write(start, end)
        pieces += ["}"] * apart
        return self._close(at, end) if has_ink else end

    def _open(self, token: str) -> None:
        self.pieces.append(f"{MARK}{{{len(self.labels)}}}")
        in_text = token.startswith("\\text{") and not self._released
        self.labels.append(token[len("\\text{") : -1] if in_text else token)

    def _close(self, start: int, at: int) -> int:
        """Writes the scripts of the token at `start`, which follow at `at`, and the end of its mark.

        Returns the index after them. A token that is the argument of a script has none.
        """
        tokens = self._tokens
        if not (start and tokens[start - 1] in self._with_lone_argument):
            while at < len(tokens) and tokens[at] in _SCRIPTS:
                end = self._script(at)
                if end is None:
                    break
                at = end
        self.pieces.append(UNMARK)
        return at

    def _script(self, at: int) -> int | None:
        """Writes the script at `at`, in braces; returns the index after it.

        Returns None, and writes nothing, if it is not closed within its array cell, or starts a group without braces.
        """
        tokens = self._tokens
        script, at = tokens[at], at + 1
        following = tokens[at] if at < len(tokens) else "}"
        if following in _NO_SCRIPT:
            self.pieces.append(script)
            return at
        end = _end_of_script(tokens, at) if following == "{" else at
        if end is None or _OPENING.match(following):
            return None
        self.pieces += [script, "{", MARK + "{}"]
        if following == "{":
            self.write(at + 1, end)
            at = end + (end < len(tokens) and tokens[end] == "}")
        else:
            at = self._token(at, braced=False)
        self.pieces += [UNMARK, "}"]
        return at

    def _root(self, at: int) -> int:
        self._open(self._tokens[at])
        self.pieces.append(self._tokens[at])
        start = at + 1
        if self._tokens[start : start + 1] == ["["]:
            end = closing(self._tokens, start, ("[", "]"))
            self.pieces.append("[{")
            self.write(start + 1, end, braced=True)
            self.pieces.append("}]")
            start = end + 1
        end = closing(self._tokens, start) + 1
        self.write(start, end)
        return self._close(at, end)

    def _span(self, at: int) -> int:
        """Writes a cell of several columns or rows, of which the last argument is printed.

        A blank in a length, or beside the `*` for the natural width, would be an error of TeX.
        """
        tokens, start = self._tokens, at + 1
        for _ in range(2):
            start = closing(tokens, after_option(tokens, start)) + 1
        start = after_option(tokens, start)
        written = tokens[at:start]
        if not self._released:
            written = ["".join(f"{each} " if each[0] == "\\" and each[1:].isalpha() else each for each in written)]
        self.pieces += written
        end = closing(tokens, start) + 1
        self.write(start, end)
        return end

    def _ordinary(self, at: int, braced: bool) -> int:
        token = self._tokens[at]
        braced = braced or (at > 1 and self._tokens[at - 1] == "_")
        self.pieces += ["{"] if braced else []
        if self._swallowing and token.count("{") != token.count("}"):
            self.pieces.append(f"{SWALLOWING_MARK}{{{len(self.labels)}}}{{{_typeset(token)}}}")
            self.labels.append(token)
            end = at + 1
        else:
            self._open("\\frac" if token == "\\over" and not self._released else token)
            self.pieces.append(_typeset(token))
            end = self._close(at, at + 1)
        self.pieces += ["}"] if braced else []
        return end


def _typeset(token: str) -> str:
    """Returns a token as written for TeX: non-ASCII characters as text."""
    if len(token) == 1 and not token.isascii():
        return f"\\text{{{token.translate(_CHINESE_PUNCTUATION)}}}"
    return token
