"""The verdict of a run, a comparison or a history, computed once from the contents of its document.

One function decides on a difference, `difference_word`, whether a run is judged against its baseline or the run before,
or two runs are compared. Headlines, tables, Markdown and the console show its word.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...metrics.benchmark import AnyBenchmark
from ...metrics.common.text import some_of
from ..runs.documents import GateVerdict, coverage_text, gates_passed, worst_verdict
from ..runs.gates import RecordFailure
from ..runs.history import History
from ..runs.numbers import count_of, fixed, typeset
from .document import Compared, Judgement, Link, Measured, Metric, Sliced, Verdict, measured
from .samples import columns_of
from .text import number

MAX_REASONS = 12
SLICES_NAMED = 3
SYSTEMS_NAMED = 3
_WORST_FIRST: tuple[Judgement, ...] = ("fail", "invalid", "inconclusive")
_NOTES = {
    "no interval": "there is no interval for",
    "too few differ": "too few samples differ in",
    "other samples": "samples that only one side measured may explain",
}


def difference_word(
    difference: Measured, higher_is_better: bool, may_differ: bool, has_few: bool = False, shift: float = 0.0
) -> str:
    """Returns the verdict on a difference: better or worse if its interval excludes zero, and enough units differ.

    may_differ: whether samples may differ where the difference is 0. has_few: whether fewer units differ than any test
    needs. shift: how much of it the samples that only one side measured may explain.
    """
    if difference.value is None:
        return "not compared"
    if difference.low is None or difference.high is None:
        return "no interval"
    if difference.known == [0, 0, 0] and not may_differ:
        return "identical"
    if difference.low <= 0 <= difference.high:
        return "no difference shown"
    if has_few:
        return "too few differ"
    if difference.low - shift <= 0 <= difference.high + shift:
        return "other samples"
    return "better" if (difference.low > 0) == higher_is_better else "worse"


def lead_first(benchmark: type[AnyBenchmark]) -> list[str]:
    """Returns the metrics by which a benchmark ranks, the lead metric first, then its other main metrics."""
    return list(dict.fromkeys([*(spec.name for spec in benchmark.ranking_metrics()), *benchmark.main_metrics()]))


def moved(name: str, compared: Compared) -> str:
    """Returns how a metric changed: `task7.score fell from 0.7280 to 0.5580, −0.1700 (−0.2460 to −0.0940)`."""
    before, after, difference = compared.baseline.value, compared.candidate.value, compared.difference
    if before is None or after is None or difference.value is None:
        return f"{name} is not measured on both sides"
    word = difference.verdict
    if word == "identical":
        return f"{name} is {fixed(after)} as before"
    verb = ("fell" if difference.value < 0 else "rose") if word in ("better", "worse") else "went"
    return f"{name} {verb} from {fixed(before)} to {fixed(after)}, {difference.text(typeset)}"


def evidence(slice_: Sliced, place: int, metric: Metric, overall: Measured | None = None) -> float:
    """Returns the least loss of a slice in the metric at `place`, by the end of its interval nearest to zero.

    overall: the value of all samples, the reference for a slice without baseline. A slice of few samples has little
    evidence, however far its value fell. Without an interval the result is -inf.
    """
    ends: list[float] = []
    if slice_.differences:
        ends = slice_.differences[place].known[1:]
    elif overall is not None and overall.value is not None:
        ends = [end - overall.value for end in slice_.values[place].known[-2:]]
    if not ends:
        return -math.inf
    return -ends[-1] if metric.higher_is_better else ends[0]


def by_evidence(slices: Iterable[Sliced], metrics: Sequence[Metric], lead: Sequence[str]) -> list[Sliced]:
    """Returns slices sorted by `evidence`, largest loss first, in the first lead metric for which any slice has it."""
    order = sorted(slices, key=lambda each: (each.label, each.system))
    places = {each.name: place for place, each in enumerate(metrics)}
    for place in (places[name] for name in lead if name in places):
        metric = metrics[place]
        overall = metric.values
        keys = [-evidence(each, place, metric, overall[each.system] if overall else None) for each in order]
        if any(map(math.isfinite, keys)):
            return [order[number] for number in sorted(range(len(order)), key=keys.__getitem__)]
    return order


def lost_most(slices: Iterable[Sliced], place: int, metric: Metric, systems: Sequence[str]) -> tuple[Link, ...]:
    """Returns the slices that lost most in a metric, with their loss, of those that are worse after correction."""
    worse = [each for each in slices if each.differences and each.differences[place].verdict == "worse"]
    lost = []
    for slice_ in sorted(worse, key=lambda each: (-evidence(each, place, metric), each.label))[:SLICES_NAMED]:
        name = f"{slice_.label} of {systems[slice_.system]}" if len(systems) > 1 else slice_.label
        text = f"{name} {slice_.differences[place].text(typeset)}"
        lost.append(Link(text, slice_.filters, slice_.system, label=slice_.label))
    return tuple(lost)


def judge_difference(
    lead: Sequence[str],
    metrics: Sequence[str],
    differences: Sequence[Compared],
    slices: Sequence[Sliced],
    systems: Sequence[str],
    it: str,
    apart: str = "",
) -> Verdict | None:
    """Returns the verdict on main metrics against a baseline; None if neither side measured any.

    Its sentence begins with the first metric that is worse or better in the order of `lead`, else with the lead metric.
    What only one side measured may differ: nothing is identical then, and what the baseline alone measured stands
    against a gain. lead: the metrics by which the benchmark ranks, the lead metric first. metrics: the main metrics, in
    the order of `slices`. systems: their names. it: the subject of the sentence. apart: a clause on the samples that
    are not compared.
    """
    ranks = {name: place for place, name in enumerate(lead)}
    ordered = sorted(differences, key=lambda each: ranks.get(each.name, len(ranks)))
    known = [each for each in ordered if each.difference.value is not None]
    lacking = [each for each in ordered if each.baseline.value is not None and each.candidate.value is None]
    added = [each for each in ordered if each.baseline.value is None and each.candidate.value is not None]
    # A mean over slices, of which one side measured others.
    both = [each for each in ordered if None not in (each.baseline.value, each.candidate.value)]
    unlike = [each for each in both if each.difference.value is None]
    names, *alone = (
        [f"{each.name} of {systems[each.system]}" if len(systems) > 1 else each.name for each in some]
        for some in (known, lacking, added, unlike)
    )
    for how, some in zip(("no longer measured", "newly measured", "measured over other slices"), alone, strict=True):
        apart += f"; {how}: {some_of(some, SYSTEMS_NAMED)}" if some else ""
    if not known:
        return Verdict("not judged", f"No main metric is measured on both sides{apart}.") if any(alone) else None
    places: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(known):
        places[each.difference.verdict].append(place)
    counts = [f"{word} in {len(places[word])}" for word in ("worse", "better") if word in places]
    scope = count_of(len(known), "main metric")
    judgement: Judgement
    if counts:
        judgement = "worse" if "better" not in places else "mixed" if "worse" in places or lacking else "better"
        clause = f"{it} is {' and '.join(counts)} of {scope}"
    elif places.keys() == {"identical"}:
        judgement, clause = "no difference shown" if apart else "identical", f"{it} is equal in {scope}"
    elif places.keys() == {"no interval"}:
        have = "have" if len(known) > 1 else "has"
        judgement, clause = "not judged", f"{scope} {have} no interval, so nothing is judged"
    else:
        judgement, clause = "no difference shown", f"No difference is shown in {scope}"
    for word, note in _NOTES.items():
        if word in places and judgement != "not judged":
            clause += f"; {note} {some_of([names[place] for place in places[word]], SYSTEMS_NAMED)}"
    told = min([*places["worse"], *places["better"]], default=0)
    first = known[told]
    reasons = [
        Link(f"{word}: {moved(names[place], known[place])}", {"why": why}, known[place].system)
        for word, why in (("worse", "lost"), ("better", "won"))
        for place in places[word]
        if place != told
    ]
    lost = lost_most(slices, metrics.index(first.name), first.metric, systems)
    return Verdict(judgement, f"{moved(names[told], first)}. {clause}{apart}.", tuple(reasons[:MAX_REASONS]), lost)


def judge_run(
    summary: Mapping[str, Any],
    benchmark: type[AnyBenchmark],
    gates: Sequence[GateVerdict],
    failures: Sequence[RecordFailure],
    against: Verdict | None,
) -> Verdict:
    """Returns the verdict of a run: by its gates, else by its baseline.

    failures: why the run fails, other than its gates. against: the verdict on its difference from the baseline.
    """
    sentence = _measured(summary, benchmark)
    systems = list(summary["systems"])
    reasons = [*_failed(failures, systems), *_judged(gates, systems)]
    judgement: Judgement = "not judged"
    if gates or failures:
        judgement = "fail" if failures else worst_verdict(each.verdict for each in gates if each.blocks) or "pass"
        words = [f"{'advisory ' * (each.tier == 'advisory')}{each.verdict}" for each in gates]
        order = [f"{tier}{word}" for tier in ("", "advisory ") for word in _WORST_FIRST]
        counts = [f"{count} {word}" for word in order if (count := words.count(word))]
        if gates:
            sentence = f"{', '.join([gates_passed(gates), *counts])}. {sentence}"
    if against is None:
        return Verdict(judgement, sentence, tuple(reasons))
    if judgement == "not judged":
        judgement = against.judgement
    return Verdict(judgement, f"{against.sentence} {sentence}", (*reasons, *against.reasons), against.lost)


def _failed(failures: Iterable[RecordFailure], systems: Sequence[str]) -> Iterator[Link]:
    """Yields failures, each linked to the samples that it is about."""
    for each in failures:
        yield Link(each.text, {"status": each.status} if each.status else {}, systems.index(each.system))


def _judged(gates: Iterable[GateVerdict], systems: Sequence[str]) -> Iterator[Link]:
    """Yields the verdicts of the gates that did not pass, each linked to the samples that it is about."""
    for gate in gates:
        if gate.verdict == "pass":
            continue
        of = f" of {gate.system}" if gate.system and len(systems) > 1 else ""
        advisory = ", advisory" if gate.tier == "advisory" else ""
        filters = {f"slice.{name}": value for name, value in columns_of(gate.slice or "").items()}
        system = systems.index(gate.system) if gate.system in systems else None
        yield Link(f"{gate.gate}{of} ({gate.verdict}{advisory}): {gate.reason}", filters, system)


def _measured(summary: Mapping[str, Any], benchmark: type[AnyBenchmark]) -> str:
    """Returns a sentence on what a run measured."""
    systems, ranking = summary["systems"], summary["ranking"]
    scored = [system["coverage"]["ground_truth"]["scored"] for system in systems.values()]
    if not any(scored):
        return "Nothing was scored."
    scores = [each["values"] for each in systems.values()]
    metric = next((name for name in lead_first(benchmark) if any(each.get(name) is not None for each in scores)), None)
    if metric is None:
        return f"No metric has a value: {max(scored):,} samples were scored, all without one."
    values = [f"{name} has {metric} {measured(systems[name], metric).text(number)}" for name in ranking]
    if len(ranking) == 1:
        return f"{values[0]}; {coverage_text(systems[ranking[0]]['coverage'])}."
    more = len(values) - SYSTEMS_NAMED
    shown = "; ".join([*values[:SYSTEMS_NAMED], *([f"and {more} more"] if more > 0 else [])])
    places = summary.get("ranking_by", {}).get("places", [])
    first = [each["system"] for each in places if each["place"] == 1] or list(ranking)
    if len(first) == 1:
        return f"{first[0]} ranks first of {len(ranking)} systems: {shown}."
    return f"{some_of(first, SYSTEMS_NAMED)} share the first place of {len(ranking)} systems: {shown}."


def judge_nights(
    history: History,
    lead: Sequence[str],
    systems: Sequence[str],
    against: Verdict | None,
    gates: Sequence[GateVerdict] | None,
    failures: Sequence[RecordFailure],
) -> Verdict:
    """Returns the verdict of the last run: by its gates, else by its differences from the last comparable night.

    lead: the metrics, the lead metric first. systems: of all runs. against: the verdict on its differences. gates: its
    verdicts; None if they can no longer be read. failures: why it fails, other than its gates.
    """
    latest = history.nights[-1]
    judgement: Judgement = "not judged" if against is None else against.judgement
    if latest.gates in ("pass", *_WORST_FIRST):
        judgement = latest.gates
    if failures or not latest.is_scored:
        judgement = "fail"
    started = latest.started[:16].replace("T", " ")
    which = f"last of {len(history.nights):,} runs" if len(history.nights) > 1 else "only run"
    sentence = f"The {which} is {latest.run}, started {started}"
    before = dict.fromkeys(night.run for system in latest.systems for night in history.before(system)[-1:])
    if against is not None:
        sentence += f", compared with {', '.join(before)}. {against.sentence}"
    else:
        clauses = []
        for system in latest.systems[:SYSTEMS_NAMED]:
            metric = next((name for name in lead if (system, name) in latest.points), None)
            value = "no main metric with a value"
            if metric is not None:
                value = f"{metric} {fixed(latest.points[system, metric].value)}"
            clauses.append(f"{system} has {value}")
        sentence += f". {'; '.join(clauses)}." if clauses else "."
    # Of what lost since the last night, its page knows nothing: it is compared with a baseline of its own, if any.
    moved = [msgspec.structs.replace(each, filters={}) for each in (against.reasons if against else ())]
    reasons = [*_failed(failures, systems), *_reasons(history, systems)]
    if gates is not None:
        reasons += _judged(gates, systems)
    elif latest.gates in _WORST_FIRST:
        reasons.append(Link(f"the gates of the run say {latest.gates}"))
    return Verdict(judgement, sentence, (*reasons, *moved), against.lost if against else ())


def _reasons(history: History, systems: Sequence[str]) -> Iterator[Link]:
    latest = history.nights[-1]
    if history.breaks and history.breaks[-1].night is latest:
        reason, earlier = history.breaks[-1].reason, history.breaks[-1].earlier
        if earlier is None:
            yield Link(f"the latest run cannot be compared with the runs before: {reason}")
        elif earlier is history.nights[-2]:
            but = "except in metrics whose formula changed"
            yield Link(f"the latest run is compared with the run before, {but}: {reason}")
        else:
            yield Link(f"the latest run is compared with {earlier.run}, not with the run before: {reason}")
    for drop in history.drops:
        if drop.night is latest:
            # Samples of which only repeats are missing are scored.
            filters = {"status": "missing_prediction"} if latest.coverage[drop.system].missing else {}
            yield Link(f"{drop.system}: {drop}", filters, systems.index(drop.system))
