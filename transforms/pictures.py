"""The real pictures of samples, for display: located, decoded within limits, and scaled down.

A ground-truth record names its picture as `image.path`, or the setting `pictures` says where it is. What cannot be read
or decoded is a note, never a fault of the run: whoever looks at the sample reads it.
"""

from __future__ import annotations

import base64
import contextlib
import io
import os
import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from ..metrics.common.svg import ImageSize
from .io.storage import is_on_disk, read_bytes, reason_of
from .process import warnings_ignored

if TYPE_CHECKING:
    from PIL import Image

MAX_FILE_BYTES = 64 << 20
MAX_PIXELS = 64_000_000
"""A picture with more is not decoded: a small file may hold billions."""
MAX_SIDE = 1000
MAX_PICTURE_LENGTH = 200_000
"""Characters of a picture in a page."""
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Those that Pillow decodes by itself, without another program."""
SAMPLE_ID = "{sample_id}"
IMAGE = "image"
"""The field of a ground-truth record that names its picture."""
_ATTEMPTS = ((MAX_SIDE, 80), (MAX_SIDE, 40), (MAX_SIDE // 2, 40), (MAX_SIDE // 4, 40))
"""Pixels per side, and the quality of WebP; the last attempt always fits."""


class Picture(NamedTuple):
    """A picture in the form for a page.

    size: of the file in pixels. address: a data URI of WebP with at most MAX_SIDE pixels a side. problem: why there is
    no picture; empty if there is one, or if none is named.
    """

    size: ImageSize | None = None
    address: str = ""
    problem: str = ""


NO_PICTURE = Picture()


def find_picture(truth: bytes, sample_id: str, source: str, places: str | None) -> Picture:
    """Returns the picture of a sample, or why there is none, from its ground-truth record as JSON or the beginning of
    it; see `picture_path`."""
    try:
        record = {IMAGE: msgspec.json.decode(truth, type=_Pictured).image}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        record = None
    return read_picture(picture_path(record, sample_id, source, places))


class _Pictured(msgspec.Struct):
    """The only field that is decoded: in others there may be what cannot be."""

    image: Any = None


def picture_path(truth: Any, sample_id: str, source: str, places: str | None) -> str | None:
    """Returns the path of the picture of a sample; None if it is not known.

    truth: the ground-truth record as JSON holds it. source: the file that it came from. places: a pattern with
    `{sample_id}`, which needs no `image.path`, or the folder to which that is relative, by default of `source`.
    """
    if places is not None and SAMPLE_ID in places:
        return places.replace(SAMPLE_ID, sample_id)
    image = truth.get(IMAGE) if isinstance(truth, Mapping) else None
    path = image.get("path") if isinstance(image, Mapping) else None
    if not isinstance(path, str) or not path:
        return None
    if not is_on_disk(path):
        return path
    # An absolute path is unchanged.
    return posixpath.join(posixpath.dirname(source) if places is None else places, path)


def folder_problem(places: str | None) -> str | None:
    """Returns why no picture can be found where the setting `pictures` says; None if one may be."""
    if places is None or not is_on_disk(places):
        return None
    before, placeholder, _ = places.partition(SAMPLE_ID)
    folder = posixpath.dirname(before) or "." if placeholder else places
    return None if os.path.isdir(folder) else f"pictures: {places}: there is no folder {folder}"


def read_picture(path: str | None) -> Picture:
    """Returns the picture in a file, or why there is none; NO_PICTURE without a path."""
    if path is None:
        return NO_PICTURE
    # A pipe would wait for a writer.
    if is_on_disk(path) and os.path.exists(path) and not os.path.isfile(path):
        return Picture(problem=f"{path}: not a file")
    try:
        content = read_bytes(path, MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            return Picture(problem=f"{path} has more than {MAX_FILE_BYTES:,} bytes")
        # Pillow warns of damaged EXIF data, and of a size that is refused below.
        with warnings_ignored(module="PIL"):
            return _decoded(content, path)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - no failure of a decoder on a broken file may end a run
        return Picture(problem=f"{path}: {reason_of(error)}")


def _decoded(content: bytes, path: str) -> Picture:
    # Not at the top: most runs have no pictures.
    from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

    try:
        file = Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError:
        return Picture(problem=f"{path}: not an image of the kinds {', '.join(FORMATS)}")
    except Image.DecompressionBombError:
        return Picture(problem=f"{path} has more than {MAX_PIXELS:,} pixels")
    with file as image:
        size = image.size
        if size[0] * size[1] > MAX_PIXELS:
            return Picture(problem=f"{path} has {size[0]:,} x {size[1]:,} pixels, more than {MAX_PIXELS:,}")
        # A JPEG is decoded as small as it may be.
        image.draft("RGB", (MAX_SIDE, MAX_SIDE))
        small = _of_8_bits(image).convert("RGBA" if image.has_transparency_data else "RGB")
    small.thumbnail((MAX_SIDE, MAX_SIDE))
    # Upright, as browsers and tools of annotators show it; as it lies if the EXIF data are damaged.
    with contextlib.suppress(Exception):
        is_turned = small.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
        small, size = ImageOps.exif_transpose(small), size[::-1] if is_turned else size
    paper = Image.new("RGB", small.size, "white")
    paper.paste(small, mask=small if small.mode == "RGBA" else None)
    address = ""
    for side, quality in _ATTEMPTS:
        paper.thumbnail((side, side))
        stream = io.BytesIO()
        paper.save(stream, "WEBP", quality=quality)
        address = f"data:image/webp;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
        if len(address) <= MAX_PICTURE_LENGTH:
            break
    return Picture(size, address)


def _of_8_bits(image: Image.Image) -> Image.Image:
    """Returns a grey picture of 16 bits or of numbers with its darkest value as 0 and its brightest as 255.

    Values that are not finite stay, and a picture of one value is not stretched.
    """
    if image.mode not in ("I", "F") and not image.mode.startswith("I;16"):
        return image
    grey = image.convert("F")
    # Smaller before a copy is made, which takes 4 bytes a pixel.
    grey.thumbnail((MAX_SIDE, MAX_SIDE))
    values = np.asarray(grey)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if low == high:
        return grey
    scale = 255 / (high - low)
    return grey.point(lambda value: value * scale - low * scale)
