"""Where the protocols differ, and where they do not: the table in docs/explanation/benchmarks/chemistry.md."""

from __future__ import annotations

from typing import Any

import pytest

from beamscore.metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from tests.metrics.chemistry.helpers import PROTOCOLS, compare, molecule, reading
from tests.plain_loop import make_benchmark

DRAWN = "\\chemfig { A -[:90.0,1.0] B }"
CORNERS = "?[a] {} -[:90] {} -[:30] {} -[:330] {} -[:270] {} -[:210] {} ?[a,{{-}}]"
"""A hexagon; a place for text or a branch after each corner."""
Verdict = tuple[float | None, float | None]
WRONG: Verdict = (0, 0)
TEXT: Verdict = (0, 1)
RIGHT: Verdict = (1, 1)
"""Exact match and structure exact match; `TEXT`: the text around the molecules differs."""


def verdicts(truth: str, prediction: str, **options: Any) -> list[Verdict]:
    """Exact match and structure exact match under `published` and `released`."""
    found = []
    for protocol in PROTOCOLS:
        benchmark = make_benchmark("chemistry", protocol=protocol, **options)
        columns = benchmark.score_sample(ChemistryTruth(truth), ChemistryPrediction(prediction)).metrics
        found.append((columns["exact_match"], columns["structure_exact_match"]))
    return found


def region(content: str) -> str:
    return f"\\chemfig {{ {content} }}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "a \\space b"),
        ("C H _ 2", "C H _ { 2 }"),
        ("H { } O", "H O"),
        ("S ^ { 2 - } _ 4", "S _ 4 ^ { 2 - }"),
        ("\\triangle", "\\Delta"),
        ("Ａ", "A"),
    ],
)
def test_text_counts_as_it_is_written_but_beside_raw_chemfig_or_by_the_option(one: str, other: str) -> None:
    truth = f"{one} {DRAWN}"
    assert verdicts(truth, f"{other} {DRAWN}") == [TEXT, TEXT]
    assert verdicts(truth, f"{one.replace(' ', '')}{DRAWN}") == [RIGHT, RIGHT]
    assert verdicts(truth, f"{other} {DRAWN}", normalize_text=True) == [RIGHT, RIGHT]
    assert verdicts(truth, f"{other} \\chemfig{{A-[2]B}}") == [RIGHT, RIGHT]
    if "{ }" not in one and "\\space" not in other:
        atoms = region(f"A -[:90] {one}"), region(f"A -[:90] {other}")
        assert verdicts(*atoms) == [WRONG, WRONG]
        assert verdicts(*atoms, normalize_text=True) == [RIGHT, RIGHT]


STAR = "\\chemfig {{ A branch( -[:0] B branch) branch( -[:120] C branch) -[:{}] D }}"
SURPLUS = region("A branch( -[:90] B branch) branch)")
LATE = "A -[:90] branch( -[:30] branch) O -[:150] C"
COMMENTED = f"a % b {DRAWN}\n c"
UNREADABLE = region("A ?[ a ] -[:90] B -[:30] ?[a,{-}]")


@pytest.mark.parametrize(
    ("truth", "prediction", "published", "released"),
    [
        # Line breaks and blanks within a molecule print nothing; tokens are parted by blanks.
        (region("A -[:90] B"), region("A \\\\ -[:90] \\enter B \\space"), RIGHT, RIGHT),
        ("\\chemfig { N-[:90] O }", "N - [ : 9 0 ] O", RIGHT, RIGHT),
        (region("A -[:90] N-[:90] O"), region("A -[:90] N -[:90] O"), WRONG, WRONG),
        # Numbers after the second are no part of a bond.
        (region("A -[:90] -[:0] B"), region("A -[:90,1]... -[:0] B"), RIGHT, RIGHT),
        # Atoms at one place are one, and of several bonds the highest is seen, only beside raw Chemfig.
        (region("A -[:90] B -[:270] -[:0] C"), "\\chemfig{A(-[2]B)-C}", RIGHT, RIGHT),
        (region("A -[:90] B -[:270] -[:0] C"), region("B -[:270] A -[:0] C"), WRONG, WRONG),
        (region("A ?[a] -[:90] B ?[a,{=}]"), region("A =[:90] B"), WRONG, WRONG),
        (region("A ?[a] -[:90] B ?[a,{=}]"), "\\chemfig{A=[2]B}", RIGHT, RIGHT),
        # Text after a branch goes to the corner that the branch came back to; to the tool it goes to the newest atom.
        (region(LATE), region("A -[:90] O branch( -[:30] branch) -[:150] C"), RIGHT, WRONG),
        (region(LATE), region("A -[:90] branch( -[:30] O branch) -[:150] C"), WRONG, RIGHT),
        # Text that conflicts with the text of its atom is dropped by the tool.
        (
            region("A branch( -[:90] B branch) -[:0] D"),
            region("A branch( -[:90] B branch) ?[a] C -[:0] D"),
            WRONG,
            RIGHT,
        ),
        (region("A -[:90] B"), SURPLUS, WRONG, RIGHT),
        # A comment is nothing to LaTeX and text to the tool; without an end of its line, or escaped, it is none.
        ("a c", COMMENTED, RIGHT, WRONG),
        (COMMENTED, f"a % b {DRAWN} c", WRONG, RIGHT),
        (f"a % b {DRAWN}", f"a % {DRAWN}", TEXT, TEXT),
        (f"a \\% b {DRAWN}\n", f"a \\% {DRAWN}", TEXT, TEXT),
        # A \chemfig without an argument loses the text before it, also text that was a molecule, but no molecules.
        (f"b {DRAWN}", f"a \\chemfig b {DRAWN}", TEXT, RIGHT),
        (f"{DRAWN} b {DRAWN}", f"{DRAWN} b \\chemfig {DRAWN}", TEXT, TEXT),
        (f"{DRAWN} b {DRAWN}", f"{DRAWN} a \\chemfig b {DRAWN}", TEXT, TEXT),
        (f"b {DRAWN}", f"\\chemfig {{ C }} a \\chemfig b {DRAWN}", TEXT, RIGHT),
        # The tool drops the sign of an angle.
        (STAR.format(-90), STAR.format(270), RIGHT, WRONG),
        (STAR.format(-90), STAR.format(90), WRONG, RIGHT),
        # Which end of a wedge is narrow.
        (region("<[:90] O H"), region(">[:90] O H"), WRONG, RIGHT),
        (region("A <[:90] O H"), region("O H >[:270] A"), RIGHT, RIGHT),
        # Bonds may be turned by 45 degrees, and to the tool by any angle.
        *(
            (region("A -[:90] B -[:30] C"), region(f"A -[:90] B -[:{30 + turned}] C"), verdict, RIGHT)
            for turned, verdict in ((0, RIGHT), (45, RIGHT), (46, WRONG), (119, WRONG), (180, WRONG))
        ),
        # A region that is not closed is wrong, and the tool stops at two pairs of square brackets, too.
        (DRAWN, "\\chemfig { A -[:90.0,1.0] B", WRONG, WRONG),
        ("a A", "a \\chemfig [ x ] { A }", RIGHT, RIGHT),
        ("a A", "a \\chemfig [ x ] [ y ] { A }", RIGHT, WRONG),
        # A region that cannot be read, or draws nothing, is compared as text, in which blanks do not count.
        (region("A ?[a] -[:90] B -[:30] ?[a,{-}]"), UNREADABLE, RIGHT, RIGHT),
        (region("A ?[a] -[:90] C -[:30] ?[a,{-}]"), UNREADABLE, WRONG, WRONG),
        ("\\chemfig { } x", "\\chemfig { } x", RIGHT, RIGHT),
        ("\\chemfig { } x", "x", WRONG, WRONG),
    ],
)
def test_verdicts(truth: str, prediction: str, published: Verdict, released: Verdict) -> None:
    assert verdicts(truth, prediction) == [published, released]


def test_the_limit_of_angles_is_an_option_of_published() -> None:
    for angle, verdict in ((80, RIGHT), (79, WRONG)):
        turned = verdicts(region("A -[:90] B"), region(f"A -[:{angle}] B"), max_angle_deviation=10)
        assert turned == [verdict, RIGHT]
    assert verdicts(region("A -[:90] B"), region("A -[:270] B"), max_angle_deviation=None) == [RIGHT, RIGHT]
    # A ring of five corners and a bond across, from corner 0 to 3 or to 2: a triangle and a square with a common side,
    # but the neighbors stand in the opposite order. The tool asks for any atom met before.
    one = region("?[a] ?[b] -[:30] -[:120] -[:90] ?[b,{-}] -[:300] ?[a,{-}]")
    other = region("?[a] ?[b] -[:30] -[:120] ?[b,{-}] -[:90] -[:300] ?[a,{-}]")
    assert verdicts(one, other, max_angle_deviation=None) == [WRONG, RIGHT]
    # Benzene with a circle and CHO on one corner, or on the next: turned by 60 degrees. The tool has no start for it.
    one = CORNERS.format("branch( -:[:30] \\circle branch)", "", "branch( -[:90] C H O branch)", "", "", "")
    other = CORNERS.format("branch( -:[:30] \\circle branch)", "", "", "branch( -[:30] C H O branch)", "", "")
    for limit, verdict in ((None, RIGHT), (60, RIGHT), (45, WRONG)):
        assert verdicts(region(one), region(other), max_angle_deviation=limit)[0] == verdict


def test_a_circle_is_tied_to_the_ring_that_it_stands_in() -> None:
    hexagon = CORNERS.format("branch( -:[:30] \\circle branch)", "", "", "", "", "")
    elsewhere = CORNERS.format("", "", "", "branch( -:[:210] \\circle branch)", "", "")
    # One bond is turned by 60 degrees: the ring is open in the drawing, and the circle stays where it hangs.
    opened = hexagon.replace("-[:30]", "-[:330]", 1)
    for protocol in PROTOCOLS:
        assert len(molecule(hexagon, protocol=protocol).bonds) == 12, "six sides and six ties"
        assert compare(hexagon, elsewhere, protocol=protocol).equal
        assert len(molecule(opened, protocol=protocol).bonds) == 7
        assert not compare(hexagon, opened, protocol=protocol).equal
    # A bond closes the ring before its last corner: the circle that hangs there is in no ring that it is part of.
    spur = "?[a] -[:30] -[:330] -[:270] -[:210] ?[a,{-}] -[:150] -:[:30] \\circle"
    assert [len(molecule(spur, protocol=protocol).bonds) for protocol in PROTOCOLS] == [6 + 1, 6 + 6]


def test_where_hooks_go_and_in_which_order_atoms_come() -> None:
    hook = "A -[:90] branch( -[:30] B branch) ?[a] -[:150] C -[:270] ?[a,{-}]"
    assert [molecule(hook, protocol=protocol).bonds[-1].begin for protocol in PROTOCOLS] == [1, 2]
    # A branch right after another one begins at the same atom.
    for protocol in PROTOCOLS:
        drawn = molecule("A branch( -[:90] B branch) branch( -[:0] C branch) -[:180] D", protocol=protocol)
        assert [drawn.texts[bond.begin] for bond in drawn.bonds] == ["A", "A", "A"]
    # The tool orders atoms by their numbers as strings; where no text begins, it makes the end of the first bond first.
    chain = " -[:90] ".join("ABCDEFGHIJKL")
    assert ["".join(molecule(chain, protocol=each).texts) for each in PROTOCOLS] == ["ABCDEFGHIJKL", "ABKLCDEFGHIJ"]
    assert list(molecule("-[:90] B -[:90] C", protocol="released").texts) == ["B", "", "C"]


def test_problems() -> None:
    # With a bond after the surplus end of a branch, the tool cannot read the region either.
    assert reading(region("A branch( -[:90] B branch) branch) -[:0] C"), "released").problems
    assert reading(f"\\chemfig b {DRAWN}").problems == ["at character 9 of the text: expected a '{' after \\chemfig"]


UNICODE_FORMS = (("\u00e9", "e\u0301"), ("\u00c5", "\u212b"), ("\ud55c", "\u1112\u1161\u11ab"))
"""Texts in form C, and the same otherwise: é, the sign of the ångström, a Korean syllable."""


@pytest.mark.parametrize(("composed", "other"), UNICODE_FORMS)
def test_texts_are_compared_in_one_unicode_form(composed: str, other: str) -> None:
    for one, another in ((composed, other), (other, composed), (composed, " ".join(other))):
        assert verdicts(f"a {one} b {DRAWN}", f"a {another} b {DRAWN}") == [RIGHT, TEXT]
        assert verdicts(region(f"A -[:90] {one}"), region(f"A -[:90] {another}")) == [RIGHT, WRONG]
        assert verdicts(region(f"A -[:90] {one}"), f"\\chemfig{{A-[2]{another}}}")[0] == RIGHT
        readable = region(f"A ?[a] -[:90] {one} -[:30] ?[a,{{-}}]")
        unreadable = region(f"A ?[ a ] -[:90] {another} -[:30] ?[a,{{-}}]")
        assert verdicts(readable, unreadable) == [RIGHT, WRONG]
    assert verdicts(f"a {composed} b", f"a {other} c") == [TEXT, TEXT]
    score = make_benchmark("chemistry").score_sample(ChemistryTruth(f"a {composed}"), ChemistryPrediction(f"a {other}"))
    assert score.metrics["token_accuracy"] == 1
