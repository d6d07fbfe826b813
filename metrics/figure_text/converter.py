"""Reads the text layouts of ICDAR's robust reading challenges and of DeTEXT: one file per image, one line per region.

Files may also be in a zip archive, the format in which results are submitted to the challenges.

A line starts with the coordinates, `x1,y1,x2,y2` of a box or `x1,y1,...,x4,y4` of a quadrilateral, separated by commas,
tabs or blanks, whichever comes first. The rest of the line depends on the role of the file:

    ground_truth  the text; nothing if the region has none
    detections    nothing, or a confidence
    spotting      the text that a system read, or nothing
    detext        orientation (0 horizontal, 1 oriented), text, difficulty

The paper shows DeTEXT's own files only in a picture (Fig 4), with these fields in this order; the separator is assumed
to be ICDAR's.
"""

from __future__ import annotations

import errno
import io
import lzma
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, BinaryIO, ClassVar

from ..benchmark import error_text
from ..converter import Converter, Part, UnreadableSource, only_part
from .records import DIFFICULTIES, MAX_COORDINATE

DONT_CARE = "###"
MAX_FILE_BYTES = 16 * 1024 * 1024

# More digits than a number has would be tried in all ways to part them.
_NUMBER = re.compile(
    r"\s*([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,9})?)(\s*(?:,\s*|(?<=\s)(?=\S)|$))"
)
_TWO_MORE = re.compile(r"(?:\s*[+-]?\d+(?:\.\d*)?\s*,){2}")
_NO_NUMBER = re.compile(r"[^\s\d.,+-]")
# The scripts of MLT 2017 and 2019, without a blank after them; whether a region of RCTW-17 is difficult.
_FIELD_BEFORE_TEXT = re.compile(
    r"(?:[^,]*,){8}\s*"
    r'(?:(?:Arabic|Bangla|Chinese|Hindi|Japanese|Korean|Latin|Mixed|None|Symbols),(?!\s)|[01],\s*")'
)
_PREFIX = re.compile(r"^(?:gt|res)_(?=.)")
_LABEL_SEPARATOR = re.compile(r"\s*[,;+|/]\s*|\s+")
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    IndexError,
    struct.error,
    RuntimeError,
)
_ORIENTATIONS = {0.0: "horizontal", 1.0: "oriented"}
_NOT_OF_THE_DATA = re.compile(r"(?:^|/)(?:__MACOSX/|\.[^/.])")
"""Metadata of macOS, such as .DS_Store, and the copies that Jupyter keeps."""

Region = dict[str, Any]
Read = tuple[Region, int]


class FigureTextConverter(Converter):
    """Converts each text file to the record of one image; its sample id is the file name without gt_, res_ and .txt."""

    roles: ClassVar[Mapping[str, str]] = {
        "ground_truth": "ICDAR 2011 to 2015: coordinates and text on each line; ### is a don't-care region",
        "detections": "ICDAR detections: coordinates on each line, a confidence or nothing after them",
        "spotting": "ICDAR end-to-end results: coordinates and the text read on each line",
        "detext": "DeTEXT ground truth: eight coordinates, orientation (0 or 1), text and difficulty on each line",
    }

    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes] | UnreadableSource]:
        """Yields (sample id, content) of the file, or of each text file in a zip archive.

        Yields an UnreadableSource for any other file in an archive. Raises UnreadableSource if a file is larger than
        16 MiB or the archive cannot be read.
        """
        if path.lower().endswith(".zip"):
            return _archived(path, stream)
        return [(sample_id_of(path), _whole(path, stream))]

    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields the record of one image.

        Raises UnreadableSource if two files are of the same image, or a line does not have the layout of its role.
        """
        part = only_part(key, parts)
        if part.path.lower().endswith(".zip"):
            part = replace(part, path=f"{part.path}: {key}")
        yield {"sample_id": key, "regions": list(regions_of(part))}


def _archived(path: str, stream: BinaryIO) -> Iterator[tuple[str, bytes] | UnreadableSource]:
    try:
        with zipfile.ZipFile(stream if stream.seekable() else io.BytesIO(stream.read())) as archive:
            for member in archive.infolist():
                name = f"{path}: {member.filename}"
                if member.is_dir() or _NOT_OF_THE_DATA.search(member.filename):
                    continue
                if not member.filename.lower().endswith(".txt"):
                    yield UnreadableSource(f"{name}: expected text files, such as gt_img_1.txt")
                    continue
                with archive.open(member) as content:
                    yield sample_id_of(member.filename), _whole(name, content)
    except _DAMAGED as error:
        # Offsets and blocks that make no sense are errors of the file; others are of the machine.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise UnreadableSource(f"{path}: not a zip archive that can be read: {error_text(error)}") from error


def _whole(path: str, stream: IO[bytes]) -> bytes:
    content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableSource(f"{path}: above {MAX_FILE_BYTES} bytes, which is no list of one image's regions")
    return content


def sample_id_of(path: str) -> str:
    """Returns the sample id of a file: `img_1` for both `gt_img_1.txt` and `res_img_1.txt`."""
    name = posixpath.basename(path.replace("\\", "/"))
    stem = name[: -len(".txt")] if name.lower().endswith(".txt") else name
    return _PREFIX.sub("", stem)


def regions_of(part: Part) -> Iterator[Region]:
    """Yields the regions of one file in order; blank lines are skipped.

    Raises UnreadableSource, which names the file and the line, for a line that cannot be read or text not in UTF-8, or
    if each text follows a field of another layout.
    """
    try:
        text = part.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableSource(f"{part.path}: not UTF-8 text at byte {error.start}") from error
    shape: int | None = None
    is_other_layout = part.role == "ground_truth"
    # Beside LF, a CR may be part of a line.
    lines = text.split("\n" if "\n" in text else "\r")
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line:
            continue
        try:
            region, coordinates = _READERS[part.role](line)
            if shape not in (None, coordinates):
                raise ValueError(f"{coordinates} coordinates, where the lines before have {shape}")
        except ValueError as error:
            raise UnreadableSource(f"{part.path}: line {number}: {error}") from error
        shape = coordinates
        is_other_layout = is_other_layout and _FIELD_BEFORE_TEXT.match(line) is not None
        yield region
    if is_other_layout and shape == 8:
        raise UnreadableSource(
            f"{part.path}: each text follows a script, or a 0 or 1, as in MLT or RCTW-17, which are not read; remove "
            "this field, or put it between quotes with the text"
        )


def _ground_truth(line: str) -> Read:
    region, coordinates = _spotted(line)
    return {**region, "ignore": region.get("text") == DONT_CARE}, coordinates


def _detection(line: str) -> Read:
    region, coordinates, rest = _location(line)
    if not rest.strip():
        return region, coordinates
    confidence, after = _numbers(rest, 1)
    if not confidence or after.strip():
        raise ValueError(
            f"a confidence or nothing must follow the coordinates (role spotting reads text), not {rest!r:.60}"
        )
    return {**region, "confidence": confidence[0]}, coordinates


def _spotted(line: str) -> Read:
    """Returns the region of a line, without `text` if the line ends right after its coordinates."""
    region, coordinates, rest = _location(line)
    # Lines are stripped, so the only separator at an end is a comma; an empty text follows it, as in ICDAR's scripts.
    return ({**region, "text": _text(rest)} if rest or line.endswith(",") else region), coordinates


def _detext(line: str) -> Read:
    numbers, rest = _numbers(line, 8)
    orientation, rest = _numbers(rest, 1)
    if len(numbers) < 8 or not orientation or orientation[0] not in _ORIENTATIONS:
        raise ValueError("eight coordinates, all with one separator, and an orientation of 0 or 1 must come first")
    text, difficulty = _difficulty(rest)
    region = {
        "points": _points(numbers),
        "orientation": _ORIENTATIONS[orientation[0]],
        "text": text,
        "ignore": text == DONT_CARE,
        "difficulty": difficulty,
    }
    return region, 8


_READERS = {"ground_truth": _ground_truth, "detections": _detection, "spotting": _spotted, "detext": _detext}


def _location(line: str) -> tuple[Region, int, str]:
    """Returns the location at the start of a line, its number of coordinates, and the rest of the line.

    Eight numbers are a quadrilateral; otherwise the first four are a box: `10,20,50,40,2015` is the text 2015 in a
    box. (All lines of a file must have one shape, so a quadrilateral with a malformed number is not read as a box.)
    """
    numbers, rest = _numbers(line, 8)
    if len(numbers) == 8:
        if (two_more := _TWO_MORE.match(rest)) and _NO_NUMBER.search(rest, two_more.end()):
            raise ValueError(
                "numbers go on after eight coordinates, as of a polygon with more than four corners, which this layout "
                f"does not have; put a text that starts so between quotes: {rest!r:.60}"
            )
        return {"points": _points(numbers)}, 8, rest
    box, rest = _numbers(line, 4)
    if len(box) < 4:
        raise ValueError(
            f"four or eight coordinates of at most {MAX_COORDINATE:.0f}, all with one separator, must come first, not "
            f"{line!r:.60}"
        )
    return {"box": box}, 4, rest


def _numbers(line: str, most: int) -> tuple[list[float], str]:
    """Returns up to `most` numbers at the start of a line, before any that is too large, and the rest of the line.

    A separator of a different kind than the first ends them: in `10,20,30,40,0 50 100`, the text is `0 50 100`.
    """
    numbers: list[float] = []
    separators: set[str] = set()
    end = 0
    while len(numbers) < most and (match := _NUMBER.match(line, end)) and match.end() > end:
        number = float(match[1])
        if abs(number) > MAX_COORDINATE:
            break
        numbers.append(number)
        end = match.end()
        separators.add(next((kind for kind in ",\t" if kind in match[2]), " "))
        if len(separators) > 1:
            break
    return numbers, line[end:]


def _points(numbers: list[float]) -> list[list[float]]:
    return [numbers[at : at + 2] for at in range(0, len(numbers), 2)]


def _text(field: str) -> str:
    """Returns the text of a field; surrounding quotes are removed, and \\" and \\\\ between them are unescaped."""
    field = field.strip()
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", field[1:-1])
    return field


def _difficulty(rest: str) -> tuple[str, list[str]]:
    """Returns the text and the paper's difficulty labels after it, which are separated by commas, blanks or ; + | /."""
    quoted = re.match(r'\s*("(?:[^"\\]|\\.)*")\s*,?', rest)
    fields = [quoted[1], rest[quoted.end() :]] if quoted else rest.split(",")
    labels: list[str] = []  # from the last to the first
    while len(fields) > 1:
        last = [label.lower() for label in _LABEL_SEPARATOR.split(fields[-1].strip()) if label]
        if not last or any(label not in DIFFICULTIES for label in last):
            break
        labels += last[::-1]
        fields.pop()
    if not labels:
        raise ValueError(f"the difficulty must come last, and be of {', '.join(DIFFICULTIES)}, not {rest!r:.60}")
    return _text(fields[0]) if quoted else ",".join(fields).strip(), labels[::-1]
