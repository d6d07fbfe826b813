"""Worst cases of single formulas: commands that TeX typesets many times, wide tables, endless arrows, long matches."""

from __future__ import annotations

from collections.abc import Iterator

from tests.abuse import Case

_WRAPPERS = {
    "pmb": ("\\pmb{", "}"),
    "boldsymbol": ("\\boldsymbol{", "}"),
    "overset and text": ("\\overset{\\text{a $", "$}}{b}"),
    "smash": ("\\smash{", "}"),
    "overrightarrow": ("\\overrightarrow{", "}"),
    "root": ("\\sqrt[3]{", "}"),
    "xrightarrow": ("\\xrightarrow[a]{", "}"),
    "array": ("\\begin{array}{c}", "\\end{array}"),
}
_WIDE = (
    "\\begin{tabular}{*{99}{*{99}{*{99}{c}}}} x \\end{tabular}",
    '\\begin{tabular}{*{"FFFF}{c}} x \\end{tabular}',
    "\\begin{tabular}{*{\\leq}{c}} x \\end{tabular}",
    "\\begin{tabular}{" + "c" * 1900 + "} x \\end{tabular}",
    "\\begin{tabular}{c}" + "\\multicolumn{1}{*{99}{*{9}{c}}}{x} \\\\" * 20 + "\\end{tabular}",
    "\\overrightarrow{\\hspace{16000pt}}" * 80,
    "\\hbox to 16000pt {\\rightarrowfill} " * 80,
    "\\left(\\rule{1pt}{9000pt}\\right)" * 100,
    "\\begin{tabular}{cc}\\multicolumn{99999999}{c}{x} \\\\ \\cline{1-99999999} \\end{tabular}",
    "\\begin{matrix} \\hdotsfor{99999999} \\end{matrix}",
)
_LONG = ("\\hat " * 1900 + "x", "{" * 1900, "x _ { " * 600, "\\left( " * 1900, "\\undefinedcommand " * 1000)
_DOCUMENTS = (
    ("as many as a document may have, each alone", "a \\end{array} b", 1000),
    ("as many as it may have, each never closed", "\\begin{aligned} a &= b", 1000),
    # TeX ends a paragraph by \\par, which LaTeX has made empty here, again and again.
    ("200 that TeX repairs without end", "\\begin{tabular}{|l|} \\hline $ \\sum _ { i = 1 & } $ \\end{tabular}", 200),
    ("eight costly ones in a document", "\\pmb{" * 4 + "x" + "}" * 4, 8),
)


def cases() -> Iterator[Case]:
    """Yields each as a prediction, and some as a ground truth."""
    for name, (opening, closing) in _WRAPPERS.items():
        for depth in (4, 40):
            text = opening * depth + "x" + closing * depth
            yield Case(f"{depth} nested: {name}", {"latex": "x"}, {"latex": text})
        yield Case(f"unclosed and nested: {name}", {"latex": opening * 8 + "x"}, {"latex": "x"})
    for text in (*_WIDE, *_LONG):
        yield Case(f"long: {text[:40]}", {"latex": "x"}, {"latex": text})
    scattered = " ".join(("x_{x}", "x^{x}", "{x}")[index * 7 % 3] for index in range(1000))
    rows = "\\begin{array}{c}" + ("x" * 60 + "\\\\") * 33 + "\\end{array}"
    for name, text in (("equal", rows), ("scattered", scattered), ("other", rows.replace("x", "y"))):
        yield Case(f"2000 {name} tokens", {"latex": rows}, {"latex": text})
    for name, formula, count in _DOCUMENTS:
        source = "\n\n".join(f"\\[ {formula} + {number} \\]" for number in range(count))
        yield Case(name, {"document": "\\[ x \\]"}, {"document": source, "dialect": "latex"})
