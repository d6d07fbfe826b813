"""Where the protocols differ, and where they do not: the table in docs/explanation/benchmarks/chemistry.md."""

from typing import Any

import pytest

from tests.metrics.chemistry.helpers import PROTOCOLS, molecule, score

DRAWN = "\\chemfig { A -[:90.0,1.0] B }"
Verdict = tuple[float | None, float | None]
WRONG: Verdict = (0, 0)
TEXT: Verdict = (0, 1)
RIGHT: Verdict = (1, 1)
"""Exact match and structure exact match; `TEXT`: the text around the molecules differs."""


def verdicts(truth: str, prediction: str, **options: Any) -> list[Verdict]:
    """Exact match and structure exact match under `published` and `released`."""
    found = [score(truth, prediction, protocol=protocol, **options).metrics for protocol in PROTOCOLS]
    return [(metrics["exact_match"], metrics["structure_exact_match"]) for metrics in found]


def region(content: str) -> str:
    return f"\\chemfig {{ {content} }}"


ALIKE = [
    *(("a b", "a \\space b"), ("C H _ 2", "C H _ { 2 }"), ("H { } O", "H O"), ("\\triangle", "\\Delta")),
    *(("S ^ { 2 - } _ 4", "S _ 4 ^ { 2 - }"), ("Ａ", "A")),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
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


@pytest.mark.parametrize(("form", "other"), [("é", "e\u0301"), ("Å", "\u212b"), ("한", "\u1112\u1161\u11ab")])
def test_texts_are_compared_in_one_unicode_form(form: str, other: str) -> None:
    for one, another in ((form, other), (other, form), (form, " ".join(other))):
        assert verdicts(f"a {one} b {DRAWN}", f"a {another} b {DRAWN}") == [RIGHT, TEXT]
        assert verdicts(region(f"A -[:90] {one}"), region(f"A -[:90] {another}")) == [RIGHT, WRONG]
        assert verdicts(region(f"A -[:90] {one}"), f"\\chemfig{{A-[2]{another}}}")[0] == RIGHT
        unreadable = region(f"A ?[ a ] -[:90] {another} -[:30] ?[a,{{-}}]")
        assert verdicts(region(f"A ?[a] -[:90] {one} -[:30] ?[a,{{-}}]"), unreadable) == [RIGHT, WRONG]
    assert score(f"a {form}", f"a {other}").metrics["token_accuracy"] == 1


STAR = "A branch( -[:{}] B branch) branch( -[:{}] C branch) -[:{}] D"
LATE = region("A -[:90] branch( -[:30] branch) O -[:150] C")
COMMENTED = f"a % b {DRAWN}\n c"
UNREADABLE = region("A ?[ a ] -[:90] B -[:30] ?[a,{-}]")
TWICE = region("A ?[a] -[:90] B ?[a,{=}]")
# A spine with eleven equal limbs at uneven distances; the molecule before it moves the numbers of its atoms.
LIMB = "branch( -[:0] branch( -[:90] -[:90] -[:90] branch) -[:270] -[:270] -[:270] branch)"
SPINE = " ".join("-[:90] " * gap + LIMB for gap in (9, 10, 11, 9, 12, 10, 11, 12, 9, 9, 10))
SPINE = region("A" + " -[:90]" * 14) + region(SPINE + " -[:90]" * 9)


VERDICTS = {
    # Line breaks and blanks within a molecule print nothing; tokens are parted by blanks.
    (region("A -[:90] B"), region("A \\\\ -[:90] \\enter B \\space")): [RIGHT, RIGHT],
    ("\\chemfig { N-[:90] O }", "N - [ : 9 0 ] O"): [RIGHT, RIGHT],
    (region("A -[:90] N-[:90] O"), region("A -[:90] N -[:90] O")): [WRONG, WRONG],
    # Numbers after the second are no part of a bond.
    (region("A -[:90] -[:0] B"), region("A -[:90,1,...] -[:0] B")): [RIGHT, RIGHT],
    # Atoms at one place are one, and of several bonds the highest is seen, only beside raw Chemfig.
    (region("A -[:90] B -[:270] -[:0] C"), "\\chemfig{A(-[2]B)-C}"): [RIGHT, RIGHT],
    (region("A -[:90] B -[:270] -[:0] C"), region("B -[:270] A -[:0] C")): [WRONG, WRONG],
    (region("A -[:90] B -[:270] D -[:0] C"), "\\chemfig{A(-[2]B)-C}"): [WRONG, WRONG],
    (TWICE, region("A =[:90] B")): [WRONG, WRONG],
    (TWICE, "\\chemfig{A=[2]B}"): [RIGHT, RIGHT],
    ("\\chemfig{A?[a]~[2]B?[a,{=}]}", "\\chemfig{A~[2]B}"): [RIGHT, RIGHT],
    (region("A ?[a] <[:90] B ?[a,{<:}]"), "\\chemfig{A<:[2]B}"): [RIGHT, RIGHT],
    (region("A ?[a] <[:90] B ?[a,{~}]"), "\\chemfig{A<[2]B}"): [RIGHT, RIGHT],
    # Text after a branch goes to the corner that the branch came back to; to the tool it goes to the newest atom.
    (LATE, region("A -[:90] O branch( -[:30] branch) -[:150] C")): [RIGHT, WRONG],
    (LATE, region("A -[:90] branch( -[:30] O branch) -[:150] C")): [WRONG, RIGHT],
    # Text that conflicts with the text of its atom is dropped by the tool, as is a surplus end of a branch.
    (region("A -[:90] B -[:0] D"), region("A -[:90] B ?[a] C -[:0] D")): [WRONG, RIGHT],
    (region("A -[:90] B"), region("A branch( -[:90] B branch) branch)")): [WRONG, RIGHT],
    (region("A -[:90] B"), region("A branch( -[:90] B branch) branch) -[:0] C")): [WRONG, WRONG],
    # A comment is nothing to LaTeX and text to the tool; without an end of its line, or escaped, it is none.
    ("a c", COMMENTED): [RIGHT, WRONG],
    (COMMENTED, f"a % b {DRAWN} c"): [WRONG, RIGHT],
    (f"a % b {DRAWN}", f"a % {DRAWN}"): [TEXT, TEXT],
    (f"a \\% b {DRAWN}\n", f"a \\% {DRAWN}"): [TEXT, TEXT],
    # A \chemfig without an argument loses the text before it, also text that was a molecule, but no molecules.
    (f"b {DRAWN}", f"a \\chemfig b {DRAWN}"): [TEXT, RIGHT],
    (f"{DRAWN} b {DRAWN}", f"{DRAWN} b \\chemfig {DRAWN}"): [TEXT, TEXT],
    (f"b {DRAWN}", f"\\chemfig {{ C }} a \\chemfig b {DRAWN}"): [TEXT, RIGHT],
    # The tool drops the sign of an angle.
    (region(STAR.format(0, 120, -90)), region(STAR.format(0, 120, 270))): [RIGHT, WRONG],
    (region(STAR.format(0, 120, -90)), region(STAR.format(0, 120, 90))): [WRONG, RIGHT],
    # Which end of a wedge is narrow.
    (region("<[:90] O H"), region(">[:90] O H")): [WRONG, RIGHT],
    (region("A <[:90] O H"), region("O H >[:270] A")): [RIGHT, RIGHT],
    # Bonds may be turned by 45 degrees, and to the tool by any angle.
    (region("A -[:90] B -[:30] C"), region("A -[:90] B -[:75] C")): [RIGHT, RIGHT],
    (region("A -[:90] B -[:30] C"), region("A -[:90] B -[:76] C")): [WRONG, RIGHT],
    # A region that is not closed is wrong, and the tool stops at two pairs of square brackets, too.
    (DRAWN, "\\chemfig { A -[:90.0,1.0] B"): [WRONG, WRONG],
    ("a A", "a \\chemfig [ x ] { A }"): [RIGHT, RIGHT],
    ("a A", "a \\chemfig [ x ] [ y ] { A }"): [RIGHT, WRONG],
    # A region that cannot be read, or draws nothing, is compared as text, in which blanks do not count.
    (region("A ?[a] -[:90] B -[:30] ?[a,{-}]"), UNREADABLE): [RIGHT, RIGHT],
    (region("A ?[a] -[:90] C -[:30] ?[a,{-}]"), UNREADABLE): [WRONG, WRONG],
    ("\\chemfig { } x", "x"): [WRONG, WRONG],
    # Many atoms look alike, and the four starts of the tool miss the right one.
    (SPINE, SPINE): [RIGHT, WRONG],
}


def test_verdicts() -> None:
    assert {pair: verdicts(*pair) for pair in VERDICTS} == VERDICTS


# A ring of five corners and a bond across, from corner 0 to 3 or to 2: a triangle and a square with a common side,
# but the neighbors stand in the opposite order. The tool asks for any atom met before.
ACROSS = "?[a] ?[b] -[:30] -[:120] {} -[:90] {} -[:300] ?[a,{{-}}]"
# Benzene with a circle and CHO on one corner, or on the next: turned by 60 degrees. The tool has no start for it.
CIRCLED = "?[a] branch( -:[:30] \\circle branch) -[:90] -[:30] {} -[:330] {} -[:270] -[:210] ?[a,{{-}}]"
CORNERS = CIRCLED.format("branch( -[:90] C H O branch)", ""), CIRCLED.format("", "branch( -[:30] C H O branch)")


def test_the_limit_of_angles_is_an_option_of_published() -> None:
    for (limit, *contents), expected in {
        (10, "A -[:90] B", "A -[:80] B"): [RIGHT, RIGHT],
        (10, "A -[:90] B", "A -[:79] B"): [WRONG, RIGHT],
        (None, "A -[:90] B", "A -[:270] B"): [RIGHT, RIGHT],
        # A third of a turn: the cyclic order is the same. To the tool the shift by angle stands, so texts differ.
        (None, STAR.format(0, 120, 240), STAR.format(120, 240, 0)): [RIGHT, WRONG],
        (None, ACROSS.format("", "?[b,{-}]"), ACROSS.format("?[b,{-}]", "")): [WRONG, RIGHT],
        **{(each, *CORNERS): [RIGHT, WRONG] for each in (None, 60)},
        (45, *CORNERS): [WRONG, WRONG],
    }.items():
        assert verdicts(*map(region, contents), max_angle_deviation=limit) == expected, (limit, contents)


def test_a_circle_is_tied_to_the_ring_that_it_stands_in() -> None:
    hexagon = CIRCLED.format("", "")
    elsewhere = "?[a] -[:90] -[:30] -[:330] branch( -:[:210] \\circle branch) -[:270] -[:210] ?[a,{-}]"
    # One bond is turned by 60 degrees: the ring is open in the drawing, and the circle stays where it hangs.
    opened = hexagon.replace("-[:30] ", "-[:330] ", 1).replace("-:[:330] ", "-:[:30] ")
    # A bond closes the ring before its last corner: the circle that hangs there is in no ring that it is part of.
    spur = "?[a] -[:30] -[:330] -[:270] -[:210] ?[a,{-}] -[:150] -:[:30] \\circle"
    assert verdicts(region(hexagon), region(elsewhere)) == [RIGHT, RIGHT]
    assert verdicts(region(hexagon), region(opened)) == [WRONG, WRONG]
    # Where it stands is asked as little as elsewhere: directions up to 45 degrees off, lengths not at all. The tool
    # wants the corners within half of its distance from the one that it hangs on.
    for written in ("-:[:0]", "-:[:30,0.7]", "-:[:30,1.35]"):
        assert verdicts(region(hexagon), region(hexagon.replace("-:[:30]", written))) == [RIGHT, WRONG], written
    # A bond of the ring, too; the corners are still about as far from their center.
    assert verdicts(region(hexagon), region(hexagon.replace("-[:90]", "-[:60]"))) == [RIGHT, WRONG]
    # Of two rings with a common side, it stays in its own, not in that around both.
    naphthalene = (
        "?[a] branch( -:[:30] \\circle branch) -[:330] -[:30] branch( -[:330] -[:30] -[:90] -[:150] ?[b] branch) "
        "-[:90] ?[b,{-}] -[:150] -[:210] ?[a,{-}]"
    )
    for written in ("-:[:27,1.3]", "-:[:5]", "-:[:40,0.8]"):
        moved = naphthalene.replace("-:[:30]", written)
        assert verdicts(region(naphthalene), region(moved))[0] == RIGHT, written
    # Six sides and six ties, or one bond to where it hangs.
    for content, bonds in ((hexagon, [12, 12]), (opened, [7, 7]), (spur, [7, 12])):
        assert [len(molecule(content, protocol=protocol).bonds) for protocol in PROTOCOLS] == bonds


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
