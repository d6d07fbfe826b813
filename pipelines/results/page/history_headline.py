"""What tonight tells, in a sentence."""

from __future__ import annotations

from pipelines.results.history import History, Night
from pipelines.results.page.document import Headline, Judgement
from pipelines.results.page.render import signed
from pipelines.results.page.text import one_line

MAX_REASONS = 8
MAX_REASON_LENGTH = 400
_WORST_FIRST: tuple[Judgement, ...] = ("fail", "invalid", "inconclusive", "pass")


def history_headline(history: History) -> Headline:
    """Returns the verdict of the last run, and what it changed; without gates there is no judgement."""
    tonight = history.nights[-1]
    verdicts = [point.verdict for point in tonight.points.values() if point.verdict]
    judgement: Judgement = next((word for word in _WORST_FIRST if word in verdicts), "none")
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
    """Returns the first metric of tonight and of the night before, of each system."""
    nights = history.comparable()
    tonight = nights[-1]
    said = []
    for system in dict.fromkeys(name for name, _ in tonight.points):
        metric = next((name for name in history.metrics if (system, name) in tonight.points), None)
        if metric is None:
            continue
        value = tonight.points[system, metric].value
        text = f"{system} has {metric} {value:.4f}"
        if len(nights) > 1 and (before := nights[-2].points.get((system, metric))) is not None:
            text += f", {signed(value - before.value)} from the run before"
        said.append(text)
    return "; ".join(said[:3]) + "." if said else ""


def _reasons(history: History, tonight: Night) -> list[str]:
    reasons = [
        f"{metric} of {system}: its gate says {point.verdict}"
        for (system, metric), point in tonight.points.items()
        if point.verdict in ("fail", "invalid", "inconclusive")
    ]
    if history.breaks and history.breaks[-1].night is tonight:
        reasons.append(f"tonight cannot be compared with the runs before: {history.breaks[-1].reason}")
    reasons += [
        f"{change.metric} of {change.system} changed from {change.before:.4f} to {change.after:.4f} with "
        f"{change.night.run}"
        for change in reversed(history.changes[-3:])
    ]
    if history.drift is not None and history.drift.nights[-1] is tonight:
        drift = history.drift
        reasons.append(
            f"{drift.metric} of {drift.system} moved in one direction for {len(drift.nights) - 1} runs in a row, from "
            f"{drift.first:.4f} to {drift.last:.4f}"
        )
    if history.gaps:
        missing = sum(gap.count for gap in history.gaps)
        reasons.append(f"{missing:,} night{'s' * (missing > 1)} missing")
    return reasons
