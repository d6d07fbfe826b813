"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from typing import ClassVar

from metrics.benchmark import Benchmark, RejectedRecord, SampleScore, Table
from metrics.budget import Budget
from metrics.chart.axes import score_axes
from metrics.chart.classes import (
    chart_class,
    class_values,
    confusion_table,
    predicted_roles,
    score_chart_class,
    score_text_roles,
)
from metrics.chart.convert import ChartConverter
from metrics.chart.elements import score_elements
from metrics.chart.legend import score_legend
from metrics.chart.limits import check_size
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
from metrics.ratios import f_measure, mean, ratio
from metrics.sums import Sums

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
    value_meanings: ClassVar[dict[str, str]] = {
        "task1.macro_f1": "chart class: mean over classes of F",
        "task1.macro_precision": "chart class: mean over classes of precision",
        "task1.macro_recall": "chart class: mean over classes of recall",
        "task1.f1[CLASS]": "chart class: F of one class",
        "task1.precision[CLASS]": "chart class: precision of one class",
        "task1.recall[CLASS]": "chart class: recall of one class",
        "task2.detection": "text blocks: mean over charts of the IoU score",
        "task2.recognition": "text blocks: mean over charts of 1 - character error rate",
        "task2.hmean": "text blocks: harmonic mean of detection and recognition",
        "task3.macro_f1": "text roles: mean over roles of F",
        "task3.macro_precision": "text roles: mean over roles of precision",
        "task3.macro_recall": "text roles: mean over roles of recall",
        "task3.f1[CLASS]": "text roles: F of one role",
        "task3.precision[CLASS]": "text roles: precision of one role",
        "task3.recall[CLASS]": "text roles: recall of one role",
        "task4.precision": "ticks: mean over axes of precision",
        "task4.recall": "ticks: mean over axes of recall",
        "task4.f1": "ticks: mean over axes of F (released: F of the two means)",
        "task5.score": "legend: mean over charts of the IoU score",
        "task6a.score": "plot elements: mean over charts",
        "task6b.score": "data series, given the true outputs of tasks 1 to 5: mean over charts",
        "task7.score": "data series from the image alone: mean over charts",
    }
    sample_columns: ClassVar[dict[str, str]] = {
        "score": "mean over the tasks attempted: task1.correct, F of task 2, task3.accuracy, task4.f1, the others",
        "task1.correct": "1 where the class is right, else 0",
        "task2.detection": "IoU score of the text blocks",
        "task2.recognition": "1 - character error rate of the text blocks",
        "task3.accuracy": "share of text blocks with the right role",
        "task4.precision": "mean of the precision of both axes",
        "task4.recall": "mean of the recall of both axes",
        "task4.f1": "mean of the F of both axes (released: F of the two means)",
        "task5.score": "IoU score of the legend",
        "task6a.score": "score of the plot elements",
        "task6b.score": "score of the data series of task 6",
        "task7.score": "score of the data series of task 7",
    }
    headline = (
        "task1.macro_f1",
        "task2.hmean",
        "task3.macro_f1",
        "task4.f1",
        "task5.score",
        "task6a.score",
        "task6b.score",
        "task7.score",
    )
    ranking = ("task7.score", "task6b.score", "task6a.score", "task2.hmean", "task1.macro_f1")
    worst_by = "score"

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
        columns: dict[str, float | None] = {}
        for task, score in scores.items():
            statistics.update(score.statistics)
            columns.update(score.columns)
            if prediction is not None:
                attempted = self._attempts(prediction, task)
                statistics[f"{task}.{'attempted' if attempted else 'left_out'}"] = 1
        considered = [scores[task].score for task in scores if prediction is None or self._attempts(prediction, task)]
        columns["score"] = mean([score for score in considered if score is not None])
        return SampleScore(statistics, columns, {task: score.details for task, score in scores.items()})

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
        """Returns the figures of `value_meanings`.

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
