"""Makes chart records, and scores them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import RejectedRecord, SampleScore, Side
from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.records import ChartOptions, ChartPrediction, ChartTruth
from beamscore.metrics.common.budget import Budget

Json = dict[str, Any]


def box(x0: float, y0: float, width: float, height: float) -> Json:
    return {"x0": x0, "y0": y0, "width": width, "height": height}


def block(key: Any, text: str, x0: float, y0: float, width: float, height: float) -> Json:
    return {"id": key, "text": text, "bb": box(x0, y0, width, height)}


def tick(key: Any, x: float, y: float) -> Json:
    return {"id": key, "tick_pt": {"x": x, "y": y}}


def points(*pairs: tuple[Any, Any]) -> list[Json]:
    return [{"x": x, "y": y} for x, y in pairs]


def series(name: Any, *pairs: tuple[Any, Any]) -> Json:
    return {"name": name, "data": points(*pairs)}


def output(**fields: Any) -> Json:
    return {"output": fields}


def chart_type(name: str) -> Json:
    return output(chart_type=name)


def blocks(*items: Json) -> Json:
    return output(text_blocks=list(items))


def roles(*pairs: tuple[Any, Any]) -> Json:
    return output(text_roles=[{"id": key, "role": role} for key, role in pairs])


def axes(x: list[Json], y: list[Json]) -> Json:
    return output(axes={"x-axis": x, "y-axis": y})


def legend(**by_id: Json) -> Json:
    return output(legend_pairs=[{"id": key[1:], "bb": bb} for key, bb in by_id.items()])


def elements(**groups: Any) -> Json:
    return output(**{"visual elements": {name.replace("_", " "): group for name, group in groups.items()}})


def data(*items: Json) -> Json:
    return output(**{"data series": list(items)})


def truth_of(**fields: Any) -> ChartTruth:
    return msgspec.convert({"image": {"width": 300, "height": 400}, **fields}, ChartTruth)


def prediction_of(**fields: Any) -> ChartPrediction:
    return msgspec.convert(fields, ChartPrediction)


def benchmark(**options: Any) -> ChartBenchmark:
    return ChartBenchmark(msgspec.convert(options, ChartOptions))


def score(truth: Json, prediction: Json | None, **options: Any) -> SampleScore:
    """Scores one chart, of an image of 300 x 400 pixels (diagonal 500) unless it says another."""
    given = None if prediction is None else prediction_of(**prediction)
    return benchmark(**options).score_sample(truth_of(**truth), given)


def metrics(truth: Json, prediction: Json | None, **options: Any) -> dict[str, float | None]:
    return dict(score(truth, prediction, **options).metrics)


def rejection(side: Side, truth: Json, prediction: Json | None, **options: Any) -> str:
    """Returns why a chart is rejected, for what is the fault of `side`."""
    with pytest.raises(RejectedRecord) as rejected:
        score(truth, prediction, **options)
    assert rejected.value.side == side
    return rejected.value.message


def work(truth: Json, prediction: Json | None, **options: Any) -> int:
    """Returns the steps that scoring one chart takes."""
    budgets: list[Budget] = []

    class Counting(Budget):
        def __init__(self, max_steps: int) -> None:
            super().__init__(max_steps)
            budgets.append(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("beamscore.metrics.chart.benchmark.Budget", Counting)
        metrics(truth, prediction, max_steps=10**12, **options)
    return sum(budget.steps for budget in budgets)
