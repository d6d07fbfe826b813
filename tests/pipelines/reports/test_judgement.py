"""One verdict for a run, a comparison and a history."""

from typing import Any

import msgspec
import pytest

from beamscore.pipelines.reports import judgement as judging
from beamscore.pipelines.reports.comparison import judge_comparison
from beamscore.pipelines.reports.document import Compared, Difference, Link, Measured, Metric, Sliced
from beamscore.pipelines.runs.documents import GateVerdict
from beamscore.pipelines.runs.gates import RecordFailure
from tests.toy import ToyBenchmark

Move = tuple[float | None, float | None, float | None]
WORSE, BETTER, UNSURE, SAME = (-0.25, -0.5, -0.125), (0.25, 0.125, 0.5), (-0.25, -0.5, 0.5), (0.0, 0.0, 0.0)
FELL = "fell from 0.5000 to 0.2500, −0.2500 (−0.5000 to −0.1250)"
ROSE = "rose from 0.5000 to 0.7500, +0.2500 (+0.1250 to +0.5000)"
TEST = "The test of all metrics and slices at once"
WENT, NONE = "went from 0.5000 to 0.2500, −0.2500", "No difference is shown in"
GONE: Move = (None, 0.0, None)
ADDED: Move = (None, None, 0.0)
UNLIKE: Move = (None, None, None)
"""Moves of metrics that only the baseline, or only the candidate, measured, or both over other slices."""


def compared(name: str, move: Move, higher: bool = True, has_few: bool = False, system: int = 0) -> Compared:
    word = judging.difference_word(Measured(*move), higher, False, has_few)
    before, after = {GONE: (0.5, None), ADDED: (None, 0.5)}.get(move, (0.5, 0.5 + (move[0] or 0)))
    return Compared(Metric(name, "", higher), system, Measured(before), Measured(after), Difference(*move, word))


@pytest.mark.parametrize(
    ("moves", "higher", "judgement", "reasons", "moved", "clause"),
    [
        ([GONE, *[WORSE] * 8], True, "worse", ["lost"] * 7, f"m8 {FELL}",
         "It is worse in 8 of 8 main metrics; no longer measured: m0"),
        ([BETTER, WORSE], False, "mixed", ["lost"], f"m1 {FELL}", "It is worse in 1 and better in 1 of 2 main metrics"),
        ([UNSURE, BETTER, ADDED], True, "better", [], f"m1 {ROSE}",
         "It is better in 1 of 2 main metrics; newly measured: m2"),
        ([GONE] * 5 + [BETTER, ADDED], True, "mixed", [], f"m5 {ROSE}",
         "It is better in 1 of 1 main metric; no longer measured: m4, m3, m2 and 2 more; newly measured: m6"),
        ([BETTER, SAME, UNSURE], True, "better", [], f"m0 {ROSE}", "It is better in 1 of 3 main metrics"),
        ([BETTER, WORSE, UNSURE], True, "mixed", ["won"], f"m1 {FELL}",
         "It is worse in 1 and better in 1 of 3 main metrics"),
        ([(-0.25, -0.5, 0.0)], True, "no difference shown", [], f"m0 {WENT} (−0.5000 to 0.0000)",
         f"{NONE} 1 main metric"),
        ([(-0.25, None, None)], True, "not judged", [], f"m0 {WENT}",
         "1 main metric has no interval, so nothing is judged"),
        ([(-0.25, None, None), (-0.25, -0.5, 0.0)], True, "no difference shown", [], f"m1 {WENT} (−0.5000 to 0.0000)",
         f"{NONE} 2 main metrics; there is no interval for m0"),
        ([SAME, SAME], True, "identical", [], "m1 is 0.5000 as before", "It is equal in 2 main metrics"),
        ([SAME, GONE], True, "no difference shown", [], "m0 is 0.5000 as before",
         "It is equal in 1 main metric; no longer measured: m1"),
        ([ADDED, SAME], True, "no difference shown", [], "m1 is 0.5000 as before",
         "It is equal in 1 main metric; newly measured: m0"),
        ([UNLIKE, SAME], True, "no difference shown", [], "m1 is 0.5000 as before",
         "It is equal in 1 main metric; measured over other slices: m0"),
        ([ADDED, GONE], True, "not judged", [],
         "No main metric is measured on both sides; no longer measured: m1; newly measured: m0", ""),
    ],
)  # fmt: skip
def test_main_metrics_decide(moves: Any, higher: bool, judgement: str, reasons: Any, moved: str, clause: str) -> None:
    """The last metric leads; the first decided one is said first, or the lead metric; the other decided are reasons."""
    names = [f"m{number}" for number in range(len(moves))]
    differences = [compared(name, move, higher) for name, move in zip(names, moves, strict=True)]
    found = judging.judge_difference(names[::-1], names, differences, (), ["one"], "It")
    assert found is not None
    assert (found.judgement, found.sentence) == (judgement, ". ".join(filter(None, (moved, clause))) + ".")
    assert [each.filters for each in found.reasons] == [{"why": why} for why in reasons]
    assert judging.judge_difference(names, names, (), (), ["one"], "It") is None


def test_what_samples_of_one_side_may_explain_is_neither_better_nor_worse() -> None:
    for move in (WORSE, BETTER):
        for higher in (False, True):
            words = [judging.difference_word(Measured(*move), higher, False, shift=each) for each in (0.125, 0.124)]
            assert words == ["other samples", "better" if (move is BETTER) == higher else "worse"]
    apart = Compared(Metric("x"), 0, Measured(0.5), Measured(0.75), Difference(*BETTER, "other samples"))
    found = judging.judge_difference("x", "x", [apart], (), ["one"], "It")
    assert found is not None
    said = f"{NONE} 1 main metric; samples that only one side measured may explain x."
    assert (found.judgement, found.sentence.partition("). ")[2]) == ("no difference shown", said)


def test_what_holds_of_all_metrics_and_slices_at_once_is_said_of_what_was_tested() -> None:
    """999 swaps decide nothing at a confidence above 0.999, where an interval still excludes 0.

    If the test is significant, what withholds the verdict is the interval that allows for rare losses.
    """
    differences = [compared(name, WORSE) for name in ("exact_match", "similarity")]
    worse, untested, above, at = (
        {"candidate": 0.5, "verdict": word, "simultaneous_p": p}
        for word, p in (("worse", 0.001), ("not tested", None), *(("no difference shown", p) for p in (0.101, 0.1)))
    )
    unsure, few = f"{TEST} does not confirm", "few units differ by much, which may hide rare, large"
    for cells, said in (
        ((worse, worse), f"{TEST} confirms exact_match, similarity."),
        ((worse, untested), "similarity was not tested for all metrics and slices at once."),
        ((above, untested), f"{unsure} exact_match. similarity was not tested for all metrics and slices at once."),
        ((above, at), f"{unsure} exact_match. In similarity, {few} changes the other way."),
        ((at, worse), f"In exact_match, {few} changes the other way."),
    ):
        known = {each.name: cell for each, cell in zip(differences, cells, strict=True)}
        comparison = {"metrics": known, "slices": {}, "samples": {"compared": 2, "neither": 1}, "confidence": 0.9}
        found = judge_comparison(comparison, ToyBenchmark, differences, [], [*known])
        assert found.sentence.partition("main metrics. ")[2] == said
    at["candidate"] = worse["candidate"] = None
    found = judge_comparison(comparison, ToyBenchmark, differences, [], [*known])
    assert (found.judgement, found.sentence) == ("fail", "No metric of the candidate has a value.")


def test_of_several_systems_each_is_named() -> None:
    """Up to three of those with few differing samples, and twelve reasons; a metric that does not rank comes last."""
    few = [compared(name, WORSE, has_few=True) for name in "abcd"]
    differences = [*few, *(compared("e", WORSE, system=1) for _ in range(14))]
    differences.append(Compared(Metric("f"), 0, Measured(), Measured(), Difference()))
    found = judging.judge_difference("fbadc", "abcdef", differences, (), ["x", "y"], "It")
    assert found is not None
    clause = "It is worse in 14 of 18 main metrics; too few samples differ in b of x, a of x, d of x and 1 more"
    assert found.sentence == f"e of y {FELL}. {clause}."
    assert found.reasons == (Link(f"worse: e of y {FELL}", {"why": "lost"}, 1),) * 12


@pytest.mark.parametrize("sides", [(None, 0.5), (0.5, None), (None, None)])
def test_a_metric_of_one_side_has_not_moved(sides: tuple[float | None, float | None]) -> None:
    before, after = map(Measured, sides)
    assert judging.moved("x", Compared(Metric("x"), 0, before, after, Difference(0.5))).endswith("on both sides")


def test_slices_that_lost_most_lost_so_much_at_least() -> None:
    """A slice that is not worse after correction is not named, however far its value fell."""
    moves = {"few": (-0.9, -1.9, 0.1), "a": (-0.2, -0.3, -0.1), "b": (-0.5, -0.9, -0.05), "won": BETTER}
    moves |= {"c": (-0.2, -0.3, -0.1), "d": (-0.1, -0.2, -0.01)}
    higher, lower = Metric("f1"), Metric("f1", higher_is_better=False)
    slices, turned = (
        [
            Sliced(name, 1, 9, (), (compared("f1", move, metric.higher_is_better).difference,), {"of": name})
            for name, move in moves.items()
        ]
        for metric in (higher, lower)
    )
    texts = ["a −0.2000 (−0.3000 to −0.1000)", "c −0.2000 (−0.3000 to −0.1000)", "b −0.5000 (−0.9000 to −0.0500)"]
    expected = [Link(text, {"slice.of": text[0]}, 1, label=text[0]) for text in texts]
    assert judging.lost_most(slices, 0, higher, ["one"]) == tuple(expected)
    won = [each.text for each in judging.lost_most(turned, 0, lower, ["one", "two"])]
    assert won == ["won of two +0.2500 (+0.1250 to +0.5000)"]
    ordered = judging.by_evidence(slices, [higher], ["other", "f1"])
    assert [each.label for each in ordered] == ["a", "c", "b", "d", "few", "won"]


@pytest.mark.parametrize(("higher", "first"), [(True, "low"), (False, "high")])
def test_slices_without_a_baseline_are_told_apart_from_all_samples(higher: bool, first: str) -> None:
    values = {"few": (0.1, -0.9, 1.0), "low": (0.3, 0.2, 0.4), "high": (0.9, 0.8, 1.0), "none": (None, None, None)}
    slices = [Sliced(name, 0, 9, (Measured(*each),)) for name, each in values.items()]
    metric = Metric("f1", higher_is_better=higher, values=(Measured(0.5),))
    found = judging.by_evidence(slices, [metric], ["f1"])
    assert (found[0].label, found[-1].label) == (first, "none")
    # Nothing tells them apart if not all samples have a value together; then they stand by their label.
    unknown = msgspec.structs.replace(metric, values=(Measured(None),))
    assert [each.label for each in judging.by_evidence(slices, [unknown], ["f1"])] == ["few", "high", "low", "none"]


def summary(scored: int, places: dict[str, int]) -> dict[str, Any]:
    truths = {"read": 3, "scored": scored, "missing_prediction": 3 - scored, "rejected": 0, "duplicate": 0}
    coverage = {"ground_truth": truths, "predictions": {"unmatched": 0, "duplicate": 0, "rejected": 0}}
    system = {"coverage": coverage, "values": {"exact_match": 0.5}, "intervals": {}}
    ranked = [{"system": name, "place": place} for name, place in places.items()]
    return {"ranking": list(places), "systems": dict.fromkeys(places, system), "ranking_by": {"places": ranked}}


def gate(verdict: str, blocks: bool = True, system: str | None = "b") -> GateVerdict:
    of = {"gate": "g", "system": system, "metric": "m", "slice": "kind=1", "judge": "interval", "verdict": verdict}
    tier = "blocking" if blocks else "advisory"
    return msgspec.convert({**of, "tier": tier, "blocks": blocks, "reason": "r"}, GateVerdict)


HALF = "a has exact_match 0.5000; "
TWO = {"a": 1, "b": 2}
FEW, ALL = RecordFailure("b", "few", "rejected"), RecordFailure("b", "all")
OF_TWO = f"a ranks first of 2 systems: {HALF}b has exact_match 0.5000."


@pytest.mark.parametrize(
    ("scored", "places", "gates", "failures", "judgement", "sentence"),
    [
        (0, TWO, (), (FEW, ALL), "fail", "Nothing was scored."),
        (3, {"a": 1}, (), (), "not judged", f"{HALF}3 of 3 samples scored."),
        (2, {"a": 1}, (), (), "not judged", f"{HALF}2 of 3 samples scored, 1 without a prediction."),
        (3, TWO, (), (FEW, ALL), "fail", OF_TWO),
        (3, {"a": 1, "b": 1, "c": 3, "d": 4}, (), (), "not judged", "a, b share the first place of 4 systems: "
         f"{HALF}b has exact_match 0.5000; c has exact_match 0.5000; and 1 more."),
        (3, TWO, (gate("pass"),), (), "pass", f"1 of 1 gates pass. {OF_TWO}"),
        (3, TWO, (gate("fail", False), gate("pass")), (), "pass", f"1 of 2 gates pass, 1 advisory fail. {OF_TWO}"),
        (3, TWO, (gate("invalid"), gate("fail"), gate("inconclusive"), gate("fail", False)), (), "fail",
         f"0 of 4 gates pass, 1 fail, 1 invalid, 1 inconclusive, 1 advisory fail. {OF_TWO}"),
        (3, TWO, (gate("inconclusive"), gate("invalid", system=None)), (), "invalid",
         f"0 of 2 gates pass, 1 invalid, 1 inconclusive. {OF_TWO}"),
        (3, TWO, (gate("pass"),), (ALL,), "fail", f"1 of 1 gates pass. {OF_TWO}"),
    ],
)  # fmt: skip
def test_a_run_is_judged_by_what_it_scored_and_its_gates(
    scored: int, places: Any, gates: Any, failures: Any, judgement: str, sentence: str
) -> None:
    found = judging.judge_run(summary(scored, places), ToyBenchmark, gates, failures, None)
    assert (found.judgement, found.sentence) == (judgement, sentence)
    of_failures = [Link("few", {"status": "rejected"}, 1), Link("all", {}, 1)]
    of_gates = []
    for each in (each for each in gates if each.verdict != "pass"):
        text = f"g{' of b' * (each.system is not None)} ({each.verdict}{', advisory' * (not each.blocks)}): r"
        of_gates.append(Link(text, {"slice.kind": "1"}, 1 if each.system else None))
    assert list(found.reasons) == [*of_failures[2 - len(failures) :], *of_gates]
