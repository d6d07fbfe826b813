"""How a line is read: SSML, raw Chemfig as the package draws it, brackets, comments, and text in one form."""

import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.chemistry.latex_text import MAX_GROUP_DEPTH, normalize, tokenize
from beamscore.metrics.chemistry.ssml import is_ssml
from tests.metrics.chemistry.helpers import PROTOCOLS, compare, line, molecule, reading

HEXAGON = "?[a] -[:330] -[:30] -[:90] -[:150] -[:210] ?[a,{-}]"
CIRCLED = "?[a] branch( -:[:30] \\circle branch) " + HEXAGON.removeprefix("?[a] ")
NESTED = (
    "?[a] -[:330] -[:30] ?[b] branch( =[:330] -[:30] -[:90] -[:150] -[:210] ?[c] branch) "
    "=[:90] branch( -[:150] -[:210] ?[a,{-}] branch)"
)


def test_pieces_of_text_join_and_bonds_lead_to_new_atoms() -> None:
    drawn = molecule("C H _ { 3 } -[:90.0,2.0] O H =[:0] N ^ { + }")
    assert list(drawn.texts) == ["CH_{3}", "OH", "N^{+}"]
    assert [*map(tuple, drawn.bonds)] == [(0, 1, "-", 90, 2), (1, 2, "=", 0, 1)]
    # y grows downwards: 90 degrees is up.
    assert (drawn.xs[1], drawn.ys[1]) == pytest.approx((0, -2))
    # Right 3, then up 4: from the start to there it is 5, at atan(4 / 3) = 53.13 degrees.
    closing = molecule("A ?[a] -[:0,3] B -[:90,4] C ?[a,{=}]").bonds[-1]
    assert closing[:3] == (0, 2, "=")
    assert closing[3:] == pytest.approx((53.13, 5), abs=0.01)
    # Without the blank before it, a bond is text; what follows a bond without a blank is lost, as for the tool.
    assert molecule("N-[:90] -[:90.0,1.0]O H branch( -[:60] A branch)").texts == ("N-[:90]", "H", "A")
    # A label of a nested \\chemfig whose braces were lost keeps the command as the text of an atom.
    assert molecule("\\chemfig * * 6 ( - - - )").texts == ("\\chemfig", "\\circle", "", "", "")


def places(content: str) -> list[tuple[str, float, float]]:
    """The texts of the atoms with their places."""
    drawn = molecule(content, normalizes=True)
    atoms = zip(drawn.texts, drawn.xs, drawn.ys, strict=True)
    return sorted((text, round(x, 6) + 0.0, round(y, 6) + 0.0) for text, x, y in atoms)


def test_two_ways_to_draw_one_molecule() -> None:
    for content, ssml in [
        # SSML: a branch comes back to the atom where it began, also for a mark; open ones are closed at the end.
        ("branch( -[:90] B branch) ?[a] - C -[:120] ?[a,{-}]", "?[a] branch( -[:90] B branch) - C -[:120] ?[a,{-}]"),
        ("A branch( -[:90] B branch( =_[:0] C", "A branch( -[:90] B branch( =^[:0] C branch) branch)"),
        # Angles: absolute, relative to the bond before, predefined (n times 45 degrees), arithmetic.
        (
            "A-[:30]B-[::60]C-[::-120]D-[7]E-[1.5]F-[:360/5]G-[:-60]H",
            "A -[:30] B -[:90] C -[:330] D -[:315] E -[:67.5] F -[:72] G -[:300] H",
        ),
        ("A-[:{60}]B-[{:30},{2}]C-[ { ::-10 } ]D", "A -[:60] B -[:30,2] C -[:20] D"),
        # A branch starts with the group's default, and relative angles in it count from the bond before it.
        (
            "[::60,2]A-B([:20]-C-D)(-[::90]E(=[3]F)-G)-[::-90,0.5]H",
            "A -[:60,2] B branch( -[:20,2] C -[:20,2] D branch) "
            "branch( -[:150,2] E branch( =[:135,2] F branch) -[:60,2] G branch) -[:330,0.5] H",
        ),
        # Departure and arrival atoms choose within a group of atoms.
        ("HO-[2,,2,1]CH_3", "H O -[:90] C H _ { 3 }"),
        # Rings; the first side may be turned.
        ("[:-30]*4(----)", "?[a] -[:330] -[:60] -[:150] ?[a,{-}]"),
        ("A*5(-B=C-D-E=)", "A ?[a] -[:342] B =[:54] C -[:126] D -[:198] E ?[a,{=}]"),
        # Branches of a ring leave along the bisector; a ring after a bond lies symmetrically about it.
        ("*6(-(-A)-----)", "?[a] -[:330] branch( -[:270] A branch) -[:30] -[:90] -[:150] -[:210] ?[a,{-}]"),
        ("*6((-A)------)", "branch( -[:210] A branch) " + HEXAGON),
        ("A-[2]*6(------)", "A -[:90] ?[a] -[:30] -[:90] -[:150] -[:210] -[:270] ?[a,{-}]"),
        # The last side of a ring that starts the molecule is upright. Within a ring, angles and lengths count for
        # nothing; what follows the last side is not drawn.
        ("*6(-[:77]-[2,3]----A-(B){C}\\d)", HEXAGON),
        # An open ring is an arc.
        ("*6(---A)", "-[:330] -[:30] -[:90] A"),
        # Nested rings share the side that comes next, with and without parentheses; of two bonds the higher is seen.
        ("*6(--*6(=----=)----)", NESTED),
        ("*6(--(*6(=-----))=---)", NESTED),
        # An option without an angle turns a ring that shares a side to 0.
        ("[:60]*6(--*6([,1]------)----)", "[:60]*6(--*6([:0]------)----)"),
        ("?[a](-[:30,,,,draw=none]\\mcfcringle{1.3})-[:330]-[:30]-[:90]-[:150]-[:210]?[a]", CIRCLED),
        # Hooks, with a type, a number, and without a name.
        ("A?[x]-[2]B-[7]C?[x,2,red]", "A ?[x] -[:90] B -[:315] C ?[x,{=}]"),
        # A hook's bond is drawn from the first atom with its name to the later one.
        ("A?[a]-[:0]D-[:90]C-[:180]B?[a,<]", "A ?[a] <[:90] B -[:0] C -[:270] D ?[a,{-}]"),
        ("A?-[2]N?[b]H-[7]C?[a]-[7]D?[b,{~}]", "A ?[a] -[:90] N H ?[b] -[:315] C ?[a,{-}] -[:315] D ?[b,{~}]"),
        # Text, a mark or a hook after a branch or ring is where the last bond ended, except one that closed a ring.
        ("A-[1](-[2]B(-[3]))N(-[5])|-[7]C", "A -[:45] -[:90] B -[:135] N -[:225] -[:315] C"),
        ("*6(-(-[2])N-----)", "?[a] -[:330] -[:90] N -[:30] -[:90] -[:150] -[:210] ?[a,{-}]"),
        ("A-*4(----)N-[2](-B)C", "A -[:0] ?[a] -[:315] -[:45] -[:135] N ?[a,{-}] -[:90] -[:0] B -:[:0,0] C"),
        ("A(-[2])?[a]-C-[2](-[4])@{y}-[3]D?[a]", "A -[:90] ?[a] -[:0] C -[:90] -[:180] -[:135] D ?[a,{-}]"),
        # Text: braces, marks, comments, blanks anywhere, a region within.
        ("{(}C|H_2{)}_3-@{y}[@{z}2]@{x}A % a comment\n - [ : 30 ] C", "( C H _ { 2 } ) _ { 3 } -[:90] A -[:30] C"),
        ("\\chemabove{N}{H}-[2]\\chembelow[2pt]{N}{H}", "\\Chemabove { N } { H } -[:90] \\Chemabove { H } { N }"),
        ("\\charge{90=\\:,0=\\.}{O}-[2]\\lewis{0:,O}", "\\charge{0=\\.,90=\\:}{O} -[:90] \\lewis { 0 : , O }"),
        ("\n  HO% 1\n  -[:30]% 2\n  -[:330]% 3\n  -[:30]OH% 4\n", "H O -[:30] -[:330] -[:30] O H"),
        ("\n  O% 1\n  =[:30]% 2\n  -[:330]O% 3\n", "O =[:30] -[:330] O"),
        # Bonds: Cram types, the side of a double bond, an offset.
        ("A<[2]B>:[6,2]C<|[2]D=_[1]E=^[:30]F", "A <[:90] B >:[:270,2] C <|[:90] D =[:45] E =[:30] F"),
        ("\\chemfig{A-#(3pt,3pt)[2]B}-[:90,,,,mcfwavy]C", "A -[:90] B ~/[:90] C"),
        # The style of a group holds for the groups within; that of a bond takes its place.
        (
            "A([3,2,,,draw=none]-B*4([,1]----)(-C-[,,,,red]D))-[1]E",
            "A(-[3,2,,,draw=none]B*4([3,1]-[,,,,draw=none]-[,,,,draw=none]-[,,,,draw=none]-[,,,,draw=none])"
            "(-[3,2,,,draw=none]C-[3,2]D))-[1]E",
        ),
    ]:
        match = compare(content, ssml, max_angle_deviation=0.01)
        assert match.equal, (content, match.difference)
        assert places(content) == places(ssml), content


def test_submolecules_and_options_of_a_region() -> None:
    definitions = "\\definesubmol{me}{-[2]CH_3}\\definesubmol\\x2{-[:#1]#2}\\definesubmol{end}[N_2O]{O_2N}"
    assert molecule("A!{me}", definitions) == molecule("A-[2]CH_3")
    assert molecule("A!\\x{30}{B}", definitions) == molecule("A-[:30]B")
    # An argument may come twice, and be long.
    twice, long = "\\definesubmol{twice}1{-[2]#1-[1]#1}", "C H_2" * 5
    assert molecule(f"A!{{twice}}{{{long}}}", twice) == molecule(f"A-[2]{long}-[1]{long}")
    # Before the first bond of a group, its default angle counts. Straight up is not to the left, even if the sums of
    # sevenths are a little above 90. The fourth side of a ring after 330.5 runs at 330.5 + 4 * 60 - 120 = 450.5.
    for drawn, contents in {
        "N_{2}O": ["A-[3]!{end}", "-[:330.5]*6(----!{end})", "[4]-[1](!{end})", "[4]-[1]((-)!{end})", "-*6((!{end})-)"],
        "O_{2}N": ["A-[1]!{end}", "-[:330]*6(----!{end})", "*7(-----*7(-!{end}))", "-[:300]*6((!{end})-)"],
    }.items():
        for content in contents:
            assert drawn in molecule(content, definitions).texts, content
    first, second = line("\\chemfig[x][angle increment=30]{A-[1]B} \\chemfig { A -[:30] B }").regions
    assert first.molecule == second.molecule == molecule("A-[:30]B")
    *_, last = line("\\chemfig{A\\chemfig{B}} \\chemfig{A-[:30]B}").regions
    assert last.molecule == first.molecule


def test_what_cannot_be_read_says_where_and_what_was_expected() -> None:
    for text, said in {
        # \chemfig{ is nine characters, so the content starts at character 9 of the text.
        "\\chemfig{A-[:3x]B}": "at character 11 of the text: expected an angle",
        "\\chemfig[angle increment=400]{A}": "at character 8 of the text: expected an angle between -360 and 360",
        "\\chemfig{A-[,-1]B}": "at character 11 of the text: expected a length of 0 or more",
        "\\chemfig{A-[:1/0]B}": "at character 11 of the text: expected an angle",
        "\\chemfig{A(-B}": "at character 10 of the text: expected a ')'",
        "\\chemfig{A)-B}": "at character 10 of the text: expected a '('",
        "\\chemfig{A*2(--)}": "at character 11 of the text: expected the number of sides of a ring, 3 to 500",
        "\\chemfig{*6-}": "at character 11 of the text: expected a '(' after the number of sides",
        "\\chemfig{A-[2B}": "at character 11 of the text: expected a ']' that closes this '['",
        "\\chemfig{A?[a,12]-B}": "at character 10 of the text: expected a bond or a number from 1 to 9",
        "\\chemfig{A@-B}": "at character 10 of the text: expected a name in braces",
        "\\chemfig{" + "(-" * 200 + ")" * 200 + "}": "expected at most 150 groups",
        "\\definesubmol{x}{-!{x}!{x}}\\chemfig{A!{x}}": "at character 37 of the text: expected at most 1000 sub",
        "\\chemfig{A-!{none}}": "at character 11 of the text: expected a submolecule that \\definesubmol defines",
        "\\definesubmol{x}{-[:y]}\\chemfig{A!{x}}": "at character 33 of the text: expected an angle",
        "%\n\\chemfig{A branch) -[:0] B}": "at character 13 of the text: expected a 'branch(' before this 'branch)'",
        "\\chemfig{A -[:ninety] branch( branch)}": "at character 11 of the text: expected a bond such as -[:30.0",
        "\\chemfig{A -[:1.2.3] branch( branch)}": "expected a bond such as",
        "\\chemfig{A -[:0,1000000001] branch( branch)}": "expected a bond such as",
        "\\chemfig{A ?[a,x] branch( branch)}": "expected a hook such as",
        "\\chemfig{A x?[a] branch( branch)}": "expected a hook such as",
        "\\chemfig{A ?[a,{-}] branch( branch)}": "expected an atom with the mark ?[a] before '?[a,{-}]'",
        "x \\chemfig{A-[2]B \\chemfig{C}": "at character 10 of the text: expected a '}' that closes this '{'",
        "\\chemfig b \\chemfig{A-[2]B}": "at character 9 of the text: expected a '{' after \\chemfig",
    }.items():
        (problem,) = reading(text).problems
        assert said in problem, text
    # Two blanks, nine characters, and two of the content.
    for text, said in {
        "  \\chemfig{": "10 of the text: expected a pair",
        "  \\chemfig{A -[:x] B}": "13 of the text",
        " x \\chemfig [ a ] [ b ] { C }": "at character 3 of the text: one pair of []",
    }.items():
        (problem,) = reading(text, "released").problems
        assert said in problem, text


def test_the_look_of_a_region_tells_its_way_of_writing() -> None:
    for ssml_in, contents in {
        ("published", "released"): [
            *("C H _ { 3 } -[:90.0,1.0] O", "?[a] -[:90] -[:30] ?[a,{-}]", "A branch( - branch)", "", "N-[:90] O"),
            *("( C H _ { 2 } ) _ { 3 } -[:90] O", "N ^ { + } -[:90] O ^ { - }", "A { ~ - }", "CH O -[:90.0,1.0] N"),
            # A bond lacks a colon or a bracket.
            *("-[:45.0,1.0] -[315.0,1.0]", "?[a] -[:90] -[:30 -[210] ?[a,{-}]"),
        ],
        (): ["CH_3-[2]OH", "\\circledR-[2]OH", "[ :30] - -", "A *6( -[:30.0,1.0] B )", "CHO-[:90.0,1.0]CHO"],
        ("released",): [
            # Spaced characters with bare bonds, rings or options are text to the tool.
            *("* 6 ( - - - )", "C H _ { 3 } - O H", "C ( -[:90] H ) -[:0] H", "-[:90]O", "O-[:90]", "-[:90]O -[:0]N"),
            # A bond of the labels is SSML to the tool where blanks are lost: one text, which is that of an atom.
            "C H O-[:90.0,1.0]C H O",
            # Blanks and line breaks between the bonds of raw Chemfig, where something is joined or bare.
            *("HO\n-[:30,1.0]\n-[:330]OH", "CH_3 -[:30,1.0] CH_2 - OH", "-[:30] -[:330]O", "CO -[:30,1.2] H"),
            *("C -[:30.0,1.0] N (-[:90] O )", "?[a]=[:30] -[:330] ?[a]", "CH? -[:30] -[:330] C?", "CH_3 ?[a]"),
            *("C -[:90.0,1.0] -[7] H", "CH } - C -[:90.0,1.0] O"),
        ],
    }.items():
        for content in contents:
            read = tuple(each for each in PROTOCOLS if is_ssml(content, reads_spaced_chemfig=each == "published"))
            assert read == ssml_in, content


def test_the_text_of_a_line() -> None:
    texts = {
        # A straight chain is text: bonds within 15 degrees of the x axis, no branch, no ring, `- = ~` alone.
        "\\chemfig{CH_3-CH_2=O}": "C H _ { 3 } - C H _ { 2 } = O",
        "\\chemfig{HC~CH}": "H C \\equiv C H",
        "\\chemfig { A -[:180] B }": "B - A",
        "\\chemfig{A-[:15]B}\\chemfig{A-[:-15]B}": "A - B A - B",
        "\\chemfig{A-[:165]B}\\chemfig{A-[:-165]B}": "B - A B - A",
        "\\chemfig{A-[,0.25]B}\\chemfig{A<[,0.2]B}\\chemfig{A}": "A B A B A",
        "\\chemfig{A-[:15.1]B}\\chemfig{A(-[2]C)-B}": "\\chemfig1 \\chemfig2",
        "\\chemfig{A<B}\\chemfig{A?-B-C?}": "\\chemfig1 \\chemfig2",
        # Regions stand in the text by number, definitions do not, and one that is not closed takes the rest.
        "2 \\chemfig{A-[2]B} + \\xrightarrow{\\chemfig{C-[2]D}} H_2O": (
            "2 \\chemfig1 + \\overset { \\chemfig2 } { \\rightarrow } H _ { 2 } O"
        ),
        "\\definesubmol{a}{-[2]B} \\chemfig{A!a} !": "\\chemfig1 !",
        "x \\chemfig{A-[2]B \\chemfig{C}": "x \\chemfig1",
        # A `~` is a blank around molecules alone.
        "\\chemfig{A-[2]B}~+~\\chemfig{A{~}~B}\\~n\\\\~C": "\\chemfig1 + A ~ \\equiv B \\~ n \\\\ C",
        # A comment is gone with the end of its line; a command before it does not run into what follows.
        "\\chemfig{A-[2]B%[\n}a%b\n\\c%d\ne\\\\%f\ng\\%h\ni%j": "\\chemfig1 a \\c e \\\\ g \\% h i \\% j",
    }
    assert {text: " ".join(line(text).tokens) for text in texts} == texts


def form(text: str) -> str:
    return " ".join(normalize(tokenize(text)))


FORMS = {
    "C H _ { 3 }": ["CH_3", "{C}{H}_{3}", "CH₃"],
    "S O _ { 4 } ^ { 2 - }": ["SO_4^{2-}", "SO^{2-}_4"],
    "N a ^ { + }": ["Na⁺"],
    "C _ { c } ^ { a }": ["{C^a}_c", "\\textcolor{red}{C^a}_c"],
    "C _ { c d } ^ { a b }": ["C^a^b_c{}_d", "C_{cd}{}^{ab}"],
    "C _ { 1 2 } F e ^ { 3 + } R ^ { \\prime \\prime }": ["C₁₂Fe³⁺R''", "C_{12}Fe^{3+}R^{\\prime\\prime}"],
    "C ^ { a } x _ { c }": ["{C^a{}}x_c"],
    "( 1 )": ["（１）", "\\textbf{(1)}", "\\left.\\bigl(1\\Biggr)\\right."],
    "O H .": ["\\(\\tiny O\\)\\[H\\].", "\\textcolor[rgb]{1,0,0}{O}\\color[gray]{0}H\\hspace*{1em}."],
    "O H": ["\\mathrm{O}\\quad\\rm H\\, ", "\\textcolor{red}{O}\\color{blue}H"],
    "\\triangle \\triangle": ["\\Delta △"],
    "\\underset { b } { \\overset { a } { \\rightarrow } }": [
        *("\\xrightarrow[b]{a}", "\\underset{b}{\\overset{a}{\\to}}", "\\overset{a}{\\underset{b}{\\to}}"),
    ],
    "\\overset { a } { \\underset { b } { \\rightarrow } c }": ["\\overset{a}{\\underset{b}{\\to}c}"],
    "\\rightarrow": ["\\xrightarrow{}"],
    "\\overset { a } { \\rightarrow }": ["\\xrightarrow [ ] { a }"],
    "\\Chemabove { H } { N }": ["\\chembelow{N}{H}", "\\chemabove[1pt]{H}{N}"],
    "\\charge { 0 = + , 9 0 = \\: } { N }": ["\\Charge{90=\\:, 0=+}{N}"],
    # A symbol of several tokens is one argument, and what prints nothing is none.
    "^ { \\textcircled { - } } \\frac { . . . } { 2 }": ["^\\ominus\\frac\\ldots2", "^\\rm\\ominus\\frac\\dots\\rm2"],
    "\\frac { x ^ { 2 } } { y }": ["\\frac{x²}{y}", "\\frac{x^2}{y}"],
    "\\overline { C } \\underline { H }": ["\\bar C\\underline\\rm H"],
    "K _ { a } 2": ["K_\\mathrm{a}2", "K_\\,\\mathrm a2"],
    "_ { }": ["_", "_\\quad"],
    "": ["}{", ""],
    "\\": ["\\"],
}


def test_the_form_of_texts() -> None:
    assert {expected: {*map(form, texts)} for expected, texts in FORMS.items()} == {each: {each} for each in FORMS}


PIECES = [*"CHx_^{}[]23+,= '", "\\chemabove", "\\overset", "\\to", "\\xrightarrow", "\\charge"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20))
def test_any_text_has_a_form_which_is_its_own_form(tokens: list[str]) -> None:
    once = form(" ".join(tokens))
    assert form(once) == once


@pytest.mark.parametrize("command", ["\\xrightarrow", "\\chemabove", "\\charge"])
def test_options_are_read_to_a_depth_whatever_the_stack_of_the_caller(command: str) -> None:
    def called(depth: int, text: str) -> str:
        return called(depth - 1, text) if depth else form(text)

    for levels in (MAX_GROUP_DEPTH, MAX_GROUP_DEPTH + 1, 2_000):
        text = f"{command}[" * levels + "x" + "]" * levels
        assert called(0, text) == called(300, text)
        assert command != "\\xrightarrow" or (levels > MAX_GROUP_DEPTH) == ("[" in called(0, text))
