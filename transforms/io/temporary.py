"""What goes wrong in the temporary folder, told as one line that says how to mend it."""

from __future__ import annotations

import errno
import tempfile

from transforms.records import InputProblem

_FULL = (errno.ENOSPC, errno.EDQUOT)


def temporary_problem(folder: str, error: OSError) -> InputProblem:
    """Returns the problem with a folder for temporary files that a filesystem reported."""
    reason = error.strerror or str(error)
    fix = "free some space, or set" if error.errno in _FULL else "mend that, or set"
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
