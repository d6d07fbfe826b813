"""The chart benchmark: CHART-Infographics, tasks 1 to 7."""

from __future__ import annotations

from typing import Any

import msgspec

from ..benchmark import Benchmark, SampleScore, Table
from ..common.budget import Budget
from ..statistics.sums import Sums
from .axes import score_axes, score_legend
from .classes import CLASSES_WITHOUT_TASKS, class_of, is_right_class, score_chart_class, score_text_roles
from .converter import ChartConverter
from .draw import draw_chart
from .elements import score_elements
from .limits import check_sizes, check_truth
from .metrics import ATTEMPTED, COVERAGE_WARNINGS, METRICS, OMITTED, SAMPLE_METRICS, confusion_tables, values_of
from .records import ALL_TASKS, ChartOptions, ChartPrediction, ChartTruth, TaskName, elements_of, series_of
from .series import score_series
from .task_score import TaskScore, whole_count
from .text_blocks import score_text_blocks


class ChartBenchmark(Benchmark[ChartTruth, ChartPrediction, ChartOptions]):
    """Scores what a system reads from charts, task by task.

    A task that the ground truth lacks, or whose output is empty, is not scored, and pie and donut charts have task 1
    alone. One that only some predictions lack scores 0 there; one that all predictions for charts with it lack is not
    scored, since the system does not attempt it. One sample does not tell: in its `score`, a task that the prediction
    lacks is 0. Task 7 is scored against the data series of task 6.
    """

    name = "chart"
    summary = "CHART-Infographics: class, text, roles, axes, legend, elements and data of charts"
    truth_type = ChartTruth
    prediction_type = ChartPrediction
    options_type = ChartOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    corpus_statistics = tuple(name for task in ALL_TASKS for name in (ATTEMPTED[task], OMITTED[task]))
    coverage_warnings = COVERAGE_WARNINGS
    takes_columns = True
    batch_size = 64
    converter = ChartConverter()

    def score_sample(self, truth: ChartTruth, prediction: ChartPrediction | None) -> SampleScore:
        """Scores the tasks that one chart has.

        Raises RejectedRecord if what is scored of a record is too large, or the ground truth lacks what a task needs.
        """
        options = self.options
        chart_class = class_of(truth.chart_type, options.protocol)
        has_all_tasks = CLASSES_WITHOUT_TASKS.isdisjoint(chart_class.split())
        tasks = [task for task in dict.fromkeys(options.tasks) if has_all_tasks or task == "task1"]
        check_sizes(truth, prediction, tasks, options)
        check_truth(truth, tasks)
        budget = Budget(options.max_steps)
        statistics: dict[str, float] = {}
        metrics: dict[str, float | None] = {}
        details: dict[str, Any] = {}
        coverage: dict[str, int] = {}
        total, count = 0.0, 0
        for task in tasks:
            score = self._score_task(task, truth, prediction, chart_class, budget)
            if score is None:
                continue
            statistics |= score.statistics
            if prediction is not None:
                statistics[ATTEMPTED[task] if score.attempted else OMITTED[task]] = 1
            metrics |= score.metrics
            details[task] = score.details
            coverage |= score.coverage or {}
            if score.share is not None:
                total, count = total + score.share, count + 1
        metrics["score"] = total / count if count else None
        return SampleScore(statistics, metrics, details, coverage)

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of `METRICS`; see `values_of`."""
        return values_of(sums, self.options)

    def explain(self, details: Any) -> list[str]:
        """Returns the result for the class, and how many parts of tasks 2 and 3 are right."""
        lines = []
        if "task1" in details:
            true_class, predicted = details["task1"]["truth"], details["task1"]["predicted"]
            accepted = ", accepted" if true_class != predicted and is_right_class(details["task1"]) else ""
            lines.append(f"class: {true_class}, predicted {predicted or 'none'}{accepted}")
        if "task2" in details:
            counts = ", ".join(
                f"{whole_count(kind, details['task2'])} {kind}" for kind in ("matched", "missed", "extra")
            )
            lines.append(f"text blocks: {counts}")
        if "task3" in details:
            roles = details["task3"]
            lines.append(f"text roles: {roles['correct']} right, {whole_count('errors', roles)} wrong")
        return lines

    def draw(
        self,
        truth: ChartTruth,
        prediction: ChartPrediction | None,
        details: Any = None,
        image: tuple[int, int] | None = None,
    ) -> str:
        """Returns both sides over each other as an SVG document.

        Without `details`, raises RejectedRecord if `score_sample` does.
        """
        if details is None:
            details = msgspec.to_builtins(self.score_sample(truth, prediction).details)
        return draw_chart(truth, prediction, details, image)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the confusion matrices of tasks 1 and 3, if any."""
        return confusion_tables(sums)

    def _score_task(
        self, task: TaskName, truth: ChartTruth, prediction: ChartPrediction | None, chart_class: str, budget: Budget
    ) -> TaskScore | None:
        """Returns the score of one task; None if the ground truth lacks it, or the protocol leaves the chart out."""
        options, given = self.options, prediction or ChartPrediction()
        # The released scripts average over the predictions alone.
        is_skipped = prediction is None and options.protocol == "released"
        if task == "task1":
            predicted_class = class_of(given.chart_type, options.protocol)
            return score_chart_class(truth, chart_class, predicted_class, options) if chart_class else None
        if task == "task2":
            blocks = truth.text_blocks
            return None if blocks is None else score_text_blocks(blocks, given.text_blocks, budget, options)
        if task == "task3":
            roles = truth.task3.output.text_roles if truth.task3 and truth.task3.output else None
            predicted_roles = given.task3.output if given.task3 else None
            return None if roles is None else score_text_roles(roles, predicted_roles, options)
        if task == "task4":
            axes = truth.axes
            return None if axes is None else score_axes(axes, given.axes, truth.size, options)
        if task == "task5":
            pairs = truth.legend_pairs
            return None if pairs is None or is_skipped else score_legend(pairs, given.legend_pairs, options)
        if task == "task6a":
            elements, others = elements_of(truth.task6), elements_of(given.task6)
            if elements is None:
                return None
            return score_elements(elements, others, chart_class, truth.size, budget, options)
        series = series_of(truth.task6)
        if series is None:
            return None
        predicted = series_of(given.task7 if task == "task7" else given.task6)
        score = score_series(task, series, predicted, chart_class, budget, options)
        return None if is_skipped else score
