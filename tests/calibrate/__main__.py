"""`python -m tests.calibrate` measures how often intervals and tests hold, and writes the tables of statistics.md."""

import itertools
from collections.abc import Iterator
from statistics import fmean

from tests.calibrate import table, write_measured
from tests.calibrate.populations import CASES, TRADE
from tests.calibrate.rates import Shares, alarms, coverage, family_alarms, wrong_passes
from tests.calibrate.years import SERIES, detection_rate, drift_detection_rate, false_alarms

SIZES, CLUSTER_SIZES = (20, 30, 100, 1000), (6, 12, 30, 100)
SEED, CORPORA, YEARS = 1, 1000, 200
GAIN = 0.1
ALARM_SIZES = (30, 200)
LOSS_SIZES, LOSSES = (20, 50, 200, 1000), (0.005, 0.02, 0.1)
DETECTIONS, DRIFTS, FALL = 1000, 200, 0.01


def main() -> None:
    sections = [*_coverage_table(), *_alarm_tables(), *_rare_loss_tables(), _change_points()]
    write_measured("explanation/statistics.md", sections)


def _change_points() -> str:
    yearly = false_alarms(YEARS)
    rates = [f"{detection_rate(shift, DETECTIONS):.0%}" for shift in (4.0, 5.0)]
    return (
        f"Over {YEARS} years, {SERIES} unchanged metrics have {yearly:.2f} false change points "
        f"a year (standard error {(yearly / YEARS) ** 0.5:.2f}). A change of 4 (5) standard errors is found on its "
        f"second night, dated to the first, in {rates[0]} ({rates[1]}) of {DETECTIONS:,} cases; a drift of {FALL} a "
        f"night within a year in {drift_detection_rate(FALL, DRIFTS):.0%} of {DRIFTS}."
    )


def _coverage_table() -> Iterator[str]:
    samples = [case for case in CASES if not case.clusters]
    found = [[coverage(case, size, CORPORA, SEED) for case in samples] for size in SIZES]
    rows = [[what, *(f"{of(cells):.1%}" for cells in found)] for what, of in (("lowest", min), ("highest", max))]
    clustered = [case for case in CASES if case.clusters]
    shares = [[f"{coverage(case, size, CORPORA, SEED):.1%} ({size})" for size in CLUSTER_SIZES] for case in clustered]
    rows += [[case.hard, *cells] for case, cells in zip(clustered, shares, strict=True)]
    yield (
        f"Coverage of 95% intervals in {CORPORA:,} corpora per cell (standard error {_error(CORPORA):.1%}), over "
        f"{len(samples)} populations of samples, and for documents as clusters (their number in brackets)."
    )
    yield table(["", *(f"{size} samples" for size in SIZES)], rows)


def _error(count: int) -> float:
    """Returns the standard error of a share of 95 %, or 5 %, among so many."""
    return float((0.05 * 0.95 / count) ** 0.5)


def _alarm_tables() -> Iterator[str]:
    none = [[alarms(case, units, 0.0, CORPORA // 2, SEED) for case in CASES] for units in ALARM_SIZES]
    rare = [[alarms(TRADE, units, loss, CORPORA, SEED) for loss in LOSSES] for units in ALARM_SIZES]
    some = [[alarms(case, units, GAIN, CORPORA // 4, SEED) for case in CASES] for units in ALARM_SIZES]
    yield (
        "How often the verdict on a single metric says that two systems differ (in brackets: the paired interval "
        f"excludes 0): false alarms if both are equally good (standard error {_error(CORPORA // 2):.1%}; rare losses: "
        f"one gains a little but loses up to {max(LOSSES):.0%} of the samples), power if the second is right on up to "
        f"{GAIN:.0%} more."
    )
    highest, rarest = ([[max(cells) for cells in zip(*each, strict=True)] for each in found] for found in (none, rare))
    means = [[fmean(shares) for shares in zip(*each, strict=True)] for each in some]
    rows = [
        ["false alarms, highest", *(f"{e.verdict:.1%} ({e.plain:.1%})" for e in itertools.starmap(Shares, highest))],
        ["rare losses, highest", *(f"{e.verdict:.1%} ({e.plain:.1%})" for e in itertools.starmap(Shares, rarest))],
        ["power, mean", *(f"{e.verdict:.0%} ({e.plain:.0%})" for e in itertools.starmap(Shares, means))],
    ]
    yield table(["", *(f"{size} units" for size in ALARM_SIZES)], rows)
    alarm = family_alarms(20, 8, 1000, 0, 0.0, CORPORA // 4, SEED)
    power = family_alarms(20, 8, 1000, 5, 1.0, CORPORA // 10, SEED)
    yield (
        f"In 20 slices of 50 samples with 8 metrics each, the verdicts raise any false alarm in {alarm.verdict:.1%} of "
        f"comparisons of equal systems, and find {power.verdict:.1%} of the differences if 5 slices are better."
    )


def _rare_loss_tables() -> Iterator[str]:
    rows = []
    for loss in LOSSES:
        cells = [wrong_passes(units, loss, 2 * CORPORA, SEED) for units in LOSS_SIZES]
        rows.append([f"{loss:.1%}", *(f"{found.cautious:.1%} ({found.plain:.1%})" for found in cells)])
    yield (
        f"How often, in {2 * CORPORA:,} corpora, a gate with margin m (nominally 2.5%) passes a system that loses each "
        "sample with probability m (in brackets, with the paired interval):"
    )
    yield table(["m", *(f"{size} samples" for size in LOSS_SIZES)], rows)


if __name__ == "__main__":
    main()
