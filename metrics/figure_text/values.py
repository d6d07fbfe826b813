"""From sums to metrics: precision, recall and the rest, for all regions and for each subset of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..statistics.ratios import f_measure, ratio
from .options import FigureTextOptions

Read = Callable[[str], float]


def headline_values(read: Read, options: FigureTextOptions) -> dict[str, float | None]:
    """Returns the metrics over all regions from the statistics that `read` gives by name.

    Detection and agreement are None where a system gave readings only, and what needs text is None where no
    detection has any. Word recognition is None without any reading.
    """
    values: dict[str, float | None] = {}
    located, readings = bool(read("prediction.located")), bool(read("prediction.readings"))
    values.update(_detection(read, "", options) if located or not readings else _nothing("detection"))
    values.update(_end_to_end(read, "") if _spotted(read) else _nothing("end_to_end"))
    values["word_recognition.accuracy"] = _accuracy(read, "") if readings else None
    reference, other = read("detection.regions"), read("detection.detections")
    wordless, excused = _no_words(read, "")
    for what, given, truths, found in (
        ("location", located or not readings, reference, other),
        ("text", _spotted(read), reference - wordless, other - excused),
    ):
        agreed = read(f"agreement.{what}")
        values[f"agreement.{what}"] = ratio(agreed, truths) if given else None
        values[f"agreement.{what}_max"] = ratio(agreed, max(truths, found)) if given else None
    return values


def subset_values(read: Read, subset: str, options: FigureTextOptions) -> Iterator[tuple[str, float | None]]:
    """Yields the metrics of one subset, such as `detection.recall[difficulty=small]`."""
    suffix = f"[{subset}]"
    readings = bool(read("prediction.readings"))
    if read(f"detection.regions{suffix}"):
        if read("prediction.located") or not readings:
            yield from _detection(read, suffix, options).items()
        if _spotted(read):
            yield from _end_to_end(read, suffix).items()
    if readings and read(f"word_recognition.words{suffix}"):
        yield f"word_recognition.accuracy{suffix}", _accuracy(read, suffix)


def _spotted(read: Read) -> bool:
    """Says whether the system gives detections with a text, or gave nothing at all, which is wrong."""
    return bool(read("prediction.texts")) or not (read("prediction.located") or read("prediction.readings"))


def _detection(read: Read, suffix: str, options: FigureTextOptions) -> dict[str, float | None]:
    one_to_one = read(f"detection.one_to_one{suffix}")
    merged = options.scatter_factor if options.protocol == "published" else 1.0
    found = (
        one_to_one
        + options.scatter_factor * read(f"detection.split_regions{suffix}")
        + merged * read(f"detection.merged_regions{suffix}")
    )
    right = (
        one_to_one
        + options.scatter_factor * read(f"detection.split_detections{suffix}")
        + merged * read(f"detection.merged_detections{suffix}")
    )
    return _rates("detection", suffix, right, found, read)


def _end_to_end(read: Read, suffix: str) -> dict[str, float | None]:
    matches = read(f"end_to_end.matches{suffix}")
    return _rates("end_to_end", suffix, matches, matches, read, *_no_words(read, suffix))


def _no_words(read: Read, suffix: str) -> tuple[float, float]:
    """Returns how many regions have no text to be read, and how many detections they cover."""
    return read(f"end_to_end.wordless_regions{suffix}"), read(f"end_to_end.excused_detections{suffix}")


def _rates(
    task: str, suffix: str, right: float, found: float, read: Read, wordless: float = 0.0, excused: float = 0.0
) -> dict[str, float | None]:
    """Returns precision, recall and F1; wordless, excused: the regions and detections that do not count here."""
    precision = ratio(right, detections(read, suffix) - excused)
    recall = ratio(found, read(f"detection.regions{suffix}") - wordless)
    if recall is not None and read("prediction.located") and not read("detection.located"):
        precision = 0.0  # a slice without any detection, of a system that gives some elsewhere
    return {
        f"{task}.precision{suffix}": precision,
        f"{task}.recall{suffix}": recall,
        f"{task}.f1{suffix}": f_measure(precision, recall),
    }


def detections(read: Read, suffix: str) -> float:
    """Returns how many detections count for all regions or, with a `suffix` such as `[difficulty=small]`, a subset.

    A detection that no annotated region covers is false for every subset. Samples without a region of the subset
    give it those alone, so a subset's own statistic only holds what comes on top.
    """
    outside = read("detection.outside") if suffix else 0.0
    return outside + read(f"detection.detections{suffix}")


def _accuracy(read: Read, suffix: str) -> float | None:
    return ratio(read(f"word_recognition.correct{suffix}"), read(f"word_recognition.words{suffix}"))


def _nothing(task: str) -> dict[str, float | None]:
    return dict.fromkeys((f"{task}.precision", f"{task}.recall", f"{task}.f1"))
