"""Several figures scored as one: their regions stand in common arrays, and only regions of one figure are paired.

So the fixed cost of an array operation is shared. What comes of a figure depends on that figure alone: nothing that is
computed here looks across figures, and where a figure cannot be scored, each of its group is scored anew by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from ..common.budget import Budget
from .arrays import BoolArray, IntArray
from .deteval import Group, Matching, Rules, covered_detections, match
from .figure import Figure
from .overlaps import Overlaps, charge, measure
from .records import FigureTextOptions, PredictedRegion, TruthRegion
from .regions import Located, Regions, locate, locate_dropped
from .spotting import Choices, Pairing, agree, spot, text_numbers

MAX_GROUP_REGIONS = 2_000
MAX_GROUP_PAIRS = 50_000
MAX_GROUP_SUBSETS = 16
"""Larger figures are scored by themselves: there is nothing to share."""

COUNTS = (
    "detection.regions",
    "detection.detections",
    "detection.one_to_one",
    "detection.split_regions",
    "detection.split_detections",
    "detection.merged_regions",
    "detection.merged_detections",
    "end_to_end.matches",
    "end_to_end.wordless_regions",
    "end_to_end.excused_detections",
)
"""What is counted in each choice of the regions that count, in this order.

A region without a text is no word: end to end it does not count (`wordless_regions`), and the detections that it covers
do not either (`excused_detections`).
"""


class Job(msgspec.Struct, frozen=True):
    """A figure to be scored, the positions of its regions by subset, and its budget."""

    figure: Figure
    members: dict[str, list[int]]
    budget: Budget

    @property
    def pairs(self) -> int:
        """How many pairs of regions there are."""
        return len(self.figure.located) * len(self.figure.detections)

    @property
    def regions(self) -> int:
        """How many located regions there are on both sides."""
        return len(self.figure.located) + len(self.figure.detections)

    @property
    def choices(self) -> int:
        """How many choices of the regions that count there are: all, none, and each subset."""
        return 2 + len(self.members)


@dataclass(frozen=True, slots=True)
class Side:
    """The located regions of one side of a group: their figures and their positions in the records."""

    figures: list[int]
    positions: list[int]


class Outcome(msgspec.Struct):
    """What became of one figure.

    counts: `[choices][COUNTS]`, all regions first, then none, then each subset.
    agreed: pairs of regions that agree in location, and in location and text.
    found, finders: how and with which positions of the other side each matched region was matched, by position.
    read: the detection that reads each correctly spotted region, by position.
    covered: positions of the detections that don't-care regions cover.
    dropped: the positions of both sides that were left out, with the reason.
    """

    counts: list[list[int]]
    agreed: tuple[int, int]
    found: dict[int, tuple[str, list[int]]]
    finders: dict[int, tuple[str, list[int]]]
    read: dict[int, int]
    covered: list[int]
    dropped: tuple[dict[int, str], dict[int, str]]


def groups(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Yields the numbers of the jobs that are scored together, in order."""
    group: list[int] = []
    regions = pairs = 0
    for number, job in enumerate(jobs):
        regions, pairs = regions + job.regions, pairs + job.pairs
        large = job.choices > MAX_GROUP_SUBSETS
        if group and (large or regions > MAX_GROUP_REGIONS or pairs > MAX_GROUP_PAIRS):
            yield group
            group, regions, pairs = [], job.regions, job.pairs
        group.append(number)
        if large:
            yield group
            group, regions, pairs = [], 0, 0
    if group:
        yield group


def score_group(jobs: Sequence[Job], options: FigureTextOptions, rules: Rules) -> list[Outcome]:
    """Returns what became of each figure.

    Raises OutOfBudget, TooManyOverlaps or shapely.errors.GEOSException where one of them cannot be scored.
    """
    budgets = [job.budget for job in jobs]
    truth_side, detection_side = (
        _side([getattr(job.figure, name) for job in jobs]) for name in ("located", "detections")
    )
    truth_records: list[TruthRegion] = [jobs[f].figure.truths[p] for f, p in _places(truth_side)]
    detected_records: list[PredictedRegion] = [jobs[f].figure.predictions[p] for f, p in _places(detection_side)]
    _charge_locating(jobs, truth_side, truth_records, detection_side, detected_records, options)
    overlaps = measure(
        _located(truth_records, truth_side, options),
        _located(detected_records, detection_side, options),
        budgets,
    )
    counts = _counting(jobs, truth_records, overlaps)
    sizes = [job.choices for job in jobs]
    figures = overlaps.truths.owners[overlaps.rows]
    steps = np.bincount(figures, minlength=len(jobs)) // 8
    steps += np.array([len(job.figure.truths) // 8 + len(job.figure.predictions) // 8 for job in jobs])
    charge(budgets, np.array(sizes) * steps)
    matchings = list(match(overlaps, counts, rules))
    choices = Choices(counts, np.stack([matching.covered for matching in matchings]), sizes)
    texts = text_numbers(
        [truth_records[number].text for number in overlaps.truths.positions.tolist()],
        [detected_records[number].text for number in overlaps.detections.positions.tolist()],
        options.case_sensitive,
        options.nfc,
    )
    words = _words(overlaps, choices, texts[0] >= 0, rules)
    spotted = spot(overlaps, texts, options.end_to_end_overlap, words, budgets)
    agreed = agree(overlaps, texts, options.agreement_overlap, choices.first(), budgets)
    table = _counts(overlaps, choices, words, matchings, spotted, len(jobs))
    if options.protocol == "published" and overlaps.detections.dropped:
        sides = truth_side, truth_records, detection_side, detected_records
        false, false_words = (_false_dropped(overlaps, each, budgets, rules, *sides) for each in (choices, words))
        table[1] += false
        table[9] += false - false_words
    return _Outcomes(jobs, truth_side, detection_side, overlaps).gather(table, matchings[0], spotted, agreed)


def _side(positions: Sequence[list[int]]) -> Side:
    figures = [figure for figure, some in enumerate(positions) for _ in some]
    return Side(figures, list(itertools.chain.from_iterable(positions)))


def _places(side: Side) -> Iterator[tuple[int, int]]:
    return zip(side.figures, side.positions, strict=True)


def _located(records: Sequence[Located], side: Side, options: FigureTextOptions) -> Regions:
    owners = np.array(side.figures, dtype=np.intp)
    pixels = options.protocol == "icdar2013" and options.geometry == "rectangle"
    return locate(records, range(len(records)), options.geometry, owners, pixels)


def _charge_locating(
    jobs: Sequence[Job],
    truth_side: Side,
    truths: Sequence[Located],
    detection_side: Side,
    detections: Sequence[Located],
    options: FigureTextOptions,
) -> None:
    """Charges what it costs to locate the regions of each figure, by its corners."""
    a_corner = 4 if options.geometry == "polygon" else 3
    steps = []
    for side, records in ((truth_side, truths), (detection_side, detections)):
        of_side = [0] * len(jobs)
        for figure, record in zip(side.figures, records, strict=True):
            corners = 4 if record.points is None else len(record.points)
            of_side[figure] += corners * a_corner + corners**2 // 50
        steps.append(of_side)
    for job, of_truths, of_detections in zip(jobs, *steps, strict=True):
        job.budget.spend_reading("ground_truth", of_truths)
        job.budget.spend_reading("prediction", of_detections)


def _counting(jobs: Sequence[Job], records: Sequence[TruthRegion], overlaps: Overlaps) -> BoolArray:
    """Returns which located regions count, bool [S, G]: all that are cared for, none, each subset of the figure."""
    counts = np.zeros((max((job.choices for job in jobs), default=2), len(records)), dtype=np.bool_)
    counts[0] = [not record.ignore for record in records]
    choices: list[int] = []
    numbers: list[int] = []
    start = 0
    for job in jobs:
        located = job.figure.located
        at = dict(zip(located, range(start, start + len(located)), strict=True))
        for choice, positions in enumerate(job.members.values(), start=2):
            mine = [at[position] for position in positions if position in at]
            numbers += mine
            choices += [choice] * len(mine)
        start += len(located)
    counts[choices, numbers] = True
    return counts[:, overlaps.truths.positions]


def _words(overlaps: Overlaps, choices: Choices, has_text: BoolArray, rules: Rules) -> Choices:
    """Returns what counts end to end: a region without a text is no word; has_text: bool [G]."""
    if has_text.all():
        return choices
    words = choices.counts & has_text
    return Choices(words, _covered(overlaps, words, rules), choices.sizes)


def _covered(overlaps: Overlaps, counts: BoolArray, rules: Rules) -> BoolArray:
    """Returns the detections that don't-care regions cover, bool [S, D]; one choice after the other, for the memory."""
    return np.concatenate([covered_detections(overlaps, counts[n : n + 1], rules) for n in range(len(counts))])


def _false_dropped(
    overlaps: Overlaps,
    choices: Choices,
    budgets: Sequence[Budget],
    rules: Rules,
    truth_side: Side,
    truths: Sequence[TruthRegion],
    detection_side: Side,
    detections: Sequence[PredictedRegion],
) -> IntArray:
    """Returns how many of the detections that cannot be measured are false, int [S, F].

    They match nothing. One counts unless a region covers it that does not: a don't-care region, or one that cannot be
    measured itself. All are compared as rectangles, lines as very thin ones.
    """
    numbers = list(overlaps.detections.dropped)
    dropped = locate_dropped(detections, numbers, np.array(detection_side.figures, dtype=np.intp)[numbers])
    found = measure(overlaps.truths.as_rectangles(), dropped, budgets)
    charge(budgets, np.array(choices.sizes) * np.bincount(found.truths.owners[found.rows], minlength=len(budgets)) // 8)
    covered = _covered(found, choices.counts, rules)
    numbers = list(overlaps.truths.dropped)
    if numbers:
        nothing = np.zeros((1, len(numbers)), dtype=np.bool_)
        unmeasured = locate_dropped(truths, numbers, np.array(truth_side.figures, dtype=np.intp)[numbers])
        covered |= _covered(measure(unmeasured, dropped, budgets), nothing, rules)
    return np.array([np.bincount(dropped.owners[~each], minlength=len(budgets)) for each in covered])


def _counts(
    overlaps: Overlaps,
    choices: Choices,
    words: Choices,
    matchings: Sequence[Matching],
    spotted: Pairing,
    figures: int,
) -> IntArray:
    """Returns what is counted, int [COUNTS, S, F]."""
    truth_owners, detection_owners = overlaps.truths.owners, overlaps.detections.owners
    table = np.zeros((len(COUNTS), len(choices.counts), figures), dtype=np.intp)
    for n, matching in enumerate(matchings):
        table[0, n] = np.bincount(truth_owners[choices.counts[n]], minlength=figures)
        table[1, n] = np.bincount(detection_owners[~matching.covered], minlength=figures)
        table[2, n] = np.bincount(truth_owners[overlaps.rows[matching.pairs]], minlength=figures)
        for group in matching.groups:
            mine = table[:, n, truth_owners[group.truths[0]]]
            if len(group.truths) == len(group.detections):
                mine[2] += 1
            elif len(group.truths) == 1:
                mine[3] += 1
                mine[4] += len(group.detections)
            else:
                mine[5] += len(group.truths)
                mine[6] += 1
    table[7] = spotted.counts(truth_owners, figures)
    if words is not choices:
        for n in range(len(choices.counts)):
            wordless = choices.counts[n] & ~words.counts[n]
            excused = words.covered[n] & ~choices.covered[n]
            table[8, n] = np.bincount(truth_owners[wordless], minlength=figures)
            table[9, n] = np.bincount(detection_owners[excused], minlength=figures)
    return table


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """Gathers what became of each figure from what became of all."""

    jobs: Sequence[Job]
    truth_side: Side
    detection_side: Side
    overlaps: Overlaps

    def gather(
        self,
        table: IntArray,
        matching: Matching,
        spotted: Pairing,
        agreed: tuple[Pairing, Pairing],
    ) -> list[Outcome]:
        truth_owners, figures = self.overlaps.truths.owners, len(self.jobs)
        agreements = [pairing.counts(truth_owners, figures)[0].tolist() for pairing in agreed]
        outcomes = [
            Outcome(table[:, : job.choices, number].T.tolist(), (location, text), {}, {}, {}, [], ({}, {}))
            for number, (job, location, text) in enumerate(zip(self.jobs, *agreements, strict=True))
        ]
        self._add_matches(outcomes, matching, spotted)
        return outcomes

    def _add_matches(self, outcomes: list[Outcome], matching: Matching, spotted: Pairing) -> None:
        """Adds which regions were matched by which, when all that are cared for count."""
        truths, detections = self.overlaps.truths, self.overlaps.detections
        truth_places = [(self.truth_side.figures[n], self.truth_side.positions[n]) for n in truths.positions.tolist()]
        positions = [self.detection_side.positions[n] for n in detections.positions.tolist()]
        for row, column in zip(
            self.overlaps.rows[matching.pairs].tolist(), self.overlaps.columns[matching.pairs].tolist(), strict=True
        ):
            figure, position = truth_places[row]
            outcomes[figure].found[position] = "one_to_one", [positions[column]]
            outcomes[figure].finders[positions[column]] = "one_to_one", [position]
        for group in matching.groups:
            kind = _kind(group)
            mine = outcomes[truth_places[group.truths[0]][0]]
            for row in group.truths:
                mine.found[truth_places[row][1]] = kind, [positions[column] for column in group.detections]
            for column in group.detections:
                mine.finders[positions[column]] = kind, [truth_places[row][1] for row in group.truths]
        for row, column in spotted.pairs(0):
            figure, position = truth_places[row]
            outcomes[figure].read[position] = positions[column]
        owners = detections.owners
        for column in np.flatnonzero(matching.covered).tolist():
            outcomes[owners[column]].covered.append(positions[column])
        for n, (side, dropped) in enumerate(
            ((self.truth_side, truths.dropped), (self.detection_side, detections.dropped))
        ):
            for number, reason in dropped.items():
                outcomes[side.figures[number]].dropped[n][side.positions[number]] = reason


def _kind(group: Group) -> str:
    if len(group.truths) == len(group.detections):
        return "one_to_one"
    return "one_to_many" if len(group.truths) == 1 else "many_to_one"
