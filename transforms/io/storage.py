"""Files and folders on any filesystem; a path is taken as it is, never as a pattern.

A path without a scheme is on a disk, and is served by Python itself. Any other is served by Beam, which takes a second
to import: it is imported with the first such path. Whatever a filesystem cannot do is an OSError.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, cast

from ..records import InputProblem

PART = ".part"
"""The ending of a file that is being written, and takes its name when it is whole."""

_FIXES = {
    errno.ENOSPC: "free some space, or give another --output",
    errno.EDQUOT: "free some space, or give another --output",
    errno.EACCES: "allow this user to write there, or give another --output",
    errno.EPERM: "allow this user to write there, or give another --output",
    errno.EEXIST: "a file has that name; give another --output",
    errno.ENOTDIR: "a file has the name of a folder of it; give another --output",
    errno.EROFS: "mount it for writing, or give another --output",
}


@contextlib.contextmanager
def beam_files(path: str) -> Iterator[Any]:
    """Yields Beam's FileSystems; what the client of an object store raises within becomes an OSError."""
    from apache_beam.io.filesystems import FileSystems

    with as_os_errors(path):
        yield FileSystems


@contextlib.contextmanager
def as_os_errors(path: str) -> Iterator[None]:
    """Raises OSError for what the client of the object store of `path` raises within."""
    if is_on_disk(path):
        yield
        return
    from ..beam_internals import STORE_ERRORS

    try:
        yield
    except STORE_ERRORS as error:
        raise OSError(error) from error


def output_problem(output: str, error: BaseException) -> InputProblem:
    """Returns the problem with an output that a filesystem reported, with what fixes it."""
    cause = _innermost(error)
    fix = _FIXES.get(getattr(cause, "errno", None) or 0, "fix that, or give another --output")
    return InputProblem(f"--output {output}: cannot be written: {reason_of(cause)}; {fix}")


@contextlib.contextmanager
def output_problems(output: str) -> Iterator[None]:
    """Raises InputProblem for what a filesystem reports within."""
    try:
        with as_os_errors(output):
            yield
    except OSError as error:
        raise output_problem(output, error) from error


def reason_of(error: BaseException) -> str:
    """Returns in one line what went wrong first."""
    cause = _innermost(error)
    return " ".join(str(cause).split())[:300] or type(cause).__name__


def _innermost(error: BaseException) -> BaseException:
    """Returns the first error that a filesystem of Beam has wrapped."""
    while True:
        details = getattr(error, "exception_details", None)
        inner = next(iter(details.values()), None) if isinstance(details, dict) else None
        if inner is None and error.args and isinstance(error.args[0], BaseException):
            inner = error.args[0]
        if not isinstance(inner, BaseException):
            return error
        error = inner


def new_run_id() -> str:
    """Returns an id that no other run has."""
    return uuid.uuid4().hex[:12]


def is_on_disk(path: str) -> bool:
    """Returns whether a path belongs to a filesystem that this machine has mounted."""
    return "://" not in path


def place_of(path: str) -> str:
    """Returns one name for all names of a file or folder."""
    if is_on_disk(path):
        return os.path.realpath(path)
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{posixpath.normpath(rest)}"


def has_folders(path: str) -> bool:
    """Returns whether the filesystem of a path knows folders; an object store knows none."""
    if is_on_disk(path):
        return True
    with beam_files(path) as files:
        return bool(files.get_filesystem(path).has_dirs())


def exists(path: str) -> bool:
    """Returns whether there is a file or a folder."""
    if is_on_disk(path):
        return os.path.exists(path)
    with beam_files(path) as files:
        return bool(files.exists(path))


def list_folder(folder: str) -> dict[str, float]:
    """Returns the names right below a folder with the times of their last change; empty where there is no folder.

    On an object store a name with others below it has the time of the latest of them.
    """
    found: dict[str, float] = {}
    if is_on_disk(folder):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    found[entry.name] = entry.stat(follow_symlinks=False).st_mtime
        return found
    if has_folders(folder) and not exists(folder):
        return {}
    start = folder.rstrip("/") + "/"
    for path, (_, changed) in list_tree(folder).items():
        name = path.removeprefix(start).partition("/")[0]
        found[name] = max(found.get(name, 0.0), changed)
    return found


def list_tree(folder: str) -> dict[str, tuple[int, float]]:
    """Returns the files below a folder of an object store, however deep: by path, the size and the last change.

    Of a filesystem that knows folders, only the files right below it.
    """
    from ..beam_internals import list_prefix

    with as_os_errors(folder):
        return {
            entry.path: (entry.size_in_bytes, entry.last_updated_in_seconds or 0.0)
            for entry in list_prefix(folder.rstrip("/") + "/")
        }


@contextlib.contextmanager
def open_file(path: str) -> Iterator[BinaryIO]:
    """Opens a file as it is, to be read."""
    if is_on_disk(path):
        with open(path, "rb") as stream:
            yield stream
        return
    with beam_files(path) as files, files.open(path, compression_type="uncompressed") as stream:
        yield stream


def create_file(path: str) -> BinaryIO:
    """Opens a file to be written, which replaces one of its name; on a disk its folder is made where it is missing."""
    if is_on_disk(path):
        make_folder(os.path.dirname(path))
        return open(path, "wb")
    with beam_files(path) as files:
        return cast(BinaryIO, files.create(path, compression_type="uncompressed"))


def read_bytes(path: str, most: int = -1) -> bytes:
    """Returns the content of a file as it is, its first `most` bytes where that is not negative."""
    with open_file(path) as stream:
        return bytes(stream.read(most))


def make_folder(path: str) -> None:
    """Makes a folder unless it is there, or its filesystem has none."""
    if is_on_disk(path):
        if path:
            os.makedirs(path, exist_ok=True)
        return
    if not has_folders(path):
        return
    try:
        if not exists(path):
            with beam_files(path) as files:
                files.mkdirs(path)
    except OSError:
        if not exists(path):
            raise


def write_file(path: str, content: bytes, before: Callable[[], None] = lambda: None) -> None:
    """Writes a file that is there as a whole or not at all; it replaces one of the same name.

    An object is there from when its upload ends. Elsewhere it is written under another name first, then renamed.
    before: called as late as possible before the file is there; if it raises, there is none.
    """
    if not has_folders(path):
        before()
        with as_os_errors(path), create_file(path) as stream:
            stream.write(content)
        return
    make_folder(posixpath.dirname(path))
    with atomic_write(path, new_run_id()) as stream:
        stream.write(content)
        before()


@contextlib.contextmanager
def atomic_write(path: str, run_id: str) -> Iterator[BinaryIO]:
    """Opens a file under the name PATH.RUN_ID.part, and renames it to PATH once everything is written."""
    temporary = f"{path}.{run_id}{PART}"
    try:
        with as_os_errors(path), create_file(temporary) as stream:
            yield stream
            if is_on_disk(path):
                # A network disk may report only here that it is full.
                stream.flush()
                os.fsync(stream.fileno())
        rename_files([(temporary, path)])
    except BaseException:
        with contextlib.suppress(OSError):
            delete_files([temporary])
        raise


def rename_files(pairs: Sequence[tuple[str, str]]) -> None:
    """Moves files; one that is in the way, as a copy that broke off leaves it, is replaced."""
    for source, target in pairs:
        if is_on_disk(target):
            os.rename(source, target)
            continue
        with beam_files(target) as files:
            try:
                files.rename([source], [target])
            except OSError:
                # Some filesystems do not replace the target by themselves.
                if not (has_folders(target) and exists(source) and exists(target)):
                    raise
                files.delete([target])
                files.rename([source], [target])


def prepare_output(output: str) -> None:
    """Makes an output folder; raises InputProblem where that cannot be done, or nothing can be written to it."""
    try:
        make_folder(output)
        write_probe(output)
    except (OSError, ValueError) as error:
        raise output_problem(output, error) from error


def write_probe(folder: str) -> None:
    """Writes and removes a small file, to find out early that a folder cannot be written to."""
    path = posixpath.join(folder, f".{new_run_id()}.probe")
    # An object store of Amazon's kind accepts no upload without any part.
    write_file(path, b"\n")
    delete_files([path])


def delete_files(paths: Sequence[str]) -> None:
    """Deletes the files that are there."""
    if paths and not has_folders(paths[0]):
        # An object that is not there is deleted like any other.
        with beam_files(paths[0]) as files:
            files.delete(list(paths))
        return
    for path in paths:
        if is_on_disk(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        elif exists(path):
            with beam_files(path) as files:
                files.delete([path])


def delete_folder(path: str) -> None:
    """Deletes a folder, where there is one, with all that is below it."""
    if not is_on_disk(path):
        delete_files([path] if has_folders(path) else list(list_tree(path)))
        return
    # Another process may add to it or delete from it meanwhile.
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.rmdir(path)


def copy_file(source: str, target: str) -> None:
    """Puts a file under a second name, replacing what has it: the same file on a disk that can, elsewhere a copy."""
    if is_on_disk(target):
        _link(source, target)
        return
    if has_folders(target):
        delete_files([target])
    with beam_files(target) as files:
        files.copy([source], [target])


def _link(source: str, target: str) -> None:
    temporary = f"{source}.{new_run_id()}{PART}"
    try:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
        os.rename(temporary, target)
    finally:
        # It is still there if the target was a name of the same file.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
