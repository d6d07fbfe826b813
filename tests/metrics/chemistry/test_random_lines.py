"""Scores and drawings of random lines are those of the last release, each against one that differs at few places."""

import random
from pathlib import Path
from typing import Any

import pytest

from beamscore.metrics.benchmark import DrawnPair, Pair
from beamscore.metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from beamscore.metrics.chemistry.ssml import BOND_TYPES
from tests.metrics.samples import assert_pinned, scores_as_json
from tests.metrics.test_sample_corpora import another
from tests.plain_loop import make_benchmark

ATOMS = [
    "", "", "C", "OH", "CH_3", "{NH_2}", "N|H", "H_2N", r"\chemabove{N}{H}", r"\charge{90=\|}{O}", "@{a}C",
    r"\ddot{O}",
]  # fmt: skip
OPTIONS = [
    "", "", "", "[1]", "[7]", "[:30]", "[:-90,1.5]", "[::60]", "[::-60,,2,1]", "[,0.5,,,draw=none]", "[-1.5,2]", "[]",
]  # fmt: skip
CHANGES = [
    ("-[", "=["), ("OH", "CN"), ("O H", "C N"), ("[:30", "[:60"), ("<", ">"), ("?[a]", ""), ("*6", "*5"), (" + ", ""),
]  # fmt: skip
DEFINED = r"\definesubmol{x}{-[2]O}\definesubmol{y}2[(-#1)]{(=[::60]#1)-#2}\definesubmol\n{-[,,,,red]F}"


def raw(rng: random.Random, depth: int) -> str:
    """Returns the content of a molecule in raw Chemfig, whose branches and rings are nested up to `depth` deep."""
    parts = [rng.choice(ATOMS)]
    for _ in range(rng.choice([0, 1, 2, 2, 3])):
        parts += rng.choice(BOND_TYPES), rng.choice(OPTIONS), rng.choice(ATOMS)
        if depth and rng.random() < 0.4:
            inner, ring = raw(rng, depth - 1), "".join(f"{rng.choice('-=')}{rng.choice(ATOMS[:4])}" for _ in range(6))
            ring = ring if rng.random() < 0.7 else f"-({inner})={inner}---"
            circle = rng.choice(["*6(", "*6(", "*5(", "**6(", "**[30,330,dash]5(", "*[::30]6("])
            parts += rng.choice([[f"({inner})"], [f"(-[:{30 * rng.randrange(12)}]{inner})"], [circle, ring, ")"]])
        parts += rng.choice(
            [*[""] * 60, *["?[a]", "?[a,2]", "?[a,{>},red]", "!x", "!{y}{N}{O}", r"!\n"] * 2, "?", ")", "("]
        )
    return "".join(parts)


def normalized(rng: random.Random, depth: int) -> str:
    """Returns the content of a molecule in SSML."""
    parts = [rng.choice(["C", "O H", "N H _ { 2 }", "?[a] C", ""])]
    for _ in range(rng.choice([0, 1, 2, 3, 4])):
        parts.append(f"{rng.choice(BOND_TYPES)}[:{30 * rng.randrange(12)}.0,{rng.choice(['1.0', '1.5'])}]")
        parts.append(rng.choice([*["", "O", "N H _ { 2 }"] * 4, "?[a]", "?[a,{-}]", "?[b,{=}]", r"\circle"]))
        if depth and rng.random() < 0.4:
            parts += "branch(", normalized(rng, depth - 1), "branch)"
    return " ".join(filter(None, parts))


def line(rng: random.Random) -> str:
    """Returns a line of up to three molecules with text between them."""
    write = rng.choice([raw, raw, normalized])
    regions = [rf"\chemfig{{{write(rng, 2)}}}" for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    between = rng.choice([" + ", r" \xrightarrow { NaOH } ", "+H_2O", r" \xrightarrow[\triangle]{}", " "])
    return rng.choice(["", DEFINED, DEFINED]) + between.join([*regions, *rng.choice([[], [], ["2 H_{2}O"]])])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "8ff073f206ef8378"),
        ({"protocol": "released"}, "b9a8fe97625960eb"),
        ({"max_angle_deviation": 20.0, "tokens": "latex", "normalize_text": True}, "aa1905fdcbea76dd"),
    ],
)
def test_scores_and_drawings(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    rng, benchmark = random.Random(0), make_benchmark("chemistry", **options)
    texts = [
        (each, rng.choice([each, another(each, rng), each.replace(*rng.choice(CHANGES), 1), line(rng)]))
        for each in map(line, [rng] * 400)
    ]
    samples = [(ChemistryTruth(first), ChemistryPrediction(second)) for first, second in texts]
    scores = benchmark.score([Pair("", *each) for each in samples])
    drawn = map(str, benchmark.draw_batch([DrawnPair("", *each) for each in samples]))
    assert_pinned([*zip(texts, scores_as_json(scores), drawn, strict=True)], expected, tmp_path)
