"""Why two runs do not compare: each use of them is as strict as it says, whichever of both comes first."""

from typing import Any

import msgspec
import pytest

from beamscore.metrics.version import VERSION
from beamscore.pipelines.runs import differences
from beamscore.pipelines.runs.documents import Fingerprint

DRAWN = {"replicates": 10, "seed": 0, "confidence": 0.95}
CONFIG: dict[str, Any] = {"protocol": "published", "missing": "wrong", "bootstrap": DRAWN, "slices": [], "fields": {}}
CONFIG["derived"] = {"both": "1"}
VERSIONS = {"packages": {"numpy": "1"}, "tools": {}}
RUN = differences.RunSignature("toy", VERSION, CONFIG, VERSIONS, Fingerprint(3, "aaaaaaaaa"))
EVERY = {"PAIRED", "SCORED_ALIKE", "CONFIGURED", "COMPARED", "REUSED"}
"""How strict the uses of two runs are."""


def config(**changes: Any) -> differences.RunSignature:
    return msgspec.structs.replace(RUN, config={**CONFIG, **changes})


def run(**changes: Any) -> differences.RunSignature:
    return msgspec.structs.replace(RUN, **changes)


@pytest.mark.parametrize("name", sorted(EVERY - {"REUSED"}))
@pytest.mark.parametrize("codes", [("m.py:A 1", "m.py:A 2"), ("wer 1", "wer 2"), ("renamed 1", "wer 1")])
def test_scores_of_other_code_of_a_benchmark_compare_with_none(name: str, codes: tuple[str, str]) -> None:
    here, there = (run(versions={"packages": {code.split()[0]: code.split()[1], "numpy": code}}) for code in codes)
    # As earlier versions named it: a package like its module, and beside a file the package that it imports.
    own, version = codes[0].split()
    earlier = run(versions={"packages": {own: version, "wer": "2"} if ".py:" in own else {own.title(): version}})
    for same in (here, earlier):
        assert differences.differences(here, same, getattr(differences, name)) == []
    (found,) = differences.differences(here, there, getattr(differences, name))
    assert found.startswith("it was scored by a different version of the benchmark: ")
    assert f"{codes[1]}, not " in found


@pytest.mark.parametrize(
    ("other", "refusing", "reason"),
    [
        (RUN, set(), ""),
        (run(benchmark="chart"), EVERY, "it is a run of chart, not of toy"),
        (run(version="0.0.9"), EVERY, f"it was made by beamscore 0.0.9, which may score differently from {VERSION}"),
        (run(version=VERSION + ".post1"), {"COMPARED", "REUSED"},
         f"it was made by beamscore {VERSION}.post1, which may score differently from {VERSION}"),
        (run(version=""), EVERY,
         f"it was made by an earlier version of beamscore, which may score differently from {VERSION}"),
        (config(protocol="released"), EVERY, 'it used protocol: "released" instead of "published"'),
        (config(missing="exclude"), EVERY, 'it used missing: "exclude" instead of "wrong"'),
        (config(newer="x" * 60), EVERY, f'it used newer: "{"x" * 59}… instead of null'),
        (config(fields={"a": "b"}), EVERY - {"REUSED"}, 'it used fields: {"a":"b"} instead of {}'),
        (config(cluster="page"), EVERY - {"REUSED"}, 'it used cluster: "page" instead of null'),
        (config(derived={"new": "1", "both": " (1)"}), set(), ""),
        (config(derived={"both": "2"}), EVERY - {"REUSED"}, 'it used derived.both: "2" instead of "1"'),
        (config(bootstrap={**DRAWN, "seed": 1}), {"PAIRED", "SCORED_ALIKE", "CONFIGURED"}, "it used bootstrap: "),
        (config(bootstrap={**DRAWN, "confidence": 0.8}), {"CONFIGURED"}, "it used bootstrap: "),
        (config(slices=["kind"], gates={"x": {}}, limits={"depth": 1}), set(), ""),
        (run(fingerprint=Fingerprint(4, "bb")), {"PAIRED", "COMPARED"},
         "it has a different ground truth: 4 samples (bb) instead of 3 (aaaaaaaa)"),
        (run(fingerprint=None), {"PAIRED", "COMPARED"},
         "the ground truth of a run has no fingerprint, so it is unknown whether both have the same"),
        (run(versions={"packages": {"numpy": "2", "new": "1"}, "tools": {}}), {"REUSED"},
         "it used different versions of packages: new 1, not none, numpy 2, not 1"),
        (run(versions={"packages": {"numpy": "1", "m.py:A": "f0"}, "tools": {}}), {"REUSED"},
         "it used different versions of packages: m.py:A f0, not none"),
        (run(versions=None), {"REUSED"}, "it used different versions of packages"),
    ],
)  # fmt: skip
def test_each_use_refuses_what_it_must(other: differences.RunSignature, refusing: set[str], reason: str) -> None:
    found = {use: differences.differences(RUN, other, getattr(differences, use)) for use in EVERY}
    assert {use for use, reasons in found.items() if reasons} == refusing
    for reasons in filter(None, found.values()):
        assert reasons[0].startswith(reason) if reason.endswith(": ") else reasons[0] == reason
    # Which of two runs comes first does not change whether they compare.
    assert {use for use in EVERY if differences.differences(other, RUN, getattr(differences, use))} == refusing


def test_all_that_differs_is_said_but_of_two_benchmarks_that_alone() -> None:
    other = run(version="0.0.9", config={**CONFIG, "missing": "exclude"}, versions=None, fingerprint=None)
    strict = differences.Strictness("all", exact_version=True, surroundings=True, ground_truth=True)
    assert len(differences.differences(RUN, other, strict, it="b")) == 5
    # Versions that are unknown on both sides are not known to be equal.
    assert len(differences.differences(run(versions=None), run(versions=None), differences.REUSED)) == 2
    other = run(benchmark="chart", version="", fingerprint=None)
    assert differences.differences(RUN, other, strict) == ["it is a run of chart, not of toy"]
