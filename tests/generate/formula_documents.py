"""Made-up papers with displayed formulas, and what a system might predict for them."""

from __future__ import annotations

import random
from collections.abc import Sequence

DIALECTS = ("latex", "mathpix", "gpt4o", "nougat")

_PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath}
\newcommand{\R}{\mathbb{R}} % the reals
\newcommand{\norm}[1]{\lVert #1 \rVert}
\DeclareMathOperator*{\best}{arg\,max}
\def\be{\begin{equation}}
\def\ee{\end{equation}}
% \begin{equation} not(a) = formula \end{equation}
"""
_PROSE = (
    "We consider the map above for $x > 0$ only.",
    "It costs \\$5 to see that $a$$b$ is a product. % and $$ nothing more",
    "\\iffalse This was shown in $$ draft(0) $$ alone. \\fi The proof is short.",
    "\\begin{comment}\n$$ removed = 1 $$\n\\end{comment}\nHence the claim.",
    "Write \\verb|$$| around it.",
)
_MATHEMATICS = (
    (r"{a} \in \R^{n}", r"{a} \in \mathbb{{R}}^{n}"),
    (r"\norm{{ {a} + {b} }} \le {n}", r"\lVert {a} + {b} \rVert \le {n}"),
    (r"\best_{{ {a} }} f({a}, {b})", r"\operatorname*{{arg\,max}}_{{ {a} }} f({a}, {b})"),
    (r"\int_0^{n} {a} \, d{b}", r"\int_0^{n} {a} \, d{b}"),
    (r"\frac{{ {a} }}{{ {b} + {n} }} = \sum_{{ k=1 }}^{n} k", r"\frac{{ {a} }}{{ {b} + {n} }} = \sum_{{ k=1 }}^{n} k"),
)
_TRUTH_DELIMITERS = (
    ("\\begin{equation}\\label{eq:%d} ", " \\end{equation}"),
    ("\\begin{align*} ", " \\tag{%d} \\end{align*}"),
    ("\\[ ", " \\]"),
    ("$$ ", " $$"),
    ("\\be ", " \\ee"),
)
_PREDICTED_DELIMITERS = {
    "latex": (("\\begin{equation} ", " \\end{equation}"), ("\\[ ", " \\]")),
    "mathpix": (("$$\n", "\n$$"), ("\\[ ", " \\]"), ("\\begin{equation*}\n", "\n\\tag{%d}\\end{equation*}")),
    "gpt4o": (("$$\n", "\n$$"), ("\\[\n", "\n\\]"), ("```latex\n\\[ ", " \\]\n```")),
    "nougat": (("\\[", "\\]"), ("\\[", "\\tag{%d}\\]")),
}


def document(index: int, seed: int, dialect: str | None = None) -> tuple[str, str, str]:
    """Returns a LaTeX source, the text predicted for it, and the dialect of that text, drawn where none is given.

    Predictions are exact, slightly off, wrong, missing or redundant, and one in a while is never closed.
    """
    draw = random.Random(f"{seed}:{index}")
    dialect = dialect or draw.choice(DIALECTS)
    source, predicted = [_PREAMBLE, "\\begin{document}\n"], []
    for number in range(draw.randint(1, 6)):
        letters = {"a": draw.choice("uvwxyz"), "b": draw.choice("pqrst"), "n": str(draw.randint(2, 9))}
        written, expanded = (form.format(**letters) for form in draw.choice(_MATHEMATICS))
        source += [draw.choice(_PROSE), "\n", _delimited(written, _TRUTH_DELIMITERS, number, draw), "\n\n"]
        predicted += _predicted(expanded, dialect, number, draw)
    source.append("\\end{document}\n$$ after = end $$\n")
    if draw.random() < 0.1:
        predicted.append("\\[ \\frac{1}{2")
    return "".join(source), "\n\n".join(predicted), dialect


def _predicted(formula: str, dialect: str, number: int, draw: random.Random) -> list[str]:
    delimiters = _PREDICTED_DELIMITERS[dialect]
    kind = draw.choices(("exact", "off", "wrong", "missing", "redundant"), (5, 3, 1, 1, 1))[0]
    if kind == "missing":
        return ["Then it follows."]
    shown = {"off": formula.replace("=", "\\neq").replace("f", "g") + " .", "wrong": "\\oint"}.get(kind, formula)
    answers = ["Then it follows.", _delimited(shown, delimiters, number, draw)]
    if kind == "redundant":
        answers.append(_delimited(formula + " + \\zeta", delimiters, number, draw))
    return answers


def _delimited(formula: str, delimiters: Sequence[tuple[str, str]], number: int, draw: random.Random) -> str:
    before, after = (mark.replace("%d", str(number)) for mark in draw.choice(delimiters))
    return before + formula + after
