"""Folders of data files as one input: those that Hugging Face `datasets` saves, and shards beside each other."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..records import InputProblem
from .storage import beam_files, read_bytes

MAX_STATE_BYTES = 16 << 20

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_METADATA = {_STATE, _SPLITS, "dataset_info.json", "dataset_infos.json"}
_SHARD_FORMATS = ("parquet", "arrow")
_SHARD = re.compile(r"(.*?)-(\d{5,})-of-(\d{5,})(\.[^/]*)$")
_SPLIT_WORDS = {
    "train": "train", "training": "train", "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
    "dev": "validation", "val": "validation", "valid": "validation", "validation": "validation",
}  # fmt: skip


class _SavedFile(msgspec.Struct):
    filename: str


def files_of_folder(path: str, what: str, format_of: Callable[[str], str | None]) -> list[str] | None:
    """Returns the data files of the folder `path`; None where it is no folder.

    Of a folder that `Dataset.save_to_disk` wrote they are those that its state.json names, of a folder of Parquet or
    Arrow files all of these; any other folder is none. `format_of` tells the format by the name, `what` names the input
    in errors. Raises InputProblem where a file is missing, or the files are of several formats or splits.
    """
    folder = path.rstrip("/")
    is_file = format_of(folder) is not None and not os.path.isdir(folder)
    names = _names_in(folder) if folder and not is_file else None
    if not names:
        return None
    if _SPLITS in names:
        splits = ", ".join(map(str, _document(posixpath.join(folder, _SPLITS), what).get("splits") or ["none"]))
        raise InputProblem(f"{what}{path}: this folder holds the splits {splits}; give one of them, {folder}/SPLIT")
    if _STATE in names:
        data = _saved(posixpath.join(folder, _STATE), what)
        missing = [name for name in data if name not in names]
        if missing:
            raise InputProblem(f"{what}{path}: {missing[0]} is missing, which {_STATE} names")
    else:
        data = [name for name in names if format_of(name) is not None and name not in _METADATA]
        if not any(format_of(name) in _SHARD_FORMATS for name in data):
            return None
        _check_alike({name: str(format_of(name)) for name in data}, folder, what)
    return [posixpath.join(folder, name) for name in data]


def check_no_metadata(paths: Sequence[str], what: str) -> None:
    """Raises InputProblem where, beside other files of its folder, one is an input that describes the data set."""
    folders = Counter(map(posixpath.dirname, paths))
    for path in paths:
        folder, name = posixpath.split(path)
        if name in _METADATA and folders[folder] > 1:
            raise InputProblem(f"{what}{path}: this file holds no records; give its folder, or a pattern without it")


def _names_in(folder: str) -> list[str]:
    """Returns the names of the files in a folder, none where there is no such folder."""
    try:
        with beam_files(folder) as files:
            found = files.match([f"{folder}/*"])[0].metadata_list
    except (OSError, ValueError):
        return []
    start = len(folder) + 1
    return sorted(name for entry in found if "/" not in (name := entry.path[start:]))


def _saved(path: str, what: str) -> list[str]:
    """Returns the names of the files of a saved data set, which stand beside its state."""
    state = _document(path, what)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InputProblem(f"{what}{path}: the data set was saved with indices; load it and save it again")
    try:
        files = msgspec.convert(state.get("_data_files"), list[_SavedFile])
    except msgspec.ValidationError as error:
        raise InputProblem(f"{what}{path}: _data_files does not name the files beside it: {error}") from error
    if any("/" in file.filename for file in files):
        raise InputProblem(f"{what}{path}: _data_files names files outside of the folder")
    return [file.filename for file in files]


def _document(path: str, what: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(read_bytes(path, MAX_STATE_BYTES), type=dict[str, Any])
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InputProblem(f"{what}{path}: cannot be read: {error}") from error


def _check_alike(names: Mapping[str, str], folder: str, what: str) -> None:
    """Raises InputProblem where files, given with their formats, do not belong together, or a shard is missing."""
    if len(set(names.values())) > 1:
        found = ", ".join(sorted(set(names.values())))
        raise InputProblem(f"{what}{folder}: this folder holds files of several formats, {found}; give a pattern")
    groups = {_group(name) for name in names}
    if len({_splits(group) for group in groups}) > 1:
        found = ", ".join(sorted(groups))
        raise InputProblem(
            f"{what}{folder}: this folder holds several splits, {found}; give one of them, such as "
            f"'{folder}/{sorted(groups)[0]}*'"
        )
    for group, count in sorted({(shard[1], int(shard[3])) for shard in _shards(names)}):
        there = {int(shard[2]) for shard in _shards(names) if shard[1] == group and int(shard[3]) == count}
        if len(there) < count:
            raise InputProblem(f"{what}{folder}: only {len(there)} of the {count} shards of {group} are there")


def _shards(names: Iterable[str]) -> list[re.Match[str]]:
    return [found for found in map(_SHARD.match, names) if found]


def _group(name: str) -> str:
    shard = _SHARD.match(name)
    return shard[1] if shard else name.partition(".")[0]


def _splits(name: str) -> frozenset[str]:
    words = re.split(r"[^a-z]+", name.lower())
    return frozenset(_SPLIT_WORDS[word] for word in words if word in _SPLIT_WORDS)
