"""Edit distances of the texts of many charts: each text of one side of a chart with each of its other side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist, cpdist

from ..common.arrays import indexes
from ..common.geometry import Array
from ..common.segments import Indexes, starts_of, within

# Tables of more pairs of texts are compared by themselves.
MAX_PAIRED_TEXTS = 1 << 12


class Texts(NamedTuple):
    """The texts of one side of many charts, one chart after the other.

    lengths: of each text. counts: how many texts each chart has, `[C]`.
    """

    texts: tuple[str, ...]
    lengths: Indexes
    counts: Indexes

    @classmethod
    def of(cls, texts: Sequence[str], counts: Indexes) -> Texts:
        """Returns the texts with their lengths."""
        return cls(tuple(texts), indexes(list(map(len, texts))), counts)

    def sums(self, values: Indexes) -> Indexes:
        """Returns the sums of whole numbers, one for each text, over each chart."""
        owners = np.repeat(np.arange(len(self.counts)), self.counts)
        return np.bincount(owners, values, len(self.counts)).astype(np.intp)


def distinct_texts(texts: Sequence[str], counts: Indexes) -> tuple[Texts, Indexes]:
    """Returns the distinct texts of each chart, and for each text its place among those of its chart."""
    distinct: list[str] = []
    places: list[int] = []
    of_charts: list[int] = []
    start = 0
    for count in counts.tolist():
        held = texts[start : start + count]
        start += count
        unique = dict.fromkeys(held)
        distinct += unique
        of_charts.append(len(unique))
        if len(unique) == count:
            places += range(count)
        else:
            positions = dict(zip(unique, range(count), strict=False))
            places += map(positions.__getitem__, held)
    return Texts.of(distinct, indexes(of_charts)), indexes(places)


def text_distances(first: Texts, second: Texts) -> Array:
    """Returns the edit distances of each chart over the length of the longer text (at least 1), as a table `[N, M]`.

    The tables stand one after the other.
    """
    widths = np.repeat(second.counts, first.counts)
    columns = np.repeat(np.repeat(starts_of(second.counts), first.counts), widths) + within(widths)
    longer = np.maximum(np.repeat(first.lengths, widths), second.lengths[columns])
    return np.asarray(_edits(first, second) / np.maximum(longer, 1), dtype=np.float64)


def _edits(first: Texts, second: Texts) -> Indexes:
    """Returns the edits of all tables; equal ones, such as those of box plots, are compared once."""
    numbers: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    of_charts: list[int] = []
    start = other_start = 0
    for count, other_count in zip(first.counts.tolist(), second.counts.tolist(), strict=True):
        sides = first.texts[start : start + count], second.texts[other_start : other_start + other_count]
        start, other_start = start + count, other_start + other_count
        of_charts.append(numbers.setdefault(sides, len(numbers)))
    edits = _edits_of_tables(list(numbers))
    if len(numbers) == len(of_charts):
        return edits
    starts = starts_of(indexes([len(some) * len(others) for some, others in numbers]))
    sizes = first.counts * second.counts
    return np.asarray(edits[np.repeat(starts[of_charts], sizes) + within(sizes)])


def _edits_of_tables(sides: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> Indexes:
    tables: list[Indexes] = []
    texts: list[str] = []
    other_texts: list[str] = []
    for some, others in sides:
        if len(some) * len(others) > MAX_PAIRED_TEXTS:
            apart = cdist(some, others, scorer=Levenshtein.distance, dtype=np.uint32).ravel()
            tables += [cpdist(texts, other_texts, scorer=Levenshtein.distance, dtype=np.uint32), apart]
            texts, other_texts = [], []
        else:
            for text in some:
                texts += (text,) * len(others)
                other_texts += others
    tables.append(cpdist(texts, other_texts, scorer=Levenshtein.distance, dtype=np.uint32))
    return np.concatenate(tables)


def text_steps(first: Texts, second: Texts) -> Indexes:
    """Returns the steps of `text_distances` for each chart: two passes over its table, and the operations on words.

    64 cells of a column of the table of edits are one operation; either text may be the column.
    """
    characters, other_characters = first.sums(first.lengths), second.sums(second.lengths)
    operations = np.maximum(_words(first, characters) * other_characters, _words(second, other_characters) * characters)
    return np.asarray(2 * (1 + first.counts * second.counts // 20) + operations // 80, dtype=np.intp)


def _words(texts: Texts, characters: Indexes) -> Indexes:
    """Returns how many words of 64 cells hold a column for each text of each chart, of so many characters together."""
    if not len(characters) or characters.max() < 64:
        return texts.counts
    return np.where(characters < 64, texts.counts, texts.sums(1 + texts.lengths // 64))
