"""The metrics of the chart benchmark."""

from __future__ import annotations

from ..benchmark import MetricSpec

METRICS = (
    MetricSpec(
        "task1.macro_f1",
        "chart class: mean over classes of F",
        main=1,
        rank=5,
        denominator="task1.confusion[*]",
        per_sample=1,
        classes="task1.recall[CLASS]",
    ),
    MetricSpec(
        "task1.macro_precision",
        "chart class: mean over classes of precision",
        denominator="task1.confusion[*]",
        per_sample=1,
        classes="task1.recall[CLASS]",
    ),
    MetricSpec(
        "task1.macro_recall",
        "chart class: mean over classes of recall",
        denominator="task1.confusion[*]",
        per_sample=1,
        classes="task1.recall[CLASS]",
    ),
    MetricSpec(
        "task1.f1[CLASS]",
        "chart class: F of one class",
        denominator="task1.confusion[CLASS|*] + task1.confusion[*|CLASS]",
    ),
    MetricSpec(
        "task1.precision[CLASS]",
        "chart class: precision of one class",
        denominator="task1.confusion[*|CLASS]",
        per_sample=1,
    ),
    MetricSpec(
        "task1.recall[CLASS]", "chart class: recall of one class", denominator="task1.confusion[CLASS|*]", per_sample=1
    ),
    MetricSpec(
        "task2.detection", "text blocks: mean over charts of the IoU score", denominator="task2.charts", per_sample=1
    ),
    MetricSpec(
        "task2.recognition",
        "text blocks: mean over charts of 1 - character error rate",
        denominator="task2.charts",
        per_sample=1,
    ),
    MetricSpec(
        "task2.hmean",
        "text blocks: harmonic mean of detection and recognition",
        main=2,
        rank=4,
        denominator="task2.charts",
        per_sample=1,
    ),
    MetricSpec(
        "task3.macro_f1",
        "text roles: mean over roles of F",
        main=3,
        denominator="task3.confusion[*]",
        classes="task3.recall[CLASS]",
    ),
    MetricSpec(
        "task3.macro_precision",
        "text roles: mean over roles of precision",
        denominator="task3.confusion[*]",
        classes="task3.recall[CLASS]",
    ),
    MetricSpec(
        "task3.macro_recall",
        "text roles: mean over roles of recall",
        denominator="task3.confusion[*]",
        classes="task3.recall[CLASS]",
    ),
    MetricSpec(
        "task3.f1[CLASS]",
        "text roles: F of one role",
        denominator="task3.confusion[CLASS|*] + task3.confusion[*|CLASS]",
    ),
    MetricSpec("task3.precision[CLASS]", "text roles: precision of one role", denominator="task3.confusion[*|CLASS]"),
    MetricSpec("task3.recall[CLASS]", "text roles: recall of one role", denominator="task3.confusion[CLASS|*]"),
    MetricSpec("task4.precision", "ticks: mean over axes of precision", denominator="task4.axes", per_sample=2),
    MetricSpec("task4.recall", "ticks: mean over axes of recall", denominator="task4.axes", per_sample=2),
    MetricSpec(
        "task4.f1",
        "ticks: mean over axes of F (released: F of the two means)",
        main=4,
        denominator="task4.axes",
        per_sample=2,
    ),
    MetricSpec(
        "task5.score", "legend: mean over charts of the IoU score", main=5, denominator="task5.charts", per_sample=1
    ),
    MetricSpec(
        "task6a.score", "plot elements: mean over charts", main=6, rank=3, denominator="task6a.charts", per_sample=1
    ),
    MetricSpec(
        "task6b.score",
        "data series, given the true outputs of tasks 1 to 5: mean over charts",
        main=7,
        rank=2,
        denominator="task6b.charts",
        per_sample=1,
    ),
    MetricSpec(
        "task7.score",
        "data series from the image alone: mean over charts",
        main=8,
        rank=1,
        denominator="task7.charts",
        per_sample=1,
    ),
)

SAMPLE_METRICS = (
    MetricSpec(
        "score",
        "mean over the tasks attempted: task1.correct, F of task 2, task3.accuracy, task4.f1, the others",
        main=1,
    ),
    MetricSpec("task1.correct", "1 where the class is right, else 0"),
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
