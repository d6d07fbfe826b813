"""Filesystems of Beam that are not the machine's own: an object store, and one with folders; both live in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem


class _Upload(io.BytesIO):
    """A file that is there from when it is closed."""

    def __init__(self, store: ObjectStore, path: str) -> None:
        super().__init__()
        self._store, self._path = store, path

    def close(self) -> None:
        if not self.closed:
            self._store.put(self._path, self.getvalue())
        super().close()


class ObjectStore(FileSystem):
    """Like Cloud Storage and S3: no folders, a file replaces one that is there, and nobody lets Beam choose a codec."""

    FILES: ClassVar[dict[str, bytes]] = {}
    CHANGED: ClassVar[dict[str, float]] = {}
    now: ClassVar[float] = 0.0

    def __init__(self, pipeline_options: Any) -> None:
        super().__init__(pipeline_options)
        if pipeline_options is None:
            raise ValueError("S3 does nothing without options")

    @classmethod
    def scheme(cls) -> str:
        return "mem"

    @classmethod
    def clear(cls) -> None:
        for kept in (ObjectStore.FILES, FolderStore.FILES, FolderStore.FOLDERS):
            kept.clear()

    def put(self, path: str, content: bytes) -> None:
        ObjectStore.now += 0.001
        self.FILES[path], self.CHANGED[path] = content, ObjectStore.now

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *(path.strip("/") for path in paths)])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def has_dirs(self) -> bool:
        return False

    def mkdirs(self, path: str) -> None:
        """Does nothing, as there are no folders."""

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        yield from [self.metadata(path) for path in sorted(self.FILES) if path.startswith(dir_or_prefix)]

    def create(self, path: str, mime_type: str, compression_type: str) -> Any:
        assert compression_type == "uncompressed"
        return _Upload(self, path)

    def open(self, path: str, mime_type: str, compression_type: str) -> Any:
        assert compression_type == "uncompressed"
        return io.BytesIO(self._content(path))

    def _content(self, path: str) -> bytes:
        if path not in self.FILES:
            raise BeamIOError("Open failed", {path: FileNotFoundError(f"there is no {path}")})
        return self.FILES[path]

    def copy(self, source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> Any:
        """Returns an error instead of raising it, as S3 does."""
        [source], [target] = source_file_names, destination_file_names
        try:
            self.put(target, self._content(source))
        except BeamIOError as error:
            return [(source, target, error)]
        return [(source, target, None)]

    def rename(self, source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            self.put(target, self._content(source))
            self.delete([source])

    def exists(self, path: str) -> bool:
        assert path.startswith(f"{self.scheme()}://"), "S3 asks for a path of a disk again and again"
        return path in self.FILES

    def size(self, path: str) -> int:
        return len(self._content(path))

    def last_updated(self, path: str) -> float:
        return self.CHANGED[path]

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, len(self.FILES.get(path, b"")), self.CHANGED.get(path, 0.0))

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            for each in [each for each in self.FILES if each == path or (path.endswith("/") and each.startswith(path))]:
                del self.FILES[each]


class FolderStore(ObjectStore):
    """Like HDFS: folders must be made, are deleted with all below them, and a rename replaces nothing."""

    FILES: ClassVar[dict[str, bytes]] = {}
    FOLDERS: ClassVar[set[str]] = set()

    @classmethod
    def scheme(cls) -> str:
        return "folders"

    def has_dirs(self) -> bool:
        return True

    def mkdirs(self, path: str) -> None:
        if self.exists(path):
            raise BeamIOError("Path already exists", {path: FileExistsError(path)})
        while path.count("/") > 2:
            self.FOLDERS.add(path.rstrip("/"))
            path = path.rstrip("/").rpartition("/")[0]

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        paths = sorted({*self.FILES, *self.FOLDERS})
        yield from [self.metadata(each) for each in paths if each.rpartition("/")[0] == dir_or_prefix.rstrip("/")]

    def create(self, path: str, mime_type: str, compression_type: str) -> Any:
        self._check_folder(path)
        return super().create(path, mime_type, compression_type)

    def rename(self, source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        for target in destination_file_names:
            self._check_folder(target)
            if self.exists(target):
                raise BeamIOError("Rename failed", {target: FileExistsError(f"{target} is there already")})
        super().rename(source_file_names, destination_file_names)

    def _check_folder(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        if folder.count("/") > 2 and folder not in self.FOLDERS:
            raise BeamIOError("No such folder", {path: FileNotFoundError(f"there is no folder {folder}")})

    def exists(self, path: str) -> bool:
        return path in self.FILES or path.rstrip("/") in self.FOLDERS

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            below = path.rstrip("/") + "/"
            super().delete([path, below])
            self.FOLDERS.difference_update([each for each in self.FOLDERS if f"{each}/".startswith(below)])
