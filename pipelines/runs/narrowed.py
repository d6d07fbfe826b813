"""One system of a finished run as a run of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from .run import Run


def narrowed(run: Run, system: str) -> Run:
    """Returns what there is of a system in a finished run: its metrics, sums and verdicts; the rows are those of all.

    Raises UsageError if the sums of the run are damaged.
    """
    if len(run.systems) == 1:
        return run
    gates = [each for each in run.summary.gates if each.get("system") in (None, system)]
    found = run.changed(systems={system: run.systems[system]}, ranking=[system], ranking_by={}, gates=gates)
    found.sums = msgspec.structs.replace(run.sums, systems={system: run.sums.systems[system]})
    if run.provenance:
        inputs: dict[str, Any] = dict(run.provenance["inputs"])
        predictions = inputs.get("predictions", {})
        inputs["predictions"] = {name: side for name, side in predictions.items() if name == system}
        found.provenance = {**run.provenance, "systems": [system], "inputs": inputs}
    return found
