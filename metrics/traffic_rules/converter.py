"""Reads MapDR's layout: one folder per clip, with the rules of its sign in label.json."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar

import msgspec

from ..converter import Converter, Part, UnreadableSource, no_constant, only_part, read_json
from .records import Name

MAX_FILE_BYTES = 16 << 20

_SEPARATORS = re.compile(r"[/\\]+")


class _LabeledRule(msgspec.Struct, frozen=True):
    """One rule in label.json; its semantic_polygon and other keys are not scored."""

    attr_info: dict[str, Any]
    centerline: list[Name] | None = None
    matches: Name | None = None


class TrafficRulesConverter(Converter):
    """Converts every label.json into one record.

    The file is an object that maps rule indices to {"attr_info", "centerline", "semantic_polygon"}. Its folder's name
    is the sample_id; a file with a different name, such as clip_7.json, is read as the clip of that name.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "labels": "label.json of each clip; the rule index becomes the id of a ground-truth rule",
        "predictions": 'the same layout with predicted rules; "matches" in a rule names the index of the labeled '
        "rule that it stands for",
        "matched_predictions": "the same layout, where every predicted rule stands for the labeled rule of its index",
    }
    file_name: ClassVar[str] = "label.json"

    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes]]:
        """Yields (sample_id, content) for the whole file.

        Raises UnreadableSource if the file is larger than 16 MiB, or its path does not name a clip.
        """
        content = stream.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise UnreadableSource(f"it is larger than {MAX_FILE_BYTES >> 20} MiB, which no label.json is")
        yield _clip(path), content

    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields the record of one clip.

        Raises UnreadableSource if the clip has several files, or the file does not have the layout.
        """
        part = only_part(key, parts)
        yield {"sample_id": key, "rules": [_rule(part.role, *item) for item in _labeled(part).items()]}


def _clip(path: str) -> str:
    *folders, file = [piece for piece in _SEPARATORS.split(path) if piece]
    stem, _, _ = file.rpartition(".")
    if stem.lower() != "label":
        return stem or file
    if not folders or folders[-1] in (".", "..") or folders[-1].endswith(":"):
        raise UnreadableSource("label.json is in no folder, whose name would be that of its clip")
    return folders[-1]


def _labeled(part: Part) -> dict[str, _LabeledRule]:
    try:
        read_json(part.content, no_constant)
        return msgspec.json.decode(part.content.removeprefix(BOM_UTF8), type=dict[str, _LabeledRule])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableSource(
            f"{part.path}: not in the layout of label.json, rule index to attr_info and centerline: {error}"
        ) from error


def _rule(role: str, index: str, labeled: _LabeledRule) -> dict[str, Any]:
    rule: dict[str, Any] = {"properties": labeled.attr_info, "centerlines": labeled.centerline or []}
    if role == "labels":
        return {"id": index, **rule}
    matches = index if role == "matched_predictions" else labeled.matches
    return rule if matches is None else {**rule, "matches": matches}
