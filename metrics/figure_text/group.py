"""Several figures scored as one: their regions stand in common arrays, and only regions of one figure are paired.

So the fixed cost of an array operation is shared. What comes of a figure depends on that figure alone: nothing that is
computed here looks across figures, and where a figure cannot be scored, each of its group is scored anew by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import numpy as np

from ..common.budget import Budget
from .arrays import BoolArray, IntArray
from .deteval import Matching, Rules, ScatteredMatch, dont_care_detections, match
from .figure import Figure
from .limits import MAX_GROUP_PAIRS, MAX_GROUP_REGIONS, MAX_GROUP_SUBSETS, charge, charge_locating
from .overlaps import Overlaps, measure
from .records import FigureTextOptions, PredictedRegion, TruthRegion
from .regions import Regions, locate, locate_dropped
from .spotting import CareMasks, Pairing, annotator_agreement, end_to_end_matches, text_numbers

RegionT = TypeVar("RegionT", TruthRegion, PredictedRegion)

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
class Side(Generic[RegionT]):
    """The located regions of one side of a group: their figures, their positions in the records, and themselves."""

    figures: list[int]
    positions: list[int]
    records: list[RegionT]

    @classmethod
    def of(cls, located: Sequence[tuple[list[int], Sequence[RegionT]]]) -> Side[RegionT]:
        """Returns the regions at some positions of the records of each figure, one figure after the other."""
        places = [(figure, position) for figure, (positions, _) in enumerate(located) for position in positions]
        records = [located[figure][1][position] for figure, position in places]
        return cls([figure for figure, _ in places], [position for _, position in places], records)

    def located(self, options: FigureTextOptions) -> Regions:
        """Returns the regions as arrays."""
        owners = np.array(self.figures, dtype=np.intp)
        pixels = options.protocol == "icdar2013" and options.geometry == "rectangle"
        return locate(self.records, range(len(self.records)), options.geometry, owners, pixels)

    def dropped(self, regions: Regions) -> Regions:
        """Returns the rectangles of the regions that were dropped from `regions`."""
        numbers = list(regions.dropped)
        return locate_dropped(self.records, numbers, np.array(self.figures, dtype=np.intp)[numbers])

    def texts(self, regions: Regions) -> list[str | None]:
        """Returns the texts of the regions that were not dropped."""
        return [self.records[number].text for number in regions.positions.tolist()]


class Outcome(msgspec.Struct):
    """What became of one figure.

    counts: `[choices][COUNTS]`, all regions first, then none, then each subset.
    agreed: pairs of regions that agree in location, and in location and text.
    matched, matchers: how and with which positions of the other side each matched region was matched, by position.
    read: the detection that reads each correctly spotted region, by position.
    dont_care: positions of the detections that don't-care regions cover.
    dropped: the positions of both sides that were left out, with the reason.
    """

    counts: list[list[int]]
    agreed: tuple[int, int]
    matched: dict[int, tuple[str, list[int]]]
    matchers: dict[int, tuple[str, list[int]]]
    read: dict[int, int]
    dont_care: list[int]
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

    Raises RejectedRecord where one of them cannot be scored, with its work or its overlaps above a limit.
    """
    budgets = [job.budget for job in jobs]
    truths = Side.of([(job.figure.located, job.figure.truths) for job in jobs])
    detections = Side.of([(job.figure.detections, job.figure.predictions) for job in jobs])
    charge_locating(budgets, "ground_truth", truths.figures, truths.records, options.geometry)
    charge_locating(budgets, "prediction", detections.figures, detections.records, options.geometry)
    overlaps = measure(truths.located(options), detections.located(options), budgets)
    care = _care(jobs, truths, overlaps)
    sizes = [job.choices for job in jobs]
    figures = overlaps.truths.owners[overlaps.rows]
    steps = np.bincount(figures, minlength=len(jobs)) // 8
    steps += np.array([len(job.figure.truths) // 8 + len(job.figure.predictions) // 8 for job in jobs])
    charge(budgets, np.array(sizes) * steps)
    matchings = list(match(overlaps, care, rules))
    masks = CareMasks(care, np.stack([matching.dont_care for matching in matchings]), sizes)
    texts = text_numbers(
        truths.texts(overlaps.truths), detections.texts(overlaps.detections), options.case_sensitive, options.nfc
    )
    words = _words(overlaps, masks, texts[0] >= 0, rules)
    spotted = end_to_end_matches(overlaps, texts, options.end_to_end_overlap, words, budgets)
    agreed = annotator_agreement(overlaps, texts, options.agreement_overlap, masks.first(), budgets)
    table = _counts(overlaps, masks, words, matchings, spotted, len(jobs))
    if options.protocol == "published" and overlaps.detections.dropped:
        false, false_words = (
            _false_dropped(overlaps, each, budgets, rules, truths, detections) for each in (masks, words)
        )
        table[1] += false
        table[9] += false - false_words
    return _outcomes(jobs, truths, detections, overlaps, table, matchings[0], spotted, agreed)


def _care(jobs: Sequence[Job], truths: Side[TruthRegion], overlaps: Overlaps) -> BoolArray:
    """Returns which located regions count, bool [S, G]: all that are cared for, none, each subset of the figure."""
    care = np.zeros((max((job.choices for job in jobs), default=2), len(truths.records)), dtype=np.bool_)
    care[0] = [not record.ignore for record in truths.records]
    start = 0
    for job in jobs:
        numbers = {position: number for number, position in enumerate(job.figure.located, start)}
        for choice, positions in enumerate(job.members.values(), start=2):
            care[choice, [numbers[position] for position in positions if position in numbers]] = True
        start += len(numbers)
    return care[:, overlaps.truths.positions]


def _words(overlaps: Overlaps, masks: CareMasks, has_text: BoolArray, rules: Rules) -> CareMasks:
    """Returns what counts end to end: a region without a text is no word; has_text: bool [G]."""
    if has_text.all():
        return masks
    words = masks.care & has_text
    return CareMasks(words, _dont_care(overlaps, words, rules), masks.sizes)


def _dont_care(overlaps: Overlaps, care: BoolArray, rules: Rules) -> BoolArray:
    """Returns the detections that don't-care regions cover, bool [S, D]; one choice after the other, for the memory."""
    return np.concatenate([dont_care_detections(overlaps, care[n : n + 1], rules) for n in range(len(care))])


def _false_dropped(
    overlaps: Overlaps,
    masks: CareMasks,
    budgets: Sequence[Budget],
    rules: Rules,
    truths: Side[TruthRegion],
    detections: Side[PredictedRegion],
) -> IntArray:
    """Returns how many of the detections that cannot be measured are false, int [S, F].

    They match nothing. One counts unless a region covers it that does not: a don't-care region, or one that cannot be
    measured itself. All are compared as rectangles, lines as very thin ones.
    """
    dropped = detections.dropped(overlaps.detections)
    others = measure(overlaps.truths.as_rectangles(), dropped, budgets)
    pairs = np.bincount(others.truths.owners[others.rows], minlength=len(budgets))
    charge(budgets, np.array(masks.sizes) * pairs // 8)
    dont_care = _dont_care(others, masks.care, rules)
    if overlaps.truths.dropped:
        nothing = np.zeros((1, len(overlaps.truths.dropped)), dtype=np.bool_)
        dont_care |= _dont_care(measure(truths.dropped(overlaps.truths), dropped, budgets), nothing, rules)
    return np.array([np.bincount(dropped.owners[~each], minlength=len(budgets)) for each in dont_care])


def _counts(
    overlaps: Overlaps,
    masks: CareMasks,
    words: CareMasks,
    matchings: Sequence[Matching],
    spotted: Pairing,
    figures: int,
) -> IntArray:
    """Returns what is counted, int [COUNTS, S, F]."""
    truth_owners, detection_owners = overlaps.truths.owners, overlaps.detections.owners
    table = np.zeros((len(COUNTS), len(masks.care), figures), dtype=np.intp)
    for n, matching in enumerate(matchings):
        table[0, n] = np.bincount(truth_owners[masks.care[n]], minlength=figures)
        table[1, n] = np.bincount(detection_owners[~matching.dont_care], minlength=figures)
        table[2, n] = np.bincount(truth_owners[overlaps.rows[matching.pairs]], minlength=figures)
        for group in matching.scattered:
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
    if words is not masks:
        for n in range(len(masks.care)):
            wordless = masks.care[n] & ~words.care[n]
            excused = words.dont_care[n] & ~masks.dont_care[n]
            table[8, n] = np.bincount(truth_owners[wordless], minlength=figures)
            table[9, n] = np.bincount(detection_owners[excused], minlength=figures)
    return table


def _outcomes(
    jobs: Sequence[Job],
    truth_side: Side[TruthRegion],
    detection_side: Side[PredictedRegion],
    overlaps: Overlaps,
    table: IntArray,
    matching: Matching,
    spotted: Pairing,
    agreed: tuple[Pairing, Pairing],
) -> list[Outcome]:
    """Returns what became of each figure from what became of all; matches are those where all regions count."""
    truths, detections = overlaps.truths, overlaps.detections
    agreements = [pairing.counts(truths.owners, len(jobs))[0].tolist() for pairing in agreed]
    outcomes = [
        Outcome(table[:, : job.choices, number].T.tolist(), (location, text), {}, {}, {}, [], ({}, {}))
        for number, (job, location, text) in enumerate(zip(jobs, *agreements, strict=True))
    ]
    truth_places = [(outcomes[truth_side.figures[n]], truth_side.positions[n]) for n in truths.positions.tolist()]
    positions = [detection_side.positions[n] for n in detections.positions.tolist()]
    pairs = zip(overlaps.rows[matching.pairs].tolist(), overlaps.columns[matching.pairs].tolist(), strict=True)
    for row, column in pairs:
        mine, position = truth_places[row]
        mine.matched[position] = "one_to_one", [positions[column]]
        mine.matchers[positions[column]] = "one_to_one", [position]
    for group in matching.scattered:
        kind = _kind(group)
        mine = truth_places[group.truths[0]][0]
        for row in group.truths:
            mine.matched[truth_places[row][1]] = kind, [positions[column] for column in group.detections]
        for column in group.detections:
            mine.matchers[positions[column]] = kind, [truth_places[row][1] for row in group.truths]
    for row, column in spotted.pairs(0):
        mine, position = truth_places[row]
        mine.read[position] = positions[column]
    for column in np.flatnonzero(matching.dont_care).tolist():
        outcomes[detections.owners[column]].dont_care.append(positions[column])
    for number, reason in truths.dropped.items():
        outcomes[truth_side.figures[number]].dropped[0][truth_side.positions[number]] = reason
    for number, reason in detections.dropped.items():
        outcomes[detection_side.figures[number]].dropped[1][detection_side.positions[number]] = reason
    return outcomes


def _kind(group: ScatteredMatch) -> str:
    if len(group.truths) == len(group.detections):
        return "one_to_one"
    return "one_to_many" if len(group.truths) == 1 else "many_to_one"
