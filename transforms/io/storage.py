"""Files and folders on any filesystem; a path is taken literally, never as a pattern.

A path without a scheme is on a disk, and is served by Python itself. Any other is served by Beam, which takes a second
to import, so it is imported with the first such path. Every failure of a filesystem is an OSError.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, cast

from ..records import InputProblem

PART = ".part"
"""The ending of a file that is being written; it is renamed once it is complete."""

_CLIENTS = ("google.", "apache_beam.io.aws.")
"""The packages of the object store clients whose errors pass through Beam's filesystems."""


@contextlib.contextmanager
def beam_files(path: str) -> Iterator[Any]:
    """Yields Beam's FileSystems; errors of an object store client within become OSErrors."""
    from ..beam_internals import file_systems

    with as_os_errors(path):
        yield file_systems()


@contextlib.contextmanager
def as_os_errors(path: str) -> Iterator[None]:
    """Turns errors that the object store client of `path` raises within into OSErrors."""
    if is_on_disk(path):
        yield
        return
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__module__.startswith(_CLIENTS):
            raise OSError(error) from error
        raise


def output_problem(output: str, error: BaseException) -> InputProblem:
    """Returns the problem with an output that a filesystem reported."""
    return InputProblem(f"--output {output}: cannot be written: {reason_of(error)}; fix that, or give another --output")


@contextlib.contextmanager
def output_problems(output: str) -> Iterator[None]:
    """Turns errors of a filesystem within into InputProblem."""
    try:
        with as_os_errors(output):
            yield
    except OSError as error:
        raise output_problem(output, error) from error


def reason_of(error: BaseException) -> str:
    """Returns the message of the original error, which filesystems of Beam may have wrapped, in one line."""
    cause: Any = error
    while isinstance(cause, BaseException):
        error, details = cause, getattr(cause, "exception_details", None)
        cause = next(iter(details.values()), None) if isinstance(details, dict) else None
        if cause is None and error.args:
            cause = error.args[0]
    return " ".join(str(error).split())[:300] or type(error).__name__


def new_run_id() -> str:
    """Returns a random id, 12 hex digits."""
    return uuid.uuid4().hex[:12]


def is_on_disk(path: str) -> bool:
    """Returns whether a path belongs to a filesystem that this machine has mounted."""
    return "://" not in path


def place_of(path: str) -> str:
    """Returns the canonical name of a file or folder."""
    if is_on_disk(path):
        return os.path.realpath(path)
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{posixpath.normpath(rest)}"


def has_folders(path: str) -> bool:
    """Returns whether the filesystem of a path has folders; an object store has none."""
    if is_on_disk(path):
        return True
    with beam_files(path) as files:
        return bool(files.get_filesystem(path).has_dirs())


def exists(path: str) -> bool:
    """Returns whether a file or a folder exists."""
    if is_on_disk(path):
        return os.path.exists(path)
    with beam_files(path) as files:
        return bool(files.exists(path))


def file_size(path: str) -> int:
    """Returns the size of a file in bytes."""
    if is_on_disk(path):
        return os.path.getsize(path)
    with beam_files(path) as files:
        return int(files.get_filesystem(path).size(path))


def list_folder(folder: str) -> dict[str, float]:
    """Returns the names directly below a folder with the times of their last change; empty if it does not exist.

    On an object store a name with others below it has the time of the latest of them.
    """
    times: dict[str, float] = {}
    if is_on_disk(folder):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    times[entry.name] = entry.stat(follow_symlinks=False).st_mtime
        return times
    if has_folders(folder) and not exists(folder):
        return {}
    start = folder.rstrip("/") + "/"
    for path, changed in list_tree(folder).items():
        # On an object store there may be an object for the folder itself, made in a console.
        if name := path.removeprefix(start).partition("/")[0]:
            times[name] = max(times.get(name, 0.0), changed)
    return times


def list_tree(folder: str) -> dict[str, float]:
    """Returns the files below a folder of an object store, however deep, with the times of their last change.

    On a filesystem that has folders, only the files directly below it.
    """
    from ..beam_internals import list_prefix

    with as_os_errors(folder):
        return {entry.path: entry.last_updated_in_seconds or 0.0 for entry in list_prefix(folder.rstrip("/") + "/")}


@contextlib.contextmanager
def open_file(path: str) -> Iterator[BinaryIO]:
    """Opens a file for reading, without decompression."""
    if is_on_disk(path):
        with open(path, "rb") as stream:
            yield stream
        return
    with beam_files(path) as files, files.open(path, compression_type="uncompressed") as stream:
        yield stream


def create_file(path: str) -> BinaryIO:
    """Opens a file for writing, replacing an existing one; on a disk a missing folder is made."""
    if is_on_disk(path):
        make_folder(os.path.dirname(path))
        return open(path, "wb")
    with beam_files(path) as files:
        return cast(BinaryIO, files.create(path, compression_type="uncompressed"))


def read_bytes(path: str, most: int = -1) -> bytes:
    """Returns the content of a file without decompression, at most `most` bytes if that is not negative."""
    with open_file(path) as stream:
        return bytes(stream.read(most))


def make_folder(path: str) -> None:
    """Makes a folder unless it exists, or its filesystem has no folders."""
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
    """Writes a file as a whole or not at all, replacing an existing one.

    An object exists once its upload ends. Elsewhere the file is written under a temporary name, then renamed.
    before: called as late as possible before the file appears; if it raises, no file is written.
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
    """Moves files, replacing existing targets, such as those of an interrupted copy."""
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
    """Makes an output folder; raises InputProblem if that fails, or nothing can be written to it."""
    try:
        make_folder(output)
        write_probe(output)
    except (OSError, ValueError) as error:
        raise output_problem(output, error) from error


def write_probe(folder: str) -> None:
    """Writes and removes a small file, to find out early that a folder cannot be written to."""
    path = posixpath.join(folder, f".{new_run_id()}.probe")
    # S3 and compatible stores accept no upload without any part.
    write_file(path, b"\n")
    delete_files([path])


def delete_files(paths: Sequence[str]) -> None:
    """Deletes the files that exist."""
    if paths and not has_folders(paths[0]):
        # Deleting an object that does not exist is not an error.
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
    """Deletes a folder with everything below it, if it exists."""
    if not is_on_disk(path):
        delete_files([path] if has_folders(path) else list(list_tree(path)))
        return
    # Another process may add to it or delete from it in the meantime.
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.rmdir(path)


def copy_file(source: str, target: str) -> None:
    """Links a file to a second name, replacing an existing file; makes a copy if hard links are not supported."""
    if is_on_disk(target):
        _link(source, target)
        return
    if has_folders(target):
        delete_files([target])
    with beam_files(target) as files:
        # Some filesystems return errors, others raise them.
        for *_, error in files.copy([source], [target]) or ():
            if error is not None:
                raise OSError(error) from error


def _link(source: str, target: str) -> None:
    temporary = f"{source}.{new_run_id()}{PART}"
    try:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
        os.rename(temporary, target)
    finally:
        # It still exists if the target was a name of the same file.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
