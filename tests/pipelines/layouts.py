"""Small data sets in the layouts of the benchmarks, with a mistake here and there in the predictions."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

from PIL import Image

SAMPLES = 6


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _image(width: int, height: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (width, height)).save(stream, "PNG")
    return stream.getvalue()


def chart(folder: Path) -> dict[str, list[str]]:
    for index in range(SAMPLES):
        box = {"x0": 10, "y0": 10 * index, "width": 20, "height": 8}
        for side, shift in (("truth", 0), ("predictions", index % 2 * 3)):
            blocks = [{"id": 1, "bb": {**box, "x0": 10 + shift}, "text": f"label {index}"}]
            chart_type = "Line" if side == "predictions" and index == 3 else "Pie"
            tasks = {
                "task1": {"input": {}, "output": {"chart_type": chart_type}},
                "task2": {"input": None, "output": {"text_blocks": blocks}},
            }
            _write(folder / side / f"chart {index}.json", "\ufeff" + json.dumps(tasks))
        _write(folder / "images" / f"chart {index}.png", _image(100, 80 + index))
    return {
        "truth": [f"json={folder}/truth/*.json", f"images={folder}/images/*.png"],
        "predictions": [f"{folder}/predictions/*.json"],
    }


def chemistry(folder: Path) -> dict[str, list[str]]:
    texts = ["\\chemfig { A -[:90] B }", "H _ { 2 } O", "浓 \\chemfig { A =[:0] O }"]
    truth = "".join(f"images/train_{index}.jpg\t{texts[index % 3]}\n" for index in range(SAMPLES))
    _write(folder / "truth.txt", "\ufeff" + truth)
    for index in range(SAMPLES):
        text = "H _ { 3 } O" if index == 4 else texts[index % 3]
        _write(folder / "predictions" / f"train_{index}.json", json.dumps({"ssml_normed": text}))
    return {"truth": [f"{folder}/truth.txt"], "predictions": [f"json={folder}/predictions/*.json"]}


def figure_text(folder: Path) -> dict[str, list[str]]:
    for index in range(SAMPLES):
        words = [f"word {index}", "###", 'comma, quote " and é']
        truth = [f"{x},10,{x + 60},30,{word}" for x, word in zip((10, 110, 210), words, strict=True)]
        read = [f"{x + index},10,{x + 60},30,{word}" for x, word in zip((10, 110, 210), words, strict=True)]
        _write(folder / "truth" / f"gt_img_{index}.txt", "\ufeff" + "\r\n".join(truth))
        _write(folder / "predictions" / f"res_img_{index}.txt", "\n".join(read[index % 2 :]) + "\n")
    return {"truth": [f"{folder}/truth/*.txt"], "predictions": [f"spotting={folder}/predictions/*.txt"]}


def formula(folder: Path) -> dict[str, list[str]]:
    """CDM's JSON, with an object whose img_id is absent."""
    objects = [
        {"img_id": f"case_{index}", "gt": f"x ^ {index} + y", "pred": "x - y" if index == 2 else f"x^{index} + y"}
        for index in range(SAMPLES)
    ]
    del objects[4]["img_id"]
    _write(folder / "cdm.json", json.dumps(objects))
    return {"truth": [f"{folder}/cdm.json"], "predictions": [f"cdm_predictions={folder}/cdm.json"]}


def traffic_rules(folder: Path) -> dict[str, list[str]]:
    for index in range(SAMPLES):
        rule = {"LaneType": "BusLane", "EffectiveTime": "7:00-9:00"}
        for side in ("truth", "predictions"):
            time = "8:00-9:00" if side == "predictions" and index == 2 else "7:00-9:00"
            label = {"0": {"attr_info": {**rule, "EffectiveTime": time}, "centerline": [index], "semantic_polygon": []}}
            _write(folder / side / f"clip_{index}" / "label.json", json.dumps(label))
    return {
        "truth": [f"{folder}/truth/*/label.json"],
        "predictions": [f"matched_predictions={folder}/predictions/*/label.json"],
    }


LAYOUTS: dict[str, Callable[[Path], dict[str, list[str]]]] = {
    "chart": chart,
    "chemistry": chemistry,
    "figure_text": figure_text,
    "formula": formula,
    "traffic_rules": traffic_rules,
}
