"""A prediction equal to its ground truth scores 1 in every metric, but for the one case that the docs name."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import Pair, RejectedRecord
from beamscore.metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from beamscore.metrics.statistics.sums import Sums
from tests.generate.chemistry import sample
from tests.metrics.chemistry.helpers import line
from tests.plain_loop import make_benchmark

OPTIONS: list[dict[str, Any]] = [
    *({"protocol": protocol} for protocol in ("published", "released")),
    {"max_angle_deviation": 0, "normalize_text": True, "tokens": "latex"},
]
seeds = st.integers(min_value=0, max_value=10**9)
CHARACTERS = "()[]{}-=~<>:?*,.0169AO_^|!#@% \\é\u0301浓"


def check_perfect(texts: list[str], options: dict[str, Any]) -> int:
    """Scores each text against itself; returns how many were scored, as a ground truth may be unreadable."""
    benchmark = make_benchmark("chemistry", **options)
    pairs = [Pair(str(n), ChemistryTruth(text), ChemistryPrediction(text)) for n, text in enumerate(texts)]
    scored = 0
    for text, result in zip(texts, benchmark.score(pairs), strict=True):
        if isinstance(result, RejectedRecord):
            assert result.side == "ground_truth", text
            continue
        scored += 1
        for metrics in (dict(result.metrics), benchmark.values(Sums.of(result.statistics))):
            # What there is none of in a text is not measured: tokens, molecules.
            empty = {
                "token_accuracy": not text.split(),
                "structure_exact_match_molecules": not result.details.molecules,
            }
            assert metrics == {name: None if empty.get(name) else 1 for name in metrics}, text
    return scored


def damaged(text: str, rng: random.Random) -> str:
    """The text with tokens left out, repeated or exchanged, or a character put in."""
    tokens = text.split(" ")
    for _ in range(rng.choice((1, 2, 5))):
        first, second = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.choice(("drop", "repeat", "exchange", "character"))
        if kind == "drop" and len(tokens) > 1:
            del tokens[first]
        elif kind == "repeat":
            tokens.insert(second, tokens[first])
        elif kind == "exchange":
            tokens[first], tokens[second] = tokens[second], tokens[first]
        else:
            place = rng.randint(0, len(tokens[first]))
            tokens[first] = f"{tokens[first][:place]}{rng.choice(CHARACTERS)}{tokens[first][place:]}"
    return " ".join(tokens)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_lines_of_the_generator_equal_themselves(options: dict[str, Any]) -> None:
    texts = [sample(index, 7)[0]["text"] for index in range(150)]
    assert check_perfect(texts, options) == len(texts)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=40)
@given(seeds)
def test_damaged_lines_equal_themselves(options: dict[str, Any], seed: int) -> None:
    rng = random.Random(seed)
    made = [part for index in range(3) for part in sample(index, seed) if part is not None]
    check_perfect([damaged(part["text"], rng) for part in made for _ in range(2)], options)


PIECES = [*"CHO-=~<>()[]{}*6?:,.01^!@#|% \n", "**6(", "\\chemfig", "branch(", "branch)", "-[:30]", "?[a]", "\\circle"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(("", " ")), st.booleans())
def test_any_line_is_scored_and_equals_itself_where_it_can_be_read(
    options: dict[str, Any], pieces: list[str], blank: str, within: bool
) -> None:
    text = blank.join(pieces)
    line = f"\\chemfig {{ {text} }}" if within else text
    check_perfect([line], options)
    benchmark = make_benchmark("chemistry", **options)
    other = benchmark.score_sample(ChemistryTruth("\\chemfig{A-[1]B}"), ChemistryPrediction(line))
    assert other.metrics["exact_match"] in (0, 1)


def repetitive(before: int) -> str:
    """A spine with eleven equal limbs at uneven distances, in which each atom looks like several others.

    `before` bonds of a molecule before it move its atoms' numbers.
    """
    limb = "branch( -[:0] branch( -[:90] -[:90] -[:90] branch) -[:270] -[:270] -[:270] branch)"
    spine = " ".join("-[:90] " * gap + limb for gap in (9, 10, 11, 9, 12, 10, 11, 12, 9, 9, 10))
    return f"\\chemfig {{ A {'-[:90] ' * before}}} \\chemfig {{ {spine} {'-[:90] ' * 9}}}"


def test_the_four_starts_of_the_tool_may_miss_a_drawing_in_which_all_atoms_look_alike() -> None:
    texts = [repetitive(before) for before in (14, 21)]
    assert all(len(line(text).regions) == 2 for text in texts)
    assert check_perfect(texts, {}) == len(texts)
    tool = make_benchmark("chemistry", protocol="released")
    for text in texts:
        score = tool.score_sample(ChemistryTruth(text), ChemistryPrediction(text))
        assert (score.metrics["exact_match"], score.metrics["token_accuracy"]) == (0, 1)
        assert [molecule.equal for molecule in score.details.molecules] == [True, False]
