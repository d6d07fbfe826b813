"""Formulas, tables and documents with readings that err in every way the formula benchmark tells apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

_LETTERS = "abcdefghijkmnpqrstuvwxyz"
_GREEK = ("\\alpha", "\\beta", "\\gamma", "\\delta", "\\lambda", "\\mu", "\\pi", "\\sigma", "\\phi", "\\omega")
_RELATIONS = ("=", "\\leq", "\\geq", "\\neq", "\\approx", "\\to", "<")
_OPERATORS = ("+", "-", "\\cdot", "\\times", "\\pm")
_FUNCTIONS = ("\\sin", "\\cos", "\\log", "\\exp", "\\max")
_WORDS = ("if", "for all", "otherwise", "where", "and")
_CHINESE = ("面积", "速度", "当", "体积")
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


def _symbol(rng: random.Random) -> str:
    return rng.choice((rng.choice(_LETTERS), rng.choice(_GREEK), str(rng.randrange(10))))


def _term(rng: random.Random, depth: int) -> list[str]:
    kind = rng.randrange(9) if depth else rng.randrange(2)
    if kind < 3:
        return [_symbol(rng)]
    inner = _sum(rng, depth - 1)
    if kind == 3:
        return ["\\frac", "{", *inner, "}", "{", *_sum(rng, depth - 1), "}"]
    if kind == 4:
        return ["\\sqrt", "{", *inner, "}"]
    if kind == 5:
        return [_symbol(rng), rng.choice("^_"), "{", *inner, "}"]
    if kind == 6:
        return ["\\left(", *inner, "\\right)"]
    if kind == 7:
        return [rng.choice(_FUNCTIONS), "(", *inner, ")"]
    return ["\\sum", "_", "{", rng.choice("ijk"), "=", "1", "}", "^", "{", "n", "}", *inner]


def _sum(rng: random.Random, depth: int) -> list[str]:
    tokens = _term(rng, depth)
    for _ in range(rng.randrange(3)):
        tokens += [rng.choice(_OPERATORS), *_term(rng, depth)]
    return tokens


def _formula(rng: random.Random) -> list[str]:
    return [*_sum(rng, 2), rng.choice(_RELATIONS), *_sum(rng, 2)]


def _cases(rng: random.Random) -> list[str]:
    rows: list[str] = []
    for _ in range(rng.randrange(2, 4)):
        rows += [*_term(rng, 1), "&", f"\\text{{{rng.choice(_WORDS)} }}", *_term(rng, 0), "\\\\"]
    return [rng.choice(_LETTERS), "=", "\\begin{cases}", *rows, "\\end{cases}"]


def _matrix(rng: random.Random) -> list[str]:
    size = rng.randrange(2, 4)
    rows: list[str] = []
    for place in range(size * size):
        rows += [*(["&"] if place % size else []), *_term(rng, 0), *([] if (place + 1) % size else ["\\\\"])]
    return ["\\begin{pmatrix}", *rows[:-1], "\\end{pmatrix}"]


def _table(rng: random.Random) -> list[str]:
    rows = ["\\hline"]
    for _ in range(rng.randrange(2, 4)):
        rows += [rng.choice(_WORDS), "&", str(rng.randrange(100)), "&", "$", *_term(rng, 1), "$", "\\\\", "\\hline"]
    return ["\\begin{tabular}{|l|r|c|}", *rows, "\\end{tabular}"]


def _chinese(rng: random.Random) -> list[str]:
    return [f"\\text{{{rng.choice(_CHINESE)}}}", "=", *_sum(rng, 1)]


_KINDS = {"formula": _formula, "cases": _cases, "matrix": _matrix, "table": _table, "chinese": _chinese}


def _misread(rng: random.Random, tokens: list[str]) -> str:
    """What a reader makes of the tokens: nearly always right, or wrong in one of the ways that there are."""
    tokens = list(tokens)
    plain = [index for index, token in enumerate(tokens) if token.isalnum() or token in _GREEK]
    error = rng.randrange(12)
    if error == 0 and plain:
        tokens[rng.choice(plain)] = _symbol(rng)
    elif error == 1 and plain:
        del tokens[rng.choice(plain)]
    elif error == 2 and plain:
        tokens.insert(rng.choice(plain), _symbol(rng))
    elif error == 3 and "}" in tokens:
        tokens.remove("}")
    elif error == 4:
        tokens = [_SAME_LOOK.get(token, token) for token in tokens]
    elif error == 5:
        return "".join(f"{token} " if token[:1] == "\\" and token[-1:].isalpha() else token for token in tokens)
    elif error == 6:
        tokens = tokens[: max(1, len(tokens) // 2)]
    elif error == 7 and len(plain) > 1:
        first, second = rng.sample(plain, 2)
        tokens[first], tokens[second] = tokens[second], tokens[first]
    elif error == 8:
        tokens.append("\\undefinedcommand")
    elif error == 9:
        tokens += tokens[len(tokens) // 2 :]
    return " ".join(tokens)


def sample(index: int, seed: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Returns the ground-truth record of a sample and a prediction for it, or None in one sample of forty."""
    rng = random.Random(f"{seed}:{index}")
    if index % _EVERY == _EVERY - 1:
        dialect = tuple(_PREDICTED_DELIMITERS)[index // _EVERY % len(_PREDICTED_DELIMITERS)]
        source, predicted = _paper(random.Random(f"{seed}:{index}"), dialect)
        sample_id, tags = f"document-{seed}-{index}", ["long" if len(source) > 1200 else "short"]
        truth = {"document": source, "source": rng.choice(_SOURCES), "kind": "document", "tags": tags}
        return {"sample_id": sample_id, **truth}, {"sample_id": sample_id, "document": predicted, "dialect": dialect}
    kind = rng.choices(tuple(_KINDS), weights=(12, 2, 2, 2, 1))[0]
    tokens = _KINDS[kind](rng)
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
        written, expanded = (form.format(**letters) for form in draw.choice(_MATHEMATICS))
        source += [draw.choice(_PROSE), "\n", _delimited(written, _TRUTH_DELIMITERS, number, draw), "\n\n"]
        predicted += _predicted(expanded, dialect, number, draw)
    source.append("\\end{document}\n$$ after = end $$\n")
    if draw.random() < 0.1:
        predicted.append("\\[ \\frac{1}{2")
    return "".join(source), "\n\n".join(predicted)


def _predicted(formula: str, dialect: str, number: int, draw: random.Random) -> list[str]:
    kind = draw.choices(("exact", "off", "wrong", "missing", "redundant"), (5, 3, 1, 1, 1))[0]
    shown = {"off": formula.replace("=", "\\neq").replace("f", "g") + " .", "wrong": "\\oint"}.get(kind, formula)
    more = {"missing": [], "redundant": [shown, formula + " + \\zeta"]}.get(kind, [shown])
    delimiters = _PREDICTED_DELIMITERS[dialect]
    return ["Then it follows.", *[_delimited(each, delimiters, number, draw) for each in more]]


def _delimited(formula: str, delimiters: Sequence[tuple[str, str]], number: int, draw: random.Random) -> str:
    before, after = (mark.replace("%d", str(number)) for mark in draw.choice(delimiters))
    return before + formula + after
