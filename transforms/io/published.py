"""Where the files of a published result are: what every reader of a result asks, and whoever replaces it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from ..records import InputProblem
from .storage import STORAGE_ERRORS, is_on_disk, list_folder, place_of, read_bytes

CURRENT = "current"
_MANIFEST = re.compile(r"\d{8}-[^/]+\.json")
ENDINGS = (".parquet", ".jsonl")


@dataclass(frozen=True)
class Layout:
    """The names of a result: its `files`, the last of which tells that it is there, and its `folders`.

    The files of a folder are called FOLDER-*.parquet or FOLDER-*.jsonl; others in it belong to somebody else.
    """

    name: str
    files: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def last(self) -> str:
        """The file that is replaced last where each is replaced on its own."""
        return self.files[-1]

    @property
    def hidden(self) -> str:
        """The folder inside an output where each run has its own files, and where it stands which run counts."""
        return f".{self.name}"

    def owns(self, folder: str, name: str) -> bool:
        """Returns whether a file in one of the folders is named as a run names it."""
        return name.startswith(f"{folder}-") and name.endswith(ENDINGS)


def check_not_replaced(output: str, layout: Layout, paths: Iterable[str]) -> None:
    """Raises InputProblem where a file that a run reads is one of those that its result would replace or remove."""
    root = place_of(output)
    own = {*layout.files, *layout.folders, layout.hidden}
    for path in paths:
        place = place_of(path)
        if place.startswith(f"{root}/") and place.removeprefix(f"{root}/").partition("/")[0] in own:
            raise InputProblem(f"--output {output}: its result would replace the input {path}; give another --output")


class Manifest(msgspec.Struct, frozen=True):
    """Which run an output holds, and the path of each of its files below the output, by its name in the result."""

    run_id: str
    files: dict[str, str]


@dataclass(frozen=True)
class Published:
    """A published result.

    run_id: the run; empty where that is not known. files: the path of each file, by its name in the result.
    """

    run_id: str
    files: Mapping[str, str]

    def read(self, name: str) -> bytes:
        """Returns the content of a file; raises one of STORAGE_ERRORS where it cannot be read."""
        return read_bytes(self.files[name])

    def folder(self, name: str) -> list[str]:
        """Returns the paths of the files of a folder, in order of their names."""
        return [self.files[each] for each in sorted(self.files) if each.startswith(f"{name}/")]


def find_published(output: str, layout: Layout) -> Published | None:
    """Returns the result that an output holds, None where there is none.

    It is the one that the link OUTPUT/.NAME/current points to; without one, the one of the last manifest
    OUTPUT/.NAME/NUMBER-RUN-ID.json; without one, what is there under the plain names.

    Raises one of STORAGE_ERRORS where the output cannot be read, or its manifest is damaged.
    """
    while True:
        root = _current(output, layout)
        if root is None:
            found, is_last = _by_manifest(output, layout)
        else:
            # A copy that has followed the link has a folder of this name, which tells no run.
            name = posixpath.basename(root)
            found = _plain(root, layout, "" if name == CURRENT else name.partition("-")[0])
            is_last = _current(output, layout) == root
        # A run that published meanwhile may have removed some of what was looked at.
        if is_last:
            return found


def _current(output: str, layout: Layout) -> str | None:
    """Returns the folder that OUTPUT/.NAME/current points to; None where there is none."""
    if not is_on_disk(output):
        return None
    current = posixpath.join(output, layout.hidden, CURRENT)
    root = os.path.realpath(current)
    while not os.path.isdir(root):
        before, root = root, os.path.realpath(current)
        if root == before:
            return None
    return root


def _by_manifest(output: str, layout: Layout) -> tuple[Published | None, bool]:
    """Returns the result of the last manifest or under the plain names, and whether that still was the last one."""
    manifests = manifest_names(output, layout)
    if not manifests:
        return _plain(output, layout, ""), True
    try:
        manifest = _decode_manifest(posixpath.join(output, layout.hidden, manifests[-1]))
    except STORAGE_ERRORS:
        if manifest_names(output, layout)[-1:] == manifests[-1:]:
            raise
        return None, False
    files = {name: posixpath.join(output, path) for name, path in manifest.files.items()}
    return Published(manifest.run_id, files), True


def _decode_manifest(path: str) -> Manifest:
    try:
        return msgspec.json.decode(read_bytes(path), type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise OSError(f"{path} is damaged ({error})") from error


def manifest_names(output: str, layout: Layout) -> list[str]:
    """Returns the names of the manifests of an output, the one that counts last."""
    return sorted(name for name in list_folder(posixpath.join(output, layout.hidden)) if _MANIFEST.fullmatch(name))


def encode_manifest(manifest: Manifest) -> bytes:
    """Returns a manifest as the JSON that people and programs read."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def next_manifest(names: list[str], attempt: str) -> str:
    """Returns the name of the manifest that takes the place of those with these names."""
    last = max((int(name.partition("-")[0]) for name in names), default=0)
    return f"{last + 1:08}-{attempt}.json"


def _plain(root: str, layout: Layout, run_id: str) -> Published | None:
    there = list_folder(root)
    if layout.last not in there or (is_on_disk(root) and not os.path.exists(posixpath.join(root, layout.last))):
        return None
    files = {name: posixpath.join(root, name) for name in layout.files if name in there}
    for folder in layout.folders:
        for name in list_folder(posixpath.join(root, folder)):
            if layout.owns(folder, name):
                files[f"{folder}/{name}"] = posixpath.join(root, folder, name)
    return Published(run_id, files)


class TakenOver(InputProblem):
    """A run that may not publish any more, because its claim is gone."""

    def __init__(self, output: str) -> None:
        super().__init__(
            f"--output {output}: this run does not own it any more, and published nothing: it was interrupted, "
            "or another run took it over; evaluate again"
        )
