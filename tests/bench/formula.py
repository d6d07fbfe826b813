"""What the formula benchmark costs, against the steps of the released tool, which has processes for each formula."""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from beamscore.metrics.benchmark import Pair
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.cdm.scoring import normalize
from beamscore.metrics.formula.latex.token_markup import UNMARK, Marked
from beamscore.metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from tests.bench.measure import cost_of
from tests.generate.formula import sample

PAIRS = 200
SEED = 5
SHARE = 10
"""The steps of the released tool are measured on one formula of so many."""
_PAGE = (1654, 1165)
"""A5 on its side at 200 dpi."""
_MARK = re.compile(r"[\x01\x03]\{(\d*)\}")
_BREAKAGES = (" \\begin{array}{c} x", " } } ^", " \\text{ y", " \\left( z", " { \\sqrt", " \\end{document}")
_OFFICIAL = r"""\documentclass[12pt]{article}
\usepackage[landscape]{geometry}
\geometry{a5paper,scale=0.98}
\pagestyle{empty}
\usepackage{booktabs}
\usepackage{amsmath}
\usepackage{upgreek}
\usepackage{amssymb}
\usepackage{CJK}
\usepackage{xcolor}
\begin{document}
\begin{CJK}{UTF8}{gkai}
\begin{displaymath}
%s
\end{displaymath}
\end{CJK}
\end{document}
"""
"""The document that the released tool typesets a formula in, but that it leaves out CJK where no text is Chinese."""


def formula_rows() -> list[list[str]]:
    """The whole of CDM in batches, and the steps of the released tool that can be measured without it.

    All on the same 200 pairs, long and short, some broken. The tool starts node for each formula, then pdflatex with a
    colour for each token, then ImageMagick, which makes an image of the page at 200 dpi; it crops that, and looks for
    each colour. ImageMagick, which needs Ghostscript, is left out, so the sum is less than what the tool costs.
    """
    pairs = [_pair(index) for index in range(PAIRS)]
    readings = [
        normalize(side.latex, FormulaOptions())
        for pair in pairs
        for side in (pair.truth, pair.prediction)
        if side and side.latex
    ]
    sources = [reading.marked for reading in readings if reading.marked]
    benchmark = FormulaBenchmark(FormulaOptions())
    setup = cost_of(benchmark.setup).seconds * 1e6

    def score() -> None:
        for start in range(0, PAIRS, benchmark.batch_size):
            benchmark.score(pairs[start : start + benchmark.batch_size])

    score()  # what a worker does once, such as reading fonts
    whole = cost_of(score).microseconds(PAIRS)
    benchmark.teardown()

    def of_two(step: Callable[[Marked], object]) -> float:
        """Returns what a step costs for the two formulas of a pair."""
        formulas = sources[::SHARE]
        return 2 * cost_of(lambda: [step(each) for each in formulas]).microseconds(len(formulas))

    with tempfile.TemporaryDirectory() as folder:
        costs = {
            "node, started for each of the two formulas": of_two(lambda _: _run("node", "-e", "0", cwd=folder)),
            "pdflatex, for each of the two formulas": of_two(lambda formula: _typeset(formula, folder)),
            "looking for each colour in a page of 200 dpi": of_two(_look_for_colours),
        }
    name = f"CDM of a pair in batches (1/{sum(costs.values()) / whole:.0f} of the released tool's steps below)"
    rows = {name: whole, **costs, "setup, once a worker": setup}
    return [[what, f"{microseconds:.0f}"] for what, microseconds in rows.items()]


def _pair(index: int) -> Pair[FormulaTruth, FormulaPrediction]:
    """Returns a generated pair: one in four is three to eight formulas long.

    The generator breaks some; one in forty is broken besides.
    """
    rng = random.Random(f"{SEED}:{index}")
    count = rng.randint(3, 8) if index % 4 == 0 else 1
    records = [sample(index * 10 + part, SEED) for part in range(count)]
    truth = " + ".join(record["latex"] for record, _ in records)
    prediction = " + ".join(given["latex"] for _, given in records if given)
    if index % 40 == 39:
        prediction += rng.choice(_BREAKAGES)
    return Pair(str(index), FormulaTruth(truth), FormulaPrediction(prediction))


def _run(*command: str, cwd: str) -> None:
    subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)


def _typeset(formula: Marked, folder: str) -> None:
    coloured = _MARK.sub(lambda mark: f"\\mathcolor[RGB]{{0,{int(mark[1] or 0) % 256},1}}{{", formula.source)
    Path(folder, "formula.tex").write_text(_OFFICIAL % coloured.replace(UNMARK, "}"), "utf-8")
    _run("pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "formula.tex", cwd=folder)


def _look_for_colours(formula: Marked) -> None:
    """Crops a page to its ink and looks for a colour for each token, as the tool does with NumPy."""
    page = np.full((_PAGE[1], _PAGE[0]), 255, dtype=np.uint8)
    page[300:360, 8 : 8 + min(30 * len(formula.labels), _PAGE[0] - 16)] = 0
    rows, columns = np.where(page != 255)
    ink = np.stack([page[rows.min() - 8 : rows.max() + 8, columns.min() - 8 : columns.max() + 8]] * 3, axis=2)
    for number in range(len(formula.labels)):
        np.argwhere(np.all(ink == np.array([1, number % 256, 0], dtype=np.uint8), axis=2))
