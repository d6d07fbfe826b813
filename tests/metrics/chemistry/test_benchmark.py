"""The benchmark from the competition's files and records to values, what it refuses, and its pictures."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.chemistry.comparison import compare_lines
from beamscore.metrics.chemistry.converter import ChemistryConverter
from beamscore.metrics.chemistry.draw import atom_label
from beamscore.metrics.chemistry.records import ChemistryOptions
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.statistics.sums import Sums
from tests.abuse.chemistry import SIDES
from tests.generate.chemistry import sample
from tests.laws import tries
from tests.metrics.chemistry.helpers import PROTOCOLS, SEEDS, score
from tests.metrics.samples import SVG, assert_converted, drawn, records, rejection
from tests.plain_loop import make_benchmark, total

ETHANOL = "\\chemfig{CH_3-[1]CH_2-[7]OH}"
NEAR = "\\chemfig{%s-[,,,,draw=none]^-O-[:30]C}"
AB = "\\chemfig{A-[2]B}"


def test_exact_match_and_structure_exact_match() -> None:
    names = ("exact_match", "structure_exact_match", "structure_exact_match_molecules")
    for truth, prediction, exact, structure, molecules in [
        (f"2 {ETHANOL}", f"3 {ETHANOL}", 0, 1, 1),
        (f"2 {ETHANOL}", "2", 0, 0, 0),
        (f"2 {ETHANOL}", f"2 {ETHANOL}{ETHANOL}", 0, 0, 0),
        (f"2 {ETHANOL}", None, 0, 0, 0),
        # Without any region the structure is right, and there are no molecules to be right, whatever is predicted.
        ("H_2O", "H_2", 0, 1, None),
        ("H_2O", None, 0, 0, None),
        ("H_2O", ETHANOL, 0, 0, None),
        # An atom that no bond is drawn to, such as a counter-ion, is an atom.
        (NEAR % "Na^+", NEAR % "Na^+", 1, 1, 1),
        (NEAR % "Na^+", NEAR % "K^+", 0, 0, 0),
        (NEAR % "Na^+", "\\chemfig{^-O-[:30]C}", 0, 0, 0),
        # Regions pair up in order.
        (f"{ETHANOL}{AB}", f"{AB}{ETHANOL}", 0, 0, 0),
    ]:
        result = score(truth, prediction)
        assert [result.metrics[name] for name in names] == [exact, structure, molecules], (truth, prediction)
        # With another sample, without a molecule and right: of two samples both count, or one has a molecule.
        values = make_benchmark("chemistry").values(total([result, score("x", "x")]))
        assert [values[name] for name in names] == [(exact + 1) / 2, (structure + 1) / 2, molecules]
    assert [*score("x", "```latex\nx\n```").coverage] == [*make_benchmark("chemistry").coverage_warnings] != []


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


def test_details_say_in_words_which_molecule_failed_and_why() -> None:
    benchmark = make_benchmark("chemistry")

    def explained(truth: str, prediction: str) -> list[str]:
        return benchmark.explain(json.loads(msgspec.json.encode(score(truth, prediction).details)))

    problem = "at character 55 of the text: expected an angle between -1e+06 and 1e+06 instead of 'x'"
    assert explained(f"{ETHANOL}{AB}\\chemfig {{ }}a", f"{ETHANOL}\\chemfig{{A=[2]B}}\\chemfig{{A-[:x]B}}b{AB}") == [
        "1 of 4 molecules are equal",
        "molecule 2: the bond from atom 1 'A' to atom 2 'B': '-' in the ground truth, '=' in the prediction",
        f"molecule 3: the prediction cannot be read: {problem}",
        "molecule 4: the ground truth has no such molecule",
        # Three tokens before the first that differs, and four after it.
        r"the text differs: '\chemfig1 \chemfig2 \chemfig3 a' in the ground truth, "
        r"'\chemfig1 \chemfig2 \chemfig3 b \chemfig4' in the prediction",
        problem,
    ]
    assert explained(f"{AB}\\chemfig {{ }}", f"a b c d{AB}")[1:] == [
        "molecule 2: the prediction has no such molecule",
        r"the text differs: '\chemfig1 \chemfig2' in the ground truth, 'a b c d \chemfig1' in the prediction",
    ]
    assert explained(f"\\chemfig {{ }}{AB}", AB * 2)[1] == "molecule 1: the ground truth draws nothing"
    assert explained("abc", "abcdefghi") == [
        "0 of 0 molecules are equal",
        "the text differs: the end after 'a b c' in the ground truth, 'a b c d e f g h' in the prediction",
    ]
    assert explained(AB, AB) == ["1 of 1 molecules are equal", "the text is equal"]


def outcome(truth: str, prediction: str, **options: Any) -> SampleScore | RejectedRecord:
    pair = Pair("", *records("chemistry", {"text": truth}, {"text": prediction}))
    (result,) = make_benchmark("chemistry", **options).score([pair])
    return result


def steps(text: str) -> int:
    """The steps of reading a line on both sides and comparing the molecules."""
    budget, sides = Budget(10**9), records("chemistry", {"text": text}, {"text": text})
    compare_lines(*sides, ChemistryOptions(), budget)
    return budget.steps


# 3,000 tokens a side: 9,000,000 pairs at 5,000 in a step, and 2 for each token, beside what reading takes.
TOKENS = "a b " * 1500
STEPS_OF_TOKENS = steps(TOKENS) + 9_000_000 // 5_000 + 2 * 6_000
FEW = steps(ETHANOL * 3) - 1


REJECTED: list[tuple[str, str | None, dict[str, Any], str, str]] = [
    *(
        (truth, prediction, {"protocol": protocol}, "ground_truth", said)
        for protocol in PROTOCOLS
        for prediction in ("x", None)
        for truth, said in (
            ("x %{\n\\chemfig{A-[:up]B}", "at character 16 of the text: expected an angle"),
            ("\\chemfig { A", "a \\chemfig region cannot be read: at character"),
        )
    ),
    ("x", "x" * 11, {"max_characters": 10}, "prediction", "text has 11 characters, above max_characters=10"),
    # What takes too long to read, or both.
    (ETHANOL * 30, ETHANOL, {"max_steps": FEW}, "ground_truth", f"max_steps={FEW}"),
    (ETHANOL, ETHANOL * 30, {"max_steps": FEW}, "prediction", f"max_steps={FEW}"),
    (ETHANOL * 3, ETHANOL * 3, {"max_steps": FEW}, "sample", f"max_steps={FEW}"),
    (TOKENS, TOKENS, {"max_steps": STEPS_OF_TOKENS - 1}, "sample", "max_steps"),
]


def test_what_is_rejected() -> None:
    for truth, prediction, options, side, said in REJECTED:
        sides = {"text": truth}, None if prediction is None else {"text": prediction}
        assert said in rejection("chemistry", side, *sides, **options)


@pytest.mark.parametrize("name", SIDES)
def test_the_worst_lines_are_wrong_or_rejected_within_a_million_steps(name: str) -> None:
    """`make abuse` says what they cost at full length."""
    result = outcome(ETHANOL, SIDES[name][:2_000] + SIDES[name][-2_000:], max_steps=10**6)
    if isinstance(result, RejectedRecord):
        assert result.side in ("prediction", "sample")
        assert len(result.message) < 400
    else:
        assert result.metrics["exact_match"] == 0


def test_work_that_would_double_or_multiply_is_not_done() -> None:
    assert score(TOKENS, TOKENS, max_steps=STEPS_OF_TOKENS).metrics["token_accuracy"] == 1
    # 20,000 times 50,000 characters would be a gigabyte.
    (problem,) = score(ETHANOL, SIDES["arguments of arguments"]).details["prediction_problems"]
    assert "submolecules that write at most 100000 characters" in problem


def test_molecules_of_500_atoms_take_less_than_half_of_the_steps() -> None:
    chain = "".join(f"-[:{n * 137 % 360}]{'CNOS'[n * 7 % 4]}(-[:{n * 71 % 360}]{'HF'[n % 2]})" for n in range(250))
    for big in ("-[:30]-[:-30]" * 250, chain, "*6(--" * 95 + "*6(-----)" + "----)" * 95):
        for prediction, verdict in (("[:4]" + big, 1), (big[::-1].replace("-", "=", 1)[::-1], 0)):
            found = score(f"\\chemfig{{{big}}}", f"\\chemfig{{{prediction}}}", max_steps=1_500_000).metrics
            assert found["exact_match"] == verdict


def test_a_drawing_says_what_draws_nothing_and_scales_what_is_large() -> None:
    """All else is in the drawings of the sample corpus."""
    truth = {"text": f"<&\x01> \\chemfig {{ }}{AB[:-1]}-[1,9]C_{{10}}^{{2-}}}}"}
    found = list(drawn("chemistry", truth, {"text": f"{AB}{AB}"}).iter(f"{SVG}text"))[4:]
    assert [each.text for each in found] == [
        *("ground truth: < & \ufffd > \\chemfig1 \\chemfig2", "prediction: \\chemfig1 \\chemfig2"),
        *("molecule 1: the ground truth draws nothing", "cannot be read: it draws nothing", "A", "B"),
        "molecule 2: atom 2 'B': 2 bonds in the ground truth, 1 in the prediction",
        *("A", "B", "C₁₀²⁻", "A", "B"),
    ]
    # One of 9 bond lengths at 45 degrees is scaled to a column of 310 pixels with four margins of 16.
    (b_x, b_y), (c_x, c_y) = ([float(each.get(axis, 0)) for axis in "xy"] for each in found[8:10])
    assert (b_x, c_x - b_x, b_y - c_y) == (16 + 4, 310 - 4 * 16, 310 - 4 * 16)
    labels = {"CH_{3}": "CH₃", "NH_4^+": "NH₄⁺", "SO_{3}^{2-}": "SO₃²⁻", "C_{}^{a}": "C_{}^{a}"}
    assert {text: atom_label(text) for text in labels} == labels


PIECES = [*"CHO-=~<>()[]{}*6?:,.01^!@#|% \n", "**6(", "\\chemfig", "branch(", "branch)", "-[:30]", "?[a]", "\\circle"]


def check_perfect(text: str, **options: Any) -> bool:
    """Scores a text against itself; returns whether it was scored, as a ground truth may be unreadable."""
    result = outcome(text, text, **options)
    if isinstance(result, RejectedRecord):
        assert result.side == "ground_truth", text
        return False
    # What there is none of in a text is not measured: tokens, molecules.
    empty = {"token_accuracy": not text.split(), "structure_exact_match_molecules": not result.details["molecules"]}
    for metrics in (result.metrics, make_benchmark("chemistry").values(Sums.of(result.statistics))):
        assert metrics == {name: None if empty.get(name) else 1 for name in metrics}, text
    return True


OPTIONS: list[dict[str, Any]] = [
    *({"protocol": protocol} for protocol in PROTOCOLS),
    {"max_angle_deviation": 0, "normalize_text": True, "tokens": "latex"},
]


@tries(120)
@given(st.sampled_from(OPTIONS), st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(("", " ")), SEEDS)
def test_any_line_is_scored_and_equals_itself_where_it_can_be_read(
    options: dict[str, Any], pieces: list[str], blank: str, seed: int
) -> None:
    made = blank.join(pieces)
    # Of generated lines a part is left out, repeated, or put last.
    rng, tokens = random.Random(seed), sample(0, seed)[0]["text"].split(" ")
    first, last = sorted(rng.choices(range(len(tokens)), k=2))
    assert check_perfect(" ".join(tokens), **options)
    for changed in (tokens[:first] + tokens[last:], tokens[:last] + tokens[first:], tokens[first:] + tokens[:first]):
        check_perfect(" ".join(changed), **options)
    for text in (made, f"\\chemfig {{ {made} }}"):
        check_perfect(text, **options)
    assert score("\\chemfig{A-[1]B}", f"\\chemfig {{ {made} }}", **options).metrics["exact_match"] in (0, 1)


ANNOTATION = json.dumps(
    {"chemfig": "\\chemfig{A-[2]B}", "ssml_normed": "\\chemfig { A -[:90] B }", "ssml_sd": "浓\u3000度"}
)
LINES = "\ufeffimages/train_1.jpg\t\tH _ { 2 } O\t\r\n\nno tab\na.jpg\tO\t0.9\ntrain_2.jpg\t浓\n"
OF_LINES = [("train_1", "\tH _ { 2 } O\t"), "line 3: expected", "line 4: expected", ("train_2", "浓")]

FILES: list[tuple[str, str, str | bytes, list[Any]]] = [
    ("lines", "a.txt", LINES, OF_LINES),
    ("lines", "a.txt", "\tH\r", ["a.txt, line 1: expected image<TAB>string"]),
    ("lines", "a.txt", b"a\t\xff\nb\tO", ["a.txt, line 1: not UTF-8", ("b", "O")]),
    ("lines", "a.txt", "a\tH\rx\nb\tO\rx", [("a", "H\rx"), ("b", "O\rx")]),
    ("lines", "a.txt", "a\tH\rb\tO\r", ["a.txt: its lines end with CR alone"]),
    ("json", "train/train_7.json", ANNOTATION, [("train_7", "\\chemfig { A -[:90] B }")]),
    ("json_chemfig", "train\\train_7.json", ANNOTATION, [("train_7", "\\chemfig{A-[2]B}")]),
    ("json_ssml_sd", "train_7.json", ANNOTATION, [("train_7", "浓\u3000度")]),
    ("json", "a.json", "{", ["a.json: not JSON"]),
    ("json", "a.json", b"\xff", ["a.json: not JSON"]),
    ("json", "a.json", "[]", ["expected an object with the string 'ssml_normed'"]),
    ("json_chemfig", "a.json", '{"chemfig": 1}', ["expected an object with the string 'chemfig'"]),
    ("json", "a.json", '{"ssml_normed": "\\ud800"}', ["half of a surrogate pair"]),
]


def test_files_become_records_and_what_cannot_be_read_says_where() -> None:
    for role, path, content, expected in FILES:
        assert_converted("chemistry", "text", role, path, content, expected)
    with pytest.raises(UnreadableSource, match="sample 's' comes 2 times: "):
        list(ChemistryConverter().records("s", [Part("lines", "a.txt", b"x")] * 2))
