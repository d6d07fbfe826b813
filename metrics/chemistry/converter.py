"""The competition's own files as records: text files of `image<TAB>string` lines, and its JSON annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar

from ..converter import Converter, Part, UnreadableSource, only_part, read_json, stem_of, text_lines

JSON_FIELDS = {"json": "ssml_normed", "json_chemfig": "chemfig", "json_ssml_sd": "ssml_sd"}
"""The annotation field that each role reads."""


class ChemistryConverter(Converter):
    """Reads lines and annotations; the sample_id is the name of the image or annotation, without folder and extension.

    A duplicated sample is an error, since one of the two would be lost.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "lines": "text files, one sample a line: image<TAB>string",
        "json": "JSON annotations, one a sample; takes `ssml_normed`, the form in which the competition scores",
        "json_chemfig": "the same annotations; takes `chemfig`, the raw Chemfig",
        "json_ssml_sd": "the same annotations; takes `ssml_sd`, SSML with angles in steps",
    }

    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes] | UnreadableSource]:
        """Yields (sample_id, text as UTF-8) for each line, or for the one annotation of a file.

        A line that is not UTF-8, or does not have two columns and an image name, is yielded as an UnreadableSource.
        Raises UnreadableSource if an annotation is not JSON, or its field is missing or not valid text.
        """
        if role in JSON_FIELDS:
            yield stem_of(path), _field(JSON_FIELDS[role], path, stream.read()).encode()
        else:
            yield from _lines(path, stream)

    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields one record, `{"sample_id", "text"}`.

        Raises UnreadableSource if the sample occurs more than once.
        """
        yield {"sample_id": key, "text": only_part(key, parts).content.decode()}


def _lines(path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes] | UnreadableSource]:
    for number, line in enumerate(text_lines(path, stream), start=1):
        if not line.strip():
            continue
        image, tab, text = line.rstrip(b"\r\n").partition(b"\t")
        try:
            sample_id, string = stem_of(image.decode().strip().removeprefix("\ufeff")), text.decode()
        except UnicodeDecodeError as error:
            yield UnreadableSource(f"{path}, line {number}: not UTF-8 ({error.reason})")
            continue
        # Tabs at the ends of the string are blanks, which do not count; within it they begin a further column.
        if not tab or not sample_id or b"\t" in text.strip():
            yield UnreadableSource(f"{path}, line {number}: expected image<TAB>string, found {line[:60].strip()!r}")
        else:
            yield sample_id, string.encode()


def _field(field: str, path: str, content: bytes) -> str:
    try:
        annotation = read_json(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableSource(f"{path}: not JSON ({str(error)[:100]})") from None
    text = annotation.get(field) if isinstance(annotation, dict) else None
    if not isinstance(text, str):
        raise UnreadableSource(f"{path}: expected an object with the string {field!r}")
    if not text.isprintable() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UnreadableSource(f"{path}: {field!r} holds half of a surrogate pair")
    return text
