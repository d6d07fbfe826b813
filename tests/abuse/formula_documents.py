"""Worst cases of whole documents: macros that grow, delimiters that are ambiguous, formulas that are nearly equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.abuse import Case

BENCHMARK = "formula"
LENGTH = 900_000
"""Characters of a repeated text: what `max_steps` lets by, or stops late."""


def cases() -> Iterator[Case]:
    """Yields each kind of worst case once."""
    for name, source in _expansions():
        yield _predicted(name, source, "latex")
    for name, source in _repeated():
        for dialect in ("latex", "gpt4o"):
            yield _predicted(f"{name}, {dialect}", source, dialect)
    yield from _near_equal()


def _predicted(name: str, source: str, dialect: str) -> Case:
    return Case(name, {"document": "\\[ x \\]"}, {"document": source, "dialect": dialect})


def _expansions() -> Iterator[tuple[str, str]]:
    letters = "abcdefghij"
    laughs = "".join(f"\\def\\{name}{{" + f"\\{inner}" * 10 + "}" for name, inner in itertools.pairwise(letters))
    names = ["".join(word) for word in itertools.product("ghijklmnopqrstu", repeat=3)]
    chain = "".join(f"\\def\\{name}{{\\{following}}}" for name, following in itertools.pairwise(names))
    yield "each macro calls the next ten times", laughs + "\\a"
    yield "each macro calls the next once", chain + "\\ggg" * 1_000
    yield "an argument doubled 60 times", "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60
    yield (
        "macros that call each other in turn",
        "\\def\\a#1{\\b{#1x}}\\def\\b#1{\\c{#1y}}\\def\\c#1{#1\\a{#1}}" + "\\a{z}" * 200_000,
    )
    yield "a long body, called often", "\\def\\a{" + "\\b" * 50_000 + "}\\def\\b{" + "x" * 50_000 + "}\\a"
    yield "a long default that is not used", "\\newcommand{\\a}[1][" + "{}" * 200_000 + "]{x}" + "\\a " * 150_000
    yield "an argument whose end is missing", "\\def\\a#1.{}" + "\\a" * 300_000
    yield "an end of 56 characters, nearly met", "\\def\\x#1" + "a" * 55 + "b{}" + "\\x" + "a" * LENGTH
    yield "global definitions within many groups", "{\\def\\a{}" * 60_000 + "\\gdef\\a{}" * 60_000
    yield "expanded definitions that grow twofold", "\\def\\a{xx}" + "\\edef\\a{\\a\\a}" * 60
    yield "expanded definitions that grow by one", "\\def\\a{x}" + "\\edef\\a{\\a x}" * 50_000
    yield "short calls", "\\def\\a#1{#1}" + "\\a x" * 200_000


def _repeated() -> Iterator[tuple[str, str]]:
    pieces = {
        "dollars": "$",
        "formulas between dollars": "$$x$$",
        "dollars between prose": "x=1 $$ and where the thing is\n",
        "dollars, double and single": "$$ $",
        "formulas in brackets": "\\[x\\]",
        "environments without an end": "\\begin{align}",
        "environments that cross": "\\begin{gather}\\begin{align}x\\end{gather}",
        "environments that cross, with prose": "\\begin{align}\\begin{gather} where this thing is $$",
        "tags without an end": "\\[ \\tag{",
        "rows": "a&b\\\\",
        "backticks": "` `` ",
        "quotes": "> $$\n",
        "comments": "<!-- $$ ",
        "fences": "```latex\n$$\n",
    }
    for name, piece in pieces.items():
        yield name, piece * (LENGTH // len(piece))


def _near_equal() -> Iterator[Case]:
    """Formulas of which all pairs are within both thresholds in length and none in distance."""
    for count, length, letters in ((1_000, 16, "ab"), (600, 64, "ab"), (200, 1_000, "ab"), (200, 600, "\u4e00\u4e01")):
        truth = "\n\n".join(f"\\[ {letters[0] * length}{index} \\]" for index in range(count))
        prediction = "\n\n".join(f"\\[ {letters[1] * length}{index} \\]" for index in range(count))
        yield Case(
            f"{count} nearly equal formulas of {length} letters {letters}",
            {"document": truth},
            {"document": prediction, "dialect": "latex"},
        )
    formula = "\\[ " + "ab" * 9_000 + " \\]\n\n"
    yield Case("long formulas that are equal", {"document": formula * 40}, {"document": formula * 40})
