"""The error that users see as one line without a traceback, and helpers for the text of such lines."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...metrics.common.text import ALIKE, nearest, truncated
from ...metrics.registry import BrokenBenchmark
from ...transforms.io.storage import reason_of
from ...transforms.records import InputProblem, printable

_BROKEN = f"{BrokenBenchmark.__name__}:"
"""What a traceback has before the message."""


class UsageError(Exception):
    """The configuration, the command line or an input is wrong; the message is one line that says how to fix it."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def as_usage_error(error: BaseException) -> UsageError | None:
    """Returns an input problem that a runner reported, at any depth of wrapping; None for other errors."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, InputProblem) and InputProblem.MARK not in error.message:
        return UsageError(error.message)
    text = f"{_BROKEN} {error}" if isinstance(error, BrokenBenchmark) else str(error)
    # A runner may raise the same type again with the whole text, so the mark may be duplicated.
    match = re.search(rf"(?:(?:{re.escape(InputProblem.MARK)}|{_BROKEN}) )+(.*?)(?:\\n|\n| \[while running|$)", text)
    return UsageError(match.group(1).strip().rstrip("'\"")) if match else None


@contextlib.contextmanager
def as_input_errors(option: str = "") -> Iterator[None]:
    """Raises input problems as UsageError, prefixed with `option`, the option that gave the input."""
    try:
        yield
    except Exception as error:
        problem = as_usage_error(error)
        if problem is None:
            raise
        raise UsageError(f"{option} {problem}".lstrip()) from error


@contextlib.contextmanager
def as_output_errors(output: str, hint: str = "") -> Iterator[None]:
    """Raises errors from writing an output as UsageError; `hint` is appended."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"{output}: cannot be written: {reason_of(error)}{hint}") from error


def unknown_option(argument: str, ours: Iterable[str], beam: Iterable[str]) -> UsageError:
    """Returns the error of an argument that is none of `ours`, the options of the command, nor of those of Beam."""
    given = argument.partition("=")[0]
    hint = nearest(given, ours, ALIKE) or nearest(given, {*beam, *ours} - {given})
    return UsageError(f"{argument}: neither beamscore nor Beam knows this option{hint}")


def not_positive(value: Any) -> str:
    """Returns the message for a count, such as of processes, that must be at least 1."""
    return f"must be a whole number of at least 1, not {shown(value)}"


def shown(value: Any) -> str:
    """Returns a value for an error message, null and booleans as in YAML, truncated if it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return truncated(repr(value), 80)
