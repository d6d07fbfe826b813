"""The metrics of the chart benchmark: what they are, their values from the sums, and the confusion matrices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..benchmark import MetricSpec, Table
from ..statistics.ratios import f_measure, mean, precision_recall_f1, ratio, where
from ..statistics.sums import Sums
from .classes import NONE, NOT_LISTED, NOT_SCORED, OTHER
from .records import ALL_TASKS, ChartOptions

ATTEMPTED: dict[str, str] = {task: f"{task}.attempted" for task in ALL_TASKS}
OMITTED: dict[str, str] = {task: f"{task}.left_out" for task in ALL_TASKS}
"""The predictions that omit a task; the name in stored sums stays, so that those of earlier runs can be read."""

RATES = {"f1": "F", "precision": "precision", "recall": "recall"}
DENOMINATORS = {
    "f1": "{0}.confusion[CLASS|*] + {0}.confusion[*|CLASS]",
    "precision": "{0}.confusion[*|CLASS]",
    "recall": "{0}.confusion[CLASS|*]",
}


def _class_specs(
    task: str, what: str, of: tuple[str, str], per_sample: int | None, main: int, rank: int | None = None
) -> Iterator[MetricSpec]:
    """Yields the metrics of a task with a confusion matrix; main, rank: of the macro F."""
    for rate, name in RATES.items():
        yield MetricSpec(
            f"{task}.macro_{rate}",
            f"{what}: mean over {of[1]} of {name}",
            denominator=f"{task}.confusion[*]",
            per_sample=per_sample,
            classes=f"{task}.recall[CLASS]",
            main=main if rate == "f1" else None,
            rank=rank if rate == "f1" else None,
        )
    for rate, name in RATES.items():
        counts = None if rate == "f1" else per_sample
        denominator = DENOMINATORS[rate].format(task)
        yield MetricSpec(
            f"{task}.{rate}[CLASS]", f"{what}: {name} of one {of[0]}", denominator=denominator, per_sample=counts
        )


def _mean_spec(
    name: str, meaning: str, over: str = "charts", main: int | None = None, rank: int | None = None
) -> MetricSpec:
    """Returns a metric that is a mean over charts, or over both axes of them."""
    denominator = f"{name.partition('.')[0]}.{over}"
    per_sample = 2 if over == "axes" else 1
    return MetricSpec(name, meaning, denominator=denominator, per_sample=per_sample, main=main, rank=rank)


METRICS = (
    *_class_specs("task1", "chart class", ("class", "classes"), 1, main=1, rank=5),
    _mean_spec("task2.detection", "text blocks: mean over charts of the IoU score"),
    _mean_spec("task2.recognition", "text blocks: mean over charts of 1 - character error rate"),
    _mean_spec("task2.hmean", "text blocks: harmonic mean of detection and recognition", main=2, rank=4),
    *_class_specs("task3", "text roles", ("role", "roles"), None, main=3),
    _mean_spec("task4.precision", "ticks: mean over axes of precision", "axes"),
    _mean_spec("task4.recall", "ticks: mean over axes of recall", "axes"),
    _mean_spec("task4.f1", "ticks: mean over axes of F1 (released: F1 of the two means)", "axes", main=4),
    _mean_spec("task5.score", "legend: mean over charts of the IoU score", main=5),
    _mean_spec("task6a.score", "plot elements: mean over charts", main=6, rank=3),
    _mean_spec("task6b.score", "data series, given the true outputs of tasks 1 to 5: mean over charts", main=7, rank=2),
    _mean_spec("task7.score", "data series from the image alone: mean over charts", main=8, rank=1),
)

MEANS = [spec for spec in METRICS if spec.denominator.endswith((".charts", ".axes"))]

SAMPLE_METRICS = (
    MetricSpec(
        "score",
        "mean over the tasks of the chart: task1.correct, F of task 2, task3.accuracy, task4.f1, the others",
        main=1,
    ),
    MetricSpec("task1.correct", "1 if the class is right, else 0", binary=True),
    MetricSpec("task2.detection", "IoU score of the text blocks"),
    MetricSpec("task2.recognition", "1 - character error rate of the text blocks"),
    MetricSpec("task3.accuracy", "share of text blocks with the right role"),
    MetricSpec("task4.precision", "mean of the precision of both axes"),
    MetricSpec("task4.recall", "mean of the recall of both axes"),
    MetricSpec("task4.f1", "mean of the F of both axes (released: F of the two means)"),
    MetricSpec("task5.score", "IoU score of the legend"),
    MetricSpec("task6a.score", "score of the plot elements"),
    MetricSpec("task6b.score", "score of the data series of task 6"),
    MetricSpec("task7.score", "score of the data series of task 7"),
)

COVERAGE_WARNINGS = {
    NOT_LISTED: "the ground truth has chart classes that are not listed: check edition and classes; the precision of a "
    "class that no edition has either is too high",
    NOT_SCORED: "the ground truth has text roles that are not scored: check edition and text_roles",
}


def values_of(sums: Sums, options: ChartOptions) -> dict[str, float | None]:
    """Returns the metrics of `METRICS`.

    None for a task that no chart has, and for one that charts with a prediction have, but none of the predictions.
    """
    values = _class_values("task1", sums) | _class_values("task3", sums)
    values |= {spec.name: ratio(sums[spec.name], sums[spec.denominator]) for spec in MEANS}
    values["task2.hmean"] = f_measure(values["task2.detection"], values["task2.recognition"])
    if options.protocol == "released":
        values["task4.f1"] = f_measure(values["task4.precision"], values["task4.recall"])
    idle = {task for task in options.tasks if sums[OMITTED[task]] and not sums[ATTEMPTED[task]]}
    return {name: None if idle and name.partition(".")[0] in idle else values[name] for name in values}


def _class_values(task: str, sums: Sums) -> dict[str, float | None]:
    """Returns macro and per-class precision, recall and F of a task.

    A class that was never predicted has precision 0. Without ground truth the macro metrics are None.
    """
    true_counts: defaultdict[str, float] = defaultdict(float)
    predicted_counts: defaultdict[str, float] = defaultdict(float)
    cells = _confusion(task, sums)
    for (true_class, predicted), count in cells.items():
        true_counts[true_class] += count
        predicted_counts[predicted] += count
    measured: dict[str, dict[str, float | None]] = {}
    for name in [each for each in true_counts if each != NONE]:
        counts = cells.get((name, name), 0.0), predicted_counts[name], true_counts[name]
        rates = [where(true_counts[name], rate) for rate in precision_recall_f1(*counts)]
        measured[name] = dict(zip(("precision", "recall", "f1"), rates, strict=True))
    macro = {rate: mean([each[rate] for each in measured.values()]) for rate in ("precision", "recall", "f1")}
    values = {f"{task}.macro_{rate}": value for rate, value in macro.items()}
    return values | {f"{task}.{rate}[{name}]": of[rate] for name, of in measured.items() for rate in of}


def confusion_tables(sums: Sums) -> list[Table]:
    """Returns the confusion matrices of tasks 1 and 3, if anything was counted."""
    tables = []
    for task, title in (("task1", "Chart classes (task 1)"), ("task3", "Text roles (task 3)")):
        cells = _confusion(task, sums)
        if not cells:
            continue
        marks = (OTHER, NONE)
        names = sorted({name for cell in cells for name in cell if name not in marks})
        columns = names + [mark for mark in marks if any(predicted == mark for _, predicted in cells)]
        rows = names + [NONE] * any(true_class == NONE for true_class, _ in cells)
        counts: list[list[str | float | None]] = [
            [row, *(int(cells.get((row, column), 0)) for column in columns)] for row in rows
        ]
        tables.append(Table(title, ["truth \\ predicted", *columns], counts))
    return tables


def _confusion(task: str, sums: Sums) -> dict[tuple[str, str], float]:
    """Returns the confusion counts of a task by (true class, predicted class)."""
    counts = sums.family(f"{task}.confusion").items()
    return {(row, column): count for name, count in counts for row, _, column in [name.partition("|")]}
