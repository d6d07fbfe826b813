"""The one kind of error that a person is told in one line, without a traceback, and the words of such lines."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from ...metrics.common.text import truncated
from ...metrics.registry import BrokenBenchmark
from ...transforms.records import InputProblem, printable


class UsageError(Exception):
    """The configuration, the command line or an input is wrong; the message is one line that says how to fix it."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def as_usage_error(error: BaseException) -> UsageError | None:
    """Returns the problem with an input that a runner reported, however deep it has wrapped it; None for others."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, BrokenBenchmark):
        return UsageError(str(error))
    if isinstance(error, InputProblem) and InputProblem.MARK not in error.message:
        return UsageError(error.message)
    # A runner may raise the same type again, made of the whole text: then the mark stands there twice.
    match = re.search(rf"(?:{re.escape(InputProblem.MARK)} )+(.*?)(?:\\n|\n| \[while running|$)", str(error))
    return UsageError(match.group(1).strip().rstrip("'\"")) if match else None


@contextlib.contextmanager
def as_input_errors(option: str = "") -> Iterator[None]:
    """Raises a problem with an input as a UsageError; `option`, with which the input was given, is put before it."""
    try:
        yield
    except Exception as error:
        problem = as_usage_error(error)
        if problem is None:
            raise
        raise UsageError(f"{option} {problem}".lstrip()) from error


@contextlib.contextmanager
def as_output_errors(output: str, hint: str = "") -> Iterator[None]:
    """Raises that an output cannot be written as a UsageError; `hint` is put behind it."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"{output}: cannot be written: {one_line(error)}{hint}") from error


def one_line(error: BaseException) -> str:
    """Returns the message of an error as one line that is not too long."""
    return " ".join(str(error).split())[:200]


def not_positive(value: Any) -> str:
    """Returns that a count of processes, or of anything that there is at least one of, is wrong."""
    return f"must be a whole number of at least 1, not {shown(value)}"


def shown(value: Any) -> str:
    """Returns a value as an error shows it, written as YAML writes it and truncated where it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return truncated(repr(value), 80)
