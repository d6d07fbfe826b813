"""SSML: the normalised way of writing."""

from __future__ import annotations

import pytest

from beamscore.metrics.chemistry.ssml import is_ssml
from tests.metrics.chemistry.helpers import compare, molecule, problem


def test_pieces_of_text_join_and_bonds_lead_to_new_atoms() -> None:
    drawn = molecule("C H _ { 3 } -[:90.0,2.0] O H =[:0] N")
    assert list(drawn.texts) == ["CH_{3}", "OH", "N"]
    first, second = drawn.bonds
    assert (first.type, second.type) == ("-", "=")
    assert (first.angle, first.length, second.length) == pytest.approx((90, 2, 1))
    # y grows downwards: 90 degrees is up.
    assert (drawn.xs[1], drawn.ys[1]) == pytest.approx((0, -2))


def test_a_ring_bond_takes_its_angle_and_length_from_its_ends() -> None:
    # Right 3, then up 4: from the start to there it is 5, at atan(4 / 3) = 53.13 degrees.
    closing = molecule("A ?[a] -[:0,3] B -[:90,4] C ?[a,{=}]").bonds[-1]
    assert (closing.type, closing.begin, closing.end) == ("=", 0, 2)
    assert closing.length == pytest.approx(5)
    assert closing.angle == pytest.approx(53.13, abs=0.01)


def test_a_branch_comes_back_to_the_atom_where_it_began() -> None:
    drawn = molecule("A branch( -[:90] B -[:90] C branch) -[:0] D")
    assert [(bond.begin, bond.end) for bond in drawn.bonds] == [(0, 1), (1, 2), (0, 3)]


def test_branches_that_are_open_at_the_end_are_closed() -> None:
    assert molecule("A branch( -[:90] B branch( -[:0] C") == molecule(
        "A branch( -[:90] B branch( -[:0] C branch) branch)"
    )


def test_blanks_part_tokens() -> None:
    # Without the blank before it, a bond is text; what follows a bond without a blank is lost, as for the tool.
    assert list(molecule("N-[:90] O branch( -[:60] A branch) -[:0] C").texts) == [
        "N-[:90]O",
        "A",
        "C",
    ]
    assert list(molecule("N -[:90.0,1.0]O H branch( -[:60] A branch)").texts) == ["N", "H", "A"]


def test_charges_in_braces_are_text() -> None:
    assert molecule("N H _ { 4 } ^ { + } -[:90] O ^ { - }").texts[1] == "O^{-}"


def test_the_side_of_a_double_bond_does_not_count() -> None:
    assert compare("A =_[:90] B", "A =^[:90] B").equal


def test_atoms_at_one_place_are_one_only_beside_raw_chemfig() -> None:
    # Up and down again: the third atom lies on the first. Two texts at one place stay two.
    for content, normalizes, atoms in (
        ("A -[:90] B -[:270] -[:0] C", False, 4),
        ("A -[:90] B -[:270] -[:0] C", True, 3),
        ("A -[:90] B -[:270] D -[:0] C", True, 4),
    ):
        assert len(molecule(content, normalizes=normalizes).texts) == atoms


def test_a_mark_after_a_branch_is_on_the_atom_of_the_branch() -> None:
    assert compare(
        "branch( -[:90] B branch) ?[a] -[:0] C -[:120] ?[a,{-}]",
        "?[a] branch( -[:90] B branch) -[:0] C -[:120] ?[a,{-}]",
    ).equal


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("A branch) -[:0] B", "at character 11 of the text: expected a 'branch(' before this 'branch)'"),
        ("A -[:ninety] branch( branch)", "at character 11 of the text: expected a bond such as -[:30.0,1.0] instead"),
        ("A -[:1.2.3] branch( branch)", "expected a bond such as"),
        ("A -[:0,1000000001] branch( branch)", "expected a bond such as"),
        ("A ?[a,x] branch( branch)", "expected a hook such as"),
        ("A x?[a] branch( branch)", "expected a hook such as"),
        ("A ?[a,{-}] branch( branch)", "expected an atom with the mark ?[a] before '?[a,{-}]'"),
    ],
)
def test_what_cannot_be_read_says_where(content: str, said: str) -> None:
    assert said in problem(content)


@pytest.mark.parametrize(
    ("content", "ssml"),
    [
        ("C H _ { 3 } -[:90.0,1.0] O", True),
        ("?[a] -[:90] -[:30] ?[a,{-}]", True),
        ("A branch( - branch)", True),
        ("( C H _ { 2 } ) _ { 3 } -[:90] O", True),
        ("N ^ { + } -[:90] O ^ { - }", True),
        ("CH_3-[2]OH", False),
        ("* 6 ( - - - )", False),
        ("C H _ { 3 } - O H", False),
        ("C ( -[:90] H ) -[:0] H", False),
        ("[ :30] - -", False),
        ("", True),
        ("N-[:90] O", True),
        ("-[:90]O", False),
        ("O-[:90]", False),
        ("-[:90]O -[:0]N", False),
    ],
)
def test_the_look_of_a_region_tells_its_way_of_writing(content: str, ssml: bool) -> None:
    assert is_ssml(content, reads_spaced_chemfig=True) is ssml


def test_a_bond_with_text_beside_it_and_no_blank_is_raw() -> None:
    assert list(molecule("-[:90]O").texts) == ["", "O"]
    assert compare("-[:90]O", "-[:90.0,1.0] O").equal
    assert not compare("-[:90]O", "-[:90]N").equal


def test_a_bond_of_the_labels_is_ssml_where_blanks_are_lost_for_the_tool() -> None:
    # To the tool it is one text, which is the text of an atom and no bond.
    lost = "C H O-[:90.0,1.0]C H O"
    assert is_ssml(lost, reads_spaced_chemfig=False)
    assert not is_ssml(lost, reads_spaced_chemfig=True)
    assert not is_ssml("CHO-[:90.0,1.0]CHO", reads_spaced_chemfig=False)


def test_a_lost_command_in_spaced_chemfig_is_text() -> None:
    """A label of a nested \\chemfig whose braces were lost keeps the command as the text of an atom.

    The raw label nests the region, which LaTeX draws as its content. So the two are not equal, as for the tool.
    """
    nested = molecule("\\chemfig{**6(---(-[2]OH)---)}")
    spaced = molecule("\\chemfig * * 6 ( - - - ( - [ 2 ] O H ) - - - )")
    assert spaced.texts[0] == "\\chemfig"
    assert nested.texts[0] == ""
    assert len(spaced.bonds) == len(nested.bonds)
