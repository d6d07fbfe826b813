"""Raw Chemfig is read as the package draws it: each case beside the SSML that says the same outright."""

from __future__ import annotations

import pytest

from tests.metrics.chemistry.helpers import compare, line, molecule, problem, reading

HEXAGON = "?[a] -[:330] -[:30] -[:90] -[:150] -[:210] ?[a,{-}]"


@pytest.mark.parametrize(
    ("raw", "ssml"),
    [
        # Angles: absolute, relative to the bond before, predefined (n times 45 degrees), default of the group.
        ("A-[:30]B-[:-60]C", "A -[:30] B -[:300] C"),
        ("A-[:30]B-[::60]C-[::-120]D", "A -[:30] B -[:90] C -[:330] D"),
        ("A-[1]B-[7]C", "A -[:45] B -[:315] C"),
        ("A-[1.5]B-[7]C", "A -[:67.5] B -[:315] C"),
        ("A-[:360/5]B-[6]C", "A -[:72] B -[:270] C"),
        ("[:60]A-B-[:0]C", "A -[:60] B -[:0] C"),
        ("[::60]A-B-[:0]C", "A -[:60] B -[:0] C"),
        # A branch starts with the group's default, and relative angles in it count from the bond before it.
        ("A-[:30]B(-[::90]C)-[::-90]D", "A -[:30] B branch( -[:120] C branch) -[:300] D"),
        ("A-[2]B([:20]-C-D)-[6]E", "A -[:90] B branch( -[:20] C -[:20] D branch) -[:270] E"),
        ("A-[2]B(-C(=[3]D)-E)", "A -[:90] B -[:0] C branch( =[:135] D branch) -[:0] E"),
        # Lengths, also as default of a group; departure and arrival atoms choose within a group of atoms.
        ("A-[:90,2]B-[:0,0.5]C", "A -[:90,2] B -[:0,0.5] C"),
        ("[:90,2]A-B-[:0]C", "A -[:90,2] B -[:0,2] C"),
        ("HO-[2,,2,1]CH_3", "H O -[:90] C H _ { 3 }"),
        # Rings: the last side of a ring that starts the molecule is upright.
        ("*6(------)", HEXAGON),
        ("[:-30]*4(----)", "?[a] -[:330] -[:60] -[:150] ?[a,{-}]"),
        ("*5(-----)", "?[a] -[:342] -[:54] -[:126] -[:198] ?[a,{-}]"),
        ("A*5(-B=C-D-E=)", "A ?[a] -[:342] B =[:54] C -[:126] D -[:198] E ?[a,{=}]"),
        # Branches of a ring leave along the bisector; a ring after a bond lies symmetrically about it.
        ("*6(-(-A)-----)", "?[a] -[:330] branch( -[:270] A branch) -[:30] -[:90] -[:150] -[:210] ?[a,{-}]"),
        ("*6((-A)------)", "A -[:30] ?[a] -[:330] -[:30] -[:90] -[:150] -[:210] ?[a,{-}]"),
        ("A-[2]*6(------)", "A -[:90] ?[a] -[:30] -[:90] -[:150] -[:210] -[:270] ?[a,{-}]"),
        ("A-B*4(----)", "A -[:0] B ?[a] -[:315] -[:45] -[:135] ?[a,{-}]"),
        # Within a ring, angles and lengths count for nothing; what follows the last side is not drawn.
        ("*6(-[:77]-[2,3]----A-B)", HEXAGON),
        # An open ring is an arc.
        ("*6(---A)", "-[:330] -[:30] -[:90] A"),
        # Nested rings share the side that comes next, with and without parentheses; of two bonds the higher is seen.
        (
            "*6(--*6(=----)----)",
            "?[a] -[:330] -[:30] ?[b] branch( =[:330] -[:30] -[:90] -[:150] -[:210] ?[c] branch) "
            "-[:90] branch( -[:150] -[:210] ?[a,{-}] branch)",
        ),
        ("*6(--*6(------)----)", "*6(--(*6(------))----)"),
        ("*6(--(*6(------))----)", "*6(--*6(-----)----)"),
        ("*6(--*6(-----=)----)", "*6(--*6(-----)=---)"),
        # Hooks, with a type, a number, and without a name.
        ("A?-[2]B-[7]C?", "A?[a]-[2]B-[7]C?[a,{-}]"),
        ("A?[x]-[2]B-[7]C?[x,2]", "A ?[x] -[:90] B -[:315] C ?[x,{=}]"),
        ("A?[x]-[2]B-[7]C?[x,{~},red]", "A ?[x] -[:90] B -[:315] C ?[x,{~}]"),
        ("N?[a]H-[2]B-[7]C?[a]", "N H ?[a] -[:90] B -[:315] C ?[a,{-}]"),
        # Text: braces, escapes, marks, comments and blanks anywhere.
        ("{(}CH_2{)}_3-[2]A", "( C H _ { 2 } ) _ { 3 } -[:90] A"),
        ("@{x}A-@{y}[@{z}2]B", "A -[:90] B"),
        ("A-[2]% a comment\n B- [ : 30 ] C", "A -[:90] B -[:30] C"),
        ("C|H_3-[2]A", "C H _ { 3 } -[:90] A"),
        (" * 6 ( - - - - - - ) ", HEXAGON),
        ("\\chemabove{N}{H}-[2]A", "\\Chemabove { N } { H } -[:90] A"),
        ("\\chembelow[2pt]{N}{H}-[2]A", "\\Chemabove { H } { N } -[:90] A"),
        ("\\charge{90=\\:,0=\\.}{O}-[2]A", "\\charge{0=\\.,90=\\:}{O}-[2]A"),
        ("\\lewis{0:,O}-[2]A", "\\lewis { 0 : , O } -[:90] A"),
        # Bonds: Cram types, the side of a double bond, an offset, a bond that is not drawn.
        ("A<[2]B>:[6]C<|[2]D", "A <[:90] B >:[:270] C <|[:90] D"),
        ("A=_[2]B=^[:30]C", "A =[:90] B =[:30] C"),
        ("A-#(3pt,3pt)[2]B", "A -[:90] B"),
        ("\\chemfig{A-[2]B}", "A -[:90] B"),
    ],
)
def test_raw_chemfig_draws_what_the_ssml_says(raw: str, ssml: str) -> None:
    match = compare(raw, ssml, max_angle_deviation=0.01)
    assert match.equal, match.difference


def test_a_circle_is_tied_to_every_atom_of_its_ring() -> None:
    raw = molecule("**[0,270]6(------)")
    ssml = molecule("?[a] branch( -:[:30,1] \\circle branch) -[:330] -[:30] -[:90] -[:150] -[:210] ?[a,{-}]")
    for drawn in (raw, ssml):
        assert sum(bond.type == "-:" for bond in drawn.bonds) == 6
    assert compare("**6(------)", "?[a] branch( -:[:30] \\circle branch) " + HEXAGON.removeprefix("?[a] ")).equal


def test_a_circle_written_by_mol2chemfig_is_one() -> None:
    written = "-[:330]-[:30]-[:90]-[:150]-[:210]?[a]"
    assert compare(f"?[a](-[:30,,,,draw=none]\\mcfcringle{{1.3}}){written}", "**6(------)").equal


def test_submolecules_are_put_in_place() -> None:
    definitions = "\\definesubmol{me}{-[2]CH_3}\\definesubmol\\x2{-[:#1]#2}\\definesubmol y[-[6]L]{-[6]R}"
    assert molecule("A!{me}", definitions) == molecule("A-[2]CH_3")
    assert molecule("A!\\x{30}{B}", definitions) == molecule("A-[:30]B")
    definitions = "\\definesubmol{end}[N_2O]{O_2N}"
    assert molecule("A-[1]!{end}", definitions).texts[1] == "O_{2}N"
    assert molecule("A-[3]!{end}", definitions).texts[1] == "N_{2}O"


def test_predefined_angles_count_in_the_increment_of_the_options() -> None:
    (first,) = line("\\chemfig[angle increment=30]{A-[1]B}").regions
    assert first.molecule == molecule("A-[:30]B")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        # \chemfig{ is nine characters, so the content starts at character 9 of the text.
        ("A-[:3x]B", "at character 11 of the text: expected an angle"),
        ("A-[,-1]B", "at character 11 of the text: expected a length of 0 or more"),
        ("A-[:1/0]B", "at character 11 of the text: expected an angle"),
        ("A(-B", "at character 10 of the text: expected a ')'"),
        ("A)-B", "at character 10 of the text: expected a '('"),
        ("A*2(--)", "at character 11 of the text: expected the number of sides of a ring, 3 to 500"),
        ("*6-", "at character 11 of the text: expected a '(' after the number of sides"),
        ("A-[2B", "at character 11 of the text: expected a ']'"),
        ("A-!{none}", "at character 11 of the text: expected a submolecule that \\definesubmol defines"),
        ("A?[a,12]-B", "at character 10 of the text: expected a bond or a number from 1 to 9"),
        ("A@-B", "at character 10 of the text: expected a name in braces"),
        ("(-" * 200 + ")" * 200, "expected at most 150 groups"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_was_expected(content: str, said: str) -> None:
    assert said in problem(content)


def test_a_submolecule_that_holds_itself_ends() -> None:
    (found,) = reading("\\definesubmol{x}{-!{x}!{x}}\\chemfig{A!{x}}").problems
    assert "at most 1000 submolecules" in found


@pytest.mark.parametrize("text", ["", "\\", "\\chemfig", "\\chemfig{", "\\chemfig[{", "\\definesubmol{", "\\chemfig{}"])
def test_odd_ends_are_read_without_an_error(text: str) -> None:
    assert all(region.molecule is None for region in line(text).regions)
