"""Errors in words, and whose fault they are."""

from __future__ import annotations

import multiprocessing
import subprocess
from concurrent.futures import BrokenExecutor

from ..benchmark import MissingTool

ENVIRONMENT_FAULTS = (
    OSError,
    MemoryError,
    ImportError,
    MissingTool,
    BrokenExecutor,
    subprocess.SubprocessError,
    multiprocessing.ProcessError,
)
"""What fails because of the machine (a disk, memory, a program or a process of ours), never because of a record.

Whoever catches whatever a record may do lets these pass: the run fails, or its runner tries the bundle again. Anything
else that scoring raises, RecursionError too, is of the record.
"""


def explain(error: BaseException) -> str:
    """Returns an error in words: its message, or its type where it has none."""
    if isinstance(error, RecursionError):
        return "nested deeper than can be read"
    return str(error) or type(error).__name__
