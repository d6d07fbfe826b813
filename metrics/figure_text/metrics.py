"""The metrics of figure_text, from sums over all regions and over each subset, and their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ..benchmark import MetricSpec, Table
from ..statistics.ratios import Value, f_measure, is_measured, ratio, where
from ..statistics.sums import Sums
from .records import FigureTextOptions

Statistics = Counter[str] | Sums
"""Statistics by name, 0 for one that is not there."""

_RATES = {
    "detection": (
        "score of the detections that match / detections",
        "score of the regions that are matched / annotated regions",
        "detection recall over the regions of the subset",
    ),
    "end_to_end": (
        "detections in the right place with the right text / detections",
        "regions found in the right place with the right text / annotated regions with a text",
        "end-to-end recall over the regions of the subset",
    ),
}


def _counted(task: str, suffix: str = "") -> tuple[str, str]:
    """Returns the denominators of recall and of precision; suffix: `[SUBSET]` for those over a subset."""
    outside = " + detection.outside" if suffix else ""
    regions, detected = f"detection.regions{suffix}", f"detection.detections{suffix}{outside}"
    if task == "detection":
        return regions, detected
    return f"{regions} - end_to_end.wordless_regions{suffix}", f"{detected} - end_to_end.excused_detections{suffix}"


def _rate_specs(task: str, main: Mapping[str, int], rank: int) -> Iterator[MetricSpec]:
    """Yields the specs of precision, recall and F1 of a task, over all regions and over a subset."""
    precision, recall, recall_of_subset = _RATES[task]
    words = task.replace("_to_", "-to-")
    outside = f"{words} precision with all regions outside the subset as don't-care"
    for suffix, meanings in (
        ("", (precision, recall, f"harmonic mean of {words} precision and recall")),
        ("[SUBSET]", (outside, recall_of_subset, "harmonic mean of both over the subset")),
    ):
        regions, detected = _counted(task, suffix)
        for rate, meaning, denominator in zip(
            ("precision", "recall", "f1"), meanings, (detected, regions, f"{regions} + {detected}"), strict=True
        ):
            yield MetricSpec(
                f"{task}.{rate}{suffix}",
                meaning,
                main=None if suffix else main.get(rate),
                rank=rank if rate == "f1" and not suffix else None,
                denominator=denominator,
            )


METRICS = (
    *_rate_specs("detection", {"precision": 1, "recall": 2, "f1": 3}, rank=1),
    *_rate_specs("end_to_end", {"f1": 4}, rank=2),
    MetricSpec(
        "word_recognition.accuracy",
        "words read right / words, each given by its id",
        main=5,
        rank=3,
        denominator="word_recognition.words",
    ),
    MetricSpec(
        "word_recognition.accuracy[SUBSET]",
        "words read right / words, over the subset",
        denominator="word_recognition.words[SUBSET]",
    ),
    MetricSpec(
        "agreement.location",
        "regions in the same place in both annotations / regions of the reference annotation",
        denominator=_counted("detection")[0],
    ),
    MetricSpec(
        "agreement.text",
        "regions in the same place with the same text / regions of the reference annotation",
        denominator=_counted("end_to_end")[0],
    ),
    MetricSpec(
        "agreement.location_max",
        "regions in the same place / regions of the larger annotation",
        denominator=" + ".join(_counted("detection")),
    ),
    MetricSpec(
        "agreement.text_max",
        "regions in the same place with the same text / regions of the larger annotation",
        denominator=" + ".join(_counted("end_to_end")),
    ),
)

SAMPLE_METRICS = tuple(
    MetricSpec(spec.name, spec.meaning, main=1 if spec.name == "detection.f1" else None)
    for spec in METRICS
    if "[" not in spec.name
)


def headline_values(sums: Statistics, options: FigureTextOptions) -> dict[str, float | None]:
    """Returns the metrics over all regions.

    Detection and agreement are None if the system returned only readings; end to end and `agreement.text` are None if
    it returned regions but no located text. Word recognition is None without readings.
    """
    values: dict[str, float | None] = {}
    located, readings = bool(sums["prediction.located"]), bool(sums["prediction.readings"])
    values.update(_detection(sums, "", options) if located or not readings else _nothing("detection"))
    values.update(_end_to_end(sums, "") if _spotted(sums) else _nothing("end_to_end"))
    values["word_recognition.accuracy"] = _accuracy(sums, "") if readings else None
    reference, other = sums["detection.regions"], sums["detection.detections"]
    wordless, excused = _no_words(sums, "")
    for what, given, truths, others in (
        ("location", located or not readings, reference, other),
        ("text", _spotted(sums), reference - wordless, other - excused),
    ):
        agreed = sums[f"agreement.{what}"]
        values[f"agreement.{what}"] = ratio(agreed, truths) if given else None
        values[f"agreement.{what}_max"] = ratio(agreed, where(truths > others, truths, others)) if given else None
    return values


def subset_values(sums: Statistics, subset: str, options: FigureTextOptions) -> Iterator[tuple[str, float | None]]:
    """Yields the metrics of one subset, such as `detection.recall[difficulty=small]`."""
    suffix = f"[{subset}]"
    readings = bool(sums["prediction.readings"])
    regions, words = sums[f"detection.regions{suffix}"], sums[f"word_recognition.words{suffix}"]
    if np.any(regions):
        located = sums["prediction.located"] or not readings
        measured = _detection(sums, suffix, options) if located else {}
        measured |= _end_to_end(sums, suffix) if _spotted(sums) else {}
        yield from ((name, where(regions, value)) for name, value in measured.items())
    if readings and np.any(words):
        yield f"word_recognition.accuracy{suffix}", _accuracy(sums, suffix)


def _spotted(sums: Statistics) -> bool:
    """Returns whether the system returned detections with text, or nothing at all, which scores 0."""
    return bool(sums["prediction.texts"]) or not (sums["prediction.located"] or sums["prediction.readings"])


def _detection(sums: Statistics, suffix: str, options: FigureTextOptions) -> dict[str, float | None]:
    one_to_one = sums[f"detection.one_to_one{suffix}"]
    merged = options.scatter_factor if options.protocol == "published" else 1.0
    right, recalled = (
        one_to_one
        + options.scatter_factor * sums[f"detection.split_{side}{suffix}"]
        + merged * sums[f"detection.merged_{side}{suffix}"]
        for side in ("detections", "regions")
    )
    return _rates("detection", suffix, right, recalled, sums)


def _end_to_end(sums: Statistics, suffix: str) -> dict[str, float | None]:
    matches = sums[f"end_to_end.matches{suffix}"]
    return _rates("end_to_end", suffix, matches, matches, sums, *_no_words(sums, suffix))


def _no_words(sums: Statistics, suffix: str) -> tuple[float, float]:
    """Returns the number of regions without text, and of detections that such regions cover and that read no word."""
    return sums[f"end_to_end.wordless_regions{suffix}"], sums[f"end_to_end.excused_detections{suffix}"]


def _rates(
    task: str, suffix: str, right: float, recalled: float, sums: Statistics, wordless: float = 0.0, excused: float = 0.0
) -> dict[str, float | None]:
    """Returns precision, recall and F1; wordless, excused: numbers of regions and detections that do not count."""
    precision = ratio(right, detections(sums, suffix) - excused)
    recall = ratio(recalled, sums[f"detection.regions{suffix}"] - wordless)
    if sums["prediction.located"]:
        # A slice may have no detections although the system returns some elsewhere: its precision is then 0.
        precision = where(sums["detection.located"], precision, where(is_measured(recall), 0.0, precision))
    return {
        f"{task}.precision{suffix}": precision,
        f"{task}.recall{suffix}": recall,
        f"{task}.f1{suffix}": f_measure(precision, recall),
    }


def detections(sums: Statistics, suffix: str) -> float:
    """Returns how many detections count for all regions or, with a `suffix` such as `[difficulty=small]`, a subset.

    A detection that no annotated region covers is false for every subset, also in samples without a region of the
    subset. These are counted once, as `detection.outside`; a subset's own statistic holds only its other detections.
    """
    outside = sums["detection.outside"] if suffix else 0.0
    return outside + sums[f"detection.detections{suffix}"]


def _accuracy(sums: Statistics, suffix: str) -> Value:
    return ratio(sums[f"word_recognition.correct{suffix}"], sums[f"word_recognition.words{suffix}"])


def _nothing(task: str) -> dict[str, float | None]:
    return dict.fromkeys((f"{task}.precision", f"{task}.recall", f"{task}.f1"))


_FAMILIES = ("detection.regions[", "word_recognition.words[")


def subset_names(sums: Sums) -> list[str]:
    """Returns the names of the subsets that have any region or word, sorted."""
    return sorted({name[name.index("[") + 1 : -1] for name in sums if name.startswith(_FAMILIES)})


def subset_table(sums: Sums, values: Mapping[str, float | None]) -> Table:
    """Returns a table of the main metrics of all regions and of each subset."""
    columns = (
        *(f"{task}.{rate}" for task in ("detection", "end_to_end") for rate in ("precision", "recall", "f1")),
        "word_recognition.accuracy",
    )
    rows: list[list[str | float | None]] = [
        ["all", int(sums["detection.regions"]), *(values.get(name) for name in columns)]
    ]
    for subset in subset_names(sums):
        shown = (values.get(f"{name}[{subset}]") for name in columns)
        rows.append([subset, int(sums[f"detection.regions[{subset}]"]), *shown])
    return Table("Subsets of the regions", ("subset", "regions", *columns), rows)


def match_table(sums: Sums) -> Table:
    """Returns a table of the regions and detections by kind of match, for all regions and for each subset."""
    rows: list[list[str | float | None]] = []
    for name, suffix in (("all", ""), *((subset, f"[{subset}]") for subset in subset_names(sums))):
        one, split, merged = (
            int(sums[f"detection.{kind}{suffix}"]) for kind in ("one_to_one", "split_regions", "merged_regions")
        )
        others = int(sums[f"detection.split_detections{suffix}"] + sums[f"detection.merged_detections{suffix}"])
        missed = int(sums[f"detection.regions{suffix}"]) - one - split - merged
        false = int(detections(sums, suffix)) - one - others
        rows.append([name, one, split, merged, missed, false])
    header = ("subset", "one to one", "split over detections", "merged with others", "missed", "false detections")
    return Table("How regions were matched", header, rows)
