"""Figures with text and what a system might find in them, with every kind of error that the benchmark tells apart."""

import math
import random
from typing import Any

FIGURE_TYPES = ("Gel-image", "Image-of-thing", "Graph", "Model", "Mix")
WORDS = (
    *("DNA", "ConA", "Mean", "lysis", "time (min)", "κi (μM)", "IL-6"),
    *("p53", "kDa", "β-actin", "GFP+", "day 7", "EC50"),
)
DIFFICULTIES = ("small", "blurry", "color", "short", "complex_background", "complex_symbol", "specific_text")
FIGURES_AN_ARTICLE = 3

Record = dict[str, Any]


def sample(index: int, seed: int) -> tuple[Record, Record | None]:
    """Returns the annotation of one figure and a system's regions for it; None: the system gave nothing."""
    draw = random.Random(f"{seed}:{index}")
    sample_id = f"figure-{index:05}"
    regions = [_region(draw, number) for number in range(draw.randint(3, 14))]
    truth = {
        "sample_id": sample_id,
        "article": f"article-{index // FIGURES_AN_ARTICLE:04}",
        "figure_type": FIGURE_TYPES[index % len(FIGURE_TYPES)],
        "source": draw.choice(("web", "scan")),
        "regions": regions,
    }
    if draw.random() < 0.04:
        return truth, None
    readings = [
        {"id": region["id"], "text": _misread(draw, region["text"]) if draw.random() < 0.25 else region["text"]}
        for region in regions
        if draw.random() < 0.95
    ]
    return truth, {"sample_id": sample_id, "regions": _detections(draw, regions) + readings}


def _region(draw: random.Random, number: int) -> Record:
    """Places a word in its own cell of a grid; about one in six is turned."""
    left, top = 40.0 + 190 * (number % 4), 30.0 + 90 * (number // 4)
    word = draw.choice(WORDS)
    box = [left, top, left + 12.0 * len(word) + draw.randint(0, 20), top + draw.randint(14, 24)]
    is_turned = draw.random() < 0.17
    region: Record = {
        "id": f"w{number}",
        "text": word,
        "difficulty": sorted(draw.sample(DIFFICULTIES, draw.choice((0, 0, 1, 1, 2, 3)))),
        "orientation": "oriented" if is_turned else "horizontal",
        "important": draw.random() < 0.4,
        "ignore": draw.random() < 0.08,
    }
    if not is_turned:
        return {**region, "box": box}
    return {**region, "points": [[round(x, 2), round(y, 2)] for x, y in turned(box, draw.choice((30, 45, 90)))]}


def turned(box: list[float], degrees: float) -> list[tuple[float, float]]:
    """Returns the corners of a box that is turned about its centre."""
    x1, y1, x2, y2 = box
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    offsets = ((x1 - x, y1 - y), (x2 - x, y1 - y), (x2 - x, y2 - y), (x1 - x, y2 - y))
    return [(x + a * cosine - b * sine, y + a * sine + b * cosine) for a, b in offsets]


def _detections(draw: random.Random, regions: list[Record]) -> list[Record]:
    found: list[Record] = []
    for number, region in enumerate(regions):
        error = draw.choice(("none", "none", "none", "none", "text", "missed", "split", "merged", "moved", "twice"))
        boxes = [each for each in regions[number : number + 2] if "box" in each]
        if error == "missed":
            continue
        if error == "split" and "box" in region:
            found.extend(_halves(region))
        elif error == "merged" and len(boxes) == 2:
            found.append(_merged(*boxes))
        else:
            pixels = {"moved": [25], "twice": [1, 2]}.get(error, [1])
            found += [_moved(draw, region, each) for each in pixels]
        if error == "text":
            found[-1]["text"] = _misread(draw, region["text"])
    while draw.random() < 0.3:
        left, top = draw.uniform(0, 800), draw.uniform(400, 700)
        found.append({"box": [left, top, left + 40, top + 15], "text": draw.choice(WORDS), "confidence": 0.31})
    draw.shuffle(found)
    return found


def _moved(draw: random.Random, region: Record, pixels: float) -> Record:
    x, y = draw.uniform(-pixels, pixels), draw.uniform(-pixels, pixels)
    found: Record = {"text": region["text"], "confidence": round(draw.uniform(0.5, 1), 2)}
    if "box" in region:
        x1, y1, x2, y2 = region["box"]
        return {**found, "box": [x1 + x, y1 + y, x2 + x, y2 + y]}
    return {**found, "points": [[a + x, b + y] for a, b in region["points"]]}


def _halves(region: Record) -> list[Record]:
    x1, y1, x2, y2 = region["box"]
    middle, cut = (x1 + x2) / 2, len(region["text"]) // 2
    return [
        {"box": [x1, y1, middle, y2], "text": region["text"][:cut], "confidence": 0.7},
        {"box": [middle, y1, x2, y2], "text": region["text"][cut:], "confidence": 0.6},
    ]


def _merged(one: Record, other: Record) -> Record:
    a, b = one["box"], other["box"]
    box = [min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])]
    return {"box": box, "text": f"{one['text']} {other['text']}", "confidence": 0.8}


def _misread(draw: random.Random, word: str) -> str:
    at = draw.randrange(len(word))
    return draw.choice((word[:at] + word[at + 1 :], word.swapcase(), word.replace("I", "l") + ".", ""))
