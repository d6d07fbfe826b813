"""SSML: the normalised way of writing."""

from __future__ import annotations

import pytest

from beamscore.metrics.chemistry.ssml import is_ssml
from tests.metrics.chemistry.helpers import compare, molecule, problem


def test_pieces_of_text_join_and_bonds_lead_to_new_atoms() -> None:
    drawn = molecule("C H _ { 3 } -[:90.0,2.0] O H =[:0] N ^ { + }")
    assert list(drawn.texts) == ["CH_{3}", "OH", "N^{+}"]
    assert [(bond.begin, bond.end, bond.type) for bond in drawn.bonds] == [(0, 1, "-"), (1, 2, "=")]
    assert [(bond.angle, bond.length) for bond in drawn.bonds] == [(90, 2), (0, 1)]
    # y grows downwards: 90 degrees is up.
    assert (drawn.xs[1], drawn.ys[1]) == pytest.approx((0, -2))


def test_a_ring_bond_takes_its_angle_and_length_from_its_ends() -> None:
    # Right 3, then up 4: from the start to there it is 5, at atan(4 / 3) = 53.13 degrees.
    closing = molecule("A ?[a] -[:0,3] B -[:90,4] C ?[a,{=}]").bonds[-1]
    assert (closing.type, closing.begin, closing.end) == ("=", 0, 2)
    assert (closing.angle, closing.length) == pytest.approx((53.13, 5), abs=0.01)


@pytest.mark.parametrize(
    ("content", "other"),
    [
        # A branch comes back to the atom where it began, also for a mark; open ones are closed at the end.
        ("A branch( -[:90] B -[:90] C branch) -[:0] D", "A(-[:90]B-[:90]C)-[:0]D"),
        (
            "branch( -[:90] B branch) ?[a] -[:0] C -[:120] ?[a,{-}]",
            "?[a] branch( -[:90] B branch) -[:0] C -[:120] ?[a,{-}]",
        ),
        ("A branch( -[:90] B branch( -[:0] C", "A branch( -[:90] B branch( -[:0] C branch) branch)"),
        # The side of a double bond does not count.
        ("A =_[:90] B", "A =^[:90] B"),
        # A bond with text beside it and no blank is raw.
        ("-[:90]O", "-[:90.0,1.0] O"),
    ],
)
def test_two_ways_to_write_one_molecule(content: str, other: str) -> None:
    assert compare(content, other, 0.01).equal


@pytest.mark.parametrize(
    ("content", "normalizes", "texts"),
    [
        # Without the blank before it, a bond is text; what follows a bond without a blank is lost, as for the tool.
        ("N-[:90] O branch( -[:60] A branch) -[:0] C", None, ["N-[:90]O", "A", "C"]),
        ("N -[:90.0,1.0]O H branch( -[:60] A branch)", None, ["N", "H", "A"]),
        ("-[:90]O", None, ["", "O"]),
        # Up and down again: beside raw Chemfig the third atom is the first, unless both have texts.
        ("A -[:90] B -[:270] -[:0] C", False, ["A", "B", "", "C"]),
        ("A -[:90] B -[:270] -[:0] C", True, ["A", "B", "C"]),
        ("A -[:90] B -[:270] D -[:0] C", True, ["A", "B", "D", "C"]),
        # A label of a nested \chemfig whose braces were lost keeps the command as the text of an atom.
        ("\\chemfig * * 6 ( - - - )", None, ["\\chemfig", "", "", "", "\\circle"]),
    ],
)
def test_texts(content: str, normalizes: bool | None, texts: list[str]) -> None:
    assert sorted(molecule(content, normalizes=normalizes).texts) == sorted(texts)


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
    ("content", "published", "released"),
    [
        ("C H _ { 3 } -[:90.0,1.0] O", True, True),
        ("?[a] -[:90] -[:30] ?[a,{-}]", True, True),
        ("A branch( - branch)", True, True),
        ("( C H _ { 2 } ) _ { 3 } -[:90] O", True, True),
        ("N ^ { + } -[:90] O ^ { - }", True, True),
        ("CH_3-[2]OH", False, False),
        # Spaced characters with bare bonds, rings or options are text to the tool.
        ("* 6 ( - - - )", False, True),
        ("C H _ { 3 } - O H", False, True),
        ("C ( -[:90] H ) -[:0] H", False, True),
        ("[ :30] - -", False, False),
        ("", True, True),
        ("N-[:90] O", True, True),
        ("-[:90]O", False, True),
        ("O-[:90]", False, True),
        ("-[:90]O -[:0]N", False, True),
        # A bond of the labels is SSML to the tool where blanks are lost: one text, which is that of an atom.
        ("C H O-[:90.0,1.0]C H O", False, True),
        ("CHO-[:90.0,1.0]CHO", False, False),
    ],
)
def test_the_look_of_a_region_tells_its_way_of_writing(content: str, published: bool, released: bool) -> None:
    assert is_ssml(content, reads_spaced_chemfig=True) is published
    assert is_ssml(content, reads_spaced_chemfig=False) is released
