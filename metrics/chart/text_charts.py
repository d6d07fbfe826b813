"""The text blocks of a chart as task 2 compares them, read once for all blocks of a batch with the same text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from ..benchmark import Side
from ..common.budget import Budget
from ..common.geometry import Array
from .names import read_text
from .options import ChartOptions
from .records import Box, Identifier, TextBlock
from .sample import ChartSample, Memo
from .work import pair_steps

MAX_UNSPENT_STEPS = 1000

ReadText = tuple[str, int, bool]
"""A text as it is compared, the steps of reading it, and whether the block counts."""

OVERLAP_PASSES = 30
"""Passes over the table of all pairs of blocks: each may lie within the other, which is listed."""


class Blocks(msgspec.Struct, frozen=True, gc=False):
    """The blocks of one side that count: boxes, normalised texts and ids."""

    boxes: Sequence[Box]
    texts: Sequence[str]
    identifiers: Sequence[str | None]

    def corners(self, places: Iterable[int]) -> Array:
        """Returns (x0, y0, x1, y1) of the blocks at `places`, `[N, 4]`."""
        return np.array([self.boxes[place].corners() for place in places], dtype=np.float64).reshape(-1, 4)

    def __len__(self) -> int:
        return len(self.texts)


class TextChart(msgspec.Struct, frozen=True, gc=False):
    """One chart with the blocks of both sides, and whether there is a prediction."""

    sample: ChartSample
    truths: Blocks
    predictions: Blocks
    attempted: bool


def read_chart(
    sample: ChartSample,
    truth: Sequence[TextBlock],
    given: Sequence[TextBlock] | None,
    texts: dict[str | None, ReadText],
    identifiers: Memo[Identifier, str | None],
    options: ChartOptions,
) -> TextChart:
    """Returns a chart with its blocks; texts: how the texts of the batch read so far are compared.

    Raises RejectedRecord where reading takes more than the budget."""
    truths = _read_blocks(truth, "ground_truth", sample.budget, texts, identifiers, options)
    predictions = _read_blocks(given or (), "prediction", sample.budget, texts, identifiers, options)
    sample.budget.spend(pair_steps(len(truths), len(predictions), OVERLAP_PASSES))
    return TextChart(sample, truths, predictions, given is not None)


def _read_blocks(
    blocks: Sequence[TextBlock],
    side: Side,
    budget: Budget,
    texts: dict[str | None, ReadText],
    identifiers: Memo[Identifier, str | None],
    options: ChartOptions,
) -> Blocks:
    """Returns the blocks without those whose text holds `__`; a text that several blocks have is read once."""
    if not blocks:
        return Blocks((), (), ())
    read = _read_texts(blocks, texts, budget.left, options)
    steps = sum([steps for _, steps, _ in read])
    if len(read) < len(blocks) or steps > budget.left:
        read = list(_read_each(blocks, side, budget, texts, options))
    else:
        budget.spend_reading(side, steps)
    if sum([counts for _, _, counts in read]) < len(read):
        blocks = [block for block, (_, _, counts) in zip(blocks, read, strict=True) if counts]
        read = [each for each in read if each[2]]
    return Blocks(
        [block.bb for block in blocks], [text for text, _, _ in read], [identifiers[block.id] for block in blocks]
    )


def _read_texts(
    blocks: Sequence[TextBlock], texts: dict[str | None, ReadText], most: int, options: ChartOptions
) -> list[ReadText]:
    """Returns how the text of each block reads, of fewer blocks where reading them takes more than `most` steps."""
    read: list[ReadText] = []
    new = 0
    for block in blocks:
        each = texts.get(block.text)
        if each is None:
            text, steps = read_text(block.text or "", options)
            each = texts[block.text] = text, steps, "__" not in text
            new += steps
            if new > most:
                return read
        read.append(each)
    return read


def _read_each(
    blocks: Iterable[TextBlock],
    side: Side,
    budget: Budget,
    texts: dict[str | None, ReadText],
    options: ChartOptions,
) -> Iterator[ReadText]:
    """Yields how the text of each block reads; spends the steps of a few before more are read."""
    unspent = 0
    for block in blocks:
        read = texts.get(block.text)
        if read is None:
            text, steps = read_text(block.text or "", options)
            read = texts[block.text] = text, steps, "__" not in text
        unspent += read[1]
        if unspent > MAX_UNSPENT_STEPS:
            budget.spend_reading(side, unspent)
            unspent = 0
        yield read
    budget.spend_reading(side, unspent)
