"""Files of rows that the workers of a run write to its folder."""

from __future__ import annotations

import contextlib
import posixpath
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from .claim import beat_from_worker
from .publication import run_folder
from .storage import as_os_errors, create_file, make_folder, new_run_id, output_problems


class Writer(Protocol):
    """Writes elements to a stream; `close` writes what is left, and leaves the stream open."""

    def write(self, element: Any) -> Any:
        """Writes one element."""

    def close(self) -> Any:
        """Ends the file."""


@dataclass(frozen=True)
class StagedFolder:
    """The files of one folder of a result, while its run is on its way."""

    output: str
    run_id: str
    name: str

    @property
    def path(self) -> str:
        """Where the files are."""
        return posixpath.join(run_folder(self.output, self.run_id), self.name)


def stage_bundles(
    folder: StagedFolder, suffix: str, open_writer: Callable[[BinaryIO], Writer], file_s: float | None = None
) -> beam.ParDo:
    """Returns the transform that writes elements to files of a staged folder, and yields their names."""
    return beam.ParDo(StageBundles(folder, suffix, open_writer, file_s)).with_output_types(str)


class StageBundles(beam.DoFn):
    """Writes the elements of each bundle to a new file in a staged folder, and yields its name when it is whole.

    A bundle that fails leaves a file whose name nobody learns, and when it is run again it writes another one. So the
    names that arrive downstream are those of whole files with each element once, whatever was run twice.

    file_s: after how many seconds a file ends and another begins, so that whole files are there while a long bundle
    goes on; None: one file for each bundle. clock: seconds, from anywhere on.

    Raises InputProblem where the output cannot be written.
    """

    def __init__(
        self,
        folder: StagedFolder,
        suffix: str,
        open_writer: Callable[[BinaryIO], Writer],
        file_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._suffix = suffix
        self._open_writer = open_writer
        self._file_s = file_s
        self._clock = clock
        self._name = ""
        self._stream: BinaryIO | None = None
        self._writer: Writer | None = None

    def start_bundle(self) -> None:
        """Starts without a file: a bundle without elements writes none."""
        self._name, self._writer = "", None
        self._ended: list[str] = []

    def teardown(self) -> None:
        """Closes the file of a bundle that failed, its writer first: one that is forgotten writes to what is closed."""
        with contextlib.suppress(OSError), as_os_errors(self._folder.output):
            if self._writer:
                self._writer.close()
        with contextlib.suppress(OSError), as_os_errors(self._folder.output):
            if self._stream:
                self._stream.close()

    def process(self, element: Any) -> None:
        """Writes one element."""
        with output_problems(self._folder.output):
            writer = self._writer or self._open()
            writer.write(element)
        if self._file_s is not None and self._clock() - self._opened >= self._file_s:
            self._end()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Ends the file and yields the names of all files of the bundle."""
        self._end()
        for name in self._ended:
            yield GlobalWindows.windowed_value(name)

    def _end(self) -> None:
        if self._writer and self._stream:
            with output_problems(self._folder.output):
                self._writer.close()
                # What cannot be closed is not closed again by `teardown`.
                stream, self._stream = self._stream, None
                stream.close()
            beat_from_worker(self._folder.output, self._folder.run_id)
            self._ended.append(self._name)
            self._name, self._writer = "", None

    def _open(self) -> Writer:
        self._opened = self._clock()
        make_folder(self._folder.path)
        self._name = f"{self._folder.name}-{new_run_id()}{self._suffix}"
        path = posixpath.join(self._folder.path, self._name)
        self._stream = create_file(path)
        self._writer = self._open_writer(self._stream)
        return self._writer
