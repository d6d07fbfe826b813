"""The text of a formula: what is cleaned before parsing, and how it splits into LaTeX tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

BLANK = " "

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s+|.", re.DOTALL)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_UNESCAPED_PERCENT = re.compile(r"(?<!\\)((?:\\\\)*)%")
_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_DROPPED = re.compile(r"\\[~>]|\$")
_ROMAN_GROUP = re.compile(r"\{ ?\\rm(?![a-zA-Z])|\\rm(?=\{)\{")
_ALIGNED = re.compile(r"\\(begin|end)\s*\{\s*(?:split|align|alignat|alignedat|eqnarray|flalign|xalignat)\*?\s*\}")
_COLUMN_PAIRS = re.compile(r"(\\begin\s*\{\s*(?:alignat|alignedat|xalignat)\*?\s*\})\s*\{\s*\d*\s*\}")
_SMALL_MATRIX = re.compile(r"\\(begin|end)\s*\{\s*smallmatrix\*?\s*\}")
_GATHERED = re.compile(r"\\(begin|end)\s*\{\s*(?:gather|multline|multlined)\*?\s*\}")
_WRAPPER = re.compile(r"\\(?:begin|end)\s*\{\s*(?:equation|displaymath|math)\*?\s*\}")
_ROWS = ("matrix", "cases", "array", "begin", "substack")


def is_table(text: str) -> bool:
    """Whether the text is a table rather than a formula."""
    return "tabular" in text


def without_comment(text: str) -> str:
    """Returns the text without a leading %, cut at the next % that is not escaped."""
    text = text.removeprefix("%")
    comment = _UNESCAPED_PERCENT.search(text)
    return text[: comment.end(1)] if comment else text


def plain_text(text: str) -> str:
    """Returns the text with every control character, line end and lone surrogate as a blank."""
    return _CONTROL_CHARACTER.sub(BLANK, text)


def clean_formula(text: str) -> str:
    """Returns the text of a formula as the parser wants it.

    Aligned environments get one name, comments, labels and dollars go, and where there are no rows a line
    break is a thin space. The order is that of the released CDM tool.
    """
    text = _COLUMN_PAIRS.sub(r"\1", plain_text(text))
    text = _ALIGNED.sub(r"\\\1{aligned}", text)
    text = _SMALL_MATRIX.sub(r"\\\1{matrix}", text)
    text = _GATHERED.sub(r"\\\1{gathered}", text)
    text = _WRAPPER.sub(BLANK, text)
    text = _DROPPED.sub(BLANK, without_comment(text))
    text = _LABEL.sub("", text)
    if not any(word in text for word in _ROWS):
        text = text.replace("\\\\", "\\,")
    return _ROMAN_GROUP.sub(r"\\mathrm{", text)


def split(text: str) -> list[str]:
    """Returns the LaTeX tokens of a text: commands, single characters, and runs of white space as one blank."""
    return [BLANK if token.isspace() else token for token in _TOKEN.findall(text)]


def group_end(tokens: Sequence[str], opening: int, pair: tuple[str, str] = ("{", "}")) -> int | None:
    """Returns the index of the token that closes the one at `opening`; None where nothing does.

    A token that is neither of the pair closes itself.

    >>> group_end(["{", "a", "{", "}", "}"], 0)
    4
    """
    depth = 0
    for index in range(opening, len(tokens)):
        token = tokens[index]
        depth += (token == pair[0]) - (token == pair[1])
        if not depth:
            return index
    return None
