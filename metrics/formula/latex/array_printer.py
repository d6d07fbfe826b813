"""Prints environments of rows, such as matrices, cases and aligned equations, as arrays."""

from __future__ import annotations

import re

from . import commands

MAX_COLUMNS = 100

_REPEAT = re.compile(r"\*\{(\d{1,6})\}\{([^{}]*)\}|[@!><pmb]\{[^{}]*\}|([lcr])")


def alignments(specification: list[str]) -> str:
    """Returns the alignments of an array's columns: its l, c and r, with *{n}{..} written out."""
    letters: list[str] = []
    text = "".join(specification)
    for repeat in _REPEAT.finditer(text):
        times, once, one = repeat.groups()
        if one is not None:
            letters.append(one)
        elif once is not None:
            letters.extend([letter for letter in once if letter in "lcr"] * min(int(times), MAX_COLUMNS))
    return "".join(letters)[:MAX_COLUMNS]


def array(name: str, columns: str | None, rows: list[list[list[str]]]) -> list[str]:
    """Prints rows as an array between the delimiters of its environment."""
    width = max(map(len, rows))
    if name == "aligned":
        columns = ("rl" * width)[:width]
        rows = [[["{", "}", *cell] if index % 2 else cell for index, cell in enumerate(row)] for row in rows]
    elif name in {"cases", "dcases", "rcases", "picture"}:
        columns = "ll"
    elif not columns:
        columns = ("c" if name == "gathered" else "l") * width
    tokens = ["\\begin{array}", f"{{{columns}}}"]
    kept = [row for row in rows if any(row)]
    for number, row in enumerate(kept):
        tokens += ["\\\\"] if number else []
        for index, cell in enumerate(row):
            tokens += ["&"] if index else []
            tokens += _cell(cell, first=not index)
    tokens.append("\\end{array}")
    left, right = commands.DELIMITED.get(name, ("", ""))
    return ["\\left" + left, *tokens, "\\right" + right] if left else tokens


def _cell(cell: list[str], first: bool) -> list[str]:
    lines = 0
    while first and lines < len(cell) and cell[lines] == "\\hline":
        lines += 1
    body = cell[lines:]
    return [*cell[:lines], *(["{", *body, "}"] if body else [])]
