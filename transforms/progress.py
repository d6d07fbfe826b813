"""How far the workers of this machine have come, for the local console; without Beam."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

PROGRESS_FOLDER = "BEAMSCORE_PROGRESS"
"""The environment variable that names the folder through which the workers of one machine tell how far they are."""

NOTE_INTERVAL_S = 0.25


@dataclass
class Progress:
    """How far the workers of this machine have come, for a progress line.

    Only a hint for people: a retried bundle counts twice.
    """

    records_read: int = 0
    truths_read: int = 0
    samples_scored: int = 0
    _next_note: float = 0.0

    def note(self, always: bool = False) -> None:
        """Leaves the counts of this process where another can read them, if one asked for them.

        always: also where it is not time yet, as at the end of a bundle: no other count may follow.
        """
        now = time.monotonic()
        if now < self._next_note and not always:
            return
        self._next_note = now + NOTE_INTERVAL_S
        folder = os.environ.get(PROGRESS_FOLDER)
        if folder:
            counts = f"{self.records_read} {self.truths_read} {self.samples_scored}\n"
            with contextlib.suppress(OSError):
                Path(folder, str(os.getpid())).write_text(counts)

    def with_others(self) -> Progress:
        """Returns the counts of this process and of all others that left theirs."""
        total = Progress(self.records_read, self.truths_read, self.samples_scored)
        folder = os.environ.get(PROGRESS_FOLDER)
        for path in Path(folder).iterdir() if folder else ():
            counts = path.read_text().split() if path.name != str(os.getpid()) else []
            if len(counts) == 3:
                total.records_read += int(counts[0])
                total.truths_read += int(counts[1])
                total.samples_scored += int(counts[2])
        return total


PROGRESS = Progress()
