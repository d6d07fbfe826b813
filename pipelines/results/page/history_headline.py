"""What tonight tells, in a sentence."""

from __future__ import annotations

from ..history import History, Night
from ..numbers import fixed
from .document import Headline, Judgement
from .text import one_line

MAX_REASONS = 8
MAX_REASON_LENGTH = 400
_WORDS: tuple[Judgement, ...] = ("fail", "invalid", "inconclusive", "pass")


def history_headline(history: History) -> Headline:
    """Returns the verdict of the last run, and what it changed; without gates there is no judgement."""
    tonight = history.nights[-1]
    judgement: Judgement = next((word for word in _WORDS if word == tonight.gates), "none")
    reasons = list(_reasons(history, tonight))
    started = tonight.started[:16].replace("T", " ")
    sentence = f"The last of {len(history.nights):,} runs is {tonight.run}, started {started}."
    moved = _moved(history)
    if moved:
        sentence += f" {moved}"
    return Headline(
        judgement,
        one_line(sentence, MAX_REASON_LENGTH),
        tuple(one_line(reason, MAX_REASON_LENGTH) for reason in reasons[:MAX_REASONS]),
    )


def _moved(history: History) -> str:
    """Returns the first metric of each system tonight, with its paired difference from the night it compares with."""
    tonight = history.nights[-1]
    said = []
    for system in tonight.systems:
        metric = next((name for name in history.metrics if (system, name) in tonight.points), None)
        if metric is None:
            said.append(f"{system} has no main metric with a value")
            continue
        text = f"{system} has {metric} {fixed(tonight.points[system, metric].value)}"
        differences = history.differences.get(system, "")
        if not isinstance(differences, str) and metric in differences:
            text += f", {differences[metric]}, from {history.before(system)[-1].run}"
        said.append(text)
    return "; ".join(said[:3]) + "." if said else ""


def _reasons(history: History, tonight: Night) -> list[str]:
    verdicts = {name: point.verdict for name, point in tonight.points.items()} | tonight.unmeasured
    reasons = [
        f"{metric} of {system}: its gate says {verdict}"
        for (system, metric), verdict in verdicts.items()
        if verdict in ("fail", "invalid", "inconclusive")
    ]
    if tonight.gates not in ("", "pass", *verdicts.values()):
        reasons.append(f"a gate on a slice, or on what the run does not have, says {tonight.gates}")
    reasons += [f"{drop.system}: {drop}" for drop in history.drops if drop.night is tonight]
    if history.breaks and history.breaks[-1].night is tonight:
        latest = history.breaks[-1]
        if latest.earlier is None:
            reasons.append(f"tonight cannot be compared with the runs before: {latest.reason}")
        else:
            reasons.append(f"tonight is compared with {latest.earlier.run}, not with the run before: {latest.reason}")
    reasons += [
        f"{change.metric} of {change.system} changed from {fixed(change.before)} to {fixed(change.after)} with "
        f"{change.night.run}"
        for change in reversed(history.changes[-3:])
    ]
    if history.gaps:
        missing = sum(gap.count for gap in history.gaps)
        reasons.append(f"{missing:,} night{'s' * (missing > 1)} missing")
    return reasons
