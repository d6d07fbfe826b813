"""Laws of a comparison, for any rows in any parts: what it says depends on the samples alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import SwapBits, dependencies
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.commands.compare import compared_slice, largest_of_all, make_result
from beamscore.pipelines.runs.comparison import COMPARISON, ComparisonSetting
from beamscore.transforms.blocks import Block, BlockFolder, unpack
from beamscore.transforms.compare import BASELINE, CANDIDATE, CompareBuckets, ComparePlan, merged_sums
from beamscore.transforms.records import MSGPACK, RecordEncoder
from beamscore.transforms.rows import SampleRow
from beamscore.transforms.sample_changes import ChangePlan
from tests import toy

TOY = toy.ToyBenchmark(toy.Options())
REPLICATES, SWAPS, MOST = 12, 63, 7
EVERY_STATISTIC = Sums.of({"samples": 4, "equal": 2, "similarity": 2.5})
METRICS = ("exact_match", "similarity")
UNITS_NEEDED = 3
CONFIDENCE = 0.7
"""With 3 of 63 swaps any verdict is possible for a few units that differ: 2 / 2^3 is below 0.3."""

FEWER = settings(max_examples=settings().max_examples // 3)
"""Each example is a comparison from its rows to its documents, or several."""

Sides = tuple[SampleRow | None, SampleRow | None]
Said = tuple[dict[str, Any], list[bytes]]


def row(name: str, unit: str, kinds: tuple[str | None, ...], similarity: float | None, truth: str) -> SampleRow:
    if similarity is None:
        return SampleRow(name, "rejected", unit, kinds, (None, None), None, truth)
    equal = float(similarity == 1)
    statistics = json.dumps({"samples": 1, "equal": equal, "similarity": similarity})
    return SampleRow(name, "scored", unit, kinds, (equal, similarity), statistics, truth)


SCORES = st.sampled_from([None, 0.0, 0.1, 0.25, 0.7, 1.0, 1.0])
KINDS = st.tuples(*[st.sampled_from([None, '"a"', '"b"', '["a","c"]'])] * 2)


@st.composite
def corpora(draw: st.DrawFn) -> list[Sides]:
    """Samples of up to eight clusters, in no order, some of one side alone, some with another ground truth."""
    pairs: list[Sides] = []
    for number in range(draw(st.integers(1, 24))):
        name, unit, kinds = f"s{number}", f"u{draw(st.integers(0, 7))}", draw(KINDS)
        before = row(name, unit, kinds, draw(SCORES), "aa")
        after = row(name, unit, kinds, draw(SCORES), draw(st.sampled_from(["aa", "aa", "aa", "bb"])))
        there = draw(st.sampled_from([(True, True), (True, True), (True, True), (True, False), (False, True)]))
        pairs.append((before if there[0] else None, after if there[1] else None))
    return pairs


@st.composite
def told_apart(draw: st.DrawFn) -> list[Sides]:
    """Corpora in which the candidate is mostly better, so that verdicts and flips are not rare."""
    return [*draw(corpora()), *better(draw(st.integers(0, 12)))]


def better(count: int) -> list[Sides]:
    """Returns samples that the candidate alone has right."""
    return [
        (row(f"t{n}", f"v{n}", ('"a"', None), 0.25, "aa"), row(f"t{n}", f"v{n}", ('"a"', None), 1.0, "aa"))
        for n in range(count)
    ]


def parts_of(pairs: Sequence[Sides], cuts: Sequence[int]) -> list[list[Sides]]:
    """Returns the samples in as many parts as there are different `cuts`: sample i is in part cuts[i]."""
    parts: dict[int, list[Sides]] = {}
    for number, pair in enumerate(pairs):
        parts.setdefault(cuts[number % len(cuts)], []).append(pair)
    return list(parts.values())


def bucket(pairs: Sequence[Sides], blocks: int) -> list[Block]:
    """Returns the blocks of a bucket, each side cut into some, those of both sides in turn."""
    found = []
    for start in range(blocks):
        for side in (BASELINE, CANDIDATE):
            rows = [row for pair in pairs[start::blocks] if (row := pair[side]) is not None]
            encoder = RecordEncoder(side, 0, "")
            records = [
                (row.sample_id.encode(), encoder.encode(0, 0, MSGPACK, msgspec.msgpack.encode(row))) for row in rows
            ]
            found.append(BlockFolder().write(records))
    return found


def setting() -> ComparisonSetting:
    sides, none = (("a", "x"), ("b", "y")), (Sums(), Sums())
    return ComparisonSetting(
        TOY, *sides, METRICS, none, CONFIDENCE, 0, REPLICATES, SWAPS, True, (), ((), ()), 0.2
    )  # fmt: skip


def plan() -> ComparePlan:
    bits = {metric: 1 << number for number, metric in enumerate(METRICS)}
    depending = dependencies(TOY, EVERY_STATISTIC)
    return ComparePlan(
        ("kind", "other"),
        ((0,), (1,), (0, 1)),
        Bootstrap(REPLICATES),
        SwapBits(SWAPS),
        {name: sum(bits[metric] for metric in found) for name, found in depending.items()},
        (1 << len(METRICS)) - 1,
        UNITS_NEEDED,
        ChangePlan(tuple(TOY.sample_metrics), 1, 0.2, MOST),
    )


def said(bundles: Sequence[Sequence[Sequence[Sides]]], blocks: int = 1) -> Said | None:
    """Returns comparison.json and the rows of changes/ of bundles of buckets; None where nothing could be compared."""
    do_fn = CompareBuckets(plan(), BlockFolder())
    outputs: dict[str, list[Any]] = {tag: [] for tag in ("slices", "counts", "metrics", "changed")}
    for buckets in bundles:
        do_fn.start_bundle()
        for number, pairs in enumerate(buckets):
            for output in do_fn.process((number, bucket(pairs, blocks))):
                outputs[output.tag].append(output.value)
        for last in do_fn.finish_bundle():
            outputs[last.tag].append(last.value.value)
    slices: dict[str, list[Any]] = {}
    for label, sums in outputs["slices"]:
        slices.setdefault(label, []).append(sums)
    counts: dict[str, int] = {}
    for name, count in outputs["counts"]:
        counts[name] = counts.get(name, 0) + count
    if not counts.get("compared"):
        return None
    compared = [compared_slice(merged_sums(item, plan()), setting()) for item in slices.items()]
    listed = [each for block in outputs["changed"] for each in unpack(block)]
    changed = [row for _, row in sorted(listed)[:MOST]]
    largest = [found.largest for found in compared if found.largest is not None]
    parts: dict[str, list[Any]] = {
        "slices": compared,
        "largest": [largest_of_all(largest)],
        "counts": list(counts.items()),
        "metrics": outputs["metrics"],
        "first": [[json.loads(each) for each in changed]],
    }
    return json.loads(make_result(setting(), parts)[COMPARISON]), changed


def metrics_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [metric for each in (document, *document["slices"].values()) for metric in each["metrics"].values()]


TURNED = {
    "better": "worse",
    "worse": "better",
    "wrong_to_right": "right_to_wrong",
    "right_to_wrong": "wrong_to_right",
    "better_beyond": "worse_beyond",
    "worse_beyond": "better_beyond",
    "appeared": "vanished",
    "vanished": "appeared",
}


@FEWER
@given(told_apart(), st.data(), st.integers(1, 3))
def test_what_is_said_depends_on_the_samples_alone(pairs: list[Sides], data: st.DataObject, blocks: int) -> None:
    """Clusters straddle the parts: a unit is swapped and drawn in all of them alike."""
    whole = said([[pairs]])
    order = data.draw(st.permutations(pairs))
    cuts = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=len(pairs)))
    parts = data.draw(st.permutations(parts_of(order, cuts)))
    assert said([[part] for part in parts], blocks) == whole
    assert said([parts], blocks) == whole
    check_counts(pairs, whole)
    turned = said([[[(after, before) for before, after in pairs]]])
    if whole is None or turned is None:
        assert whole is turned
    else:
        check_negated(whole, turned)


def check_negated(there: Said, back: Said) -> None:
    words = {"better": "worse", "worse": "better"}
    turned_counts = {"only_baseline": "only_candidate", "only_candidate": "only_baseline"}
    assert back[0]["samples"] == {turned_counts.get(name, name): n for name, n in there[0]["samples"].items()}
    for found, turned in zip(metrics_of(there[0]), metrics_of(back[0]), strict=True):
        assert (found["baseline"], found["candidate"]) == (turned["candidate"], turned["baseline"])
        assert found["difference"] == -turned["difference"]
        ends = turned["interval"]
        assert found["interval"] == (None if ends is None else [-ends[1], -ends[0]])
        for key in ("p", "simultaneous_p", "detectable", "units", "differing_samples"):
            assert found[key] == turned[key]
        assert turned["verdict"] == words.get(found["verdict"], found["verdict"])
    for name, counts in there[0]["changes"]["metrics"].items():
        assert back[0]["changes"]["metrics"][name] == {TURNED.get(kind, kind): n for kind, n in counts.items()}
    for one, other in zip(there[1], back[1], strict=True):
        rows = json.loads(one), json.loads(other)
        assert rows[0]["sample_id"] == rows[1]["sample_id"]
        assert rows[1]["kind"] == TURNED.get(rows[0]["kind"], rows[0]["kind"])
        assert rows[0]["change"] in (None, -(rows[1]["change"] or 0.0))


def check_counts(pairs: list[Sides], found: Said | None) -> None:
    both = [(a.metrics[1], b.metrics[1]) for a, b in pairs if a and b and a.statistics and b.statistics
            and a.truth_hash == b.truth_hash]  # fmt: skip
    if found is None:
        assert both == []
        return
    steps = [(old or 0.0, new or 0.0) for old, new in both]
    assert found[0]["samples"]["compared"] == len(both)
    assert found[0]["changes"]["metrics"]["similarity"] == {
        "better": sum(new > old for old, new in steps),
        "worse": sum(new < old for old, new in steps),
        "wrong_to_right": sum(old < new == 1 for old, new in steps),
        "right_to_wrong": sum(new < old == 1 for old, new in steps),
        "better_beyond": sum(new - old > 0.2 for old, new in steps),
        "worse_beyond": sum(old - new > 0.2 for old, new in steps),
        "appeared": 0,
        "vanished": 0,
    }
    assert len(found[1]) == min(MOST, sum(new != old for old, new in steps))


@FEWER
@given(corpora())
def test_a_run_does_not_differ_from_itself(pairs: list[Sides]) -> None:
    found = said([[[(before, before) for before, _ in pairs]]])
    if found is None:
        return
    document, changed = found
    for metric in metrics_of(document):
        # Of very few units, most replicates may have drawn none.
        assert metric["interval"] in ([0, 0], None)
        assert (metric["difference"], metric["p"]) == (0, 1)
        assert (metric["verdict"], metric["simultaneous_p"]) == ("too few differ", None)
        assert (metric["differing_samples"], metric["detectable"]) == (0, None)
    assert changed == []
    assert not any(count for counts in document["changes"]["metrics"].values() for count in counts.values())


def test_the_corpora_of_these_laws_have_verdicts() -> None:
    """Laws that only ever saw corpora without a difference would say nothing."""
    found = said([[better(8)]])
    assert found is not None
    assert {metric["verdict"] for metric in metrics_of(found[0])} == {"better"}
