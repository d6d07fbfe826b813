"""The one kind of error that a person is told in one line, without a traceback."""

from __future__ import annotations

import re

from ...transforms.records import InputProblem, printable


class UsageError(Exception):
    """The configuration, the command line or an input is wrong; the message is one line that says how to mend it."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def as_usage_error(error: BaseException) -> UsageError | None:
    """Returns the problem with an input that a runner reported, however deep it has wrapped it; None for others."""
    if isinstance(error, UsageError):
        return error
    # A runner may raise the same type again, made of the whole text: then the mark stands there twice.
    found = re.search(rf"(?:{re.escape(InputProblem.MARK)} )+(.*?)(?:\\n|\n| \[while running|$)", str(error))
    return UsageError(found.group(1).strip().rstrip("'\"")) if found else None


def one_line(error: BaseException) -> str:
    """Returns the message of an error as one line that is not too long."""
    return " ".join(str(error).split())[:200]
