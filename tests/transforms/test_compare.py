"""The comparison of two systems: what bundles of any size count and add up is that of a plain loop."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import SwapWeights
from beamscore.metrics.statistics.slice_names import prefixed
from beamscore.transforms import compare
from beamscore.transforms.blocks import IN_PIPELINE, unpack
from beamscore.transforms.compare import CompareBuckets, ComparePlan, PairSums, merged_sums
from beamscore.transforms.records import MSGPACK
from beamscore.transforms.rows import SampleRow
from beamscore.transforms.sample_changes import KINDS, ChangePlan, merged_counts
from tests.transforms.samples import bundle, encoded, problem_of

# `hit` is of the first metric, `n` of both.
PLAN = ComparePlan(
    *(("kind",), (("kind",),), Bootstrap(4, seed=1), SwapWeights(4, seed=1)),
    *({"hit": 0b01}, 0b11, 2, ChangePlan((MetricSpec("score", "", main=1),), 0, 0.1, 9)),
)
CELLS = st.tuples(st.sampled_from([None, '"a"', '["a","b"]']))
# Most samples are compared, and many of a bundle.
STATISTICS = st.sampled_from([None, *['{"n":1,"hit":0}', '{"n":1,"hit":1}', '{"n":2}'] * 3])
ROWS = st.builds(
    SampleRow,
    *(st.just(""), st.just("scored"), st.sampled_from("uv"), CELLS, st.tuples(st.sampled_from([0.0, 1.0]))),
    *(STATISTICS, st.sampled_from("ttttttu")),
)
EITHER = st.one_of(st.none(), *[ROWS] * 5)
ROW = SampleRow("", "scored", "u", (None,), (0.0,), '{"n":1}', "t")
SAME, UNSCORED = (msgspec.structs.replace(ROW, statistics=each) for each in ('{"n":1,"hit":0}', None))


def record(name: str, side: int, row: SampleRow) -> tuple[bytes, bytes]:
    content = msgspec.msgpack.encode(msgspec.structs.replace(row, sample_id=name))
    return name.encode(), encoded(side, content, encoding=MSGPACK).encoded


@given(st.lists(st.tuples(EITHER, EITHER), max_size=8), st.integers(1, 4), st.sampled_from([0, 1 << 30]))
@example([(ROW, SAME), (ROW, None), (None, ROW), (UNSCORED, None)] * 2, 4, 1 << 30)
def test_the_parts_of_a_comparison_are_those_of_a_plain_loop(
    samples: list[tuple[SampleRow | None, SampleRow | None]], size: int, held: int
) -> None:
    found: defaultdict[str, list[Any]] = defaultdict(list)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "SUMS_HELD", held)
        for start in range(0, len(samples), size):
            pairs = list(enumerate(samples))[start : start + size]
            rows = [record(f"s{n}", side, row) for n, each in pairs for side, row in enumerate(each) if row][::-1]
            outputs = bundle(CompareBuckets(PLAN, IN_PIPELINE), (0, [IN_PIPELINE.write(rows)]))
            assert not held or len(outputs["slices"]) == len(dict(outputs["slices"])), "a bundle adds up first"
            for tag, values in outputs.items():
                found[tag] += values
    counts, by_label = Counter[str](), defaultdict[str, list[tuple[SampleRow, SampleRow]]](list)
    for before, after in samples:
        known = [row is not None and row.statistics is not None for row in (before, after)]
        if before is None or after is None or not all(known):
            missing = {(True, False): "only_baseline", (False, True): "only_candidate", (False, False): "neither"}
            counts[missing[known[0], known[1]]] += before is not None or after is not None
        elif before.truth_hash != after.truth_hash:
            counts["other_ground_truth"] += 1
        else:
            counts["compared"] += 1
            counts["regrouped"] += (before.unit, before.slice_values) != (after.unit, after.slice_values)
            labels = {None: ["null"], '"a"': ["a"], '["a","b"]': ["a", "b"]}[before.slice_values[0]]
            for label in ("", *(f"kind={each}" for each in labels)):
                by_label[label].append((before, after))
    summed = Counter[str]()
    for name, count in found["counts"]:
        summed[name] += count
    assert +summed == +counts
    assert {label for label, _ in found["slices"]} == set(by_label)
    for label, compared in by_label.items():
        _, sums = merged_sums((label, [each for name, each in found["slices"] if name == label]), PLAN)
        expected, differing = PairSums.empty(PLAN), [list[str](), list[str]()]
        for before, after in compared:
            old, new = (json.loads(row.statistics or "") for row in (before, after))
            expected.baseline.add(PLAN.bootstrap.unit_hash(before.unit), old)
            expected.candidate.add(PLAN.bootstrap.unit_hash(before.unit), new)
            changes = {name: new.get(name, 0) - old.get(name, 0) for name in ("n", "hit")}
            expected.changes.add(PLAN.swaps.unit_hash(before.unit), changes)
            differing[0] += [before.unit] * any(changes.values())
            differing[1] += [before.unit] * bool(changes["n"])
        assert sums.samples == len(compared)
        for part in ("baseline", "candidate", "changes"):
            assert getattr(sums, part) == getattr(expected, part)
        assert [sums.differing_in(0), sums.differing_in(1)] == [(len(each), len(set(each))) for each in differing]
    ways = [after.metrics[0] - before.metrics[0] for before, after in by_label[""]]  # type: ignore[operator]
    better, worse = ways.count(1.0), ways.count(-1.0)
    counted = dict(zip(KINDS, [better, worse, better, worse, better, worse, 0, 0], strict=True))
    assert merged_counts(found["metrics"]) == ({"score": counted} if samples else {})
    assert sum(len(unpack(block)) for block in found["changed"]) == better + worse


def test_a_sample_that_a_run_has_twice_is_damage() -> None:
    for side, name in enumerate(("baseline", "candidate")):
        block = IN_PIPELINE.write([record("a", side, ROW)] * 2)
        said = f"the {name} has two rows of sample a: its folder samples/ is damaged"
        assert problem_of(bundle, CompareBuckets(PLAN, IN_PIPELINE), (0, [block])) == said


def test_what_both_runs_call_alike_may_be_different_repeats() -> None:
    """They correspond in order, 1 to 2 and 2 to 3; of this sample both have 2, the last there and the first here."""
    plan = replace(PLAN, repeats=(("1", "2"), ("2", "3")))
    row = msgspec.structs.replace(ROW, statistics=json.dumps(prefixed({"n": 1}, "", "2")))
    block = IN_PIPELINE.write([record("a", side, row) for side in (0, 1)])
    for _, sums in bundle(CompareBuckets(plan, IN_PIPELINE), (0, [block]))["slices"]:
        assert sums.differing_in(0) == (1, 1)
