"""What a gate says of one system: an entry of `gates` in summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

Word = Literal["pass", "inconclusive", "invalid", "fail"]
Interval = tuple[float, float]


class GateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate says of one system; `blocks` tells whether it changes the exit code.

    value, interval: of the metric. reference: its value in the baseline or the other system. difference: value -
    reference, with its own interval. A number that is not known, or that the gate does not ask for, is null.
    """

    gate: str
    tier: Literal["blocking", "advisory"]
    system: str | None
    metric: str
    slice: str | None
    judge: Literal["interval", "point"]
    verdict: Word
    blocks: bool
    reason: str
    value: float | None = None
    interval: Interval | None = None
    minimum: float | None = None
    maximum: float | None = None
    not_worse_than: str | None = None
    margin: float | None = None
    reference: float | None = None
    difference: float | None = None
    difference_interval: Interval | None = None


def gates_passed(verdicts: Sequence[GateVerdict | Mapping[str, Any]]) -> str:
    """Returns how many verdicts, also as in summary.json, are a pass, such as `3 of 3 gates pass`."""
    words = [each["verdict"] if isinstance(each, Mapping) else each.verdict for each in verdicts]
    return f"{words.count('pass')} of {len(words)} gates pass"


def verdict_lines(document: Mapping[str, Any]) -> list[str]:
    """Returns the verdict that run.json or comparison.json holds, for a console; of one without a verdict, nothing."""
    verdict = document.get("verdict")
    if verdict is None:
        return []
    lost = [f"slices that lost most: {'; '.join(verdict['lost'])}"] if verdict["lost"] else []
    return [f"{verdict['judgement'].upper()}: {verdict['sentence']}", *lost]
