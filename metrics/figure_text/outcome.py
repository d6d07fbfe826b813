"""Computes the statistics of one figure, over all regions and over each subset, and describes its matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..common.budget import Budget
from .deteval import DetEval, IouMatcher, Match, Rules
from .figure import Figure
from .limits import OVERLAPS_PER_CARE_STEP, charge_reading
from .overlaps import Overlap, measure
from .pairing import Candidate, Pair, largest_pairing
from .records import FigureTextOptions
from .regions import Region, locate, rectangle
from .spotting import Texts, in_agreement, same_text, text_numbers, with_equal_text, words_in_place


class Comparison(NamedTuple):
    """The comparison of both sides of a figure, whichever regions count. Regions are identified by position.

    truths: the ground-truth regions that can be measured. counted: the number of detections to count. inside: the
    overlaps whose detection is excluded if the region is don't-care. words: the candidates for correctly spotted
    words; None under `iou`, which uses the matches with the right text. dropped: the regions of each side that cannot
    be measured, with the reason.
    """

    truths: Mapping[int, Region]
    counted: int
    overlaps: Sequence[Overlap]
    inside: Sequence[Overlap]
    matcher: DetEval | IouMatcher
    texts: Texts
    words: Sequence[Candidate] | None
    dropped: tuple[dict[int, str], dict[int, str]]


class CareResult(NamedTuple):
    """The result of a figure if the regions `care` count and all others are don't-care.

    dont_care: the detections that don't-care regions cover. wordless: the number of regions without a text, which do
    not count end to end. excused: the number of further detections that these regions cover, which do not either
    unless they are spotted.
    """

    care: Collection[int]
    dont_care: Collection[int]
    matches: Sequence[Match]
    spotted: Sequence[Pair]
    wordless: int
    excused: int


class FigureOutcome(NamedTuple):
    """The nonzero statistics of a figure, and its result if all regions count that are not annotated as don't-care.

    unmeasurable: the detections that cannot be measured but count.
    """

    statistics: dict[str, int]
    whole: CareResult
    dropped: tuple[dict[int, str], dict[int, str]]
    unmeasurable: Collection[int]


def score_figure(
    figure: Figure, members: Mapping[str, Sequence[int]], options: FigureTextOptions, budget: Budget
) -> FigureOutcome:
    """Returns the outcome of a figure; members: the positions of the regions of each subset.

    Detections that no region covers are counted once, as `detection.outside`; the counts of subsets exclude them.

    Raises RejectedRecord if the work or the overlaps are above a limit.
    """
    both = compare(figure, options, budget)
    pairs = len(both.overlaps) // OVERLAPS_PER_CARE_STEP
    budget.spend((2 + len(members)) * (pairs + len(figure.truths) // 8 + len(figure.predictions) // 8))
    outside = both.counted - len({each.detection for each in both.inside})
    whole = score_care(both, [each for each in figure.located if not figure.truths[each].ignore], budget)
    statistics = _counts(whole, both.counted, "")
    for subset, positions in members.items():
        statistics |= _counts(score_care(both, positions, budget), both.counted - outside, f"[{subset}]")
    if outside:
        statistics["detection.outside"] = outside
    near = in_agreement(both.overlaps, options.agreement_overlap)
    agreeing = with_equal_text(near, both.texts)
    statistics |= {
        f"agreement.{what}": len(agreeing_pairs)
        for what, candidates in (("location", near), ("text", agreeing))
        if (agreeing_pairs := largest_pairing(candidates, whole.care, whole.dont_care, budget))
    }
    unmeasurable = both.dropped[1].keys() - whole.dont_care if options.counts_unmeasurable else ()
    return FigureOutcome(statistics, whole, both.dropped, unmeasurable)


def compare(figure: Figure, options: FigureTextOptions, budget: Budget) -> Comparison:
    """Returns the comparison of both sides of a figure.

    A detection that cannot be measured matches nothing but counts, except under `icdar2013`. Rectangles decide which
    regions cover it, including regions that cannot be measured themselves.
    """
    protocol = options.protocol
    geometry = "polygon" if protocol == "iou" else options.geometry
    charge_reading(budget, "ground_truth", [figure.truths[each] for each in figure.located])
    charge_reading(budget, "prediction", [figure.predictions[each] for each in figure.detections])
    pixels = protocol == "icdar2013" and geometry == "rectangle"
    truths, dropped_truths = locate(figure.truths, figure.located, geometry, pixels)
    detections, dropped = locate(figure.predictions, figure.detections, geometry, pixels)
    overlaps = covering = measure(truths.values(), detections.values(), budget)
    false = [rectangle(figure.predictions[each], each) for each in dropped] if options.counts_unmeasurable else []
    if false:
        every = [rectangle(figure.truths[each], each) for each in figure.located]
        covering = [*overlaps, *measure(every, false, budget)]
    texts = text_numbers(
        [(each, figure.truths[each].text) for each in truths],
        [(each, figure.predictions[each].text) for each in detections],
        options,
    )
    matcher: DetEval | IouMatcher
    words = None
    if protocol == "iou":
        matcher = IouMatcher(truths, detections, overlaps)
    else:
        rules = Rules.of(options.sigma_threshold, options.tau_threshold, strict=protocol == "published")
        matcher = DetEval(truths, detections, overlaps, rules)
        sides = truths, detections, overlaps
        if geometry == "polygon":
            boxes = {each: rectangle(figure.truths[each], each) for each in texts[0]}
            others = {each: rectangle(figure.predictions[each], each) for each in texts[1]}
            sides = boxes, others, measure(boxes.values(), others.values(), budget)
        words = words_in_place(*sides, texts, options.end_to_end_overlap)
    return Comparison(
        truths=truths,
        counted=len(detections) + len(false),
        overlaps=overlaps,
        inside=[each for each in covering if each.tau > options.dont_care_share],
        matcher=matcher,
        texts=texts,
        words=words,
        dropped=(dropped_truths, dropped),
    )


def score_care(both: Comparison, positions: Sequence[int], budget: Budget) -> CareResult:
    """Returns the result of a figure if the ground-truth regions at `positions` count."""
    care = {each: None for each in positions if each in both.truths}
    dont_care = {each.detection for each in both.inside if each.truth not in care}
    matches = both.matcher.matches(care, dont_care)
    if both.words is None:
        located = [(one.truths[0], one.detections[0]) for one in matches]
        spotted = [pair for pair in located if same_text(both.texts, *pair)]
    else:
        spotted = largest_pairing(both.words, care, dont_care, budget)
    wordless = care.keys() - both.texts[0].keys()
    excused = {each.detection for each in both.inside if each.truth in wordless} - dont_care if wordless else set()
    excused.difference_update([detection for _, detection in spotted])
    return CareResult(care, dont_care, matches, spotted, len(wordless), len(excused))


def _counts(result: CareResult, counted: int, suffix: str) -> dict[str, int]:
    """Returns the nonzero statistics of one result; counted: the number of detections before exclusions."""
    kinds = Counter(match.kind for match in result.matches)
    split = [match.detections for match in result.matches if match.kind == "one_to_many"]
    merged = [match.truths for match in result.matches if match.kind == "many_to_one"]
    counts = {
        "detection.regions": len(result.care),
        "detection.detections": counted - len(result.dont_care),
        "detection.one_to_one": kinds["one_to_one"],
        "detection.split_regions": len(split),
        "detection.split_detections": sum(map(len, split)),
        "detection.merged_regions": sum(map(len, merged)),
        "detection.merged_detections": len(merged),
        "end_to_end.matches": len(result.spotted),
        "end_to_end.wordless_regions": result.wordless,
        "end_to_end.excused_detections": result.excused,
    }
    return {f"{name}{suffix}": number for name, number in counts.items() if number}


def describe_matches(figure: Figure, outcome: FigureOutcome, right: set[int]) -> dict[str, Any]:
    """Returns how each region of both sides was matched, by its position in the record.

    `match` is one_to_one, one_to_many, many_to_one, dont_care, dropped, unlocated, missed (ground truth) or false,
    reading, unknown_reading, unconfident (prediction); `with` are the positions of the partners. `reason` says why a
    region cannot be measured: it is dropped, or false if it is a detection that counts.
    """
    return {"ground_truth": _truths(figure, outcome, right), "prediction": _predictions(figure, outcome)}


def _truths(figure: Figure, outcome: FigureOutcome, right: set[int]) -> list[dict[str, Any]]:
    matched = {truth: match for match in outcome.whole.matches for truth in match.truths}
    spotted = dict(outcome.whole.spotted)
    entries = []
    for position, region in enumerate(figure.truths):
        entry: dict[str, Any] = {} if region.id is None else {"id": region.id}
        if region.points is None and region.box is None:
            entry["match"] = "unlocated"
        elif position in outcome.dropped[0]:
            entry.update(match="dropped", reason=outcome.dropped[0][position])
        elif region.ignore:
            entry["match"] = "dont_care"
        elif position in matched:
            entry["match"], entry["with"] = matched[position].kind, matched[position].detections
        else:
            entry["match"] = "missed"
        if position in spotted:
            entry["end_to_end"] = spotted[position]
        if position in figure.readings:
            entry["reading"] = figure.readings[position]
            if region.text is not None:
                entry["read_right"] = position in right
        entries.append(entry)
    return entries


def _predictions(figure: Figure, outcome: FigureOutcome) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"match": "false"} for _ in figure.predictions]
    for kind, positions in (
        ("reading", figure.readings.values()),
        ("unknown_reading", figure.unknown_readings),
        ("unconfident", figure.unconfident),
        ("dont_care", outcome.whole.dont_care),
    ):
        for position in positions:
            entries[position] = {"match": kind}
    for position, reason in outcome.dropped[1].items():
        entries[position] = {"match": "false" if position in outcome.unmeasurable else "dropped", "reason": reason}
    for match in outcome.whole.matches:
        for position in match.detections:
            entries[position] = {"match": match.kind, "with": match.truths}
    for _, position in outcome.whole.spotted:
        entries[position]["end_to_end"] = True
    return entries
