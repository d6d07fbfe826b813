"""The benchmark from records to figures."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.chemistry.line import comparable
from beamscore.metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from beamscore.metrics.chemistry.regions import read_line
from beamscore.metrics.common.budget import Budget
from tests.generate.chemistry import molecule, sample, write_chemfig, write_ssml
from tests.plain_loop import make_benchmark, read_records, score_records, total

CORPUS = Path(__file__).parents[2] / "corpora" / "chemistry"
ETHANOL = "\\chemfig{CH_3-[1]CH_2-[7]OH}"
ETHANOL_SSML = "\\chemfig { C H _ { 3 } -[:45.0,1.0] C H _ { 2 } -[:315.0,1.0] O H }"


def score(truth: str, prediction: str | None, **options: Any) -> SampleScore:
    predicted = None if prediction is None else ChemistryPrediction(prediction)
    return make_benchmark("chemistry", **options).score_sample(ChemistryTruth(truth), predicted)


@pytest.mark.parametrize(
    ("truth", "prediction", "exact", "structure", "molecules"),
    [
        (f"2 {ETHANOL}", f"2 {ETHANOL}", 1, 1, 1),
        (f"2 {ETHANOL}", f"2{ETHANOL_SSML}", 1, 1, 1),
        (f"2 {ETHANOL}", f"3 {ETHANOL}", 0, 1, 1),
        (f"2 {ETHANOL}", "2 \\chemfig{CH_3-[1]CH_2-[7]Cl}", 0, 0, 0),
        (f"2 {ETHANOL}", "2", 0, 0, 0),
        (f"2 {ETHANOL}", f"2 {ETHANOL}{ETHANOL}", 0, 0, 0),
        (f"2 {ETHANOL}", None, 0, 0, 0),
        # Without any region the structure is right, and there are no molecules to be right, whatever is predicted.
        ("H_2O", "H_2", 0, 1, None),
        ("H_2O", "H_2O", 1, 1, None),
        ("H_2O", None, 0, 0, None),
        ("H_2O", ETHANOL, 0, 0, None),
        # A straight chain is text: drawn or written it is the same.
        ("\\chemfig{H-Cl}", "H-Cl", 1, 1, None),
        # What cannot be read is wrong.
        (f"2 {ETHANOL}", "2 \\chemfig{CH_3-[1}", 0, 0, 0),
        # Regions pair up in order.
        (f"{ETHANOL}\\chemfig{{A-[2]B}}", f"\\chemfig{{A-[2]B}}{ETHANOL}", 0, 0, 0),
    ],
)
def test_exact_match_and_structure_exact_match(
    truth: str, prediction: str | None, exact: int, structure: int, molecules: int | None
) -> None:
    result = score(truth, prediction)
    names = ("exact_match", "structure_exact_match", "structure_exact_match_molecules")
    assert [result.metrics[name] for name in names] == [exact, structure, molecules]
    # Beside another sample, without a molecule and right: of two samples both count, or one has a molecule.
    values = make_benchmark("chemistry").values(total([result, score("x", "x")]))
    assert [values[name] for name in names] == [(exact + 1) / 2, (structure + 1) / 2, molecules]


comments = st.lists(st.sampled_from(["\\chemfig", "{A-[2]B}", "{", "}", "[", "branch(", "\\", "%", "x "]), max_size=5)


@settings(max_examples=100)
@given(st.integers(0, 10**9), st.data())
def test_a_line_equals_itself_with_comments(seed: int, data: st.DataObject) -> None:
    rng = random.Random(seed)
    graph = molecule(rng)
    start = rng.randrange(len(graph.texts))
    first, second = rng.choice([write_ssml(graph), write_chemfig(graph)]), write_chemfig(graph, start, rng)
    line = f"2 H \\alpha beta {first} + {second} \\, x"
    places = data.draw(st.lists(st.integers(0, line.count(" ") - 1), max_size=3, unique=True))
    pieces = line.split(" ")
    for place in places:
        pieces[place] += f"%{''.join(data.draw(comments))}\n"
    commented = " ".join(pieces)
    for truth, prediction in ((line, commented), (commented, line)):
        assert score(truth, prediction, max_angle_deviation=None).metrics["exact_match"] == 1


def test_token_accuracy_is_over_the_corpus() -> None:
    # a b c d against a x c: one substitution, one deletion of 4 tokens; nothing predicted: 1 deletion of 1; both: 5.
    first, second = score("a b c d", "a x c"), score("e", None)
    assert first.metrics["token_accuracy"] == 1 - 2 / 4
    assert make_benchmark("chemistry").values(total([first, second]))["token_accuracy"] == pytest.approx(1 - 3 / 5)
    # Insertions count, too, so the accuracy can be negative.
    assert score("a", "a b c").metrics["token_accuracy"] == 1 - 2 / 1
    assert score("CH_3", "CH_2", tokens="latex").metrics["token_accuracy"] == 1 - 1 / 4
    assert score("", "").metrics["token_accuracy"] is None
    # An ideographic blank is a character.
    assert score("a\u3000b c", "a b c").metrics["token_accuracy"] == 1 - 2 / 2


def test_details_say_which_molecule_failed_and_why() -> None:
    details = score(f"{ETHANOL}\\chemfig{{A-[2]B}} x", f"{ETHANOL}\\chemfig{{A=[2]B}} y").details
    assert [(verdict.molecule, verdict.equal) for verdict in details.molecules] == [(1, True), (2, False)]
    assert "'-' in the ground truth, '=' in the prediction" in details.molecules[1].difference
    assert "x' in the ground truth" in details.text_difference
    msgspec.json.encode(details)


@pytest.mark.parametrize("protocol", ["published", "released"])
@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ("x \\chemfig{A-[:up]B}", "at character 13 of the text: expected an angle"),
        ("x %{\n\\chemfig{A-[:up]B}", "at character 16 of the text: expected an angle"),
        ("\\chemfig { A", "a \\\\chemfig region cannot be read: at character"),
    ],
)
def test_a_ground_truth_that_cannot_be_read_leaves_the_score(protocol: str, truth: str, said: str) -> None:
    for prediction in ("x", None):
        with pytest.raises(RejectedRecord, match=said) as rejected:
            score(truth, prediction, protocol=protocol)
        assert rejected.value.side == "ground_truth"


def test_a_long_text_is_rejected() -> None:
    with pytest.raises(RejectedRecord, match="text has 11 characters, above max_characters=10") as rejected:
        score("x", "x" * 11, max_characters=10)
    assert rejected.value.side == "prediction"


@pytest.mark.parametrize(("times", "side"), [((30, 1), "ground_truth"), ((1, 30), "prediction"), ((3, 3), "sample")])
def test_too_much_work_rejects_what_takes_too_long_to_read_or_the_sample(times: tuple[int, int], side: str) -> None:
    limit = _steps(ETHANOL * 3) - 1
    with pytest.raises(RejectedRecord, match=f"max_steps={limit}") as rejected:
        score(ETHANOL * times[0], ETHANOL * times[1], max_steps=limit)
    assert rejected.value.side == side


def _steps(text: str) -> int:
    """The steps of reading a line on both sides and comparing the molecules."""
    budget = Budget(10**9)
    make_benchmark("chemistry").compared(ChemistryTruth(text), ChemistryPrediction(text), budget)  # type: ignore[attr-defined]
    return budget.steps


@pytest.mark.parametrize(
    "options",
    [{"max_angle_deviation": -1}, {"max_steps": 0}, {"tokens": "words"}, {"unknown": 1}],
)
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        make_benchmark("chemistry", **options)


HOSTILE = [
    "\\chemfig{" * 2000,
    "\\chemfig{" * 2000 + "A" + "}" * 2000,
    "\\chemfig{A" + "(-B" * 2000,
    "\\chemfig{" + "(" * 5000 + ")" * 5000 + "}",
    "\\chemfig { " + "branch( " * 5000 + "}",
    "\\chemfig { " + "A -[:0,0] " * 3000 + "}",
    "\\chemfig{" + "?[a]" * 3000 + "}",
    "\\chemfig{*500(" + "-" * 500 + ")}",
    "\\chemfig{" + "**6(------)" * 500 + "}",
    "\\chemfig{A-[:nan,inf]B}",
    "\\chemfig{A-[:" + "9" * 400 + "]B}",
    "\\definesubmol{x}9{" + "#1" * 1000 + "}" + "\\chemfig{!{x}" + "{A}" * 9 + "}" * 3,
    "\x00\ud800".encode("utf-8", "replace").decode() * 100,
    "\\overset" * 5000,
    "^" * 5000,
    "\\chemfig{A-[:1" + "(" * 30 + "]B}",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_predictions_are_wrong_or_rejected_within_a_million_steps(text: str) -> None:
    truth = ChemistryTruth(f"{ETHANOL}\\chemfig{{**6(------)}}")
    benchmark = make_benchmark("chemistry", max_steps=1_000_000)
    (result,) = benchmark.score([Pair("s", truth, ChemistryPrediction(text))])
    if isinstance(result, RejectedRecord):
        assert result.side in ("prediction", "sample")
        assert len(result.message) < 400
    else:
        assert result.metrics["exact_match"] == 0


def steps_of(text: str, normalizes: bool) -> int:
    """The work of reading a line and making it comparable."""
    budget, protocol = Budget(10**9), False
    comparable(read_line(text, protocol, budget), protocol, normalizes, budget)
    return budget.steps


@pytest.mark.parametrize(
    "piece",
    ["\\definesubmol{a}{", "\\definesubmol{a}[", "\\chemfig a", "\\xrightarrow [", "\\charge[", "{", "\\chemfig {}"],
)
def test_lines_that_repeat_take_work_by_their_length(piece: str) -> None:
    short, long = steps_of(piece * 200, True), steps_of(piece * 2000, True)
    assert long < 11 * short


def test_the_edit_distance_of_the_line_is_charged_before_it_is_done() -> None:
    # 3,000 tokens a side: 9,000,000 pairs at 5,000 in a step, and 2 for each token, beside what reading takes.
    text, wordless = "a b " * 1500, "ab" * 1500 + " " * 3000
    distance = 9_000_000 // 5_000 + 2 * 6_000
    reading = 2 * steps_of(text, False)
    assert score(text, text, max_steps=reading + distance).metrics["token_accuracy"] == 1
    with pytest.raises(RejectedRecord, match="max_steps"):
        score(text, text, max_steps=reading + distance - 1)
    assert score(wordless, wordless, max_steps=reading + 10).metrics["token_accuracy"] == 1


def test_stacks_within_each_other_are_written_once() -> None:
    # Each level used to double the work: 2**50.
    text = ETHANOL + "\\overset{a}{x" * 50 + "}" * 50
    assert score(text, text).metrics["exact_match"] == 1


def test_arguments_are_bounded_before_they_are_put_in_place() -> None:
    # 20,000 times 50,000 characters would be a gigabyte.
    text = "\\definesubmol{a}9{" + "#1" * 20_000 + "}\\chemfig{-!{a}{" + "A" * 50_000 + "}}"
    details = score(ETHANOL, text).details
    assert "submolecules that write at most 100000 characters" in details.prediction_problems[0]


def test_the_shipped_corpus_is_made_by_the_generator_and_scores() -> None:
    truths, predictions = read_records(CORPUS / "ground_truth.jsonl"), read_records(CORPUS / "predictions.jsonl")
    made = [sample(index, 1) for index in range(len(truths))]
    assert [json.loads(text) for text in truths.values()] == [truth for truth, _ in made]
    assert [json.loads(text) for text in predictions.values()] == [pred for _, pred in made if pred is not None]
    benchmark = make_benchmark("chemistry")
    scores = score_records(benchmark, truths, predictions)
    for (_, prediction), result in zip(made, scores.values(), strict=True):
        assert isinstance(result, SampleScore)
        error = prediction["error"] if prediction is not None else "none"
        expected = (1, 1) if error in ("right", "rewritten", "turned") else (0, int(error == "text"))
        assert (result.metrics["exact_match"], result.metrics["structure_exact_match"]) == expected, error
    right = sum(p is not None and p["error"] in ("right", "rewritten", "turned") for _, p in made)
    assert benchmark.values(total(scores.values()))["exact_match"] == right / len(made)


def test_a_sample_is_drawn() -> None:
    benchmark = make_benchmark("chemistry")
    for index in range(40):
        truth, prediction = sample(index, 2)
        record = None if prediction is None else ChemistryPrediction(prediction["text"])
        svg = ElementTree.fromstring(benchmark.draw(ChemistryTruth(truth["text"]), record))
        assert svg.tag == "{http://www.w3.org/2000/svg}svg"


def test_a_picture_tells_matched_from_differing_and_escapes() -> None:
    benchmark = make_benchmark("chemistry")
    picture = benchmark.draw(ChemistryTruth("<&\x01> \\chemfig{A-[2]B}"), ChemistryPrediction("\\chemfig{A-[2]<&>C}"))
    assert "<script" not in picture
    assert "&lt; &amp; \ufffd &gt;" in picture
    shapes = {element.tag.split("}")[1] for element in ElementTree.fromstring(picture)}
    assert shapes == {"text", "polyline", "circle", "path", "rect"}
    ElementTree.fromstring(benchmark.draw(ChemistryTruth("\\chemfig{A-[2]B}"), ChemistryPrediction("\\chemfig{{}}")))
    ElementTree.fromstring(benchmark.draw(ChemistryTruth("\\chemfig{A-[2]B}"), ChemistryPrediction("\\chemfig{A-[")))
