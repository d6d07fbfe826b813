"""Makes chart records, and scores them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.common.budget import Budget
from tests.metrics import samples
from tests.plain_loop import make_benchmark

Json = dict[str, Any]
benchmark = partial(make_benchmark, "chart")


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


def in_image(truth: Json) -> Json:
    """Returns a chart in an image of 300 x 400 pixels (diagonal 500) unless it says another."""
    return {"image": {"width": 300, "height": 400}, **truth}


def score(truth: Json, prediction: Json | None, **options: Any) -> SampleScore:
    return samples.score("chart", in_image(truth), prediction, **options)


def metrics(truth: Json, prediction: Json | None, **options: Any) -> dict[str, float | None]:
    return dict(score(truth, prediction, **options).metrics)


def scores(tasks: list[str], truth: Json, prediction: Json | None, **options: Any) -> list[float | None]:
    """Returns the metrics of tasks, except their mean."""
    found = metrics(truth, prediction, tasks=tasks, **options)
    return [found[name] for name in found if name != "score"]


def rejection(side: str, truth: Json, prediction: Json | None, **options: Any) -> str:
    return samples.rejection("chart", side, in_image(truth), prediction, **options)


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
