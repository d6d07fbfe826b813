"""What the formula benchmark costs, against typesetting each formula in a TeX process of its own."""

from __future__ import annotations

import random
import resource
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from beamscore.metrics.benchmark import Pair
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.cdm.scoring import normalize, render, score_pair
from beamscore.metrics.formula.records import FormulaOptions, FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.bench.measure import cost_of
from tests.bench.run import score_in_batches
from tests.bench.scoring import Row
from tests.generate.formula import sample

PAIRS = 200
SEED = 5
_BREAKAGES = (" \\begin{array}{c} x", " } } ^", " \\text{ y", " \\left( z", " { \\sqrt", " \\end{document}")
_DOCUMENT = r"""\documentclass[12pt]{article}
\usepackage[landscape]{geometry}
\geometry{a5paper,scale=0.98}
\pagestyle{empty}
\usepackage{booktabs}
\usepackage{multirow}
\usepackage{amsmath}
\usepackage{upgreek}
\usepackage{amssymb}
\usepackage{CJK}
\begin{document}
\begin{CJK}{UTF8}{gkai}
\begin{displaymath}
%s
\end{displaymath}
\end{CJK}
\end{document}
"""

FormulaPair = Pair[FormulaTruth, FormulaPrediction]


def formula_rows() -> list[Row]:
    """The whole of CDM in batches, its stages, and plain TeX with one formula a process; a row says its share.

    All on the same 200 pairs, long and short, some broken. The stages are measured first, and so bear what a worker
    does once, such as reading fonts; the whole is what it costs from then on.
    """
    pairs = formula_bench_pairs()
    texts = [text for pair in pairs for text in (pair.truth.latex, pair.prediction and pair.prediction.latex) if text]
    stages = _stages(pairs)
    benchmark = FormulaBenchmark(FormulaOptions())
    setup = cost_of(benchmark.setup).seconds * 1e6
    whole = _cost(lambda: score_in_batches(benchmark, pairs))
    benchmark.teardown()
    total = sum(stages.values())
    alone = _cost(lambda: _typeset_each_alone(texts))
    return [
        Row(f"CDM of a pair in batches (1/{alone / whole:.0f} of TeX alone)", whole),
        *(Row(f"{stage} ({spent / total:.0%})", spent) for stage, spent in stages.items()),
        Row("TeX alone: a process for each of the two formulas, nothing else", alone),
        Row("setup, once a worker", setup),
    ]


def formula_bench_pairs() -> list[FormulaPair]:
    """Returns 200 generated pairs: one in four is three to eight formulas long.

    The generator breaks some; one in forty is broken besides.
    """
    pairs: list[FormulaPair] = []
    index = 0
    while len(pairs) < PAIRS:
        rng = random.Random(f"{SEED}:{index}")
        count = rng.randint(3, 8) if index % 4 == 0 else 1
        records = [sample(index * 10 + part, SEED) for part in range(count)]
        index += 1
        truth = " + ".join(record["latex"] for record, _ in records)
        prediction = " + ".join(given["latex"] for _, given in records if given)
        if index % 40 == 0:
            prediction += rng.choice(_BREAKAGES)
        pairs.append(Pair(str(index), FormulaTruth(truth), FormulaPrediction(prediction)))
    return pairs


def _cost(work: Callable[[], object]) -> float:
    """Processor microseconds of a pair, children included."""
    return cost_of(work).microseconds(PAIRS)


def _stages(pairs: Sequence[FormulaPair]) -> dict[str, float]:
    """Processor microseconds of a pair in each stage; TeX's own are those of the children."""
    options = FormulaOptions()
    seconds = dict.fromkeys(("normalising", "typesetting", "reading boxes", "matching"), 0.0)
    with Typesetter(options.time_limit) as typesetter:
        for start in range(0, len(pairs), FormulaBenchmark.batch_size):
            texts = [
                (pair.truth.latex or "", (pair.prediction and pair.prediction.latex) or "")
                for pair in pairs[start : start + FormulaBenchmark.batch_size]
            ]
            before = _now()
            readings = [tuple(normalize(text, options) for text in pair) for pair in texts]
            read_at = _now()
            renderings = render([reading for pair in readings for reading in pair], typesetter)
            rendered_at = _now()
            for truth, prediction in readings:
                score_pair(truth, prediction, renderings)
            seconds["normalising"] += read_at[0] - before[0]
            seconds["typesetting"] += rendered_at[1] - read_at[1]
            seconds["reading boxes"] += rendered_at[0] - read_at[0]
            seconds["matching"] += _now()[0] - rendered_at[0]
    return {stage: spent / len(pairs) * 1e6 for stage, spent in seconds.items()}


def _now() -> tuple[float, float]:
    """Processor seconds of this process, and of its children that have ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    own, children = (usage.ru_utime + usage.ru_stime for usage in usages)
    return own, children


def _typeset_each_alone(texts: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for text in texts:
            Path(folder, "formula.tex").write_text(_DOCUMENT % text, "utf-8")
            subprocess.run(
                ["latex", "-interaction=batchmode", "-no-shell-escape", "formula.tex"],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=60,
                check=False,
            )
