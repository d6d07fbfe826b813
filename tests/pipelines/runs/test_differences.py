"""Why two runs do not compare: each use of them is as strict as it says, whichever of both comes first."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from beamscore.metrics.version import VERSION
from beamscore.pipelines.runs.differences import (
    COMPARED,
    CONFIGURED,
    PAIRED,
    REUSED,
    SCORED_ALIKE,
    RunSignature,
    Strictness,
    differences,
)
from beamscore.pipelines.runs.documents import Fingerprint

DRAWN = {"replicates": 10, "seed": 0, "confidence": 0.95}
CONFIG: dict[str, Any] = {"protocol": "published", "missing": "wrong", "bootstrap": DRAWN, "slices": [], "fields": {}}
RUN = RunSignature("toy", VERSION, CONFIG, {"packages": {"numpy": "1"}, "tools": {}}, Fingerprint(3, "aaaaaaaaa"))
USES = {"judged": PAIRED, "alike": SCORED_ALIKE, "configured": CONFIGURED, "compared": COMPARED, "reused": REUSED}
EVERY = set(USES)


def config(**changes: Any) -> RunSignature:
    return msgspec.structs.replace(RUN, config={**CONFIG, **changes})


def run(**changes: Any) -> RunSignature:
    return msgspec.structs.replace(RUN, **changes)


@pytest.mark.parametrize(
    ("other", "refusing", "reason"),
    [
        (RUN, set(), ""),
        (run(benchmark="chart"), EVERY, "it is a run of chart, not of toy"),
        (run(version="0.0.9"), EVERY, "it was made by beamscore 0.0.9, which may score otherwise than"),
        (run(version=VERSION + ".post1"), {"compared", "reused"}, "it was made by beamscore"),
        (run(version=""), EVERY, "it was made by an earlier version of beamscore"),
        (config(protocol="released"), EVERY, 'it used protocol: "released" instead of "published"'),
        (config(missing="exclude"), EVERY, 'it used missing: "exclude" instead of "wrong"'),
        (config(newer=1), EVERY, "it used newer: 1 instead of null"),
        (config(fields={"a": "b"}), EVERY - {"reused"}, "it used fields: "),
        (config(cluster="page"), EVERY - {"reused"}, 'it used cluster: "page" instead of null'),
        (config(bootstrap={**DRAWN, "seed": 1}), {"judged", "alike", "configured"}, "it used bootstrap: "),
        (config(bootstrap={**DRAWN, "confidence": 0.8}), {"configured"}, "it used bootstrap: "),
        (config(slices=["kind"], gates={"x": {}}, limits={"depth": 1}), set(), ""),
        (run(fingerprint=Fingerprint(3, "bb")), {"judged", "compared"}, "it has a different ground truth: 3 samples ("),
        (run(fingerprint=None), {"judged", "compared"}, "the ground truth of a run has no fingerprint"),
        (run(versions={"packages": {"numpy": "2"}, "tools": {}}), {"reused"},
         "it used other versions of packages: numpy 2, not 1"),
        (run(versions=None), {"reused"}, "it used other versions of packages"),
    ],
)  # fmt: skip
def test_each_use_refuses_what_it_must(other: RunSignature, refusing: set[str], reason: str) -> None:
    found = {name: differences(RUN, other, strictness) for name, strictness in USES.items()}
    assert {name for name, reasons in found.items() if reasons} == refusing
    assert all(reasons[0].startswith(reason) for reasons in found.values() if reasons)
    # Which of two runs comes first does not change whether they compare.
    assert {name for name, strictness in USES.items() if differences(other, RUN, strictness)} == refusing


def test_all_that_differs_is_said_but_of_two_benchmarks_that_alone() -> None:
    other = run(version="0.0.9", config={**CONFIG, "missing": "exclude"}, versions=None, fingerprint=None)
    strict = Strictness("all", exact_version=True, surroundings=True, ground_truth=True)
    assert len(differences(RUN, other, strict, it="b")) == 5
    # Versions that are unknown on both sides are not known to be equal.
    assert len(differences(run(versions=None), run(versions=None), REUSED)) == 2
    assert differences(RUN, run(benchmark="chart", version="", fingerprint=None), strict) == [
        "it is a run of chart, not of toy"
    ]
