"""The benchmark from the competition's files and records to values, what it refuses, and its pictures."""

from __future__ import annotations

import io
import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.chemistry.converter import ChemistryConverter
from beamscore.metrics.chemistry.draw import atom_label
from beamscore.metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.common.svg import EXTRA, MISSED
from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.statistics.sums import Sums
from tests.abuse.chemistry import SIDES
from tests.generate.chemistry import sample
from tests.metrics.chemistry.helpers import PROTOCOLS, SEEDS, score
from tests.plain_loop import make_benchmark, read_records, score_records, total

SVG = "{http://www.w3.org/2000/svg}"
CORPUS = Path(__file__).parents[2] / "corpora" / "chemistry"
ETHANOL = "\\chemfig{CH_3-[1]CH_2-[7]OH}"
AB = "\\chemfig{A-[2]B}"


@pytest.mark.parametrize(
    ("truth", "prediction", "exact", "structure", "molecules"),
    [
        (f"2 {ETHANOL}", "2\\chemfig { C H _ { 3 } -[:45.0,1.0] C H _ { 2 } -[:315.0,1.0] O H }", 1, 1, 1),
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
        (f"{ETHANOL}{AB}", f"{AB}{ETHANOL}", 0, 0, 0),
    ],
)
def test_exact_match_and_structure_exact_match(
    truth: str, prediction: str | None, exact: int, structure: int, molecules: int | None
) -> None:
    result = score(truth, prediction)
    names = ("exact_match", "structure_exact_match", "structure_exact_match_molecules")
    assert [result.metrics[name] for name in names] == [exact, structure, molecules]
    # With another sample, without a molecule and right: of two samples both count, or one has a molecule.
    values = make_benchmark("chemistry").values(total([result, score("x", "x")]))
    assert [values[name] for name in names] == [(exact + 1) / 2, (structure + 1) / 2, molecules]
    assert [spec.name for spec in make_benchmark("chemistry").sample_metrics if spec.binary] == [*names]


def test_token_accuracy_is_over_the_corpus() -> None:
    # a b c d against a x c: one substitution, one deletion of 4 tokens; nothing predicted: 1 deletion of 1; both: 5.
    first, second = score("a b c d", "a x c"), score("e", None)
    assert first.metrics["token_accuracy"] == 1 - 2 / 4
    assert make_benchmark("chemistry").values(total([first, second]))["token_accuracy"] == pytest.approx(1 - 3 / 5)
    # Insertions count, too, so the accuracy can be negative.
    assert score("a", "a b c").metrics["token_accuracy"] == 1 - 2 / 1
    assert score("CH_3", "CH_2", tokens="latex").metrics["token_accuracy"] == 1 - 1 / 4
    # An ideographic blank is a character.
    assert score("a\u3000b c", "a b c").metrics["token_accuracy"] == 1 - 2 / 2


def test_details_say_which_molecule_failed_and_why() -> None:
    details = score(f"{ETHANOL}{AB} x", f"{ETHANOL}\\chemfig{{A=[2]B}} y").details
    assert [(verdict.molecule, verdict.equal) for verdict in details.molecules] == [(1, True), (2, False)]
    assert "'-' in the ground truth, '=' in the prediction" in details.molecules[1].difference
    assert "x' in the ground truth" in details.text_difference
    msgspec.json.encode(details)


def steps(text: str) -> int:
    """The steps of reading a line on both sides and comparing the molecules."""
    budget = Budget(10**9)
    make_benchmark("chemistry").compared(ChemistryTruth(text), ChemistryPrediction(text), budget)  # type: ignore[attr-defined]
    return budget.steps


# 3,000 tokens a side: 9,000,000 pairs at 5,000 in a step, and 2 for each token, beside what reading takes.
TOKENS = "a b " * 1500
STEPS_OF_TOKENS = steps(TOKENS) + 9_000_000 // 5_000 + 2 * 6_000
FEW = steps(ETHANOL * 3) - 1


@pytest.mark.parametrize(
    ("truth", "prediction", "options", "side", "said"),
    [
        *(
            (truth, prediction, {"protocol": protocol}, "ground_truth", said)
            for protocol in PROTOCOLS
            for prediction in ("x", None)
            for truth, said in (
                ("x %{\n\\chemfig{A-[:up]B}", "at character 16 of the text: expected an angle"),
                ("\\chemfig { A", "a \\\\chemfig region cannot be read: at character"),
            )
        ),
        ("x", "x" * 11, {"max_characters": 10}, "prediction", "text has 11 characters, above max_characters=10"),
        # What takes too long to read, or both.
        (ETHANOL * 30, ETHANOL, {"max_steps": FEW}, "ground_truth", f"max_steps={FEW}"),
        (ETHANOL, ETHANOL * 30, {"max_steps": FEW}, "prediction", f"max_steps={FEW}"),
        (ETHANOL * 3, ETHANOL * 3, {"max_steps": FEW}, "sample", f"max_steps={FEW}"),
        (TOKENS, TOKENS, {"max_steps": STEPS_OF_TOKENS - 1}, "sample", "max_steps"),
    ],
)
def test_what_is_rejected(truth: str, prediction: str, options: dict[str, Any], side: str, said: str) -> None:
    with pytest.raises(RejectedRecord, match=said) as rejected:
        score(truth, prediction, **options)
    assert rejected.value.side == side


@pytest.mark.parametrize("name", SIDES)
def test_the_worst_lines_are_wrong_or_rejected_within_a_million_steps(name: str) -> None:
    """`make abuse` says what they cost at full length."""
    text = SIDES[name][:2_000] + SIDES[name][-2_000:]
    benchmark = make_benchmark("chemistry", max_steps=1_000_000)
    (result,) = benchmark.score([Pair("s", ChemistryTruth(ETHANOL), ChemistryPrediction(text))])
    if isinstance(result, RejectedRecord):
        assert result.side in ("prediction", "sample")
        assert len(result.message) < 400
    else:
        assert result.metrics["exact_match"] == 0


def test_work_that_would_double_or_multiply_is_not_done() -> None:
    assert score(TOKENS, TOKENS, max_steps=STEPS_OF_TOKENS).metrics["token_accuracy"] == 1
    # Each level of a stack within another would double the work: 2**50.
    text = ETHANOL + "\\overset{a}{x" * 50 + "}" * 50
    assert score(text, text).metrics["exact_match"] == 1
    # 20,000 times 50,000 characters would be a gigabyte.
    (problem,) = score(ETHANOL, SIDES["arguments of arguments"]).details.prediction_problems
    assert "submolecules that write at most 100000 characters" in problem


BIG = {
    "drifting chain": "".join(f"-[:{30 + n % 7}]-[:{-30 - n % 5}]" for n in range(250)),
    "random": "".join(f"-[:{n * 137 % 360}]{'CNOS'[n * 7 % 4]}(-[:{n * 71 % 360}]{'HF'[n % 2]})" for n in range(250)),
    "fused rings": "*6(--" * 95 + "*6(-----)" + "----)" * 95,
}


@pytest.mark.parametrize("name", BIG)
def test_molecules_of_500_atoms_take_less_than_half_of_the_steps(name: str) -> None:
    turned, changed = "[:4]" + BIG[name], BIG[name][::-1].replace("-", "=", 1)[::-1]
    for prediction, verdict in ((turned, 1), (changed, 0)):
        result = score(f"\\chemfig{{{BIG[name]}}}", f"\\chemfig{{{prediction}}}", max_steps=1_500_000)
        assert result.metrics["exact_match"] == verdict


def test_the_shipped_corpus_is_made_by_the_generator_and_scores() -> None:
    truths, predictions = read_records(CORPUS / "ground_truth.jsonl"), read_records(CORPUS / "predictions.jsonl")
    made = [sample(index, 1) for index in range(len(truths))]
    assert [json.loads(text) for text in truths.values()] == [truth for truth, _ in made]
    assert [json.loads(text) for text in predictions.values()] == [pred for _, pred in made if pred is not None]
    benchmark = make_benchmark("chemistry")
    scores = score_records(benchmark, truths, predictions)
    for (truth, prediction), result in zip(made, scores.values(), strict=True):
        assert isinstance(result, SampleScore)
        error = prediction["error"] if prediction is not None else "none"
        expected = [1, 1] if error in ("right", "rewritten", "turned") else [0, int(error == "text")]
        assert [result.metrics[name] for name in ("exact_match", "structure_exact_match")] == expected, error
        record = None if prediction is None else ChemistryPrediction(prediction["text"])
        ElementTree.fromstring(benchmark.draw(ChemistryTruth(truth["text"]), record))


def picture(truth: str, prediction: str) -> ElementTree.Element:
    svg = make_benchmark("chemistry").draw(ChemistryTruth(truth), ChemistryPrediction(prediction))
    return ElementTree.fromstring(svg)


def test_a_bond_is_drawn_46_pixels_long_between_its_atoms_in_as_many_lines_as_it_has() -> None:
    drawn = picture("\\chemfig{A=[:30]B}", "\\chemfig{A=[:30]B}")
    atoms = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in drawn.iter(f"{SVG}circle")]
    (ax, ay), (bx, by) = atoms[:2]
    # A is at the left margin of 16 pixels, and below B.
    assert (ax, bx - ax, ay - by) == pytest.approx((16, 46 * math.cos(math.pi / 6), 23), abs=0.1)
    lines = [each.attrib["points"] for each in drawn.iter(f"{SVG}polyline")][-4:-2]
    for points, shift in zip(lines, (-2.5, 2.5), strict=True):
        # Across the bond: half of it to the right, and the rest down.
        moved = [(x + shift / 2, y + shift * math.cos(math.pi / 6)) for x, y in ((ax, ay), (bx, by))]
        assert [float(each) for each in points.replace(",", " ").split()] == pytest.approx([*sum(moved, ())], abs=0.15)


def test_atoms_of_one_side_alone_are_missed_or_extra_and_texts_are_escaped() -> None:
    for texts, color in (((AB, "\\chemfig{A-[2]B-[2]C}"), EXTRA.color), (("\\chemfig{A-[2]C}", AB[:-2]), MISSED.color)):
        drawn = picture(*texts).iter(f"{SVG}text")
        assert [each.get("fill") for each in drawn if each.text == "C"] == [color]
    shown = "".join(picture(f"<&\x01> {AB}", "\\chemfig{A-[2]<&>C}").itertext())
    assert "ground truth: < & \ufffd > \\chemfig1" in shown
    labels = {"CH_{3}": "CH₃", "NH_4^+": "NH₄⁺", "SO_{3}^{2-}": "SO₃²⁻", "C_{10}H_{8}": "C₁₀H₈", "C_{}^{a}": "C_{}^{a}"}
    assert {text: atom_label(text) for text in labels} == labels


OPTIONS: list[dict[str, Any]] = [
    {"protocol": "published"},
    {"protocol": "released"},
    {"max_angle_deviation": 0, "normalize_text": True, "tokens": "latex"},
]
PIECES = [*"CHO-=~<>()[]{}*6?:,.01^!@#|% \n", "**6(", "\\chemfig", "branch(", "branch)", "-[:30]", "?[a]", "\\circle"]


def check_perfect(texts: list[str], options: dict[str, Any]) -> int:
    """Scores each text against itself; returns how many were scored, as a ground truth may be unreadable."""
    benchmark = make_benchmark("chemistry", **options)
    pairs = [Pair(text, ChemistryTruth(text), ChemistryPrediction(text)) for text in texts]
    scored = 0
    for text, result in zip(texts, benchmark.score(pairs), strict=True):
        if isinstance(result, RejectedRecord):
            assert result.side == "ground_truth", text
            continue
        scored += 1
        # What there is none of in a text is not measured: tokens, molecules.
        empty = {"token_accuracy": not text.split(), "structure_exact_match_molecules": not result.details.molecules}
        for metrics in (result.metrics, benchmark.values(Sums.of(result.statistics))):
            assert metrics == {name: None if empty.get(name) else 1 for name in metrics}, text
    return scored


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=40)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(("", " ")), SEEDS)
def test_any_line_is_scored_and_equals_itself_where_it_can_be_read(
    options: dict[str, Any], pieces: list[str], blank: str, seed: int
) -> None:
    made = blank.join(pieces)
    # Of generated lines a part is left out, repeated, or put last.
    rng, tokens = random.Random(seed), sample(0, seed)[0]["text"].split(" ")
    first, last = sorted(rng.choices(range(len(tokens)), k=2))
    changed = ([*tokens[:first], *tokens[last:]], [*tokens[:last], *tokens[first:]], [*tokens[first:], *tokens[:first]])
    assert check_perfect([" ".join(tokens)], options) == 1
    check_perfect([made, f"\\chemfig {{ {made} }}", *map(" ".join, changed)], options)
    assert score("\\chemfig{A-[1]B}", f"\\chemfig {{ {made} }}", **options).metrics["exact_match"] in (0, 1)


def test_the_four_starts_of_the_tool_may_miss_a_drawing_in_which_many_atoms_look_alike() -> None:
    # A spine with eleven equal limbs at uneven distances; the molecule before it moves the numbers of its atoms.
    limb = "branch( -[:0] branch( -[:90] -[:90] -[:90] branch) -[:270] -[:270] -[:270] branch)"
    spine = " ".join("-[:90] " * gap + limb for gap in (9, 10, 11, 9, 12, 10, 11, 12, 9, 9, 10))
    text = f"\\chemfig {{ A {'-[:90] ' * 14}}} \\chemfig {{ {spine} {'-[:90] ' * 9}}}"
    for options, equal in (({}, [True, True]), ({"protocol": "released"}, [True, False])):
        assert [molecule.equal for molecule in score(text, text, **options).details.molecules] == equal


ANNOTATION = json.dumps({"chemfig": "\\chemfig{A-[2]B}", "ssml_normed": "\\chemfig { A -[:90] B }", "ssml_sd": "浓"})
LINES = "\ufeffimages/train_1.jpg\tH _ { 2 } O\r\n\nno tab\ntrain_2.jpg\t浓\ttab\n"


@pytest.mark.parametrize(
    ("role", "path", "content", "expected"),
    [
        ("lines", "a.txt", LINES, [("train_1", "H _ { 2 } O"), "a.txt, line 3: expected", ("train_2", "浓\ttab")]),
        ("lines", "a.txt", "\tH\n", ["a.txt, line 1: expected image<TAB>string"]),
        ("lines", "a.txt", b"a\t\xff\nb\tO", ["a.txt, line 1: not UTF-8", ("b", "O")]),
        ("json", "train/train_7.json", ANNOTATION, [("train_7", "\\chemfig { A -[:90] B }")]),
        ("json_chemfig", "train\\train_7.json", ANNOTATION, [("train_7", "\\chemfig{A-[2]B}")]),
        ("json_ssml_sd", "train_7.json", ANNOTATION, [("train_7", "浓")]),
        ("json", "a.json", "{", ["a.json: not JSON"]),
        ("json", "a.json", b"\xff", ["a.json: not JSON"]),
        ("json", "a.json", "[]", ["expected an object with the string 'ssml_normed'"]),
        ("json_chemfig", "a.json", '{"chemfig": 1}', ["expected an object with the string 'chemfig'"]),
        ("json", "a.json", '{"ssml_normed": "\\ud800"}', ["half of a surrogate pair"]),
    ],
)
def test_files_become_records_and_what_cannot_be_read_says_where(
    role: str, path: str, content: str | bytes, expected: list[Any]
) -> None:
    converter = ChemistryConverter()
    parts: Iterator[Any] = iter(
        converter.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content))
    )
    for wanted in expected:
        if isinstance(wanted, tuple):
            key, text = next(parts)
            assert [*converter.records(key, [Part(role, path, text)])] == [{"sample_id": wanted[0], "text": wanted[1]}]
        else:
            with pytest.raises(UnreadableSource, match=re.escape(wanted)):
                raise next(parts)
    assert not [*parts]


def test_a_sample_that_comes_twice_is_an_error() -> None:
    twice = [Part("lines", "a.txt", b"x"), Part("lines", "b.txt", b"y")]
    with pytest.raises(UnreadableSource, match=r"'s' comes 2 times: a.txt \(lines\), b.txt \(lines\)"):
        list(ChemistryConverter().records("s", twice))
