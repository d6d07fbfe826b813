"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from typing import Any, ClassVar

from metrics.benchmark import Benchmark, RejectedRecord, SampleScore
from metrics.chart.axes import score_axes
from metrics.chart.classes import (
    chart_class,
    class_values,
    confusion_table,
    predicted_roles,
    score_chart_class,
    score_text_roles,
)
from metrics.chart.converter import ChartConverter
from metrics.chart.draw import draw_chart
from metrics.chart.elements import score_elements
from metrics.chart.legend import score_legend
from metrics.chart.limits import check_size
from metrics.chart.metric_specs import METRICS, SAMPLE_METRICS
from metrics.chart.options import ChartOptions, TaskName
from metrics.chart.records import (
    ChartData,
    ChartPrediction,
    ChartTruth,
    DataSeries,
    ImageSize,
    VisualElements,
    is_empty,
    output_of,
)
from metrics.chart.series import score_series
from metrics.chart.task_score import TaskScore
from metrics.chart.text_blocks import score_text_blocks
from metrics.common.budget import Budget
from metrics.statistics.ratios import f_measure, mean, ratio
from metrics.statistics.sums import Sums
from metrics.table import Table

# The classes of charts that tasks 6a, 6b and 7 have a measure for, by a word of their name.
DATA_CLASSES = ("bar", "box", "line", "scatter")
# Charts with a word of these in their class have task 1 alone.
CLASSES_WITHOUT_TASKS = ("pie", "donut")
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

    def score_sample(self, truth: ChartTruth, prediction: ChartPrediction | None) -> SampleScore:
        """Scores the tasks that one chart has.

        Raises RejectedRecord where a record is too large, or the ground truth lacks what a task needs.
        """
        check_size("ground_truth", truth, self.options)
        if prediction is not None:
            check_size("prediction", prediction, self.options)
        budget = Budget(self.options.max_steps)
        scores = {
            task: score
            for task in self.options.tasks
            if (score := self._score_task(task, truth, prediction, budget)) is not None
        }
        statistics: dict[str, float] = {}
        metrics: dict[str, float | None] = {}
        for task, score in scores.items():
            statistics.update(score.statistics)
            metrics.update(score.metrics)
            if prediction is not None:
                attempted = self._attempts(prediction, task)
                statistics[f"{task}.{'attempted' if attempted else 'left_out'}"] = 1
        considered = [scores[task].score for task in scores if prediction is None or self._attempts(prediction, task)]
        metrics["score"] = mean([score for score in considered if score is not None])
        return SampleScore(statistics, metrics, {task: score.details for task, score in scores.items()})

    def _score_task(
        self, task: TaskName, truth: ChartTruth, prediction: ChartPrediction | None, budget: Budget
    ) -> TaskScore | None:
        """Returns the score of one task; None where the ground truth or the class of the chart does not have it."""
        name = chart_class(output_of(truth.task1))
        if task == "task1":
            return score_chart_class(truth, prediction, self.options) if name else None
        if any(word in CLASSES_WITHOUT_TASKS for word in name.split()):
            return None
        if task in ("task6a", "task6b", "task7"):
            score = self._score_data_task(task, truth, prediction, name, budget)
        else:
            score = self._score_text_task(task, truth, prediction or ChartPrediction(), budget)
        released = self.options.protocol == "released"
        return None if released and prediction is None and task in RELEASED_OF_PREDICTIONS else score

    def _score_text_task(
        self, task: TaskName, truth: ChartTruth, given: ChartPrediction, budget: Budget
    ) -> TaskScore | None:
        """Returns the score of task 2, 3, 4 or 5; None where the ground truth lacks it."""
        if task == "task2":
            text = output_of(truth.task2)
            return None if text is None else score_text_blocks(text, output_of(given.task2), self.options, budget)
        if task == "task3":
            roles = output_of(truth.task3)
            predicted = predicted_roles(output_of(given.task3), self.options)
            return None if roles is None else score_text_roles(roles, predicted, self.options)
        if task == "task4":
            axes = output_of(truth.task4)
            if axes is None:
                return None
            return score_axes(axes, output_of(given.task4), _image(truth, "task4"), self.options)
        legend = output_of(truth.task5)
        return None if legend is None else score_legend(legend, output_of(given.task5), self.options)

    def _score_data_task(
        self, task: TaskName, truth: ChartTruth, prediction: ChartPrediction | None, name: str, budget: Budget
    ) -> TaskScore | None:
        """Returns the score of task 6a, 6b or 7; None where the ground truth or the class of the chart lacks it."""
        data = output_of(truth.task6)
        elements, series = _elements(data), _series(data)
        if (elements if task == "task6a" else series) is None:
            return None
        if not name:
            raise RejectedRecord("ground_truth", f"{task} needs task1.output.chart_type, which says how data compare")
        if not any(word in name for word in DATA_CLASSES):
            return None
        given = _data(prediction, task)
        if task == "task6a" and elements is not None:
            return score_elements(elements, _elements(given), name, _image(truth, task), self.options, budget)
        return score_series(task, series or (), _series(given), name, self.options, budget)

    def _attempts(self, prediction: ChartPrediction, task: TaskName) -> bool:
        """Tells whether a prediction has an output for the task; 6a and 6b are parts of one output."""
        if task == "task1":
            return chart_class(output_of(prediction.task1)) != ""
        if task == "task3":
            return predicted_roles(output_of(prediction.task3), self.options) is not None
        if task == "task6a":
            return _elements(_data(prediction, task)) is not None
        if task in ("task6b", "task7"):
            return _series(_data(prediction, task)) is not None
        return output_of(getattr(prediction, task)) is not None

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


def _data(prediction: ChartPrediction | None, task: TaskName) -> ChartData | None:
    """Returns the output in which a prediction has task 6a, 6b or 7."""
    if prediction is None:
        return None
    return output_of(prediction.task7 if task == "task7" else prediction.task6)


def _elements(data: ChartData | None) -> VisualElements | None:
    """Returns the visual elements of an output; None where it has none, or only groups that are absent."""
    return None if data is None or is_empty(data.visual_elements) else data.visual_elements


def _series(data: ChartData | None) -> list[DataSeries] | None:
    return data.data_series if data is not None else None


def _image(truth: ChartTruth, task: str) -> ImageSize:
    """Returns the size of the image, in which `task` measures distances."""
    if truth.image is None:
        raise RejectedRecord("ground_truth", f"{task} needs image.width and image.height")
    return truth.image
