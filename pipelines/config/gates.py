"""The gates of a configuration: conditions on a run, checked so that each judges something."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ...metrics.benchmark import AnyBenchmark, MetricSpec
from ...metrics.common.text import nearest
from .errors import UsageError

SYSTEM_NAME = r"\A[A-Za-z0-9_.-]{1,100}\Z"
SystemName = Annotated[str, Meta(pattern=SYSTEM_NAME)]
Inconclusive = Literal["inconclusive", "pass"]
BASELINE = "baseline"


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A condition on a metric.

    minimum, maximum: bounds of its value. not_worse_than: `baseline`, or the name of another system of the run; the
    metric may be worse than that by at most `margin`, in the direction of the metric. name: of the gate, by default its
    key. tier: an advisory gate never changes the exit code. system: the only system to judge, by default all. judge: by
    the whole interval, or by the value alone. looks: how many runs the gate will judge before a new baseline is
    blessed; they share the chance of a false failure. inconclusive: what this verdict counts as, by default as the
    configuration says for all gates.
    """

    minimum: float | None = None
    maximum: float | None = None
    not_worse_than: SystemName | None = None
    margin: Annotated[float, Meta(ge=0)] = 0.0
    name: str | None = None
    tier: Literal["blocking", "advisory"] = "blocking"
    system: SystemName | None = None
    judge: Literal["interval", "point"] = "interval"
    looks: Annotated[int, Meta(ge=1, le=10_000)] = 1
    inconclusive: Inconclusive | None = None


GATE_KEYS = tuple(field.encode_name for field in msgspec.structs.fields(Gate))
_OVERRIDE = re.compile(rf"gates\.(?P<gate>.+?)\.(?P<key>{'|'.join(GATE_KEYS)})\s*=", re.DOTALL)
_WHOLE_GATE = re.compile(r"gates\.(?P<gate>.+?)\s*=(?=\s*\{)", re.DOTALL)


@dataclass(frozen=True)
class GateTarget:
    """The target of a gate: a metric of all samples, or of the slice with this label."""

    metric: str
    label: str


def gate_target(key: str, kind: type[AnyBenchmark]) -> GateTarget | None:
    """Returns the target that a key such as `cdm` or `cdm @ source=scan` names; None if it names no metric."""
    places = [at for at, character in enumerate(key) if character == "@"]
    for at in places:
        metric, label = key[:at].strip(), key[at + 1 :].strip()
        if kind.spec_of(metric) is not None and label:
            return GateTarget(metric, label)
    return GateTarget(key.strip(), "") if kind.spec_of(key.strip()) is not None else None


def split_override(override: str) -> tuple[list[str], str, str]:
    """Returns the keys, the equals sign if there is one, and the value of KEY=VALUE; dots separate nested keys.

    The key of a gate contains the name of a metric and a slice, so it may have dots and an equals sign.
    """
    if match := _OVERRIDE.match(override):
        return ["gates", match["gate"], match["key"]], "=", override[match.end() :]
    if match := _WHOLE_GATE.match(override):
        return ["gates", match["gate"]], "=", override[match.end() :]
    key, equals, text = override.partition("=")
    if key.startswith("gates."):
        return ["gates", *key.removeprefix("gates.").rsplit(".", 1)], equals, text
    return key.strip().split("."), equals, text


def check_gates(gates: Mapping[str, Gate], kind: type[AnyBenchmark], replicates: int, source: str) -> None:
    """Rejects gates that judge nothing.

    Raises UsageError for a metric that the benchmark does not have, a gate without a bound, a bound that is not finite
    or is outside the range of the metric, a margin of that whole range, and a gate that needs intervals that the run
    does not have.
    """
    names: dict[str, str] = {}
    for key, gate in gates.items():
        place = f"{source}: gates.{key}"
        target = gate_target(key, kind)
        if target is None:
            metric = key.partition("@")[0].strip()
            near = nearest(metric, [spec.name for spec in kind.metrics])
            if kind.spec_of(metric) is not None:
                raise UsageError(f"{place}: there is no label after the @; write it as `{metric} @ column=value`")
            raise UsageError(
                f"{place}: {kind.name} has no such metric{near or f'; `beamscore benchmarks {kind.name}` lists them'}"
            )
        spec = kind.spec_of(target.metric)
        assert spec is not None, "its target has a metric"
        for problem in _problems(gate, spec, replicates):
            raise UsageError(f"{place}{problem}")
        name = gate.name or key
        if name in names:
            raise UsageError(f"{place}.name: {name!r} is the name of gates.{names[name]} too; each needs its own")
        names[name] = key


def _problems(gate: Gate, spec: MetricSpec, replicates: int) -> Iterator[str]:
    """Yields the wrong key of a gate, and why the gate could never pass, could never fail or judges nothing."""
    # NumPy is imported late.
    from ...metrics.statistics.paired import MIN_REPLICATES

    (low, high), least, most = spec.bounds, gate.minimum, gate.maximum
    ends = [f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else ""]
    always = f"the metric is always {' and '.join(filter(None, ends))}"
    for name, bound in (("minimum", least), ("maximum", most), ("margin", gate.margin)):
        if bound is not None and not math.isfinite(bound):
            yield f".{name}: found {bound}; allowed: a finite number or null"
    for name, bound in (("minimum", least), ("maximum", most)):
        if bound is not None and ((low is not None and bound < low) or (high is not None and bound > high)):
            yield f".{name}: found {bound:g}; {always}"
    if spec.width is not None and gate.margin >= spec.width:
        yield f".margin: found {gate.margin:g}; {always}, so this could never fail"
    if least is not None and most is not None and least > most:
        yield f": the minimum {least:g} is above the maximum {most:g}"
    if least is None and most is None and gate.not_worse_than is None:
        yield ": the gate judges nothing; give minimum, maximum or not_worse_than"
    if gate.margin and gate.not_worse_than is None:
        yield ".margin: needs not_worse_than, such as `not_worse_than: baseline`"
    if gate.looks > 1 and gate.judge == "point":
        yield ".looks: has no effect with judge: point; set judge: interval"
    if gate.system is not None and gate.system == gate.not_worse_than:
        yield f": the system {gate.system} would be compared with itself"
    if gate.judge == "interval" and replicates < (1 if gate.not_worse_than is None else MIN_REPLICATES):
        yield (
            f".judge: found interval, but bootstrap.replicates is {replicates}, so that there is none; "
            "set judge: point, or bootstrap.replicates: 200"
        )


def check_targets(
    gates: Mapping[str, Gate], kind: type[AnyBenchmark], systems: Sequence[str], slices: Iterable[Sequence[str]]
) -> None:
    """Rejects gates on a slice or a system that the run will not have.

    slices: the columns of each slice of the run. Raises UsageError.
    """
    sliced = [tuple(each) for each in slices]
    for key, gate in gates.items():
        for name, system in (("system", gate.system), ("not_worse_than", gate.not_worse_than)):
            known = [*systems, *([BASELINE] if name == "not_worse_than" else [])]
            if system is not None and system not in known:
                raise UsageError(
                    f"gates.{key}.{name}: the run has no system {system}{nearest(system, known)}; "
                    f"there are {', '.join(systems)}"
                )
        if gate.not_worse_than == BASELINE and BASELINE in systems:
            raise UsageError(
                f"gates.{key}.not_worse_than: `baseline` is both a system of the run and the run of --baseline; "
                "rename the system"
            )
        target = gate_target(key, kind)
        if target is not None and target.label and label_columns(target.label) not in sliced:
            columns = ",".join(label_columns(target.label))
            raise UsageError(f"gates.{key}: the run does not slice by {columns}; give --slice {columns}")


def label_columns(label: str) -> tuple[str, ...]:
    """Returns the columns of the label of a slice, such as `first=x,second=y`; `\\` escapes a character."""
    columns = re.findall(r"(?:^|,)((?:\\.|[^\\,=])*)(?:=(?:\\.|[^\\,])*)?", label, re.DOTALL)
    return tuple(re.sub(r"\\(.)", r"\1", column, flags=re.DOTALL) for column in columns)
