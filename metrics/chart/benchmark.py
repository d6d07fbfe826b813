"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from typing import ClassVar

from metrics.benchmark import Benchmark, RejectedRecord, SampleScore
from metrics.chart.axes import score_axes
from metrics.chart.classes import chart_class, class_values, confusion_table, score_chart_class, score_text_roles
from metrics.chart.convert import ChartConverter
from metrics.chart.elements import score_elements
from metrics.chart.legend import score_legend
from metrics.chart.limits import check_size
from metrics.chart.metric_specs import METRICS, SAMPLE_METRICS
from metrics.chart.options import ChartOptions, TaskName
from metrics.chart.records import ChartData, ChartPrediction, ChartTruth, ImageSize, output_of
from metrics.chart.series import score_series
from metrics.chart.task_score import TaskScore
from metrics.chart.text_blocks import score_text_blocks
from metrics.ratios import f_measure, mean, ratio
from metrics.sums import Sums
from metrics.table import Table

# The classes of charts that tasks 6a, 6b and 7 have a measure for, by a word of their name.
DATA_CLASSES = ("bar", "box", "line", "scatter")


class ChartBenchmark(Benchmark[ChartTruth, ChartPrediction, ChartOptions]):
    """Scores what a system reads from charts, task by task.

    A task that the ground truth lacks is not scored. One that only some predictions lack scores 0 there; one that no
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
        scores = {
            task: score
            for task in self.options.tasks
            if (score := self._score_task(task, truth, prediction)) is not None
        }
        statistics: dict[str, float] = {}
        columns: dict[str, float | None] = {}
        for task, score in scores.items():
            statistics.update(score.statistics)
            columns.update(score.columns)
            if prediction is not None:
                statistics[f"{task}.{'attempted' if _attempts(prediction, task) else 'left_out'}"] = 1
        considered = [scores[task].score for task in scores if prediction is None or _attempts(prediction, task)]
        columns["score"] = mean([score for score in considered if score is not None])
        return SampleScore(statistics, columns, {task: score.details for task, score in scores.items()})

    def _score_task(self, task: TaskName, truth: ChartTruth, prediction: ChartPrediction | None) -> TaskScore | None:
        """Returns the score of one task; None where the ground truth does not have it."""
        given = prediction or ChartPrediction()
        if task == "task1":
            has_class = chart_class(output_of(truth.task1)) != ""
            return score_chart_class(truth, prediction, self.options) if has_class else None
        if task == "task2":
            text = output_of(truth.task2)
            return score_text_blocks(text, output_of(given.task2), self.options) if text is not None else None
        if task == "task3":
            roles = output_of(truth.task3)
            return score_text_roles(roles, output_of(given.task3)) if roles is not None else None
        if task == "task4":
            axes = output_of(truth.task4)
            if axes is None:
                return None
            return score_axes(axes, output_of(given.task4), _image(truth, "task4"), self.options)
        if task == "task5":
            legend = output_of(truth.task5)
            return score_legend(legend, output_of(given.task5), self.options) if legend is not None else None
        return self._score_data_task(task, truth, given)

    def _score_data_task(self, task: TaskName, truth: ChartTruth, given: ChartPrediction) -> TaskScore | None:
        """Returns the score of task 6a, 6b or 7; None where the ground truth or the class of the chart lacks it."""
        data = output_of(truth.task6)
        if data is None:
            return None
        name = chart_class(output_of(truth.task1))
        if not name:
            raise RejectedRecord("ground_truth", f"{task} needs task1.output.chart_type, which says how data compare")
        if not any(word in name for word in DATA_CLASSES):
            return None
        predicted = output_of(given.task7 if task == "task7" else given.task6)
        if task != "task6a":
            return score_series(task, data, predicted, name, self.options) if data.data_series is not None else None
        if data.visual_elements is None:
            return None
        elements = predicted.visual_elements if predicted else None
        return score_elements(data.visual_elements, elements, name, _image(truth, task), self.options)

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

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the confusion matrices of tasks 1 and 3, where there is one."""
        tables = (
            confusion_table("task1", "Chart classes (task 1)", sums),
            confusion_table("task3", "Text roles (task 3)", sums),
        )
        return [table for table in tables if table is not None]


def _attempts(prediction: ChartPrediction, task: TaskName) -> bool:
    """Tells whether a prediction has an output for the task; 6a and 6b are parts of one output."""
    output = output_of(getattr(prediction, "task6" if task in ("task6a", "task6b") else task))
    if isinstance(output, ChartData) and task in ("task6a", "task6b"):
        return (output.visual_elements if task == "task6a" else output.data_series) is not None
    return output is not None


def _image(truth: ChartTruth, task: str) -> ImageSize:
    """Returns the size of the image, in which `task` measures distances."""
    if truth.image is None:
        raise RejectedRecord("ground_truth", f"{task} needs image.width and image.height")
    return truth.image
