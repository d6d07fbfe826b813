"""Where the protocols differ: each row of the table in docs/explanation/benchmarks/chemistry.md."""

from __future__ import annotations

from typing import Any

import pytest

from beamscore.metrics.chemistry.records import ChemistryPrediction, ChemistryTruth
from tests.metrics.chemistry.helpers import PROTOCOLS, compare, molecule, reading
from tests.plain_loop import make_benchmark

DRAWN = "\\chemfig { A -[:90.0,1.0] B }"
CORNERS = "?[a] {} -[:90] {} -[:30] {} -[:330] {} -[:270] {} -[:210] {} ?[a,{{-}}]"
"""A hexagon; a place for text or a branch after each corner."""


def verdicts(truth: str, prediction: str, **options: Any) -> dict[str, tuple[float | None, float | None]]:
    """Exact match and structure exact match by protocol."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for protocol in PROTOCOLS:
        benchmark = make_benchmark("chemistry", protocol=protocol, **options)
        columns = benchmark.score_sample(ChemistryTruth(truth), ChemistryPrediction(prediction)).metrics
        found[protocol] = (columns["exact_match"], columns["structure_exact_match"])
    return found


def both(exact: int, structure: int) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(PROTOCOLS, (exact, structure))


def region(content: str) -> str:
    return f"\\chemfig {{ {content} }}"


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [
        ("a b", "a \\space b"),
        ("H _ 2", "H _ { 2 }"),
        ("H { } O", "H O"),
        ("S ^ { 2 - } _ 4", "S _ 4 ^ { 2 - }"),
        ("\\triangle", "\\Delta"),
        ("Ａ", "A"),
    ],
)
def test_text_counts_as_it_is_written(truth: str, prediction: str) -> None:
    assert verdicts(f"{truth} {DRAWN}", f"{prediction} {DRAWN}") == both(0, 1)
    assert verdicts(f"{truth} {DRAWN}", f"{truth.replace(' ', '')}{DRAWN}") == both(1, 1)
    # Beside raw Chemfig, or where the option says so, text is brought into one form.
    assert verdicts(f"{truth} {DRAWN}", f"{prediction} {DRAWN}", normalize_text=True) == both(1, 1)
    assert verdicts(f"{truth} {DRAWN}", f"{prediction} \\chemfig{{A-[2]B}}") == both(1, 1)


@pytest.mark.parametrize(("text", "other"), [("C H _ { 3 }", "C H _ 3"), ("\\triangle", "\\Delta"), ("Ｎ", "N")])
def test_texts_of_atoms_count_as_they_are_written(text: str, other: str) -> None:
    assert verdicts(region(f"A -[:90] {text}"), region(f"A -[:90] {other}")) == both(0, 0)
    assert verdicts(region(f"A -[:90] {text}"), region(f"A -[:90] {other}"), normalize_text=True) == both(1, 1)


def test_line_breaks_within_a_molecule_print_nothing() -> None:
    assert verdicts(region("A -[:90] B"), region("A \\\\ -[:90] \\enter B \\space")) == both(1, 1)


def test_a_bond_that_closes_a_ring_leads_to_any_atom_met_before_for_the_tool() -> None:
    # A ring of five corners and a bond across, from corner 0 to 3 or to 2: a triangle and a square with a common side
    # either way, but the ones' neighbors stand in the opposite order of the others'. The tool asks for neither.
    truth = "?[a] ?[b] -[:30] -[:120] -[:90] ?[b,{-}] -[:300] ?[a,{-}]"
    prediction = "?[a] ?[b] -[:30] -[:120] ?[b,{-}] -[:90] -[:300] ?[a,{-}]"
    assert verdicts(region(truth), region(prediction)) == {"published": (0, 0), "released": (1, 1)}


def test_a_ring_that_is_met_elsewhere_is_isomorphic() -> None:
    # Benzene with a circle and CHO on one corner, or on the next: turned by 60 degrees. The tool has no start for it.
    one = CORNERS.format("branch( -:[:30] \\circle branch)", "", "branch( -[:90] C H O branch)", "", "", "")
    other = CORNERS.format("branch( -:[:30] \\circle branch)", "", "", "branch( -[:30] C H O branch)", "", "")
    assert verdicts(region(one), region(other), max_angle_deviation=None)["published"] == (1, 1)
    assert verdicts(region(one), region(other), max_angle_deviation=60)["published"] == (1, 1)
    assert verdicts(region(one), region(other))["published"] == (0, 0)


def test_a_circle_is_tied_to_the_ring_that_it_stands_in() -> None:
    hexagon = CORNERS.format("branch( -:[:30] \\circle branch)", "", "", "", "", "")
    elsewhere = CORNERS.format("", "", "", "branch( -:[:210] \\circle branch)", "", "")
    for protocol in PROTOCOLS:
        circle = len(molecule(hexagon, protocol=protocol).bonds)
        assert circle == 12, "six sides and six ties"
        assert compare(hexagon, elsewhere, protocol=protocol).equal
    # One bond is turned by 60 degrees: the ring is open in the drawing, and the circle stays where it hangs.
    opened = hexagon.replace("-[:30]", "-[:330]", 1) if "-[:30]" in hexagon else hexagon
    for protocol in PROTOCOLS:
        assert len(molecule(opened, protocol=protocol).bonds) == 7
        assert not compare(hexagon, opened, protocol=protocol).equal


def test_atoms_at_one_place_are_one_only_beside_raw_chemfig() -> None:
    # There and back: three atoms and two bonds, or two atoms and one.
    for protocol in PROTOCOLS:
        assert len(molecule("A -[:90] B -[:270] -[:0] C", protocol=protocol).texts) == 4
    assert verdicts(region("A -[:90] B -[:270] -[:0] C"), "\\chemfig{A(-[2]B)-C}") == both(1, 1)
    assert verdicts(region("A -[:90] B -[:270] -[:0] C"), region("B -[:270] A -[:0] C")) == both(0, 0)


def test_of_several_bonds_the_highest_counts_only_beside_raw_chemfig() -> None:
    doubled = "A ?[a] -[:90] B ?[a,{=}]"
    assert verdicts(region(doubled), region("A =[:90] B")) == both(0, 0)
    assert verdicts(region(doubled), "\\chemfig{A=[2]B}") == both(1, 1)


def test_tokens_of_ssml_are_parted_by_blanks() -> None:
    assert verdicts("\\chemfig { N-[:90] O }", "N - [ : 9 0 ] O") == both(1, 1)
    assert verdicts(region("A -[:90] N-[:90] O"), region("A -[:90] N -[:90] O")) == both(0, 0)


def test_text_and_hooks_after_a_branch() -> None:
    # The text goes to the corner that the branch came back to; to the tool it goes to the newest atom, O.
    late = "A -[:90] branch( -[:30] branch) O -[:150] C"
    assert verdicts(region(late), region("A -[:90] O branch( -[:30] branch) -[:150] C"))["published"] == (1, 1)
    assert verdicts(region(late), region("A -[:90] branch( -[:30] O branch) -[:150] C"))["released"] == (1, 1)
    hook = "A -[:90] branch( -[:30] B branch) ?[a] -[:150] C -[:270] ?[a,{-}]"
    begun = {protocol: molecule(hook, protocol=protocol).bonds[-1].begin for protocol in PROTOCOLS}
    assert begun == {"published": 1, "released": 2}


def test_numbers_after_the_second_are_no_part_of_a_bond() -> None:
    assert verdicts(region("A -[:90] -[:0] B"), region("A -[:90,1]... -[:0] B")) == both(1, 1)


def test_a_comment_is_nothing_to_latex_and_text_to_the_tool() -> None:
    commented = f"a % b {DRAWN}\n c"
    assert verdicts("a c", commented) == {"published": (1, 1), "released": (0, 0)}
    assert verdicts(commented, f"a % b {DRAWN} c") == {"published": (0, 0), "released": (1, 1)}
    # Without an end of its line there is no comment, and an escaped sign begins none.
    assert verdicts(f"a % b {DRAWN}", f"a % {DRAWN}") == verdicts(f"a \\% b {DRAWN}\n", f"a \\% {DRAWN}") == both(0, 1)


def test_a_surplus_end_of_a_branch() -> None:
    surplus = region("A branch( -[:90] B branch) branch)")
    assert verdicts(region("A -[:90] B"), surplus) == {"published": (0, 0), "released": (1, 1)}
    # With a bond after it, the tool cannot read the region either.
    assert reading(region("A branch( -[:90] B branch) branch) -[:0] C"), "released").problems


def test_text_that_conflicts_with_the_text_of_its_atom() -> None:
    late = region("A branch( -[:90] B branch) ?[a] C -[:0] D")
    assert verdicts(region("A branch( -[:90] B branch) -[:0] D"), late) == {"published": (0, 0), "released": (1, 1)}


def test_a_chemfig_without_an_argument_loses_the_text_before_it_for_the_tool() -> None:
    assert verdicts(f"b {DRAWN}", f"a \\chemfig b {DRAWN}") == {"published": (0, 1), "released": (1, 1)}
    assert verdicts(f"{DRAWN} b {DRAWN}", f"{DRAWN} b \\chemfig {DRAWN}") == both(0, 1)
    assert reading(f"\\chemfig b {DRAWN}").problems == ["at character 9 of the text: expected a '{' after \\chemfig"]
    # Its molecules are kept, but not where they stood, and text that was a molecule is lost, too.
    assert verdicts(f"{DRAWN} b {DRAWN}", f"{DRAWN} a \\chemfig b {DRAWN}")["released"] == (0, 1)
    assert verdicts(f"b {DRAWN}", f"\\chemfig {{ C }} a \\chemfig b {DRAWN}")["released"] == (1, 1)


def test_atoms_are_ordered_by_their_numbers_as_strings_for_the_tool() -> None:
    letters = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"]
    chain = " -[:90] ".join(letters)
    assert list(molecule(chain).texts) == letters
    assert "".join(molecule(chain, protocol="released").texts) == "ABKLCDEFGHIJ"
    # Where no text begins, the tool makes the end of the first bond before its start.
    assert list(molecule("-[:90] B -[:90] C", protocol="released").texts) == ["B", "", "C"]


def test_a_negative_angle() -> None:
    minus, three_quarters, quarter = (region(f"A -[:0] B -[:{angle}] C -[:0] D") for angle in (-90, 270, 90))
    assert verdicts(minus, three_quarters) == both(1, 1)
    star = "A branch( -[:0] B branch) branch( -[:120] C branch) -[:{}] D"
    assert compare(star.format(-90), star.format(270)).equal
    assert not compare(star.format(-90), star.format(270), protocol="released").equal
    assert compare(star.format(-90), star.format(90), protocol="released").equal
    assert verdicts(minus, quarter) == {"published": (0, 0), "released": (1, 1)}


def test_which_end_of_a_wedge_is_narrow() -> None:
    assert verdicts(region("<[:90] O H"), region(">[:90] O H")) == {"published": (0, 0), "released": (1, 1)}
    assert verdicts(region("A <[:90] O H"), region("O H >[:270] A")) == both(1, 1)


def test_bonds_may_be_turned_by_45_degrees_and_any_angle_for_the_tool() -> None:
    for turned in (0, 45, 46, 90, 119, 180):
        found = verdicts(region("A -[:90] B -[:30] C"), region(f"A -[:90] B -[:{30 + turned}] C"))
        assert found == {"published": (int(turned <= 45),) * 2, "released": (1, 1)}, turned
    # The option is one of `published` alone.
    narrow, wide = region("A -[:80] B"), region("A -[:79] B")
    assert verdicts(region("A -[:90] B"), narrow, max_angle_deviation=10) == both(1, 1)
    assert verdicts(region("A -[:90] B"), wide, max_angle_deviation=10) == {"published": (0, 0), "released": (1, 1)}
    assert verdicts(region("A -[:90] B"), region("A -[:270] B"), max_angle_deviation=None) == both(1, 1)


UNICODE_FORMS = (("\u00e9", "e\u0301"), ("\u00c5", "\u212b"), ("\ud55c", "\u1112\u1161\u11ab"))
"""Texts in form C, and the same otherwise: é, the sign of the ångström, a Korean syllable."""


@pytest.mark.parametrize(("composed", "other"), UNICODE_FORMS)
def test_texts_are_compared_in_one_unicode_form(composed: str, other: str) -> None:
    unreadable = "A ?[ a ] -[:90] {} -[:30] ?[a,{{-}}]"
    around = {"published": (1, 1), "released": (0, 1)}
    within = {"published": (1, 1), "released": (0, 0)}
    for one, another in ((composed, other), (other, composed), (composed, " ".join(other))):
        assert verdicts(f"a {one} b {DRAWN}", f"a {another} b {DRAWN}") == around
        assert verdicts(region(f"A -[:90] {one}"), region(f"A -[:90] {another}")) == within
        assert verdicts(region(f"A -[:90] {one}"), f"\\chemfig{{A-[2]{another}}}")["published"] == (1, 1)
        truth = region(unreadable.format(one).replace("?[ a ]", "?[a]"))
        assert verdicts(truth, region(unreadable.format(another))) == within
    assert verdicts(f"a {composed} b", f"a {other} c") == both(0, 1)
    benchmark = make_benchmark("chemistry")
    score = benchmark.score_sample(ChemistryTruth(f"a {composed}"), ChemistryPrediction(f"a {other}"))
    assert score.metrics["token_accuracy"] == 1


def test_a_region_that_is_not_closed_is_wrong() -> None:
    assert verdicts(DRAWN, "\\chemfig { A -[:90.0,1.0] B") == both(0, 0)
    # The tool stops at two pairs of square brackets, too.
    assert verdicts("a A", "a \\chemfig [ x ] { A }") == both(1, 1)
    assert verdicts("a A", "a \\chemfig [ x ] [ y ] { A }") == {"published": (1, 1), "released": (0, 0)}


def test_a_region_that_cannot_be_read_is_compared_as_text() -> None:
    # The blank within the hook makes it unreadable, and blanks do not count in text.
    truth = region("A ?[a] -[:90] B -[:30] ?[a,{-}]")
    assert verdicts(truth, region("A ?[ a ] -[:90] B -[:30] ?[a,{-}]")) == both(1, 1)
    assert verdicts(truth, region("A ?[ a ] -[:90] C -[:30] ?[a,{-}]")) == both(0, 0)
    assert verdicts("\\chemfig { } x", "\\chemfig { } x") == both(1, 1)
    assert verdicts("\\chemfig { } x", "x") == both(0, 0)
