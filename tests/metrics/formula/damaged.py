"""Damages real formulas, and compares the scores that they get in batches of every kind with those alone."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.latex.parser import split
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth

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
