"""Worst cases of formulas and documents: what TeX typesets many times, and matches that are long or nearly equal."""

import itertools
from collections.abc import Iterator

from tests.abuse.run import Case

_WRAPPERS = {
    "pmb": ("\\pmb{", "}"),
    "overset and text": ("\\overset{\\text{a $", "$}}{b}"),
    "root": ("\\sqrt[3]{", "}"),
    "xrightarrow": ("\\xrightarrow[a]{", "}"),
    "array": ("\\begin{array}{c}", "\\end{array}"),
    "modulus": ("\\pmod{", "}"),
    "stack": ("{a \\brack ", "}"),
}
_WIDE = (
    "\\begin{tabular}{*{99}{*{99}{*{99}{c}}}} x \\end{tabular}",
    "\\begin{tabular}{*9{*9{*9{*9c}}}} x \\end{tabular}",
    "\\overrightarrow{\\begin{tabular}{p{27\\textwidth}} x \\end{tabular}}" * 80,
    "\\begin{tabular}{" + "c" * 1900 + "} x \\end{tabular}",
    "\\begin{tabular}{c}" + "\\multicolumn{1}{*{99}{*{9}{c}}}{x} \\\\" * 20 + "\\end{tabular}",
    "\\overrightarrow{\\hspace{16000pt}}" * 80,
    "\\left(\\rule{1pt}{9000pt}\\right)" * 100,
    "\\begin{tabular}{cc}\\multicolumn{99999999}{c}{x} \\\\ \\cline{1-99999999} \\end{tabular}",
)
_LONG = (
    *("\\hat " * 1900 + "x", "{" * 1900, "x _ { " * 600, "\\left( " * 1900, "\\undefinedcommand " * 1000),
    # Lengths and arguments of layout that do not end, in a text that does not parse.
    *(f"x }} {start}{' ' * 19_000}" for start in ("\\hspace{", "\\kern", "\\\\", "\\setlength", "\\raisebox{a}")),
    *(f"x }} {start}{' ' * 19_000}" for start in ("\\hskip 1pt", "\\begin{tabularx}{a}{X", "\\begin{wraptable}[t]")),
    *(f"x }} {start}{' ' * 19_000}" for start in ("\\jot=1pt plus", "\\vrule width 1", "\\addlinespace[", "\\raise")),
    *(f"x }} {start}{' ' * 19_000}" for start in ("\\noalign{\\jot 1pt", "\\global\\jot", "\\makebox[a]", "\\hbox")),
    f"x }} \\begin{{aligned}}{' ' * 19_000}",
    *(f"x }} {start}{' ' * 19_000}" for start in ("\\eqno", "\\skew", "\\fcolorbox{a}", "\\hspace{\\stretch")),
    *(f"\\begin{{array}}{{{piece * 480}}} x" for piece in ("a[", "*9{c", "@{")),
    "x } " + "\\noalign{\\kern\\jot" * 1_000,
    "\\begin{pmatrix}" + "\\toprule\\multicolumn{999}{c}{}&" * 150 + "\\end{pmatrix}",
)
_DOCUMENTS = (
    ("as many as a document may have, each alone", "a \\end{array} b", 1000),
    # TeX ends a paragraph by \\par, which LaTeX has made empty here, again and again.
    ("200 that TeX repairs without end", "\\begin{tabular}{|l|} \\hline $ \\sum _ { i = 1 & } $ \\end{tabular}", 200),
    ("eight costly ones in a document", "\\pmb{" * 4 + "x" + "}" * 4, 8),
)
LENGTH = 900_000
"""Characters of a repeated text: what `max_steps` lets by, or stops late."""
_LAUGHS = "".join(f"\\def\\{a}{{" + f"\\{b}" * 10 + "}" for a, b in itertools.pairwise("abcdefghij"))
_NAMES = ["".join(word) for word in itertools.product("ghijklmnopqrstu", repeat=3)]
_CHAIN = "".join(f"\\def\\{a}{{\\{b}}}" for a, b in itertools.pairwise(_NAMES))
EXPANSIONS = {
    "each macro calls the next ten times": _LAUGHS + "\\a",
    "each macro calls the next once": _CHAIN + "\\ggg" * 1_000,
    "an argument doubled 60 times": "\\def\\d#1{#1#1}" + "\\d{" * 60 + "x" + "}" * 60,
    "macros that call each other": "\\def\\a#1{\\b{#1x}}\\def\\b#1{\\a{#1y}}" + "\\a{z}" * 200_000,
    "a long body, called often": "\\def\\a{" + "\\b" * 50_000 + "}\\def\\b{" + "x" * 50_000 + "}\\a",
    "an argument whose end is missing": "\\def\\a#1.{}" + "\\a" * 300_000,
    "an end of 56 characters, nearly met": "\\def\\x#1" + "a" * 55 + "b{}" + "\\x" + "a" * LENGTH,
    "global definitions within many groups": "{\\def\\a{}" * 60_000 + "\\gdef\\a{}" * 60_000,
    "expanded definitions that grow twofold": "\\def\\a{xx}" + "\\edef\\a{\\a\\a}" * 60,
    "an assignment without a value": "\\let\\a" + " " * LENGTH,
    "short calls": "\\def\\a#1{#1}" + "\\a x" * 200_000,
}
REPEATED = (
    *("$", "$$x$$", "x=1 $$ and where the thing is\n", "$$ $", "\\[x\\]", "\\begin{align}", "\\[ \\tag{", "a&b\\\\"),
    *("\\begin{gather}\\begin{align}x\\end{gather}", "\\begin{align}\\begin{gather} where this thing is $$"),
    *("` `` ", "> $$\n", "a\n> b\n", "<!-- $$ ", "```latex\n$$\n"),
)


def cases() -> Iterator[Case]:
    for name, (opening, closing) in _WRAPPERS.items():
        for depth in (4, 40):
            yield Case(f"{depth} nested: {name}", {"latex": "x"}, {"latex": f"{opening * depth}x{closing * depth}"})
        yield Case(f"unclosed and nested: {name}", {"latex": opening * 8 + "x"}, {"latex": "x"})
    for text in (*_WIDE, *_LONG):
        yield Case(f"long: {text[:40]}", {"latex": "x"}, {"latex": text})
    rows = "\\begin{array}{c}" + ("x" * 60 + "\\\\") * 33 + "\\end{array}"
    for name, text in (("equal", rows), ("other", rows.replace("x", "y"))):
        yield Case(f"2000 {name} tokens", {"latex": rows}, {"latex": text})
    documents = [(name, "latex", _document([f"{formula} + "] * count)) for name, formula, count in _DOCUMENTS]
    documents += [(name, "latex", source) for name, source in EXPANSIONS.items()]
    for piece, dialect in itertools.product(REPEATED, ("latex", "gpt4o")):
        documents.append((f"{piece!r}, {dialect}", dialect, piece * (LENGTH // len(piece))))
    for name, dialect, source in documents:
        yield Case(name, {"document": "\\[ x \\]"}, {"document": source, "dialect": dialect})
    # All pairs are within both thresholds in length and none in distance.
    for count, length, letters in ((1_000, 16, "ab"), (600, 64, "ab"), (200, 1_000, "ab"), (200, 600, "\u4e00\u4e01")):
        truth, prediction = (_document([letter * length] * count) for letter in letters)
        name = f"{count} nearly equal formulas of {length} letters {letters}"
        yield Case(name, {"document": truth}, {"document": prediction, "dialect": "latex"})
    formula = "\\[ " + "ab" * 9_000 + " \\]\n\n"
    yield Case("long formulas that are equal", {"document": formula * 40}, {"document": formula * 40})


def _document(formulas: list[str]) -> str:
    return "\n\n".join(f"\\[ {formula}{number} \\]" for number, formula in enumerate(formulas))
