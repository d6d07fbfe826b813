"""How many runs the gates have judged against a baseline since it was blessed: a file beside blessed.txt counts them.

A look is a run with new predictions: equal ones, of a run that is repeated or judged again, have the same verdict, and
no further chance to fail. Another baseline starts the count anew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec

from ...transforms.io.storage import read_bytes, write_file
from ..config.errors import one_line
from ..config.gates import BASELINE, Gate
from .provenance import utc
from .run import Run


class Looks(msgspec.Struct, frozen=True):
    """The content of the file. baseline: the id of the run. runs: when each run was judged, by its predictions."""

    baseline: str
    since: str
    runs: dict[str, str] = {}


def looks_path(blessed: str) -> str:
    """Returns the path of the file that counts the looks at the run that a file such as blessed.txt names."""
    return f"{blessed.removesuffix('.txt')}.looks.json"


def start_looks(blessed: str, baseline: Run) -> None:
    """Starts the count anew; raises OSError where it cannot be written."""
    write_file(looks_path(blessed), _encoded(Looks(_identity(baseline), utc(time.time()))))


def count_look(blessed: str, baseline: Run, predictions: Sequence[str | None], run_id: str) -> int:
    """Counts a run that was judged, and returns the number of all of them.

    blessed: the file that names the baseline. predictions: the fingerprints of those of each system. A run with the
    predictions of an earlier one, or of the baseline, is none of its own. Raises OSError where the count
    cannot be written.
    """
    found = _read(looks_path(blessed))
    if found is None or found.baseline != _identity(baseline):
        found = Looks(_identity(baseline), utc(time.time()))
    look, known = _key(predictions, run_id), [each.predictions_fingerprint for each in baseline.systems.values()]
    if look not in found.runs and look != _key(known, baseline.run_id):
        found = msgspec.structs.replace(found, runs={**found.runs, look: utc(time.time())})
        write_file(looks_path(blessed), _encoded(found))
    return len(found.runs)


def too_many_looks(gates: Mapping[str, Gate], looks: int, baseline: str) -> list[str]:
    """Returns a line for each gate that has judged more runs against a baseline than its `looks`.

    One that is not looked at twice has no count.
    """
    return [
        f"gate {gate.name or key}: {looks} runs were judged against {baseline}, more than its looks: {gate.looks}; "
        "false failures are now more frequent than promised; bless a newer run (beamscore bless)"
        for key, gate in gates.items()
        if gate.not_worse_than == BASELINE and 1 < gate.looks < looks
    ]


def unwritten(blessed: str, error: Exception) -> str:
    """Returns what is said where the count cannot be written."""
    return f"{looks_path(blessed)}: the runs judged since the baseline was blessed cannot be counted: {one_line(error)}"


def _read(path: str) -> Looks | None:
    """Returns the content of a file; None where there is none that can be read."""
    try:
        return msgspec.json.decode(read_bytes(path), type=Looks)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _encoded(looks: Looks) -> bytes:
    return msgspec.json.format(msgspec.json.encode(looks), indent=1) + b"\n"


def _identity(baseline: Run) -> str:
    return baseline.run_id or baseline.path


def _key(predictions: Sequence[str | None], run_id: str) -> str:
    known = [each for each in predictions if each is not None]
    return " ".join(sorted(known)) if len(known) == len(predictions) else run_id
