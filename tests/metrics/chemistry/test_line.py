"""Lines: regions, the text around them, and chains that are text."""

from __future__ import annotations

import pytest

from tests.metrics.chemistry.helpers import line, reading


def tokens(text: str) -> str:
    return " ".join(line(text).tokens)


def test_regions_stand_in_the_text_by_number() -> None:
    read = line("2 \\chemfig{A-[2]B} + \\xrightarrow{\\chemfig{C-[2]D}} H_2O")
    assert len(read.regions) == 2
    assert " ".join(read.tokens) == "2 \\chemfig1 + \\overset { \\chemfig2 } { \\rightarrow } H _ { 2 } O"


@pytest.mark.parametrize(
    ("molecule", "text"),
    [
        ("\\chemfig{CH_3-CH_2=O}", "C H _ { 3 } - C H _ { 2 } = O"),
        ("\\chemfig{HC~CH}", "H C \\equiv C H"),
        ("\\chemfig { A -[:180] B }", "B - A"),
        ("\\chemfig{A-[:15]B}", "A - B"),
        ("\\chemfig{A-[:-15]B}", "A - B"),
        ("\\chemfig{A-[,0.25]B}", "A B"),
        ("\\chemfig{A<[,0.2]B}", "A B"),
        ("\\chemfig{A}", "A"),
        # MoleculePair: too steep, a branch, a wedge, two bonds from one end.
        ("\\chemfig{A-[:15.1]B}", "\\chemfig1"),
        ("\\chemfig{A(-[2]C)-B}", "\\chemfig1"),
        ("\\chemfig{A<B}", "\\chemfig1"),
        ("\\chemfig{A?-B-C?}", "\\chemfig1"),
    ],
)
def test_a_straight_chain_is_text(molecule: str, text: str) -> None:
    assert tokens(f"{molecule} + x") == f"{text} + x".strip()


def test_a_line_may_mix_both_ways_of_writing() -> None:
    read = line("\\chemfig{A-[2]B} \\chemfig { A -[:90.0,1.0] B }")
    assert read.regions[0].molecule == read.regions[1].molecule


def test_a_region_that_is_not_closed_takes_the_rest_of_the_line() -> None:
    read = reading("x \\chemfig{A-[2]B \\chemfig{C}")
    assert read.problems == ["at character 10 of the text: expected a '}' that closes this '{'"]
    assert tokens("x \\chemfig{A-[2]B \\chemfig{C}") == "x \\chemfig1"


def test_options_before_the_molecule_are_passed_over() -> None:
    assert (
        line("\\chemfig [atom sep=2em] [x] {A-[2]B}").regions[0].molecule
        == line("\\chemfig{A-[2]B}").regions[0].molecule
    )


def test_definitions_are_no_text() -> None:
    assert tokens("\\definesubmol{a}{-[2]B} \\chemfig{A!a} !") == "\\chemfig1 !"
