"""Text of unknown origin: clipped if it would fill a page, safe to display, and escaped as Markdown; and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from ...metrics.common.text import truncated, unseen, with_codes
from ..runs.numbers import fixed

MAX_ID_LENGTH, MAX_CELL_LENGTH, MAX_LABEL_LENGTH, MAX_TEXT_LENGTH = 200, 300, 300, 2_000

_SEEN = "\t\n"
"""A page shows them as they are."""
_BLANKS = re.compile(r"[ \t\r\n]+")
_UNCLEAR = re.compile(r"\A | \Z|(?<= ) |<(?=U\+)|\A<(?=empty>\Z)")
_ESCAPES = {"b": 8, "f": 12, "r": 13}


def visible(text: str) -> str:
    """Returns `text` with each invisible or bidirectional control character as its code point: `<U+202E>`.

    Line feeds and tabs are unchanged; carriage returns are not.
    """
    return with_codes(text, _SEEN)


def visible_json(text: str) -> str:
    """Returns JSON with all of its strings `visible`, whether a character is written literally or escaped."""

    def number(match: re.Match[str]) -> str:
        code, short, plain = match.groups()
        if code is None and short is None and plain is None:
            return match[0]
        return f"<U+{int(code, 16) if code else _ESCAPES[short] if short else ord(plain):04X}>"

    return _in_json().sub(number, text)


@lru_cache(maxsize=1)
def _in_json() -> re.Pattern[str]:
    return re.compile(rf"\\(?:u00([01][0-9a-f])|([bfr])|.)|({unseen(_SEEN).pattern})")


def drawable(drawing: str) -> str:
    """Returns an SVG document with U+FFFD for each character that `visible` would write as its code point."""
    return unseen(_SEEN).sub("\ufffd", drawing)


def clipped(text: str, limit: int = MAX_TEXT_LENGTH) -> str:
    """Returns at most `limit` characters of `text`, followed by how many were left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def one_line(text: str, limit: int) -> str:
    """Returns `clipped` text without line ends, tabs or repeated blanks."""
    return _BLANKS.sub(" ", clipped(text, limit)).strip(" ")


def distinct_line(text: str, limit: int = MAX_LABEL_LENGTH) -> str:
    """Returns a `clipped` name on one line, different for each name that is not clipped.

    Written as code points are unseen characters, blanks that a page does not show, and the `<` of what looks like one.

    >>> [distinct_line(name) for name in (" a  b\\n", "<U+0020>", "", "<empty>")]
    ['<U+0020>a <U+0020>b<U+000A>', '<U+003C>U+0020>', '<empty>', '<U+003C>empty>']
    """
    line = _UNCLEAR.sub(lambda match: f"<U+{ord(match[0]):04X}>", clipped(text, limit))
    return with_codes(line) or "<empty>"


def number(value: float | str | None) -> str:
    """Returns a float with fixed decimals (`fixed`), an int unchanged, text escaped, and a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return cell(value)
    return f"{value}" if isinstance(value, int) else fixed(value)


def table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Returns a Markdown table with columns as wide as their widest cell. Cells must already be escaped."""
    head, *body = [[str(each).strip(" ") for each in row] for row in (header, *rows)]
    widths = [max(len(column[0]) + 2, *map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [" | ".join(map(str.ljust, row, widths)) for row in (head, *body)]
    rule = "|".join(f":{'-' * (width + 1)}" for width in widths)
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def cell(text: str) -> str:
    """Returns text of unknown origin as the content of a Markdown cell: one line, truncated, and nothing but text.

    Plain words are unchanged. All else is written as code, in which GitHub interprets no Markdown, addresses, names of
    users and issues, formulas or emoji.
    """
    line = truncated(_printable_line(text), MAX_CELL_LENGTH)
    return line if _WORDS.fullmatch(line) and not _LINKED.search(line) else code(line)


_WORDS = re.compile(r"(?:[^\W_]+(?:(?:[_=-]|, ?| |(?<=\d)\.(?=\d))[^\W_]+)*)?")


def prose(text: str) -> str:
    """Returns text of unknown origin as one line of Markdown; all that is neither word nor number is code."""
    groups = groupby(_printable_line(text).split(" "), _is_plain)
    written = [" ".join(tokens) if is_plain else _code_in_prose(" ".join(tokens)) for is_plain, tokens in groups]
    # A leading number with a dot, or a sign, would begin a list.
    return " ".join(written) if not _ITEM.match(written[0]) else code(text)


def _code_in_prose(text: str) -> str:
    """Returns text as code; punctuation at its end follows the code."""
    clause = text.rstrip(".,:;")
    return code(text) if clause[-1:] in ("", " ") else code(clause) + text[len(clause) :]


def _is_plain(token: str) -> bool:
    return bool(_PLAIN.fullmatch(token)) and not _LINKED.search(token)


_PLAIN = re.compile(r"\(?[+−-]?[^\W_]+(?:(?:[_=,-]|(?<=\d)\.(?=\d))[^\W_]+)*%?\)?[.,;:]?|[%–—]+")
_LINKED = re.compile(r"\bGH-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
"""What GitHub links as an issue or a commit."""
_ITEM = re.compile(r"\d+[.)](?: |$)|[+-](?: |$)")


def code(text: str) -> str:
    """Returns text of unknown origin as code in a Markdown cell.

    A `|` is placed between two pieces of code, where every parser of tables accepts its escape, even after a backslash.
    So is a `<`, as a parser without support for code would read what follows as HTML.
    """
    return "".join(_BETWEEN_CODE.get(piece) or _code(piece) for piece in re.split(r"([|<])", _printable_line(text)))


_BETWEEN_CODE = {"|": "\\|", "<": "&lt;"}


def _code(piece: str) -> str:
    longest = max(map(len, re.findall("`+", piece)), default=0)
    quote = "`" * (longest + 1)
    # Markdown strips one space at either end of code.
    if piece.strip(" ") and ({piece[0], piece[-1]} == {" "} or "`" in (piece[0], piece[-1])):
        piece = f" {piece} "
    return f"{quote}{piece}{quote}" if piece else ""


def _printable_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
