"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from metrics.benchmark import Benchmark, Pair, RejectedRecord, SampleScore
from metrics.chart.axes import score_axes
from metrics.chart.classes import class_values, confusion_table, score_chart_classes, score_text_roles
from metrics.chart.converter import ChartConverter
from metrics.chart.draw import draw_chart
from metrics.chart.elements import score_elements
from metrics.chart.legend import score_legends
from metrics.chart.limits import check_size
from metrics.chart.metric_specs import METRICS, SAMPLE_METRICS
from metrics.chart.options import ALL_TASKS, ChartOptions, TaskName
from metrics.chart.records import ChartPrediction, ChartTruth, Identifier, identifier_text
from metrics.chart.sample import ChartSample, ClassOfChart, Memo, TaskResults, given_class
from metrics.chart.series import score_series
from metrics.chart.text_blocks import score_text_blocks
from metrics.common.budget import Budget
from metrics.statistics.ratios import f_measure, ratio
from metrics.statistics.sums import Sums
from metrics.table import Table

ATTEMPTED: dict[str, str] = {task: f"{task}.attempted" for task in ALL_TASKS}
LEFT_OUT: dict[str, str] = {task: f"{task}.left_out" for task in ALL_TASKS}
# What the released scripts average over the charts that have a prediction.
RELEASED_OF_PREDICTIONS = ("task5", "task6b", "task7")


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
    batch_size = 256

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
        classes: Memo[str | None, ClassOfChart] = Memo(ClassOfChart.of)
        opened = [self._open(pair.truth, pair.prediction, classes) for pair in pairs]
        samples = [sample for sample in opened if isinstance(sample, ChartSample)]
        identifiers: Memo[Identifier, str | None] = Memo(identifier_text)
        for task in self.options.tasks:
            of_predictions = self.options.protocol == "released" and task in RELEASED_OF_PREDICTIONS
            eligible = samples if task == "task1" else [sample for sample in samples if sample.chart_class.has_tasks]
            rejected = False
            for sample, result in self._score_task(task, eligible, classes, identifiers):
                if isinstance(result, RejectedRecord):
                    sample.rejected = result
                    rejected = True
                elif not of_predictions or sample.prediction is not None:
                    sample.scores[task] = result
            if rejected:
                samples = [sample for sample in samples if sample.rejected is None]
        return [self._settle(sample) if isinstance(sample, ChartSample) else sample for sample in opened]

    def _open(
        self, truth: ChartTruth, prediction: ChartPrediction | None, classes: Memo[str | None, ClassOfChart]
    ) -> ChartSample | RejectedRecord:
        """Returns a sample to score, or its rejection where a record is too large."""
        try:
            check_size("ground_truth", truth, self.options)
            if prediction is not None:
                check_size("prediction", prediction, self.options)
        except RejectedRecord as rejected:
            return rejected
        chart_class = classes[given_class(truth.task1)]
        return ChartSample(truth, prediction, chart_class, Budget(self.options.max_steps), {})

    def _score_task(
        self,
        task: TaskName,
        samples: Sequence[ChartSample],
        classes: Memo[str | None, ClassOfChart],
        identifiers: Memo[Identifier, str | None],
    ) -> TaskResults:
        """Yields the scores of one task, and the rejections, for the charts that have it."""
        options = self.options
        if task == "task1":
            return score_chart_classes(samples, classes, options)
        if task == "task2":
            return score_text_blocks(samples, identifiers, options)
        if task == "task3":
            return score_text_roles(samples, identifiers, options)
        if task == "task4":
            return score_axes(samples, identifiers, options)
        if task == "task5":
            return score_legends(samples, identifiers, options)
        if task == "task6a":
            return score_elements(samples, options)
        return score_series(task, samples, options)

    def _settle(self, sample: ChartSample) -> SampleScore | RejectedRecord:
        """Returns what the tasks of one chart come to."""
        if sample.rejected is not None:
            return sample.rejected
        statistics: dict[str, float] = {}
        metrics: dict[str, float | None] = {}
        details: dict[str, Any] = {}
        considered: list[float] = []
        predicted = sample.prediction is not None
        for task, score in sample.scores.items():
            statistics.update(score.statistics)
            metrics.update(score.metrics)
            details[task] = score.details
            if predicted:
                statistics[ATTEMPTED[task] if score.attempted else LEFT_OUT[task]] = 1
            if score.score is not None and (score.attempted or not predicted):
                considered.append(score.score)
        metrics["score"] = sum(considered) / len(considered) if considered else None
        return SampleScore(statistics, metrics, details)

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of `METRICS`.

        None for a task that no chart has, and for one that no prediction attempts though there are predictions.
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
        idle = {task for task in self.options.tasks if sums[f"{task}.left_out"] and not sums[f"{task}.attempted"]}
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
        check_size("ground_truth", truth, self.options)
        if prediction is not None:
            check_size("prediction", prediction, self.options)
        return draw_chart(truth, prediction)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the confusion matrices of tasks 1 and 3, where there is one."""
        tables = (
            confusion_table("task1", "Chart classes (task 1)", sums),
            confusion_table("task3", "Text roles (task 3)", sums),
        )
        return [table for table in tables if table is not None]
