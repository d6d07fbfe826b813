"""Worst cases of single formulas: commands that TeX typesets many times, wide tables, endless arrows, long matches."""

from __future__ import annotations

from collections.abc import Iterator

from tests.abuse import Case

_WRAPPERS = {
    "pmb": ("\\pmb{", "}"),
    "boldsymbol": ("\\boldsymbol{", "}"),
    "overset and text": ("\\overset{\\text{a $", "$}}{b}"),
    "text": ("\\text{$", "$}"),
    "phantom": ("\\phantom{", "}"),
    "smash": ("\\smash{", "}"),
    "overrightarrow": ("\\overrightarrow{", "}"),
    "widehat": ("\\widehat{", "}"),
    "root": ("\\sqrt[3]{", "}"),
    "xrightarrow": ("\\xrightarrow[a]{", "}"),
    "pmb, unparsed": ("\\pmb { ", " } "),
    "array": ("\\begin{array}{c}", "\\end{array}"),
}


def cases() -> Iterator[Case]:
    """Yields each as a prediction, and some as a ground truth."""
    for name, (opening, closing) in _WRAPPERS.items():
        for depth in (4, 8, 40):
            text = opening * depth + "x" + closing * depth
            yield Case(f"{depth} nested: {name}", {"latex": "x"}, {"latex": text})
        yield Case(f"unclosed and nested: {name}", {"latex": opening * 8 + "x"}, {"latex": "x"})
    for text in _WIDE.values():
        yield Case(f"wide: {text[:40]}", {"latex": text}, {"latex": "x"})
    for tokens in (500, 1000, 1500, 2000):
        scattered = " ".join(("x_{x}", "x^{x}", "{x}")[index * 7 % 3] for index in range(tokens // 2))
        rows = "\\begin{array}{c}" + ("x" * 60 + "\\\\") * (tokens // 60) + "\\end{array}"
        yield Case(f"{tokens} equal tokens", {"latex": rows}, {"latex": rows})
        yield Case(f"{tokens} tokens elsewhere", {"latex": rows}, {"latex": scattered})
        yield Case(f"{tokens} other tokens", {"latex": rows}, {"latex": rows.replace("x", "y")})
    for text in ("\\hat " * 1900 + "x", "{" * 1900, "x _ { " * 600, "\\left( " * 1900, "\\begin { " * 900):
        yield Case(f"long: {text[:20]}", {"latex": "x"}, {"latex": text})
    yield Case("a thousand errors", {"latex": "x"}, {"latex": "\\undefinedcommand " * 1000 + "x"})
    yield Case("as many as a document may have, each alone", *_document("a \\end{array} b", 1000))
    yield Case("as many as it may have, each with an error that TeX repairs", *_document("a & b", 1000))
    yield Case("as many as it may have, each never closed", *_document("\\begin{aligned} a &= b", 1000))
    for count in (1, 2, 200):
        yield Case(f"{count} that TeX repairs without end", *_document(_ENDLESS, count))
    yield Case("eight costly ones in a document", *_document("\\pmb{" * 4 + "x" + "}" * 4, 8))


_ENDLESS = (
    r"\begin{tabular}{|l|r|c|} \hline a n d & 2 9 & $ \sum _ { i = 1 & } ^ { n } w $ \\ \hline o & 8 0 & "
    r"$ \sqrt { \beta } $ \\ \hline \end{tabular}"
)
"""TeX ends a paragraph by \\par, which LaTeX has made empty here, again and again."""

_WIDE = {
    "columns": "\\begin{tabular}{*{99}{*{99}{*{99}{c}}}} x \\end{tabular}",
    "hexadecimal columns": '\\begin{tabular}{*{"FFFF}{c}} x \\end{tabular}',
    "columns by a symbol": "\\begin{tabular}{*{\\leq}{c}} x \\end{tabular}",
    "written columns": "\\begin{tabular}{" + "c" * 1900 + "} x \\end{tabular}",
    "columns of a cell": "\\begin{tabular}{c}" + "\\multicolumn{1}{*{99}{*{9}{c}}}{x} \\\\" * 20 + "\\end{tabular}",
    "arrows": "\\overrightarrow{\\hspace{16000pt}}" * 80,
    "arrows that fill": "\\hbox to 16000pt {\\rightarrowfill} " * 80,
    "delimiters": "\\left(\\rule{1pt}{9000pt}\\right)" * 100,
    "rows": "\\begin{array}{c}" + "x \\\\" * 900 + "\\end{array}",
    "many columns over": "\\begin{tabular}{cc}\\multicolumn{99999999}{c}{x} \\\\ \\cline{1-99999999} \\end{tabular}",
    "dots over columns": "\\begin{matrix} \\hdotsfor{99999999} \\end{matrix}",
}


def _document(formula: str, count: int) -> tuple[dict[str, str], dict[str, str]]:
    text = "\n\n".join(f"\\[ {formula} + {number} \\]" for number in range(count))
    return {"document": "\\[ x \\]"}, {"document": text, "dialect": "latex"}
