"""The verdicts of gates: the four words by hand, and every way to pass by accident, none of which passes."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.measured import spec_or_undeclared
from beamscore.metrics.statistics.sum_table import PackedReplicates, SumTable
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config import settings
from beamscore.pipelines.config.gates import Gate
from beamscore.pipelines.config.settings import Configuration
from beamscore.pipelines.runs import documents
from beamscore.pipelines.runs.gates import decide, gate_verdicts
from beamscore.pipelines.runs.run import JudgedRuns, Run
from beamscore.pipelines.runs.sides import MeasuredSide, attributable_shift, side_of
from tests.finished_runs import SYSTEM, finished, row
from tests.laws import tries
from tests.metrics.statistics.samples import measured
from tests.plain_loop import make_benchmark

REPLICATES = 200
SAMPLES = 400
SAME = documents.Fingerprint(SAMPLES, "ab" * 16)


def configuration(gates: Mapping[str, Gate], **more: Any) -> Configuration:
    checked = settings.check({"benchmark": "toy", **more}, "test")
    return replace(checked, settings=msgspec.structs.replace(checked.settings, gates=dict(gates)))


Part = tuple[documents.SystemSummary, documents.SystemSums]
"""What a run says of a slice, and its sums."""


@cache
def part(right: int, samples: int = SAMPLES, first: int = 0, out: int = 0, *, predictions: str | None = "") -> Part:
    """Of `samples` from number `first` on, `right` are right; `out` more are rejected. predictions: a fingerprint."""
    rows = [row(f"s{first + number}", float(number < right)) for number in range(samples)]
    rows += [row(f"out {number}", None) for number in range(out)]
    settings = {"slices": [], "bootstrap": {"replicates": REPLICATES}}
    found = finished(rows, settings, None, f"{right} right" if predictions == "" else predictions)
    return found.systems[SYSTEM], found.sums.systems[SYSTEM]


CONFIG = {"missing": "wrong", "bootstrap": {"replicates": REPLICATES, "seed": 0}}


def run_of(systems: Mapping[str, Mapping[str, Part]], provenance: Mapping[str, Any] = {}, **changes: Any) -> Run:
    """Returns a run of these parts, by system and label; one without all samples has those of its slice."""
    known = {"benchmark": "toy", "version": "0.2.0", "config": CONFIG, "fingerprint": SAME, **changes}
    summaries, sums = ({name: _whole(parts, side) for name, parts in systems.items()} for side in (0, 1))
    run = Run("last", documents.Summary(ranking=list(systems), systems=summaries, **known), provenance)
    run.configuration = configuration({})
    drawn = Bootstrap(REPLICATES, 0)
    run.sums = documents.RunSums(format=1, unit_bits=52, benchmark="toy", config=CONFIG, bootstrap=drawn, systems=sums)
    return run


def _whole(parts: Mapping[str, Part], side: int) -> Any:
    whole = parts.get("") or next(iter(parts.values()))
    return msgspec.structs.replace(whole[side], slices={label: each[side] for label, each in parts.items() if label})


def baseline(right: int, *more: int, systems: Sequence[str] = ("ours",), **changes: Any) -> Run:
    """Returns a run in which each of the systems is `part(right, *more)`."""
    return run_of({name: {"": part(right, *more)} for name in systems}, **changes)


def changed(part: Part, **values: Any) -> Part:
    return msgspec.structs.replace(part[0], **values), part[1]


def evaluated(
    gates: Mapping[str, Gate], systems: Mapping[str, Mapping[str, Part]], against: Run | None = None, **more: Any
) -> list[documents.GateVerdict]:
    return gate_verdicts(configuration(gates, **more), run_of(systems), against)


def verdict(gate: Gate, found: Part, against: Run | None = None, **more: Any) -> documents.GateVerdict:
    (one,) = evaluated({"exact_match": gate}, {"ours": {"": found}}, against, **more)
    return one


POINT: Any = {"judge": "point"}
ONLY_LOOK = ", which would fail with looks: 1, but not with looks: 365"


@pytest.mark.parametrize(
    ("gate", "word", "reason", "value", "ends"),
    [
        (Gate(0.7), "pass", "0.8 (LOW to HIGH) is at least the minimum 0.7", 0.8, None),
        (Gate(0.82), "inconclusive", "0.8 (LOW to HIGH): the interval contains the minimum 0.82", 0.8, None),
        (Gate(None, 0.9), "pass", "0.8 (LOW to HIGH) is at most the maximum 0.9", 0.8, None),
        (Gate(None, 0.8), "inconclusive", "0.8 (LOW to HIGH): the interval contains the maximum 0.8", 0.8, None),
        # With a standard error of 0.02, it is at most 0.836, and 0.87 for 365 looks.
        (Gate(0.845), "fail", "0.8 (LOW to HIGH) is below the minimum 0.845", 0.8, None),
        (Gate(0.845, looks=365), "inconclusive", f"0.8 (LOW to HIGH) is below the minimum 0.845{ONLY_LOOK}", 0.8, None),
        (Gate(None, 0.75), "fail", "0.8 (LOW to HIGH) is above the maximum 0.75", 0.8, None),
        (Gate(None, 0.75, looks=365), "inconclusive", f"0.8 (LOW to HIGH) is above the maximum 0.75{ONLY_LOOK}", 0.8,
         None),
        (Gate(0.7, 0.75, name="both"), "fail", "0.8 (LOW to HIGH) is above the maximum 0.75", 0.8, None),
        (Gate(0.8, **POINT), "pass", "0.8 is at least the minimum 0.8", 0.8, None),
        (Gate(0.81, **POINT), "fail", "0.8 is below the minimum 0.81", 0.8, None),
        (Gate(None, 0.79, **POINT), "fail", "0.8 is above the maximum 0.79", 0.8, None),
        # Four digits, or as many as distinguish a value from the bound.
        (Gate(0.9), "fail", "0.8 (0.7 to 0.899996) is below the minimum 0.9", 0.8, (0.7, 0.899996)),
        (Gate(None, 0.12345678, **POINT), "fail", "0.12345679 is above the maximum 0.12345678", 0.12345679, (0, 1)),
    ],
)  # fmt: skip
def test_a_bound_is_judged_on_interval_or_value(gate: Gate, word: Any, reason: str, value: float, ends: Any) -> None:
    """320 of 400 samples are right: the interval is some 0.8 +- 0.04."""
    known, _ = part(320)
    low, high = ends or known.intervals["exact_match"] or (0.0, 0.0)
    assert ends or (0.755 < low < 0.77 and 0.83 < high < 0.845)
    shown = changed(part(320), values={**known.values, "exact_match": value}, intervals={"exact_match": (low, high)})
    assert verdict(gate, shown) == documents.GateVerdict(
        gate=gate.name or "exact_match", tier="blocking", system="ours", metric="exact_match", slice=None,
        judge=gate.judge, verdict=word, blocks=word != "pass", value=value, interval=(low, high),
        reason=reason.replace("LOW", f"{low:.4g}").replace("HIGH", f"{high:.4g}"),
        minimum=gate.minimum, maximum=gate.maximum,
    )  # fmt: skip


@pytest.mark.parametrize("bound", [0.84, 0.8399999999999999, 0.8400000000000001])
def test_a_value_that_rounding_puts_beside_a_bound_is_at_the_bound(bound: float) -> None:
    """2 P R / (P + R) of P = R = 21 / 25 is 0.8399999999999999."""
    found = changed(part(320), values={"exact_match": 2 * (21 / 25) * (21 / 25) / (2 * 21 / 25)}, intervals={})
    gates = (Gate(bound, **POINT), Gate(None, bound, **POINT), Gate(bound + 1e-9, **POINT),
             Gate(None, bound - 1e-9, **POINT))  # fmt: skip
    assert [verdict(gate, found).verdict for gate in gates] == ["pass", "pass", "fail", "fail"]


@pytest.mark.parametrize(
    ("ours", "more", "word", "claim"),
    [
        (320, {}, "pass", ", no loss"),
        (380, {}, "pass", ", no loss"),
        # -0.15 with a standard error of sqrt(0.15 * 0.85 / 400) = 0.018: at most -0.115, and -0.081 for 365 looks.
        (260, {"margin": 0.1}, "fail", ", worse by more than the margin of 0.1"),
        (260, {"margin": 0.1, "looks": 365}, "inconclusive",
         f", a loss beyond the margin of 0.1 that{ONLY_LOOK.removeprefix(', which')}"),
        (317, {}, "inconclusive", ", too wide to tell whether it is a loss"),
        (306, {"margin": 0.03}, "inconclusive", ", too wide to tell whether it is a loss beyond the margin of 0.03"),
        (317, {"margin": 0.05}, "pass", ", within the margin of 0.05"),
        (319, POINT, "fail", ", worse"),
        (318, {"margin": 0.005, **POINT}, "pass", ", within the margin of 0.005"),
        (322, POINT, "pass", ", no loss"),
    ],
)  # fmt: skip
def test_a_comparison_is_judged_on_the_paired_interval(ours: int, more: dict[str, Any], word: str, claim: str) -> None:
    found = verdict(Gate(not_worse_than="baseline", **more), part(ours), baseline(320))
    expected = (word, 0.8, "baseline", more.get("margin", 0.0))
    assert (found.verdict, found.reference, found.not_worse_than, found.margin) == expected
    difference = (ours - 320) / SAMPLES
    assert found.difference == pytest.approx(difference)
    low, high = found.difference_interval or (math.nan, math.nan)
    assert low - 1e-9 <= difference <= high + 1e-9
    shown = f"{difference:+.4g}" + ("" if "judge" in more else f" ({low:+.4g} to {high:+.4g})")
    assert found.reason.partition("; ")[0] == f"{shown} from the baseline{claim}"


def test_a_difference_has_as_many_digits_as_tell_it_from_the_margin() -> None:
    """299 / 399 - 320 / 400 = -0.0506266: only the first of these margins is the same number in four digits."""
    for margin, word, shown in ((0.050626, "fail", "-0.050627"), (0.0507, "inconclusive", "-0.05063")):
        found = verdict(Gate(not_worse_than="baseline", margin=margin, **POINT), part(299, 399), baseline(320))
        assert (found.verdict, found.reason.partition(" ")[0]) == (word, shown)


def test_where_nothing_differs_only_the_same_predictions_are_equal_for_sure() -> None:
    """If a sample is lost with a chance of 0.5 %, none is in 13 % of corpora of 400: 0 is 0 +- 1.966 sqrt(2) / 400."""
    for predictions, words in [("", ["pass"] * 3), *[(each, ["inconclusive"] * 2 + ["pass"]) for each in (None, "x")]]:
        against = run_of({"ours": {"": part(320, predictions=predictions)}})
        gates = [Gate(not_worse_than="baseline", margin=margin) for margin in (0, 0.006, 0.008)]
        found = [verdict(gate, part(320), against) for gate in gates]
        assert [each.verdict for each in found] == words
        assert ("few units differ by much" in found[0].reason) == (words[0] != "pass")


LEFT_OUT = (300, 396, 0, 4)


@pytest.mark.parametrize(
    ("declared", "margin", "theirs", "words"),
    [
        ({"bounds": (None, 1.0)}, 0.05, (320,), {(318,): ("pass", True), (320,): ("pass", False)}),
        ({"higher_is_better": False}, 0.01, (320,), {(380,): ("fail", False), (260,): ("pass", False)}),
        # If the metric itself does not count samples, the others tell whether they are the same.
        ({"per_sample": None}, 0.0, LEFT_OUT, {LEFT_OUT: ("pass", False)}),
    ],
)
def test_direction_bounds_and_counts_are_those_of_the_metric(
    declared: Any, margin: float, theirs: Any, words: Any, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    """A pass of a metric without two bounds says what it does not see, unless the predictions are the same."""
    kind = type(configuration({}).benchmark)
    first, *others = kind.metrics
    monkeypatch.setattr(kind, "metrics", (replace(first, **declared), *others))
    request.addfinalizer(spec_or_undeclared.cache_clear)
    spec_or_undeclared.cache_clear()
    gate = Gate(not_worse_than="baseline", margin=margin)
    found = {ours: verdict(gate, part(*ours), baseline(*theirs)) for ours in words}
    assert {ours: (each.verdict, "lacks two bounds" in each.reason) for ours, each in found.items()} == words


@tries(25)
@given(st.integers(0, 20), st.integers(0, 20), st.sampled_from([0.0, 0.1, 0.6]), st.integers(2, 365))
def test_laws_of_looks_margins_and_words(ours: int, theirs: int, margin: float, looks: int) -> None:
    """Looks only turn a failure into doubt, a wider margin makes no verdict worse, and a pass never says worse."""
    words = ["fail", "inconclusive", "pass"]
    gate = Gate(not_worse_than="baseline", margin=margin)
    found, against = part(ours, 20), baseline(theirs, 20)
    bounds = (msgspec.structs.replace(gate, minimum=0.5, looks=each) for each in (1, looks))
    bounded = [verdict(each, found, against).verdict for each in bounds]
    assert bounded[0] == bounded[1] or bounded == ["fail", "inconclusive"]
    changes: Any = ({}, {"margin": margin + 0.3}, POINT)
    strict, loose, point = (verdict(msgspec.structs.replace(gate, **each), found, against) for each in changes)
    assert words.index(strict.verdict) <= words.index(loose.verdict)
    assert all(("worse" in each.reason) == (each.verdict == "fail") for each in (strict, loose, point))
    assert verdict(Gate(not_worse_than="baseline"), found, baseline(ours, 20)).verdict == "pass"


@pytest.mark.parametrize(
    ("margin", "more", "errors", "failures"),
    [
        # A loss of 20 of 400 has a standard error of sqrt(0.05 * 0.95 / 400) = 0.0109. As far as 1 + 1.97 of them from
        # 0 it comes in 0.6 of 365 nights, as far as 1.97 in 9.1, and beyond 0 in half of them.
        (0.0109, {}, 1.0, 0.6),
        (0.0, {}, 0.0, 9.1),
        (0.0, POINT, 0.0, 182.5),
        # As far as 3.84 in 0.025.
        (0.0, {"looks": 365}, 0.0, 0.025),
        (0.0109, {"looks": 365}, 1.0, None),
        (0.0235, {}, 2.2, None),
    ],
)
def test_a_comparison_says_what_its_margin_costs(margin: float, more: Any, errors: float, failures: Any) -> None:
    reason = verdict(Gate(not_worse_than="baseline", margin=margin, **more), part(300), baseline(320)).reason
    said = r"; (?:\D*([\d.]+) standard errors|without a margin)\)?(?:, .* fail this gate (.*) times? in 365 nights)?$"
    found = re.search(said, reason)
    assert found is not None, reason
    assert float(found[1] or 0) == pytest.approx(errors, abs=0.25)
    if failures is None:
        assert found[2] == (None if errors > 2 else "fewer than 0.01")
    else:
        assert float(found[2].removeprefix("about ")) == pytest.approx(failures, rel=0.4)


def test_to_lose_all_of_few_samples_is_judged_no_milder_than_to_lose_most() -> None:
    for samples, word in ((5, "inconclusive"), (6, "fail")):
        gate, against = Gate(not_worse_than="baseline"), baseline(samples, samples)
        most, all_ = (verdict(gate, part(right, samples), against) for right in (1, 0))
        # Of five, no loss fails it: not that of an unchanged system, either.
        assert (most.verdict, all_.verdict, "365 nights" in most.reason) == (word, word, samples == 6)


def week_of(
    *, right: int, replaced: int = 0, nights: int = 7, looks: int = 7, left_out: int = 0, **more: Any
) -> documents.GateVerdict:
    """Returns the verdict on the last of `nights` that each have `right` right, each by other predictions.

    Of 400 samples, `left_out` are rejected each night, and are not scored.
    """
    against = baseline(320)
    texts = [*(f"night {number}" for number in range(1, nights)), "tonight"]
    *earlier, tonight = (part(right, 400 - left_out, 0, left_out, predictions=each) for each in texts)
    numbers = {text: number for number, text in enumerate(["320 right", *texts[:-1]])}
    judged = [*[None] * replaced, *(run_of({"ours": {"": each}}) for each in earlier[replaced:])]
    against.judged = JudgedRuns(numbers, dict(enumerate(judged, start=1)))
    return verdict(Gate(not_worse_than="baseline", looks=looks, **more), tonight, against, missing="exclude")


@pytest.mark.parametrize(
    ("case", "word", "said"),
    [
        # -0.02 with a standard error of sqrt(0.02 * 0.98 / 400) = 0.007 is at most 0.0003 for each of seven looks, at
        # 1 - 0.05 / 14, and at most -0.004 for a week, at 1 - 0.05 / 2; with rare losses, whose error is
        # sqrt(0.007^2 + 2 / 400^2) = 0.0078, at most -0.002.
        ({"right": 312}, "fail", "; the mean of 7 runs is -0.02 (-0.0"),
        # -0.015 +- 2.25 * 0.0061 excludes 0; with rare losses, +- 2.25 * 0.0070 does not.
        ({"right": 314}, "inconclusive", "; the mean of 7 runs is -0.015 (-0.0"),
        ({"right": 312, "nights": 6}, "inconclusive", None),
        ({"right": 312, "nights": 8}, "inconclusive", None),
        ({"right": 312, "nights": 14}, "fail", "; the mean of 7 runs is -0.02 (-0.0"),
        ({"right": 312, "looks": 6}, "fail", None),
        ({"right": 312, "margin": 0.03}, "inconclusive", None),
        ({"right": 330}, "pass", "; the mean of 7 runs is +0.025 ("),
        # What is left out is said; the rest is judged.
        ({"right": 312, "replaced": 5}, "fail", "the mean of 2 of the last 7 runs is -0.02 ("),
        ({"right": 330, "replaced": 6}, "pass", "the mean of 1 of the last 7 runs is not judged"),
    ],
)
def test_the_mean_of_a_week_may_fail_where_no_night_does(case: dict[str, Any], word: str, said: str | None) -> None:
    found = week_of(**case)
    assert found.verdict == word, found.reason
    assert ("the mean of" in found.reason) == (said is not None)
    assert said is None or said.removeprefix("; ") in found.reason
    doubt = "; few units differ by much, which may look like a loss; the worst runs: "
    assert (doubt in found.reason) == (word == "inconclusive" and said is not None)
    assert ("at a confidence of 0.975)" in found.reason) == (said is not None and " is " in said and "not" not in said)
    assert found.difference == pytest.approx(case["right"] / 400 - 0.8)


def test_in_the_mean_of_a_week_samples_that_were_left_out_may_look_like_a_loss() -> None:
    """4 of 396 move 300 / 396 - 0.8 by 0.0101 at most, whose interval ends at -0.0171; 10 of 390 by 0.0256."""
    for left_out, word in ((4, "fail"), (10, "inconclusive")):
        found = week_of(right=300, left_out=left_out)
        reason = found.reason.partition("the mean of 7 runs is ")[2]
        assert found.verdict == word
        doubt = f" from the baseline; one side measured {left_out} samples more, which may look like a loss; "
        assert (doubt in reason) == (word == "inconclusive")


def test_in_the_mean_all_runs_count_also_those_with_equal_predictions_of_a_system() -> None:
    """(310 + 310 + 304 + 302) / 4 / 400 - 0.8 = -0.03375; two runs have no fingerprint, three lack what is measured."""
    ours, unknown = ({"ours": {"kind=a": part(right, predictions=text)}} for right, text in ((310, ""), (304, None)))
    lacking = [{"theirs": {"": part(0)}, "others": {"": part(0)}}, {"ours": {"": part(0)}},
               {"ours": {"kind=a": part(0, 0, 0, 1)}}]  # fmt: skip
    against = run_of({"ours": {"kind=a": part(320)}})
    earlier = dict(enumerate(map(run_of, [ours, *lacking, ours, unknown]), start=1))
    earlier[6].path = "night-6"
    against.judged = JudgedRuns({str(number): number for number in range(7)}, earlier)
    tonight = {"ours": {"kind=a": part(302, predictions=None)}}
    key = {"exact_match @ kind=a": Gate(not_worse_than="baseline", looks=30)}
    reason = evaluated(key, tonight, against)[0].reason
    assert "the mean of 4 of the last 7 runs (last and last and last did not measure it) is -0.03375 (" in reason
    assert reason.endswith(", worse; the worst runs: this run (0.755), night-6 (0.76), last (0.775), ...")


def test_predictions_of_a_week_that_was_not_read_are_not_judged_by_half() -> None:
    """Those of the baseline itself are no look, and close no week."""
    against, gate = baseline(320), Gate(not_worse_than="baseline", looks=30)
    against.judged = JudgedRuns({"tonight": 7, "later": 21}, {})
    found = verdict(gate, part(330, predictions="tonight"), against)
    assert (found.verdict, "beamscore gate" in found.reason) == ("inconclusive", True)
    against.judged = JudgedRuns({"320 right": 0}, {})
    found = verdict(gate, part(320), against)
    assert (found.verdict, "the mean of" in found.reason) == ("pass", False)


def test_a_gate_judges_the_system_that_it_names_or_all_but_the_reference() -> None:
    for gate, words in (
        # The bad night of the reference fails nobody.
        (Gate(0.5, not_worse_than="last", margin=0.02), {"ours": "pass"}),
        (Gate(0.5, system="ours"), {"ours": "pass"}),
        (Gate(0.5), {"ours": "pass", "last": "fail"}),
    ):
        found = evaluated({"exact_match": gate}, {"ours": {"": part(320)}, "last": {"": part(10)}})
        assert {each.system: each.verdict for each in found} == words
    # A system is not compared with itself, which only the id of a run can tell.
    for run_id, judged in (("", ["a", "b"]), ("1", ["b"])):
        run = baseline(320, systems=("a", "b"), provenance={"run_id": run_id})
        run.system = "a"
        for gate, systems in ((Gate(not_worse_than="baseline"), judged), (Gate(0.5), ["a", "b"])):
            assert [each.system for each in gate_verdicts(configuration({"exact_match": gate}), run, run)] == systems


@pytest.mark.parametrize(
    ("ours", "theirs", "margin", "word", "said"),
    [
        # Both runs left out 4 samples of their own; ours has 4 more right of 396. The interval begins at 0.002, and
        # what was left out may hide 8 / 396 = 0.0202.
        ((300, 396, 0, 4), (296, 396, 4, 4), 0.015, "inconclusive",
         "up to 8 samples may have been measured on one side alone, which may hide a loss beyond the margin of 0.015"),
        ((300, 396, 0, 4), (296, 396, 4, 4), 0.019, "pass", "within the margin of 0.019"),
        # They left out the same ones.
        ((300, 396, 0, 4), (300, 396, 0, 4), 0.0, "pass", "no loss"),
        ((300, 396), (300, 396), 0.0, "pass", "no loss"),
        ((300, 396, 0, 4), (300, 400), 0.001, "inconclusive",
         "one side measured 4 samples more, which may hide a loss beyond the margin of 0.001"),
        # 40 of 400 samples may move the value by 1 / 9 of the 360 that both measured.
        ((240, 400), (240, 360, 0, 40), 0.01, "inconclusive",
         "one side measured 40 samples more, which may look like a loss beyond the margin of 0.01"),
        ((150, 300, 0, 100), (300, 300, 100, 100), 0.22, "inconclusive",
         "up to 200 samples may have been measured on one side alone, which may look like a loss beyond the margin of"),
        # -0.522 (+- 0.06) is a loss, whatever was left out.
        ((100, 360, 0, 40), (320, 400), 0.3, "fail", "worse by more than the margin of 0.3"),
    ],
)  # fmt: skip
def test_a_verdict_survives_what_one_side_left_out(ours: Any, theirs: Any, margin: float, word: str, said: str) -> None:
    gate = Gate(not_worse_than="baseline", margin=margin)
    found = verdict(gate, part(*ours), baseline(*theirs), missing="exclude")
    assert (found.verdict, said in found.reason) == (word, True), found.reason
    if "look like" in said:
        assert verdict(gate, part(*ours, predictions="others"), baseline(*theirs)).verdict == "fail"
    # Of samples that are drawn in clusters, equal numbers do not say that they are the same; equal predictions do.
    more = {"missing": "exclude", "cluster": "page"}
    for predictions in ("", "others"):
        clustered = verdict(gate, part(*ours, predictions=predictions), baseline(*theirs), **more)
        unknown = predictions and ours == theirs and (len(ours) > 2 or not margin)
        assert clustered.verdict == ("inconclusive" if unknown else word)
        assert not (unknown and len(ours) > 2) or "up to 8 samples may have been" in clustered.reason


def test_a_bound_is_not_passed_where_a_rare_loss_may_not_show() -> None:
    """20 scores of 0.9999: if one in twenty is lost, the mean is 0.95, and no loss shows in a third of such corpora."""
    named = {"values": {"exact_match": 0.9999}, "intervals": {"exact_match": (0.9998, 0.99995)}}
    found = changed(part(20, 20), **named, errors={"exact_match": 0.00003}, units={"exact_match": 20})
    for gate, word in (
        # t(19) sqrt(2) / 20 = 0.148.
        (Gate(0.852), "inconclusive"), (Gate(0.851), "pass"), (Gate(0.99, **POINT), "pass"),
        (Gate(None, 0.99995), "pass"), (Gate(0.99999), "fail"), (Gate(0.9998), "inconclusive"),
    ):  # fmt: skip
        judged = verdict(gate, found)
        assert (judged.verdict, "a rare, large loss" in judged.reason) == (word, word == "inconclusive")
    # One unit shows no loss at all, but none is beyond a bound of the metric; earlier versions kept no errors.
    for gate, more, word in (
        (Gate(0.5), {"units": {"exact_match": 1}}, "inconclusive"), (Gate(0.0), {"units": {"exact_match": 1}}, "pass"),
        (Gate(None, 1.0), {"units": {"exact_match": 1}}, "pass"), (Gate(0.852), {"errors": {}}, "pass"),
    ):  # fmt: skip
        assert verdict(gate, changed(found, **more)).verdict == word
    # All of 10 that are right have Wilson's interval from 0.722, where t(9) sqrt(2) / 10 = 0.320.
    assert verdict(Gate(0.7), part(10, 10)).verdict == "pass"
    # Of many that are wrong, the interval tells all.
    assert verdict(Gate(0.7581), part(320)).verdict == "pass"


CHART = make_benchmark("chart")


def charts(x: int, y: int, left_out: int, **changes: Any) -> MeasuredSide:
    """Returns the side of a system with so many charts of two classes, and none of a third one."""
    classes = "x" * x + "y" * y
    found = measured(CHART, {f"{n}{kind}": {f"task1.confusion[{kind}|{kind}]": 1} for n, kind in enumerate(classes)})
    found.denominators["task1.recall[z]"] = np.zeros(101)
    side = side_of(CHART, "task1.macro_recall", baseline(x + y, x + y, 0, left_out), "ours", "", found)
    assert side is not None
    return side._replace(**changes)


SAME_PREDICTIONS = {"predictions": "same"}


@pytest.mark.parametrize(
    ("ours", "theirs", "more", "shifts"),
    [
        # As many of y again are half of the mean over the classes. Its only chart is not in the first replicate.
        ((91, 1, 1), (91, 2, 0), ({}, {}), (0.5, 0)),
        ((90, 5, 5), (90, 10, 0), (SAME_PREDICTIONS, SAME_PREDICTIONS), (0.5, 0.5)),
        ((90, 5, 5), (90, 10, 0), ({"predictions": None}, {"predictions": None}), (0.5, 0)),
        # Of x too, but the share of the samples is larger.
        ((45, 10, 45), (90, 10, 0), ({}, {}), (45 / 55, 0)),
        ((90, 0, 10), (90, 10, 0), ({}, {}), (math.inf, math.inf)),
        ((90, 10, 5), (90, 10, 5), ({}, {"predictions": "others"}), (0, 0)),
        ((0, 0, 5), (0, 0, 5), ({}, {"predictions": "others"}), (math.inf, 0)),
        # Of equal predictions of the same samples, the same ones were left out.
        ((0, 0, 5), (0, 0, 5), ({"truths": "a", **SAME_PREDICTIONS}, {"truths": "a", **SAME_PREDICTIONS}), (0, 0)),
        # Of a slice with other samples, only those that were left out count, unless the predictions are the same.
        ((45, 10, 45), (90, 10, 3), ({"truths": "a"}, {"truths": "b"}), (48 / 55, 0)),
        ((90, 10, 0), (90, 10, 0), ({"truths": "a", **SAME_PREDICTIONS}, {"truths": "b", **SAME_PREDICTIONS}),
         (math.inf, math.inf)),
    ],
)  # fmt: skip
def test_what_samples_of_one_side_may_move_by_hand(ours: Any, theirs: Any, more: Any, shifts: Any) -> None:
    sides = [charts(*counts, **changes) for counts, changes in zip((ours, theirs), more, strict=True)]
    for missing, shift in zip(("exclude", "wrong"), shifts, strict=True):
        checked = settings.check({"benchmark": "chart", "missing": missing}, "test")
        assert attributable_shift(checked, "task1.macro_recall", *sides)[0] == pytest.approx(shift), missing
        # A metric without bounds may move by any amount, or not at all.
        assert attributable_shift(checked, "undeclared", *sides)[0] == (math.inf if shift else 0)


def test_equal_predictions_for_other_samples_of_which_scoring_failed_are_not_measured_alike() -> None:
    sides = [charts(0, 0, 5, truths="a", **SAME_PREDICTIONS) for _ in range(2)]
    for side, words in zip(sides, (30, 40), strict=True):
        side.measured.denominators.clear()
        side.measured.denominators["undeclared"] = np.full(101, words)
    assert attributable_shift(settings.check({"benchmark": "chart"}, "test"), "undeclared", *sides)[0] == math.inf


def test_a_slice_that_holds_other_samples_does_not_pass_and_fails_by_other_predictions_alone() -> None:
    """The column of the slice has changed, which the hash of the whole ground truth does not tell."""
    key = {"exact_match @ kind=a": Gate(not_worse_than="baseline", margin=0.3)}
    here, there = {"fingerprint": "aa"}, {"fingerprint": "bb"}
    for theirs, ours, word in (
        (part(320), part(320), "pass"),
        (changed(part(320), **here), changed(part(320), **here), "pass"),
        # More samples, of which none may be the same, are no reason to believe the others are.
        (changed(part(320), **there), changed(part(321, 401), **here), "inconclusive"),
        (changed(part(320), **there), changed(part(320), **here), "inconclusive"),
        (changed(part(320), **there), changed(part(40, predictions="320 right"), **here), "inconclusive"),
        # 0.8 and 0.5: about the margin apart.
        (changed(part(320), **there), changed(part(200), **here), "inconclusive"),
        (changed(part(320), **there), changed(part(40), **here), "fail"),
        # In runs of earlier versions, the replicates of counts of samples tell.
        (part(320, SAMPLES, 50), part(320), "inconclusive"),
    ):
        (found,) = evaluated(key, {"ours": {"kind=a": ours}}, run_of({"ours": {"kind=a": theirs}}))
        assert (found.verdict, "other samples" in found.reason) == (word, word != "pass")


LOOSE = Gate(0.0)
NOT_WORSE = Gate(not_worse_than="baseline", margin=0.99)
NOT_LAST = Gate(not_worse_than="last", margin=0.9)
GOOD = part(SAMPLES)
UNMEASURED = "the metric was not measured"
OURS = {"ours": {"": GOOD}}
NOTHING: Any = {"ground_truth": {"read": 0, "scored": 0, "missing_prediction": 0}}
NOTHING_DRAWN = PackedReplicates.of(SumTable.of([Sums()] * REPLICATES))
UNDRAWN = {"ours": {"": (GOOD[0], msgspec.structs.replace(GOOD[1], replicates=NOTHING_DRAWN))}}
NO_INTERVAL = "has no interval: fewer than half of the replicates have a value, all values are the same, there are "
NO_INTERVAL += "too few replicates, or the metric has no denominator"
OTHER_SAMPLES = "+0 (+0 to +0) from the baseline; one side measured 360 samples more, which may hide a loss beyond the "
OTHER_SAMPLES += "margin of 0.99"
OF_METRIC = [
    *((changed(GOOD, values={"exact_match": value}), UNMEASURED) for value in (None, math.nan, math.inf)),
    (changed(GOOD, values={}, intervals={}), UNMEASURED),
    # The interval is that of another value, or upside down.
    *(
        (changed(GOOD, intervals={"exact_match": ends}), f"1 {NO_INTERVAL}")
        for ends in (None, (math.nan, math.nan), (0.1, 0.2), (1.0, 0.9))
    ),
    (changed(GOOD, intervals={}), f"1 {NO_INTERVAL}"),
    (changed(GOOD, coverage=NOTHING), "no sample was measured"),
]
OF_BASELINE = [
    (None, "there is no baseline; give --baseline RUN"),
    # What else makes runs differ, for each use of them, is in test_differences.
    (baseline(1, fingerprint=documents.Fingerprint(7, "ab" * 16)),
     "it has a different ground truth: 7 samples (abababab) instead of 400 (abababab)"),
    (baseline(1, systems=("a", "b")),
     "the baseline has no system ours; give --baseline RUN:SYSTEM with one of a, b"),
    (baseline(0, 0, 0, 1), f"{UNMEASURED} in the baseline"),
    (baseline(40, 40), OTHER_SAMPLES),
]  # fmt: skip
SLICE = "exact_match @ kind=1"
ACCIDENTS: list[tuple[str, Gate, Any, Run | None, str]] = [
    *(("exact_match", LOOSE, {"ours": {"": found}}, None, reason) for found, reason in OF_METRIC),
    *(("exact_match", NOT_WORSE, OURS, found, reason) for found, reason in OF_BASELINE),
    (SLICE, LOOSE, OURS, None, "the run has no slice kind=1"),
    ("exact_match", Gate(0.0, system="our"), OURS, None, "the run has no system our (did you mean ours?)"),
    ("exact_match", NOT_WORSE, UNDRAWN, run_of(UNDRAWN), f"+0 from the baseline {NO_INTERVAL}"),
    ("exact_match", Gate(not_worse_than="ours"), OURS, None,
     "the run has only ours, and needs another system to compare"),
    (SLICE, NOT_WORSE, {"ours": {"kind=1": GOOD}}, baseline(1), "the baseline has no slice kind=1"),
    ("exact_match", NOT_WORSE, {"ours": {"": part(40, 40)}}, baseline(SAMPLES), OTHER_SAMPLES),
    (SLICE, NOT_LAST, {"ours": {"kind=1": GOOD}, "last": {"": GOOD}}, None, "last has no such slice"),
    ("exact_match", NOT_LAST, OURS, None, "the run has no system last"),
    ("exact_match", NOT_LAST, {**OURS, "last": {"": part(0, 0, 0, 1)}}, None, f"{UNMEASURED} in last"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "gate", "systems", "against", "reason"), ACCIDENTS)
def test_no_gate_passes_by_accident(key: str, gate: Gate, systems: Any, against: Run | None, reason: str) -> None:
    """But for what concerns the interval, `judge: point` is no way around it."""
    (found,) = evaluated({key: gate}, systems, against)
    if reason.startswith("it "):
        reason = f"cannot be compared with the baseline last: {reason}; evaluate it again"
    word = "inconclusive" if reason is OTHER_SAMPLES else "invalid"
    assert (found.verdict, found.blocks, found.reason) == (word, True, reason)
    line = f"{f'{found.system}: ' if found.system else ''}gate {key}: {word}: {reason}"
    assert decide(msgspec.to_builtins([found])) == (([], [line], []) if word == "inconclusive" else ([line], [], []))
    (point,) = evaluated({key: msgspec.structs.replace(gate, judge="point")}, systems, against)
    assert (NO_INTERVAL in reason) == (point.verdict == "pass")
    # The accidents differ from what passes by the one thing that they name.
    assert verdict(LOOSE, GOOD).verdict == verdict(NOT_WORSE, GOOD, baseline(1, version="0.2.7")).verdict == "pass"
