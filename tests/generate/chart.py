"""Makes charts of all ten classes and what a system of some error would read from them."""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]

BARS = ("Grouped vertical bar", "Grouped horizontal bar", "Stacked vertical bar", "Stacked horizontal bar")
CLASSES = ("Pie", "Donut", "Vertical box", "Horizontal box", *BARS, "Line", "Scatter")
WORDS = ("Rainfall", "Harvest", "Output", "Visits", "Index", "Cost", "Growth", "Survey", "Depth", "Load", "Area km^{2}")
PLACES = ("North", "South", "East", "West", "Coast", "Hills", "Valley", "Island", "Harbour", "Plain")
SUMMARY = ("min", "first_quartile", "median", "third_quartile", "max")
ROLES = ("chart_title", "axis_title", "tick_label", "legend_label", "legend_title")
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "
PLOT = {"x0": 80, "y0": 40, "width": 540, "height": 380}


def sample(index: int, seed: int) -> tuple[Json, Json | None]:
    """Returns the ground truth and the prediction of one chart; one chart in forty has no prediction."""
    rng = random.Random(f"{seed}:{index}")
    truth = _truth(rng, index)
    if rng.random() < 0.025:
        return truth, None
    return truth, _prediction(rng, truth, rng.random() ** 2)


def _truth(rng: random.Random, index: int) -> Json:
    chart_type = CLASSES[index % len(CLASSES)]
    truth: Json = {
        "sample_id": f"chart-{index:06d}",
        "source": rng.choice(("web", "scan")),
        "tags": rng.sample(("grid", "colour", "legend", "small"), rng.randrange(3)),
        "image": {"width": 640, "height": 480},
        "task1": {"output": {"chart_type": chart_type}},
    }
    if chart_type in ("Pie", "Donut"):
        return truth | {task: {"output": {}} for task in ("task2", "task3", "task4", "task5", "task6")}
    names = rng.sample(PLACES, rng.randint(1, 3)) if rng.random() < 0.8 else [""]
    categories = (
        rng.sample(PLACES, rng.randint(3, 5)) if rng.random() < 0.7 else [str(year) for year in range(2015, 2019)]
    )
    texts = [("chart_title", " ".join(rng.sample(WORDS, 2)), 300, 10)]
    texts += [("axis_title", rng.choice(WORDS), 300, 455), ("axis_title", rng.choice(WORDS), 5, 200)]
    x_ticks = [("tick_label", text, 100 + 110 * place, 430) for place, text in enumerate(categories)]
    y_ticks = [("tick_label", str(20 * step), 40, 415 - 90 * step) for step in range(5)]
    legend = [("legend_label", name, 540, 50 + 22 * place) for place, name in enumerate(names) if name]
    texts += x_ticks + y_ticks + legend
    first_y = 3 + len(x_ticks)
    first_legend = first_y + len(y_ticks)
    truth["task2"] = _output(text_blocks=[_block(key, text, x, y) for key, (_, text, x, y) in enumerate(texts)])
    truth["task3"] = _output(text_roles=[{"id": key, "role": text[0]} for key, text in enumerate(texts)])
    x_axis = [_tick(3 + place, tick[2] + 10, 420) for place, tick in enumerate(x_ticks)]
    y_axis = [_tick(first_y + place, 80, tick[3] + 5) for place, tick in enumerate(y_ticks)]
    truth["task4"] = _output(_plot_bb=PLOT, axes={"x-axis": x_axis, "y-axis": y_axis})
    height = 0 if chart_type == "Line" else 10
    pairs = [
        {"id": first_legend + place, "bb": {"x0": 510, "y0": pair[3], "width": 24, "height": height}}
        for place, pair in enumerate(legend)
    ]
    truth["task5"] = _output(legend_pairs=pairs)
    truth["task6"] = {"output": _data(rng, chart_type, names, categories)}
    return truth


def _output(**output: Any) -> Json:
    return {"output": output}


def _block(key: int, text: str, x: int, y: int) -> Json:
    return {"id": key, "text": text, "bb": {"x0": x, "y0": y, "width": 8 * len(text), "height": 14}}


def _tick(key: int, x: int, y: int) -> Json:
    return {"id": key, "tick_pt": {"x": x, "y": y}}


def _data(rng: random.Random, chart_type: str, names: list[str], categories: list[str]) -> Json:
    elements: Json = {"bars": [], "boxplots": [], "lines": [], "scatter points": []}
    series: list[Json] = []
    for place, name in enumerate(names):
        data: Any
        if "box" in chart_type:
            values = sorted(round(rng.uniform(5, 95), 2) for _ in SUMMARY)
            data = dict(zip(SUMMARY, values, strict=True))
            elements["boxplots"].append({part: _line(120 + 100 * place, data[part]) for part in SUMMARY})
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
                elements["bars"] += [_bar(chart_type, place, i, y) for i, y in enumerate(heights)]
        series.append({"name": name, "data": data})
    return {"data series": series, "visual elements": elements}


def _row(value: float) -> int:
    return round(420 - 3.8 * value)


def _bar(chart_type: str, series: int, place: int, value: float) -> Json:
    length, offset = round(3.8 * value), 90 + 110 * place + 30 * series
    if "vertical" in chart_type:
        return {"x0": offset, "y0": 420 - length, "width": 28, "height": length}
    return {"x0": 80, "y0": offset, "width": length, "height": 28}


def _line(x: int, value: float) -> Json:
    y = _row(value)
    return {"x": x, "y": y, "_bb": {"x0": x - 30, "y0": y, "width": 60, "height": 0}}


def _prediction(rng: random.Random, truth: Json, error: float) -> Json:
    """Returns the prediction of a system whose `error` runs from 0, perfect, to 1."""
    prediction: Json = {"sample_id": truth["sample_id"]}
    chart_type = truth["task1"]["output"]["chart_type"]
    if rng.random() < error / 2:
        chart_type = rng.choice((*CLASSES, "Radar"))
    prediction["task1"] = _output(chart_type=chart_type)
    if truth["task1"]["output"]["chart_type"] in ("Pie", "Donut"):
        return prediction
    blocks = truth["task2"]["output"]["text_blocks"]
    prediction["task2"] = _output(text_blocks=_blocks(rng, blocks, error))
    prediction["task3"] = _output(text_roles=_roles(rng, truth["task3"]["output"]["text_roles"], error))
    axes = truth["task4"]["output"]["axes"]
    ticks = {name: _shaken(rng, axes[name], error, _moved, 2 * error) for name in axes}
    prediction["task4"] = _output(axes=ticks)
    pairs = truth["task5"]["output"]["legend_pairs"]
    prediction["task5"] = _output(legend_pairs=_shaken(rng, pairs, error, _moved, 2 * error))
    data = truth["task6"]["output"]
    elements = {name: _shaken(rng, group, error, _moved) for name, group in data["visual elements"].items()}
    series, again = (_shaken(rng, data["data series"], each, _shaken_series) for each in (error / 2, error))
    prediction["task6"] = {"output": {"visual elements": elements, "data series": series}}
    prediction["task7"] = {"output": {"data series": again}}
    if rng.random() < error / 4:
        del prediction[rng.choice(("task2", "task3", "task4", "task5", "task6", "task7"))]
    return prediction


def _shaken(rng: random.Random, items: list[Any], error: float, shake: Any, by: float | None = None) -> list[Any]:
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
    moved = {}
    for name, sigma in (("x", 8), ("y", 8), ("x0", 4), ("y0", 1), ("width", 4), ("height", 1)):
        if name in item:
            shifted = item[name] + round(rng.gauss(0, sigma * error))
            moved[name] = max(0, shifted) if name in ("width", "height") else shifted
    return moved


def _misread(rng: random.Random, text: str, error: float) -> str:
    if not text or rng.random() > error:
        return text
    place = rng.randrange(len(text))
    return text[:place] + rng.choice(ALPHABET) + text[place + rng.randrange(2) :]


def _blocks(rng: random.Random, blocks: list[Json], error: float) -> list[Json]:
    """Returns the text blocks with misread, missed, doubled, split and merged ones."""
    read: list[Json] = []
    for block in _shaken(rng, blocks, error, _moved, 2 * error):
        words = block["text"].split(" ")
        if len(words) > 1 and rng.random() < error:
            x = block["bb"]["x0"]
            for word in words:
                bb = {**block["bb"], "x0": x, "width": 8 * len(word)}
                read.append({"id": None, "text": word, "bb": bb})
                x += 8 * len(word) + 8
        else:
            read.append({**block, "text": _misread(rng, block["text"], error)})
    if len(blocks) > 4 and rng.random() < error:
        first, second = blocks[3], blocks[4]
        left, right = first["bb"], second["bb"]
        bb = {**left, "width": right["x0"] + right["width"] - left["x0"]}
        read = [block for block in read if block["id"] not in (first["id"], second["id"])]
        read.append({"id": 900, "text": f"{first['text']} {second['text']}", "bb": bb})
    return read


def _roles(rng: random.Random, roles: list[Json], error: float) -> list[Json]:
    read = []
    for role in roles:
        luck = rng.random()
        if luck < error / 10:
            continue
        wrong = luck > 1 - error / 3
        read.append({"id": role["id"], "role": rng.choice(ROLES) if wrong else role["role"]})
    if rng.random() < error / 4:
        read.append({"id": 999, "role": "tick_label"})
    return read


def _shaken_series(rng: random.Random, series: Json, error: float) -> Json:
    data = series["data"]
    shaken: Any
    if isinstance(data, dict):
        shaken = {part: round(value * (1 + rng.gauss(0, error / 4)), 3) for part, value in data.items()}
    else:
        shaken = _shaken(rng, data, error / 2, _shaken_value)
    name = series["name"] or rng.choice(("", "Series 1"))
    return {"name": _misread(rng, name, error), "data": shaken}


def _shaken_value(rng: random.Random, point: Json, error: float) -> Json:
    x = point["x"]
    shaken_x = _misread(rng, x, error) if isinstance(x, str) else round(x * (1 + rng.gauss(0, error / 4)), 3)
    if rng.random() < error / 20:
        return {"x": shaken_x, "y": "n/a"}
    return {"x": shaken_x, "y": round(float(point["y"]) * (1 + rng.gauss(0, error / 2)), 3)}
