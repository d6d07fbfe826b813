"""One verdict for a run, a comparison and a history."""

from __future__ import annotations

from typing import Any

import pytest

from beamscore.pipelines.reports import judgement as judging
from beamscore.pipelines.reports.document import Compared, Difference, Measured, Metric, Slice
from beamscore.pipelines.runs.gates import RecordFailure
from tests.toy import ToyBenchmark

Move = tuple[float, float | None, float | None]
WORSE, BETTER, UNSURE, SAME = (-0.25, -0.5, -0.125), (0.25, 0.125, 0.5), (-0.25, -0.5, 0.5), (0.0, 0.0, 0.0)


def compared(name: str, move: Move, higher: bool = True, has_few: bool = False) -> Compared:
    sides, word = (Measured(0.5), Measured(0.5 + move[0])), judging.difference_word(Measured(*move), higher, has_few)
    return Compared(Metric(name, "", higher), 0, *sides, Difference(*move, word))


@pytest.mark.parametrize(
    ("moves", "higher", "judgement", "reasons", "text"),
    [
        ([WORSE] * 8, True, "worse", ["lost"] * 7, "fell from 0.5000 to 0.2500, −0.2500 (−0.5000 to −0.1250)"),
        ([BETTER, WORSE], False, "mixed", ["lost"], "fell from 0.5000 to 0.2500, −0.2500 (−0.5000 to −0.1250)"),
        ([UNSURE, BETTER], True, "better", [], "rose from 0.5000 to 0.7500, +0.2500 (+0.1250 to +0.5000)"),
        ([BETTER, SAME, UNSURE], True, "better", ["won"], "went from 0.5000 to 0.2500, −0.2500 (−0.5000 to +0.5000)"),
        ([WORSE, BETTER], True, "mixed", ["lost"], "rose from 0.5000 to 0.7500, +0.2500 (+0.1250 to +0.5000)"),
        ([(-0.25, -0.5, 0.0)], True, "no difference shown", [],
         "went from 0.5000 to 0.2500, −0.2500 (−0.5000 to 0.0000)"),
        ([(-0.25, None, None)], True, "no difference shown", [], "went from 0.5000 to 0.2500, −0.2500"),
        ([SAME, SAME], True, "identical", [], "is 0.5000 as before"),
    ],
)  # fmt: skip
def test_the_main_metrics_decide(
    moves: list[Move], higher: bool, judgement: str, reasons: list[str], text: str
) -> None:
    """The last metric leads: it is told first, all others that are decided are reasons."""
    names = [f"m{number}" for number in range(len(moves))]
    differences = [compared(name, move, higher) for name, move in zip(names, moves, strict=True)]
    found = judging.judge_difference(names[::-1], names, differences, (), ["one"], "The run")
    assert found is not None
    assert (found.judgement, found.sentence.split(". ")[0]) == (judgement, f"{names[-1]} {text}")
    assert [each.filters for each in found.reasons] == [{"why": why} for why in reasons]
    assert judging.judge_difference(names, names, (), (), ["one"], "The run") is None


@pytest.mark.parametrize("sides", [(None, 0.5), (0.5, None), (None, None)])
def test_a_metric_of_one_side_has_not_moved(sides: tuple[float | None, float | None]) -> None:
    before, after = map(Measured, sides)
    one = Compared(Metric("x"), 0, before, after, Difference(0.5))
    assert judging.moved("x", one) == "x is not measured on both sides"


def test_slices_that_lost_most_lost_so_much_at_least() -> None:
    """A slice whose interval holds zero is not named, however far its value fell."""
    moves = {"few": (-0.9, -1.9, 0.1), "a": (-0.2, -0.3, -0.1), "b": (-0.5, -0.9, -0.05), "won": BETTER}
    slices = [Slice(name, 0, 9, (), (Difference(*move),)) for name, move in moves.items()]
    higher, lower = Metric("f1"), Metric("f1", higher_is_better=False)
    expected = ["a −0.2000 (−0.3000 to −0.1000)", "b −0.5000 (−0.9000 to −0.0500)"]
    assert [each.text for each in judging.lost_most(slices, 0, higher, ["one"])] == expected
    won = [each.text for each in judging.lost_most(slices, 0, lower, ["one", "two"])]
    assert won == ["won of one +0.2500 (+0.1250 to +0.5000)"]
    ordered = judging.by_evidence(slices, [higher], ["other", "f1"])
    assert [each.label for each in ordered] == ["a", "b", "few", "won"]


@pytest.mark.parametrize(("higher", "first"), [(True, "low"), (False, "high")])
def test_slices_without_a_baseline_are_told_apart_from_all_samples(higher: bool, first: str) -> None:
    values = {"few": (0.1, -0.9, 1.0), "low": (0.3, 0.2, 0.4), "high": (0.9, 0.8, 1.0), "none": (None, None, None)}
    slices = [Slice(name, 0, 9, (Measured(*each),)) for name, each in values.items()]
    metric = Metric("f1", higher_is_better=higher, values=(Measured(0.5),))
    found = judging.by_evidence(slices, [metric], ["f1"])
    assert (found[0].label, found[-1].label) == (first, "none")


def summary(scored: int, places: dict[str, int]) -> dict[str, Any]:
    truths = {"read": 3, "scored": scored, "missing_prediction": 3 - scored, "rejected": 0, "duplicate": 0}
    coverage = {"ground_truth": truths, "predictions": {"unmatched": 0, "duplicate": 0, "rejected": 0}}
    system = {"coverage": coverage, "values": {"exact_match": 0.5}, "intervals": {}}
    ranked = [{"system": name, "place": place} for name, place in places.items()]
    return {"ranking": list(places), "systems": dict.fromkeys(places, system), "ranking_by": {"places": ranked}}


@pytest.mark.parametrize(
    ("scored", "places", "failures", "judgement", "sentence"),
    [
        (0, {"a": 1}, (), "fail", "Nothing was scored."),
        (3, {"a": 1}, (), "not judged", "a has exact_match 0.5000; 3 of 3 samples scored."),
        (
            2,
            {"a": 1},
            (RecordFailure("a", "few", "rejected"), RecordFailure("a", "all")),
            "fail",
            "a has exact_match 0.5000; 2 of 3 samples scored, 1 without a prediction.",
        ),
        (3, {"a": 1, "b": 1, "c": 3}, (), "not judged", "a, b share the first place of 3 systems: "),
        (3, {"a": 1, "b": 2}, (), "not judged", "a ranks first of 2 systems: a has exact_match 0.5000; b has "),
    ],
)
def test_a_run_is_judged_by_what_it_scored(
    scored: int, places: dict[str, int], failures: tuple[RecordFailure, ...], judgement: str, sentence: str
) -> None:
    found = judging.judge_run(summary(scored, places), ToyBenchmark, (), failures)
    assert (found.judgement, found.sentence[: len(sentence)]) == (judgement, sentence)
    assert [each.filters for each in found.reasons] == [{"status": "rejected"}, {}][: len(failures)]
