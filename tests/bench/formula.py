"""What the formula benchmark costs, against the steps of the released tool, which has processes for each formula."""

from __future__ import annotations

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

SAMPLES = 200
SEED = 5
SHARE = 10
"""The steps of the released tool are measured on one pair of so many."""
_PAGE = (1654, 1165)
"""A5 on its side at 200 dpi."""
_MARK = re.compile(r"[\x01\x03]\{(\d*)\}")
_OFFICIAL = r"""\documentclass[12pt]{article}
\usepackage[landscape]{geometry}
\geometry{a5paper,scale=0.98}
\pagestyle{empty}
\usepackage{booktabs,amsmath,upgreek,amssymb,CJK,xcolor}
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

    All on the same pairs of formulas, some of them broken. The tool starts node for each formula, then pdflatex with a
    colour for each token, then ImageMagick, which makes an image of the page at 200 dpi; it crops that, and looks for
    each colour. ImageMagick, which needs Ghostscript, is left out, so the sum is less than what the tool costs.
    """
    benchmark = FormulaBenchmark(FormulaOptions())
    drawn = [sample(index, SEED) for index in range(SAMPLES)]
    pairs = [Pair("", FormulaTruth(truth["latex"]), FormulaPrediction(given["latex"]))
             for truth, given in drawn if given and "latex" in given]  # fmt: skip
    sides = [side for truth, given in drawn[::SHARE] for side in (truth, given) if side and "latex" in side]
    readings = [normalize(side["latex"], benchmark.options) for side in sides]
    sources = [reading.marked for reading in readings if reading.marked]
    rows = {"setup, once a worker": cost_of(benchmark.setup).microseconds(1)}

    def score() -> None:
        for start in range(0, len(pairs), benchmark.batch_size):
            benchmark.score(pairs[start : start + benchmark.batch_size])

    score()  # what a worker does once, such as reading fonts
    rows["CDM of a pair in batches"] = cost_of(score).microseconds(len(pairs))
    benchmark.teardown()
    with tempfile.TemporaryDirectory() as folder:
        steps: dict[str, Callable[[Marked], object]] = {
            "node, started for each of the two formulas": lambda _: _run("node", "-e", "0", cwd=folder),
            "pdflatex, for each of the two formulas": lambda formula: _typeset(formula, folder),
            "looking for each colour in a page of 200 dpi": _look_for_colours,
        }
        for name, step in steps.items():
            rows[name] = 2 * cost_of(lambda: [step(each) for each in sources]).microseconds(len(sources))  # noqa: B023
    return [[what, f"{microseconds:.0f}"] for what, microseconds in rows.items()]


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
