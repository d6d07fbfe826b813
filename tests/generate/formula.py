"""Formulas, tables and documents with readings that err in every way the formula benchmark tells apart."""

import random
from collections.abc import Sequence
from typing import Any

_GREEK = ("\\alpha", "\\beta", "\\gamma", "\\delta", "\\lambda", "\\mu", "\\pi", "\\sigma", "\\phi", "\\omega")
_KINDS = {"formula": 12, "cases": 2, "matrix": 2, "table": 2, "chinese": 1}
"""How often one of each is drawn."""
_GRAMMAR: dict[str, tuple[str, ...]] = {
    "formula": ("<sum> <relation> <sum>",),
    "cases": (
        r"<letter> = \begin{cases} <case> \\ <case> \\ \end{cases}",
        r"<letter> = \begin{cases} <case> \\ <case> \\ <case> \\ \end{cases}",
    ),
    "<case>": (r"<term> & \text{if~} <symbol>", r"<term> & \text{for~all~} <symbol>", r"<term> & \text{otherwise~} 0"),
    "matrix": (
        r"\begin{pmatrix} <symbol> & <symbol> \\ <symbol> & <symbol> \end{pmatrix}",
        r"\begin{pmatrix} <symbol> & 0 & 0 \\ 0 & <symbol> & 0 \\ 0 & 0 & <symbol> \end{pmatrix}",
    ),
    "table": (
        r"\begin{tabular}{|l|r|c|} \hline <row> <row> \end{tabular}",
        r"\begin{tabular}{|l|r|c|} \hline <row> <row> <row> \end{tabular}",
    ),
    "<row>": (r"where & <digit> <digit> & $ <term> $ \\ \hline", r"otherwise & <digit> & $ <term> $ \\ \hline"),
    "chinese": (r"\text{面积} = <sum>", r"\text{速度} = <sum>", r"\text{当} = <sum>", r"\text{体积} = <sum>"),
    "<sum>": ("<term>", "<term> <operator> <term>", "<term> <operator> <term> <operator> <term>"),
    "<term>": (
        *("<symbol>", "<symbol>", "<symbol>", r"\frac { <sum> } { <sum> }", r"\sqrt { <sum> }"),
        *("<symbol> <script> { <sum> }", r"\left( <sum> \right)", "<function> ( <sum> )"),
        r"\sum _ { <letter> = 1 } ^ { n } <sum>",
    ),
    "<symbol>": ("<letter>", "<greek>", "<digit>"),
    "<letter>": tuple("abcdefghijkmnpqrstuvwxyz"),
    "<greek>": _GREEK,
    "<digit>": tuple("0123456789"),
    "<script>": ("^", "_"),
    "<relation>": ("=", "\\leq", "\\geq", "\\neq", "\\approx", "\\to", "<"),
    "<operator>": ("+", "-", "\\cdot", "\\times", "\\pm"),
    "<function>": ("\\sin", "\\cos", "\\log", "\\exp", "\\max"),
}
"""The forms of each part, of parts and tokens."""
_SOURCES = ("print", "print", "scan", "handwritten")
_EVERY = 10
"""One sample of so many is a document, in one dialect after another."""
_SAME_LOOK = {"\\leq": "\\le", "\\geq": "\\ge", "\\to": "\\rightarrow", "\\neq": "\\ne", "\\dfrac": "\\frac"}
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


def _drawn(rng: random.Random, part: str, depth: int) -> list[str]:
    """Returns the tokens of a part; a term within so many others is a symbol."""
    if part not in _GRAMMAR:
        return [part]
    form = rng.choice(_GRAMMAR[part]) if depth or part != "<term>" else "<symbol>"
    return [token for each in form.split() for token in _drawn(rng, each, depth - (part == "<term>"))]


def _misread(rng: random.Random, tokens: list[str]) -> str:
    """What a reader makes of the tokens: right, or wrong in one of the ways that there are."""
    plain = [index for index, token in enumerate(tokens) if token.isalnum() or token in _GREEK]
    place, (symbol,) = rng.choice(plain or [0]), _drawn(rng, "<symbol>", 0)
    before, token, after = tokens[:place], tokens[place], tokens[place + 1 :]
    end = tokens.index("}") if "}" in tokens else len(tokens)
    without_blanks = (f"{each} " if each[:1] == "\\" and each[-1:].isalpha() else each for each in tokens)
    readings = [
        [*before, symbol, *after],
        [*before, *after],
        [*before, symbol, token, *after],
        [*before, *after[:1], token, *after[1:]],
        [*tokens[:end], *tokens[end + 1 :]],
        [_SAME_LOOK.get(each, each) for each in tokens],
        ["".join(without_blanks)],
        tokens[: max(1, len(tokens) // 2)],
        [*tokens, "\\undefinedcommand"],
        [*tokens, *tokens[len(tokens) // 2 :]],
    ]
    return " ".join(rng.choice([*readings, tokens, tokens]))


def sample(index: int, seed: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Returns the ground-truth record of a sample and a prediction for it, or None in one sample of forty."""
    rng = random.Random(f"{seed}:{index}")
    if index % _EVERY == _EVERY - 1:
        dialect = tuple(_PREDICTED_DELIMITERS)[index // _EVERY % len(_PREDICTED_DELIMITERS)]
        source, predicted = _paper(random.Random(f"{seed}:{index}"), dialect)
        sample_id, tags = f"document-{seed}-{index}", ["long" if len(source) > 1200 else "short"]
        truth = {"document": source, "source": rng.choice(_SOURCES), "kind": "document", "tags": tags}
        return {"sample_id": sample_id, **truth}, {"sample_id": sample_id, "document": predicted, "dialect": dialect}
    kind = rng.choices(tuple(_KINDS), tuple(_KINDS.values()))[0]
    tokens = _drawn(rng, kind, 2 if kind == "formula" else 1)
    tags = sorted({"long" if len(tokens) > 30 else "short", "fraction" if "\\frac" in tokens else "plain"})
    sample_id = f"formula-{seed}-{index}"
    truth = {"latex": " ".join(tokens), "source": rng.choice(_SOURCES), "kind": kind, "tags": tags}
    prediction = None if rng.random() < 1 / 40 else {"sample_id": sample_id, "latex": _misread(rng, tokens)}
    return {"sample_id": sample_id, **truth}, prediction


def _paper(draw: random.Random, dialect: str) -> tuple[str, str]:
    """Returns a LaTeX source and the text that a system predicts for it: exact, off, wrong, never closed."""
    source, predicted = [_PREAMBLE, "\\begin{document}\n"], []
    for number in range(draw.randint(1, 6)):
        letters = {"a": draw.choice("uvwxyz"), "b": draw.choice("pqrst"), "n": str(draw.randint(2, 9))}
        written, formula = (form.format(**letters) for form in draw.choice(_MATHEMATICS))
        source += [draw.choice(_PROSE), "\n", _delimited(written, _TRUTH_DELIMITERS, number, draw), "\n\n"]
        readings = [
            *([[formula]] * 5 + [[formula.replace("=", "\\neq").replace("f", "g") + " ."]] * 3),
            *(["\\oint"], [], [formula, f"{formula} + \\zeta"]),
        ]
        predicted.append("Then it follows.")
        predicted += [_delimited(each, _PREDICTED_DELIMITERS[dialect], number, draw) for each in draw.choice(readings)]
    source.append("\\end{document}\n$$ after = end $$\n")
    if draw.random() < 0.1:
        predicted.append("\\[ \\frac{1}{2")
    return "".join(source), "\n\n".join(predicted)


def _delimited(formula: str, delimiters: Sequence[tuple[str, str]], number: int, draw: random.Random) -> str:
    before, after = (mark.replace("%d", str(number)) for mark in draw.choice(delimiters))
    return before + formula + after
