"""What goes wrong in the temporary folder, told as one line that says how to mend it."""

from __future__ import annotations

import errno
import tempfile

from ..records import InputProblem

_FULL = (errno.ENOSPC, errno.EDQUOT)


def temporary_problem(folder: str, error: Exception) -> InputProblem:
    """Returns the problem with a folder for temporary files that a filesystem, or a library that uses it, reported."""
    reason = getattr(error, "strerror", None) or str(error)
    is_full = getattr(error, "errno", None) in _FULL or "disk is full" in reason
    fix = "free some space, or set" if is_full else "mend that, or set"
    return InputProblem(
        f"{folder}: temporary files cannot be written and read there: {reason}; "
        f"{fix} the environment variable TMPDIR to a folder on another disk"
    )


def temporary_folder() -> str:
    """Returns the folder for temporary files; raises InputProblem where there is none that can be written."""
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise InputProblem(
            f"there is no folder for temporary files: {error.strerror or error}; "
            "set the environment variable TMPDIR to a folder that can be written"
        ) from error
