"""Makes chart records, and scores them."""

from functools import partial
from typing import Any

from beamscore.metrics.benchmark import SampleScore
from tests.generate.chart import Json as Json, block as block, box as box, output as output, tick as tick
from tests.metrics import samples
from tests.plain_loop import make_benchmark

benchmark = partial(make_benchmark, "chart")


def points(*pairs: tuple[Any, Any]) -> list[Json]:
    return [{"x": x, "y": y} for x, y in pairs]


def series(name: Any, *pairs: tuple[Any, Any]) -> Json:
    return {"name": name, "data": points(*pairs)}


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


IMAGE: Json = {"image": {"width": 300, "height": 400}}
"""Of a chart that says none; its diagonal is 500."""


def score(truth: Json, prediction: Json | None, **options: Any) -> SampleScore:
    return samples.score("chart", {**IMAGE, **truth}, prediction, **options)


def metrics(truth: Json, prediction: Json | None, **options: Any) -> dict[str, float | None]:
    return dict(score(truth, prediction, **options).metrics)


def scores(tasks: list[str], truth: Json, prediction: Json | None, **options: Any) -> list[float | None]:
    """Returns the metrics of tasks, except their mean."""
    found = metrics(truth, prediction, tasks=tasks, **options)
    return [found[name] for name in found if name != "score"]


def rejection(side: str, truth: Json, prediction: Json | None, **options: Any) -> str:
    return samples.rejection("chart", side, {**IMAGE, **truth}, prediction, **options)


def assert_steps(steps: int, truth: Json, prediction: Json | None, **options: Any) -> None:
    samples.assert_steps(steps, "chart", {**IMAGE, **truth}, prediction, **options)
