"""Damages real formulas and compares the scores that they get in batches of every kind with those that they get alone.

`python -m tests.metrics.formula.damaged [--count 3000] [--seed 1] [FOLDER ...]` runs it over the formulas of folders
that hold ground_truth.jsonl (by default the shipped corpus), says how many scores differ, and ends with 1 where any
does.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.latex.parser import split
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.helpers import benchmark_with

FormulaPair = Pair[FormulaTruth, FormulaPrediction]

CORPUS = Path("tests/corpora/formula")
BATCHES = (7, 96, 400)


def real_formulas(folder: Path) -> list[str]:
    """The formulas and tables of a corpus, in the order of the file."""
    records = map(msgspec.json.decode, (folder / "ground_truth.jsonl").read_bytes().splitlines())
    return [record["latex"] for record in records if record.get("latex")]


def damaged(text: str, generator: random.Random) -> str:
    """The formula with one character or token dropped, doubled or moved."""
    parts = list(text) if generator.random() < 0.5 else split(text)
    at = generator.randrange(len(parts))
    match generator.randrange(3):
        case 0:
            del parts[at]
        case 1:
            parts.insert(at, parts[at])
        case _:
            part = parts.pop(at)
            parts.insert(generator.randrange(len(parts) + 1), part)
    return "".join(parts)


def damaged_pairs(formulas: Sequence[str], count: int, seed: int) -> list[FormulaPair]:
    """Pairs of a formula and its damaged self; in one of four the damaged one is the ground truth."""
    generator = random.Random(seed)
    pairs: list[FormulaPair] = []
    while len(pairs) < count:
        whole = generator.choice(formulas)
        other = damaged(whole, generator)
        if not other.strip():
            continue
        left, right = (other, whole) if generator.random() < 0.25 else (whole, other)
        pairs.append(Pair(str(len(pairs)), FormulaTruth(left), FormulaPrediction(right)))
    return pairs


def told(result: SampleScore | RejectedRecord) -> object:
    """All that a result says, in a form that compares by content."""
    return (result.side, result.message) if isinstance(result, RejectedRecord) else result


def differences(benchmark: FormulaBenchmark, pairs: Sequence[FormulaPair], seed: int) -> Iterator[str]:
    """Yields each pair whose result in a batch differs from the one that it gets alone.

    Every batch size is tried in an order of its own.
    """
    alone = {pair.sample_id: told(benchmark.score([pair])[0]) for pair in pairs}
    for size in (size for size in BATCHES if size < 2 * len(pairs)):
        order = list(pairs)
        random.Random(f"{seed}:{size}").shuffle(order)
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            for pair, result in zip(batch, benchmark.score(batch), strict=True):
                if told(result) != alone[pair.sample_id]:
                    yield f"in a batch of {size}: {pair.truth.latex!r} / {pair.prediction and pair.prediction.latex!r}"


def main() -> int:
    """Runs the comparison from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[CORPUS])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    formulas = [formula for folder in arguments.folders for formula in real_formulas(folder)]
    pairs = damaged_pairs(formulas, arguments.count, arguments.seed)
    with Typesetter() as typesetter:
        found = list(differences(benchmark_with(typesetter), pairs, arguments.seed))
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{len(pairs)} damaged formulas, {len(found)} scores differ from those alone\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
