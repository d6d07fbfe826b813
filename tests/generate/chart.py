"""Makes charts of all ten classes and what a system of some error would read from them."""

import random
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

BARS = ("Grouped vertical bar", "Grouped horizontal bar", "Stacked vertical bar", "Stacked horizontal bar")
CLASSES = ("Pie", "Donut", "Vertical box", "Horizontal box", *BARS, "Line", "Scatter")
WORDS = ("Rainfall", "Harvest", "Output", "Visits", "Index", "Cost", "Growth", "Survey", "Depth", "Load", "Area km^{2}")
PLACES = ("North", "South", "East", "West", "Coast", "Hills", "Valley", "Island", "Harbour", "Plain")
SUMMARY = ("min", "first_quartile", "median", "third_quartile", "max")
ROLES = ("chart_title", "axis_title", "tick_label", "legend_label", "legend_title")
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "


def output(**fields: Any) -> Json:
    return {"output": fields}


def box(x0: float, y0: float, width: float, height: float) -> Json:
    return {"x0": x0, "y0": y0, "width": width, "height": height}


def block(key: Any, text: str, x0: float, y0: float, width: float, height: float) -> Json:
    return {"id": key, "text": text, "bb": box(x0, y0, width, height)}


def tick(key: Any, x: float, y: float) -> Json:
    return {"id": key, "tick_pt": {"x": x, "y": y}}


def sample(index: int, seed: int) -> tuple[Json, Json | None]:
    """Returns the ground truth and the prediction of one chart; one chart in forty has no prediction."""
    rng = random.Random(f"{seed}:{index}")
    truth = _truth(rng, index)
    return truth, None if rng.random() < 0.025 else _prediction(rng, truth, rng.random() ** 2)


def _truth(rng: random.Random, index: int) -> Json:
    chart_type = CLASSES[index % len(CLASSES)]
    truth: Json = {
        "sample_id": f"chart-{index:06d}",
        "source": rng.choice(("web", "scan")),
        "tags": rng.sample(("grid", "colour", "legend", "small"), rng.randrange(3)),
        "image": {"width": 640, "height": 480},
        "task1": output(chart_type=chart_type),
    }
    if chart_type in ("Pie", "Donut"):
        return truth | {f"task{number}": output() for number in range(2, 7)}
    names = rng.sample(PLACES, rng.randint(1, 3)) if rng.random() < 0.8 else [""]
    years = [str(year) for year in range(2015, 2019)]
    categories = rng.sample(PLACES, rng.randint(3, 5)) if rng.random() < 0.7 else years
    texts = [("chart_title", " ".join(rng.sample(WORDS, 2)), 300, 10)]
    texts += [("axis_title", rng.choice(WORDS), 300, 455), ("axis_title", rng.choice(WORDS), 5, 200)]
    x_ticks = [("tick_label", text, 100 + 110 * place, 430) for place, text in enumerate(categories)]
    y_ticks = [("tick_label", str(20 * step), 40, 415 - 90 * step) for step in range(5)]
    legend = [("legend_label", name, 540, 50 + 22 * place) for place, name in enumerate(names) if name]
    texts += x_ticks + y_ticks + legend
    blocks = [block(key, text, x, y, 8 * len(text), 14) for key, (_, text, x, y) in enumerate(texts)]
    truth["task2"] = output(text_blocks=blocks)
    truth["task3"] = output(text_roles=[{"id": key, "role": text[0]} for key, text in enumerate(texts)])
    first_y = 3 + len(x_ticks)
    first_legend = first_y + len(y_ticks)
    x_axis = [tick(3 + place, each[2] + 10, 420) for place, each in enumerate(x_ticks)]
    y_axis = [tick(first_y + place, 80, each[3] + 5) for place, each in enumerate(y_ticks)]
    truth["task4"] = output(_plot_bb=box(80, 40, 540, 380), axes={"x-axis": x_axis, "y-axis": y_axis})
    height = 0 if chart_type == "Line" else 10
    pairs = [{"id": first_legend + place, "bb": box(510, y, 24, height)} for place, (*_, y) in enumerate(legend)]
    truth["task5"] = output(legend_pairs=pairs)
    truth["task6"] = _data(rng, chart_type, names, categories)
    return truth


def _data(rng: random.Random, chart_type: str, names: list[str], categories: list[str]) -> Json:
    elements: Json = {"bars": [], "boxplots": [], "lines": [], "scatter points": []}
    series: list[Json] = []
    for place, name in enumerate(names):
        data: Any
        if "box" in chart_type:
            values = sorted(round(rng.uniform(5, 95), 2) for _ in SUMMARY)
            data = dict(zip(SUMMARY, values, strict=True))
            elements["boxplots"].append({part: _line(120 + 100 * place, _row(data[part])) for part in SUMMARY})
        elif chart_type == "Scatter":
            points = [(round(rng.uniform(0, 100), 2), round(rng.uniform(0, 100), 2)) for _ in range(rng.randint(4, 12))]
            data = [{"x": x, "y": y} for x, y in points]
            elements["scatter points"] += [{"x": round(80 + 5.4 * x), "y": _row(y)} for x, y in points]
        else:
            heights = [round(rng.uniform(5, 95), 2) for _ in categories]
            data = [{"x": label, "y": str(y)} for label, y in zip(categories, heights, strict=True)]
            if chart_type == "Line":
                elements["lines"].append([{"x": 110 + 110 * i, "y": _row(y)} for i, y in enumerate(heights)])
            else:
                elements["bars"] += [_bar(chart_type, place, i, round(3.8 * y)) for i, y in enumerate(heights)]
        series.append({"name": name, "data": data})
    return output(**{"data series": series, "visual elements": elements})


def _row(value: float) -> int:
    return round(420 - 3.8 * value)


def _bar(chart_type: str, series: int, place: int, length: int) -> Json:
    offset = 90 + 110 * place + 30 * series
    return box(offset, 420 - length, 28, length) if "vertical" in chart_type else box(80, offset, length, 28)


def _line(x: int, y: int) -> Json:
    return {"x": x, "y": y, "_bb": box(x - 30, y, 60, 0)}


def _prediction(rng: random.Random, truth: Json, error: float) -> Json:
    """Returns the prediction of a system whose `error` runs from 0, perfect, to 1."""
    prediction: Json = {"sample_id": truth["sample_id"]}
    chart_type = truth["task1"]["output"]["chart_type"]
    said = rng.choice((*CLASSES, "Radar")) if rng.random() < error / 2 else chart_type
    prediction["task1"] = output(chart_type=said)
    if chart_type in ("Pie", "Donut"):
        return prediction
    prediction["task2"] = output(text_blocks=_blocks(rng, truth["task2"]["output"]["text_blocks"], error))
    prediction["task3"] = output(text_roles=_roles(rng, truth["task3"]["output"]["text_roles"], error))
    axes = truth["task4"]["output"]["axes"]
    prediction["task4"] = output(axes={name: _shaken(rng, axes[name], error, _moved, 2 * error) for name in axes})
    pairs = truth["task5"]["output"]["legend_pairs"]
    prediction["task5"] = output(legend_pairs=_shaken(rng, pairs, error, _moved, 2 * error))
    data = truth["task6"]["output"]
    elements = {name: _shaken(rng, group, error, _moved) for name, group in data["visual elements"].items()}
    series, again = (_shaken(rng, data["data series"], each, _shaken_series) for each in (error / 2, error))
    prediction["task6"] = output(**{"visual elements": elements, "data series": series})
    prediction["task7"] = output(**{"data series": again})
    if rng.random() < error / 4:
        del prediction[rng.choice(("task2", "task3", "task4", "task5", "task6", "task7"))]
    return prediction


Shake = Callable[[random.Random, Any, float], Any]


def _shaken(rng: random.Random, items: list[Any], error: float, shake: Shake, by: float | None = None) -> list[Any]:
    """Returns the items shaken by their own error, with some of them left out and some given twice."""
    kept = []
    for item in items:
        luck = rng.random()
        if luck >= error / 5:
            kept += [shake(rng, item, by or error) for _ in range(1 + (luck > 1 - error / 10))]
    return kept


def _moved(rng: random.Random, item: Any, error: float) -> Any:
    """Moves the points of whatever has a place, and the sides of its boxes by half as much."""
    if isinstance(item, list):
        return [_moved(rng, each, error) for each in item]
    if not isinstance(item, dict):
        return item
    if not {"x", "x0"} & item.keys():
        return {name: _moved(rng, each, error) for name, each in item.items()}
    sigmas = {"x": 8, "y": 8, "x0": 4, "y0": 1, "width": 4, "height": 1}
    moved = {name: item[name] + round(rng.gauss(0, sigmas[name] * error)) for name in sigmas if name in item}
    return {name: max(0, each) if name in ("width", "height") else each for name, each in moved.items()}


def _misread(rng: random.Random, text: str, error: float) -> str:
    if not text or rng.random() > error:
        return text
    place = rng.randrange(len(text))
    return text[:place] + rng.choice(ALPHABET) + text[place + rng.randrange(2) :]


def _blocks(rng: random.Random, blocks: list[Json], error: float) -> list[Json]:
    """Returns the text blocks with misread, missed, doubled, split and merged ones."""
    read: list[Json] = []
    for each in _shaken(rng, blocks, error, _moved, 2 * error):
        words = each["text"].split(" ")
        if len(words) > 1 and rng.random() < error:
            x = each["bb"]["x0"]
            for word in words:
                read.append({"id": None, "text": word, "bb": {**each["bb"], "x0": x, "width": 8 * len(word)}})
                x += 8 * len(word) + 8
        else:
            read.append({**each, "text": _misread(rng, each["text"], error)})
    if len(blocks) > 4 and rng.random() < error:
        first, second = blocks[3:5]
        bb = {**first["bb"], "width": second["bb"]["x0"] + second["bb"]["width"] - first["bb"]["x0"]}
        read = [each for each in read if each["id"] not in (first["id"], second["id"])]
        read.append({"id": 900, "text": f"{first['text']} {second['text']}", "bb": bb})
    return read


def _roles(rng: random.Random, roles: list[Json], error: float) -> list[Json]:
    read = [
        {"id": role["id"], "role": rng.choice(ROLES) if luck > 1 - error / 3 else role["role"]}
        for role in roles
        if (luck := rng.random()) >= error / 10
    ]
    if rng.random() < error / 4:
        read.append({"id": 999, "role": "tick_label"})
    return read


def _shaken_series(rng: random.Random, series: Json, error: float) -> Json:
    data: Any = series["data"]
    if isinstance(data, dict):
        data = {part: round(value * (1 + rng.gauss(0, error / 4)), 3) for part, value in data.items()}
    else:
        data = _shaken(rng, data, error / 2, _shaken_value)
    return {"name": _misread(rng, series["name"] or rng.choice(("", "Series 1")), error), "data": data}


def _shaken_value(rng: random.Random, point: Json, error: float) -> Json:
    x = point["x"]
    x = _misread(rng, x, error) if isinstance(x, str) else round(x * (1 + rng.gauss(0, error / 4)), 3)
    unreadable = rng.random() < error / 20
    return {"x": x, "y": "n/a" if unreadable else round(float(point["y"]) * (1 + rng.gauss(0, error / 2)), 3)}
