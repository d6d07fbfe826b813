"""The provenance of a run as lines for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...config.systems import predictions_of
from .document import Fact
from .text import one_line

MAX_NAME_LENGTH, MAX_FACT_LENGTH = 300, 2000


def facts_of(run: Mapping[str, Any] | None) -> tuple[Fact, ...]:
    """Returns the provenance of a run, a line each: when, where, with what, from what."""
    if run is None:
        return ()
    versions = run["versions"]
    named = {
        "beamscore": versions["beamscore"],
        "Python": versions["python"],
        **versions["packages"],
        **versions["tools"],
    }
    facts = [
        Fact("started", f"{run['started']}, {run['seconds']:,.1f} s"),
        Fact("run", run["run_id"]),
        Fact("runner", f"{run['runner']} on {run['host']}"),
        Fact("platform", versions["platform"]),
        Fact("versions", ", ".join(f"{name} {version}" for name, version in named.items())),
        _input_fact("ground truth", run["inputs"]["ground_truth"]),
        *(_input_fact(predictions_of(name), side) for name, side in run["inputs"]["predictions"].items()),
    ]
    return tuple(Fact(one_line(fact.name, MAX_NAME_LENGTH), one_line(fact.value, MAX_FACT_LENGTH)) for fact in facts)


def _input_fact(name: str, side: Mapping[str, Any]) -> Fact:
    text = f"{side['records']:,} records"
    if "files" in side:
        paths = ", ".join(file["path"] for file in side["files"][:5])
        more = f" and {side['count'] - 5:,} more" if side["count"] > 5 else ""
        files = f"{side['count']:,} file{'s' * (side['count'] != 1)} of {side['bytes']:,} bytes"
        text += f" in {files}: {paths}{more}; digest {side['digest']}"
    return Fact(name, text)
