"""Differences from stored sums are those of the samples themselves."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from metrics.statistics.measured import measure
from metrics.statistics.paired import paired_differences
from metrics.statistics.replicates import PackedReplicates
from pipelines.results.comparison_sums import StoredSystem, stored_differences
from tests.toy import Options, ToyBenchmark

TOY = ToyBenchmark(Options())
BOOTSTRAP = Bootstrap(20)


def sums_of(right: list[bool]) -> BootstrapSums:
    sums = BootstrapSums(BOOTSTRAP)
    for number, equal in enumerate(right):
        sums.add(BOOTSTRAP.unit_hash(str(number)), {"samples": 1, "equal": int(equal), "similarity": equal / 4})
    return sums


def stored(right: list[bool]) -> dict[str, Any]:
    sums = sums_of(right)
    packed = PackedReplicates.of(sums)
    replicates = {"names": list(packed.names), "data": base64.b64encode(packed.data).decode()}
    return {"sums": sums.sums().units(), "replicates": replicates}


def document(**systems: list[bool]) -> dict[str, Any]:
    slices = {name: {"half=1": stored(right[: len(right) // 2])} for name, right in systems.items()}
    return {
        "config": {"cluster": None},
        "bootstrap": {"replicates": 20, "seed": 0},
        "systems": {name: {**stored(right), "slices": slices[name]} for name, right in systems.items()},
    }


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=30))
def test_they_are_those_of_the_samples(pairs: list[tuple[bool, bool]]) -> None:
    one, other = [each for each, _ in pairs], [each for _, each in pairs]
    written = document(one=one, other=other)
    baseline, candidate = (StoredSystem.of_document(written, name) for name in ("one", "other"))
    found = dict(stored_differences(TOY, baseline, candidate, 0.95))
    half = len(pairs) // 2
    assert list(found) == ["", "half=1"]
    for label, left, right in (("", one, other), ("half=1", one[:half], other[:half])):
        before, after = measure(TOY, sums_of(left).all_sums()), measure(TOY, sums_of(right).all_sums())
        assert found[label] == paired_differences(TOY, before, after, 0.95)


def test_slices_of_one_side_have_no_difference() -> None:
    written = document(one=[True, False], other=[True, True])
    del written["systems"]["other"]["slices"]["half=1"]
    baseline, candidate = (StoredSystem.of_document(written, name) for name in ("one", "other"))
    assert [label for label, _ in stored_differences(TOY, baseline, candidate, 0.95)] == [""]


def test_other_replicates_are_refused() -> None:
    written = document(one=[True, False])
    baseline = StoredSystem.of_document(written, "one")
    candidate = StoredSystem(baseline.slices, 10, clustered=False)
    with pytest.raises(ValueError, match="20 and 10 replicates do not pair"):
        list(stored_differences(TOY, baseline, candidate, 0.95))
    with pytest.raises(ValueError):
        list(stored_differences(TOY, candidate, candidate, 0.95))
