"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from typing import Any, ClassVar

from ..benchmark import Benchmark, SampleScore
from ..common.budget import Budget
from ..statistics.sums import Sums
from ..table import Table
from .axes import score_axes
from .classes import CLASSES_WITHOUT_TASKS, class_of, score_chart_class, score_text_roles
from .converter import ChartConverter
from .draw import draw_chart
from .elements import elements_of, score_elements
from .legend import score_legend
from .limits import check_sizes
from .metrics import ATTEMPTED, LEFT_OUT, METRICS, SAMPLE_METRICS, confusion_tables, explain, values_of
from .options import ALL_TASKS, ChartOptions, TaskName
from .records import Axes, ChartPrediction, ChartTruth, OutputT, Task
from .series import score_series
from .task_score import TaskScore
from .text_blocks import score_text_blocks

NO_PREDICTION = ChartPrediction()
NO_AXES = Axes()


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
    batch_size = 64

    def score_sample(self, truth: ChartTruth, prediction: ChartPrediction | None) -> SampleScore:
        """Scores the tasks that one chart has.

        Raises RejectedRecord where a record is too large, or the ground truth lacks what a task needs.
        """
        check_sizes(truth, prediction, self.options)
        budget = Budget(self.options.max_steps)
        chart_class = class_of(_output(truth.task1), self.options.protocol)
        tasks = self.options.tasks if CLASSES_WITHOUT_TASKS.isdisjoint(chart_class.split()) else ("task1",)
        statistics: dict[str, float] = {}
        metrics: dict[str, float | None] = {}
        details: dict[str, Any] = {}
        coverage: dict[str, int] = {}
        share_total, share_count = 0.0, 0
        for task in dict.fromkeys(tasks):
            score = _score_task(task, truth, prediction, chart_class, budget, self.options)
            if score is None:
                continue
            statistics |= score.statistics
            if prediction is not None:
                statistics[ATTEMPTED[task] if score.attempted else LEFT_OUT[task]] = 1
            metrics |= score.metrics
            details[task] = score.details
            if score.coverage:
                coverage |= score.coverage
            if score.share is not None and (score.attempted or prediction is None):
                share_total, share_count = share_total + score.share, share_count + 1
        metrics["score"] = share_total / share_count if share_count else None
        return SampleScore(statistics, metrics, details, coverage)

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of `METRICS`; see `values_of`."""
        return values_of(sums, self.options)

    def explain(self, details: Any) -> list[str]:
        """Returns what became of the class and of the parts of each task."""
        return explain(details)

    def draw(self, truth: ChartTruth, prediction: ChartPrediction | None) -> str:
        """Returns both sides over each other as an SVG document.

        Raises RejectedRecord where a record is too large.
        """
        check_sizes(truth, prediction, self.options)
        return draw_chart(truth, prediction)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the confusion matrices of tasks 1 and 3, where there is one."""
        return confusion_tables(sums)


def _score_task(
    task: TaskName,
    truth: ChartTruth,
    prediction: ChartPrediction | None,
    chart_class: str,
    budget: Budget,
    options: ChartOptions,
) -> TaskScore | None:
    """Returns the score of one task; None where the ground truth lacks it, or the protocol leaves the chart out."""
    given = prediction or NO_PREDICTION
    if task == "task1":
        predicted_class = class_of(_output(given.task1), options.protocol)
        return score_chart_class(truth, chart_class, predicted_class, options) if chart_class else None
    if task == "task2":
        text, predicted_text = _output(truth.task2), _output(given.task2)
        if text is None or text.text_blocks is None:
            return None
        blocks = None if predicted_text is None else predicted_text.text_blocks
        return score_text_blocks(text.text_blocks, blocks, budget, options)
    if task == "task3":
        roles = _output(truth.task3)
        if roles is None or roles.text_roles is None:
            return None
        return score_text_roles(roles.text_roles, _output(given.task3), options)
    if task == "task4":
        analysis, predicted_analysis = _output(truth.task4), _output(given.task4)
        axes = None if analysis is None else analysis.axes
        predicted_axes = None if predicted_analysis is None else predicted_analysis.axes
        if axes is None or axes == NO_AXES:
            return None
        return score_axes(axes, None if predicted_axes == NO_AXES else predicted_axes, truth.image, options)
    if task == "task5":
        legend, predicted_legend = _output(truth.task5), _output(given.task5)
        if legend is None or legend.legend_pairs is None or _leaves_out(prediction, options):
            return None
        pairs = None if predicted_legend is None else predicted_legend.legend_pairs
        return score_legend(legend.legend_pairs, pairs, options)
    data, predicted_data = _output(truth.task6), _output(given.task7 if task == "task7" else given.task6)
    if task == "task6a":
        elements = elements_of(data)
        if elements is None:
            return None
        return score_elements(elements, elements_of(predicted_data), chart_class, truth.image, budget, options)
    if data is None or data.data_series is None:
        return None
    series = None if predicted_data is None else predicted_data.data_series
    score = score_series(task, data.data_series, series, chart_class, budget, options)
    return None if _leaves_out(prediction, options) else score


def _output(task: Task[OutputT] | None) -> OutputT | None:
    return None if task is None else task.output


def _leaves_out(prediction: ChartPrediction | None, options: ChartOptions) -> bool:
    """Tells whether the protocol averages over the predictions alone, and there is none."""
    return prediction is None and options.protocol == "released"
