"""The layout of CHART-Infographics: a folder of JSON files, one a chart, and a folder of images of the same names.

The releases of 2020 and 2022 (UB PMC) locate a text block by its four corners, a `polygon` or a `bb` with `x0`, `y0` to
`x3`, `y3`, as their metric2.py reads them; of such a block the upright box around the corners is taken. As their
metric6b.py reads them, a data series may be a list of box plots, a point may have its value on a second axis (`y2`),
and what has no name in the image is `[unnamed data series #0]` or `[unnamed category #0]`.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, cast

import msgspec

from ..benchmark import error_text
from ..converter import Converter, Part, UnreadableSource, no_constant, only_part, read_json, stem_of
from .records import BOX_PLOT_LINES

IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
# Pillow itself warns a little above this.
MAX_PIXELS = 89_000_000
# What Pillow raises for broken headers of these formats.
UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, KeyError, ArithmeticError, RuntimeError)
TASKS = ("task1", "task2", "task3", "task4", "task5", "task6", "task7")
UNNAMED = ("[unnamed data series #", "[unnamed category #")


class ChartConverter(Converter):
    """Makes one record of each JSON file; the images give ground truth its image sizes, predictions need none.

    Of a task only the output is kept: its input repeats the outputs of earlier tasks.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "json": "JSON files, one a chart, with task1 to task7 as CHART-Infographics writes them, in 2019 or as UB PMC",
        "images": "the chart images, of which only the size is read",
    }

    additions: ClassVar[frozenset[str]] = frozenset({"images"})

    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes]]:
        """Yields the name of the file without its ending, and the JSON text or the size of the image.

        Raises UnreadableSource if the file is not an image, or one of more pixels than a chart has.
        """
        yield stem_of(path), stream.read() if role == "json" else msgspec.json.encode(_image_size(path, stream))

    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields the record of one chart; images without a JSON file yield none.

        Raises UnreadableSource if two files of a role have the same name, the JSON is not an object, or a task has
        members besides its input and its name, but no output.
        """
        annotations = [part for part in parts if part.role == "json"]
        images = [part for part in parts if part.role == "images"]
        size = {"image": msgspec.json.decode(only_part(key, images).content)} if images else {}
        if annotations:
            yield {**_without_inputs(only_part(key, annotations)), **size, "sample_id": key}


def _image_size(path: str, stream: BinaryIO) -> dict[str, int]:
    """Returns width and height of an image, upright by its EXIF data, from its header; its pixels are never decoded."""
    # Not at the top: Pillow is needed here alone, and takes a while to import.
    from PIL import ExifTags, Image, UnidentifiedImageError

    try:
        with Image.open(stream, formats=IMAGE_FORMATS) as image:
            width, height = image.size
            # Not of TIFF, which Pillow turns itself.
            if "exif" in image.info and image.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8):
                width, height = height, width
    except UnidentifiedImageError as error:
        raise UnreadableSource(f"{path}: not an image of the kinds {', '.join(IMAGE_FORMATS)}") from error
    except (*UNREADABLE, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        if isinstance(error, OSError) and error.errno is not None:
            # Of the disk; what Pillow raises for an image that it cannot read has no number.
            raise
        raise UnreadableSource(f"{path}: the size of the image cannot be read: {error}") from error
    if width * height > MAX_PIXELS:
        raise UnreadableSource(f"{path}: {width} x {height} pixels are more than a chart has ({MAX_PIXELS} at most)")
    return {"width": width, "height": height}


def _without_inputs(annotation: Part) -> dict[str, Any]:
    try:
        read_json(annotation.content, no_constant)
        record = msgspec.json.decode(annotation.content.removeprefix(BOM_UTF8), type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableSource(f"{annotation.path}: not a JSON object: {error_text(error)}") from error
    for task in TASKS:
        if isinstance(given := record.get(task), dict):
            others = [name for name, value in given.items() if name not in ("input", "name") and value is not None]
            if others and given.get("output") is None:
                raise UnreadableSource(f"{annotation.path}: {task} has no `output`; it has {', '.join(others)}")
            record[task] = {"output": given.get("output")}
    output = record["task2"]["output"] if isinstance(record.get("task2"), dict) else None
    blocks: Any = output.get("text_blocks") if isinstance(output, dict) else None
    for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
        located = block.get("bb") or block.get("polygon") if isinstance(block, dict) else None
        if isinstance(located, dict):
            if "width" not in located:
                located = _box_around(f"{annotation.path}: task2: text block {place}", located)
            blocks[place] = {**block, "bb": located}
    for task in ("task6", "task7"):
        output = record[task]["output"] if isinstance(record.get(task), dict) else None
        if isinstance(output, dict) and isinstance(series := output.get("data series"), list):
            output["data series"] = [found for each in series for found in _data_series(each)]
    return record


def _data_series(series: Any) -> list[Any]:
    """Returns a data series in the layout of the records; of a list of box plots, a series for each."""
    if not isinstance(series, dict):
        return [series]
    series = _named(series)
    if isinstance(data := series.get("data"), list):
        data = [_on_one_axis(each) if isinstance(each, dict) else each for each in data]
        if _are_box_plots(data):
            return [{"name": box.get("x", box.get("y", series.get("name"))), "data": box} for box in data]
        series["data"] = data
    return [series]


def _are_box_plots(data: list[Any]) -> bool:
    """Returns whether a list is of box plots; what has an x and a y is a point, whose min and max are error bars."""
    if not all(isinstance(each, dict) and not {"x", "y"} <= each.keys() for each in data):
        return False
    return any(not box.keys().isdisjoint(BOX_PLOT_LINES) for box in data)


def _named(each: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a data series or a point of one, with an empty name or label where the image has none."""
    return {key: "" if isinstance(value, str) and value.startswith(UNNAMED) else value for key, value in each.items()}


def _on_one_axis(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a point has, with its value on the second axis if it has one, or a box plot with those it lacks."""
    point = {key: value for key, value in _named(given).items() if value is not None}
    lines = {line: point[f"y2-{line}"] for line in BOX_PLOT_LINES if f"y2-{line}" in point}
    return {**lines, **point, **({"y": point["y2"]} if "y2" in point else {})}


def _box_around(where: str, corners: Mapping[str, Any]) -> dict[str, Any]:
    xs, ys = ([cast(float, corners.get(f"{axis}{number}")) for number in range(4)] for axis in "xy")
    if any(isinstance(each, bool) or not isinstance(each, (int, float)) for each in (*xs, *ys)):
        raise UnreadableSource(f"{where}: expected bb with x0, y0, width and height, or corners x0, y0 to x3, y3")
    return {"x0": min(xs), "y0": min(ys), "width": max(xs) - min(xs), "height": max(ys) - min(ys)}
