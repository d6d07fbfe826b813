"""Which text blocks of ground truth and prediction stand for each other: pairs, splits and merges of many charts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..common.segments import numpy_sum
from .box_overlaps import Indexes, Overlaps, Sides
from .options import ChartOptions

MAX_LISTED_PAIRS = 1 << 16

Candidates = dict[int, dict[int, list[tuple[int, float]]]]
"""By chart and block: the free blocks of the other side that lie in it, and the area that they share with it."""


class Matcher:
    """Matches the boxes of many charts; each box is taken once."""

    def __init__(self, truths: Sides, predictions: Sides, overlaps: Overlaps, options: ChartOptions) -> None:
        self._truths, self._predictions, self._overlaps, self._options = truths, predictions, overlaps, options
        self._starts = truths.starts.tolist(), predictions.starts.tolist()
        self._free = bytearray(b"\x01" * len(truths.areas)), bytearray(b"\x01" * len(predictions.areas))
        self._charts = np.repeat(np.arange(len(truths.starts) - 1), np.diff(truths.starts))[overlaps.rows]

    def best_pairs(self) -> list[list[tuple[int, int, float]]]:
        """Takes pairs (truth, prediction, IoU) of each chart from `text_iou` on, best first.

        Ties are taken in the order of truths, then predictions.
        """
        rows, columns, _, ious = self._overlaps
        free_truths, free_predictions = self._free
        starts, other_starts = self._starts
        pairs: list[list[tuple[int, int, float]]] = [[] for _ in starts[1:]]
        places = np.flatnonzero((ious >= self._options.text_iou) & (ious > 0))
        places = places[np.lexsort((-ious[places], self._charts[places]))]
        for start in range(0, len(places), MAX_LISTED_PAIRS):
            listed_places = places[start : start + MAX_LISTED_PAIRS]
            listed_places = listed_places[self._are_free(listed_places)]
            columns_of = (each[listed_places].tolist() for each in (self._charts, rows, columns, ious))
            for chart, truth, prediction, iou in zip(*columns_of, strict=True):
                if free_truths[truth] and free_predictions[prediction]:
                    free_truths[truth] = free_predictions[prediction] = 0
                    pairs[chart].append((truth - starts[chart], prediction - other_starts[chart], iou))
        return pairs

    def _are_free(self, places: Indexes) -> npt.NDArray[np.bool_]:
        free_truths, free_predictions = (np.frombuffer(side, dtype=np.bool_) for side in self._free)
        return np.asarray(free_truths[self._overlaps.rows[places]] & free_predictions[self._overlaps.columns[places]])

    def splits(self) -> Candidates:
        """Returns the free predictions that may be parts of free truths."""
        rows, columns, shared, _ = self._overlaps
        inside = shared > self._options.split_part * self._predictions.areas[columns]
        return self._candidates(inside, rows, columns, self._starts)

    def merges(self) -> Candidates:
        """Returns the free truths that may be parts of free predictions."""
        rows, columns, shared, _ = self._overlaps
        inside = shared > self._options.merge_part * self._truths.areas[rows]
        return self._candidates(inside, columns, rows, self._starts[::-1])

    def _candidates(
        self, inside: npt.NDArray[np.bool_], wholes: Indexes, parts: Indexes, starts: tuple[list[int], list[int]]
    ) -> Candidates:
        candidates: Candidates = {}
        places = np.flatnonzero(inside)
        places = places[self._are_free(places)]
        arrays = (self._charts, wholes, parts, self._overlaps.shared)
        for chart, whole, part, shared in zip(*(each[places].tolist() for each in arrays), strict=True):
            of_chart = candidates.setdefault(chart, {})
            of_chart.setdefault(whole - starts[0][chart], []).append((part - starts[1][chart], shared))
        return candidates

    def taken(self, chart: int, candidates: Candidates, merging: bool) -> Iterator[tuple[int, list[int]]]:
        """Yields each free block of a chart with two or more free parts that cover it, in order, and takes both."""
        if chart not in candidates:
            return
        sides, cover = (self._truths, self._predictions), self._options.split_cover
        free, starts = self._free, (self._starts[0][chart], self._starts[1][chart])
        if merging:
            sides, cover = sides[::-1], self._options.merge_cover
            free, starts = free[::-1], starts[::-1]
        for whole, all_parts in sorted(candidates[chart].items()):
            parts = [part for part in all_parts if free[1][starts[1] + part[0]]]
            if len(parts) < 2 or not free[0][starts[0] + whole]:
                continue
            if numpy_sum([shared for _, shared in parts]) >= cover * sides[0].areas[starts[0] + whole]:
                free[0][starts[0] + whole] = 0
                for part, _ in parts:
                    free[1][starts[1] + part] = 0
                yield whole, [part for part, _ in parts]

    def left(self, chart: int) -> tuple[list[int], list[int]]:
        """Returns the free truths and the free predictions of a chart."""
        truths, predictions = (
            [place for place, is_free in enumerate(free[starts[chart] : starts[chart + 1]]) if is_free]
            for free, starts in zip(self._free, self._starts, strict=True)
        )
        return truths, predictions
