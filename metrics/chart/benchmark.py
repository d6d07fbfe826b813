"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, ClassVar

from ..benchmark import Benchmark, Pair, RejectedRecord, SampleScore
from ..statistics.ratios import f_measure, ratio
from ..statistics.sums import Sums
from ..table import Table
from .axes import score_axes
from .batch import Batch
from .classes import class_values, confusion_table, score_chart_classes, score_text_roles
from .columns import prediction_columns, truth_columns
from .converter import ChartConverter
from .draw import draw_chart
from .elements import score_elements
from .legend import score_legends
from .limits import check_sizes, rejections
from .metric_specs import METRICS, SAMPLE_METRICS
from .names import compared_text
from .options import ALL_TASKS, ChartOptions, TaskName
from .records import ChartPrediction, ChartTruth, identifier_text
from .sample import ATTEMPTED, LEFT_OUT, ChartSample, ClassOfChart, Memo
from .series import score_series
from .text_blocks import score_text_blocks


class ChartBenchmark(Benchmark[ChartTruth, ChartPrediction, ChartOptions]):
    """Scores what a system reads from charts, task by task.

    A task that the ground truth lacks, or whose output is empty, is not scored, and pie and donut charts have task 1
    alone. One that only some predictions lack scores 0 there; one that no
    prediction has is not scored, since the system does not attempt it. Task 7 is scored against the data series of
    task 6.
    """

    name: ClassVar[str] = "chart"
    summary: ClassVar[str] = "CHART-Infographics: class, text, roles, axes, legend, elements and data of charts"
    truth_type = ChartTruth
    prediction_type = ChartPrediction
    options_type = ChartOptions
    converter = ChartConverter()
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    takes_columns = True
    corpus_statistics = tuple(name for task in ALL_TASKS for name in (ATTEMPTED[task], LEFT_OUT[task]))
    batch_size = 512

    def score_sample(self, truth: ChartTruth, prediction: ChartPrediction | None) -> SampleScore:
        """Scores the tasks that one chart has.

        Raises RejectedRecord where a record is too large, or the ground truth lacks what a task needs.
        """
        [result] = self.score([Pair("", truth, prediction)])
        if isinstance(result, RejectedRecord):
            raise result
        return result

    def score(self, pairs: Sequence[Pair[ChartTruth, ChartPrediction]]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch task by task; what is equal in several charts, such as ids and labels, is read once."""
        batch = self._opened(pairs)
        for task in dict.fromkeys(self.options.tasks):
            _score_task(task, batch, self.options)
        return [sample.result() for sample in batch.samples]

    def _opened(self, pairs: Sequence[Pair[ChartTruth, ChartPrediction]]) -> Batch:
        """Returns the batch to score; charts with a record that is too large are rejected in it."""
        given, predicted = [pair.truth for pair in pairs], [pair.prediction for pair in pairs]
        truths, predictions = truth_columns(given), prediction_columns(predicted)
        classes = Memo(self._class_of_chart)
        of_charts = [classes[name] for name in truths.classes or [None] * len(pairs)]
        have_tasks = [chart_class.has_tasks for chart_class in of_charts]
        samples = list(map(ChartSample, given, predicted, of_charts, repeat(self.options.max_steps), have_tasks))
        for number, rejected in rejections(pairs, truths, predictions, self.options).items():
            samples[number].reject(rejected)
        return Batch(samples, truths, predictions, classes, Memo(identifier_text))

    def _class_of_chart(self, given: str | None) -> ClassOfChart:
        return ClassOfChart.of(given and compared_text(given, self.options))

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of `METRICS`.

        None for a task that no chart has, and for one that no prediction of the corpus attempts though there are
        predictions.
        """
        values = class_values("task1", sums) | class_values("task3", sums)
        detection = ratio(sums["task2.detection"], sums["task2.charts"])
        recognition = ratio(sums["task2.recognition"], sums["task2.charts"])
        values["task2.detection"] = detection
        values["task2.recognition"] = recognition
        values["task2.hmean"] = f_measure(detection, recognition)
        axes = sums["task4.axes"]
        precision, recall = ratio(sums["task4.precision"], axes), ratio(sums["task4.recall"], axes)
        released = self.options.protocol == "released"
        values["task4.precision"] = precision
        values["task4.recall"] = recall
        values["task4.f1"] = f_measure(precision, recall) if released else ratio(sums["task4.f1"], axes)
        for task in ("task5", "task6a", "task6b", "task7"):
            values[f"{task}.score"] = ratio(sums[f"{task}.score"], sums[f"{task}.charts"])
        idle = {task for task in self.options.tasks if sums[LEFT_OUT[task]] and not sums[ATTEMPTED[task]]}
        return {name: None if idle and name.partition(".")[0] in idle else values[name] for name in values}

    def explain(self, details: Any) -> list[str]:
        """Returns what became of the class and of the parts of each task."""
        lines = []
        if "task1" in details:
            lines.append(f"class: {details['task1']['truth']}, predicted {details['task1']['predicted'] or 'none'}")
        if "task2" in details:
            counts = ", ".join(f"{len(details['task2'][kind])} {kind}" for kind in ("matched", "missed", "extra"))
            lines.append(f"text blocks: {counts}")
        if "task3" in details:
            lines.append(f"text roles: {details['task3']['correct']} right, {len(details['task3']['errors'])} wrong")
        return lines

    def draw(self, truth: ChartTruth, prediction: ChartPrediction | None) -> str:
        """Returns both sides over each other as an SVG document.

        Raises RejectedRecord where a record is too large.
        """
        check_sizes(truth, prediction, self.options)
        return draw_chart(truth, prediction)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the confusion matrices of tasks 1 and 3, where there is one."""
        tables = (
            confusion_table("task1", "Chart classes (task 1)", sums),
            confusion_table("task3", "Text roles (task 3)", sums),
        )
        return [table for table in tables if table is not None]


def _score_task(task: TaskName, batch: Batch, options: ChartOptions) -> None:
    """Scores one task of the charts that have it, and rejects those that cannot be scored."""
    if task == "task1":
        score_chart_classes(batch, options)
    elif task == "task2":
        score_text_blocks(batch, options)
    elif task == "task3":
        score_text_roles(batch, options)
    elif task == "task4":
        score_axes(batch, options)
    elif task == "task5":
        score_legends(batch, options)
    elif task == "task6a":
        score_elements(batch, options)
    else:
        score_series(task, batch, options)
