"""Markdown: text of unknown origin escaped to plain text, readable numbers, and aligned tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from ...metrics.common.text import truncated
from ..runs.numbers import fixed, signed
from .document import Bar, Cells, Code, Counts, Difference, Link, MatrixCell, Measured, Metric, Table, Word

MAX_CELL_LENGTH = 160


def verdicts_line(verdicts: Mapping[str, int], slices: int) -> str:
    """Returns a sentence: how many metrics of how many slices are better or worse, after correction for all of them."""
    counts = ", ".join(f"{count} {name}" for name, count in verdicts.items())
    return f"Metrics of all samples and of {slices} slices, corrected for all at once: {counts}."


def samples_line(counts: Mapping[str, int]) -> str:
    """Returns a sentence: how many samples were compared, and how many could not be."""
    others = [f"{count} {LEFT_OUT[name]}" for name, count in counts.items() if count and name in LEFT_OUT]
    return f"{counts.get('compared', 0)} samples compared" + (f"; {', '.join(others)}" if others else "") + "."


LEFT_OUT = {
    "only_baseline": "that only the baseline scored",
    "only_candidate": "that only the candidate scored",
    "neither": "that neither scored",
    "other_ground_truth": "with another ground truth",
}


def number(value: float | str | None) -> str:
    """Returns a float with fixed decimals (`fixed`), an int unchanged, text escaped, and a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return cell(value)
    return f"{value}" if isinstance(value, int) else fixed(value)


def cells(value: Cells) -> str:
    """Returns the contents of a cell, or of a paragraph, as Markdown for a table."""
    match value:
        case tuple():
            return " ".join(map(cells, value))
        case Bar():
            return cells(value.measured)
        case Difference():
            return value.text(signed)
        case Measured():
            return value.text(number)
        case Metric():
            return code(value.name)
        case Code():
            return code(value.text)
        case Word():
            return f"**{value.text}**" if value.is_bad or value.text in MARKED else value.text
        case Link():
            return cells(value.text)
        case MatrixCell():
            return number(value.count)
        case Counts():
            counts = [f"{count:,} {status_text(status)}" for status, count in value.counts.items() if count]
            return ", ".join(counts) or "none"
        case _:
            return number(value)


MARKED = ("better", "worse", "fail", "invalid", "inconclusive")
"""The judgements that a reader must not miss."""


def status_text(status: str) -> str:
    """Returns the status of a record in words."""
    return LEFT_OUT.get(status, status.replace("_", " "))


def block_table(block: Table) -> str:
    """Returns a table of a document as Markdown."""
    return table(list(map(cells, block.header)), (map(cells, row) for row in block.rows))


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
    line = truncated(_one_line(text), MAX_CELL_LENGTH)
    return line if _WORDS.fullmatch(line) and not _LINKED.search(line) else code(line)


_WORDS = re.compile(r"(?:[^\W_]+(?:(?:[_=-]|, ?| |(?<=\d)\.(?=\d))[^\W_]+)*)?")


def prose(text: str) -> str:
    """Returns text of unknown origin as one line of Markdown; all that is neither word nor number is code."""
    groups = groupby(_one_line(text).split(" "), _is_plain)
    written = [" ".join(tokens) if is_plain else _code_in_prose(" ".join(tokens)) for is_plain, tokens in groups]
    # A leading number with a dot, or a sign, would begin a list.
    return " ".join(written) if not _ITEM.match(written[0]) else code(text)


def _code_in_prose(text: str) -> str:
    """Returns text as code; punctuation at its end follows the code."""
    clause = text.rstrip(".,:")
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
    return "".join(_BETWEEN_CODE.get(piece) or _code(piece) for piece in re.split(r"([|<])", _one_line(text)))


_BETWEEN_CODE = {"|": "\\|", "<": "&lt;"}


def _code(piece: str) -> str:
    longest = max(map(len, re.findall("`+", piece)), default=0)
    quote = "`" * (longest + 1)
    # Markdown strips one space at either end of code.
    if piece.strip(" ") and ({piece[0], piece[-1]} == {" "} or "`" in (piece[0], piece[-1])):
        piece = f" {piece} "
    return f"{quote}{piece}{quote}" if piece else ""


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
