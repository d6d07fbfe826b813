"""Lines: regions, the text around them, and chains that are text."""

from __future__ import annotations

import pytest

from tests.metrics.chemistry.helpers import line, molecule, reading


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # A straight chain is text: bonds within 15 degrees of the x axis, no branch, no ring, `- = ~` alone.
        ("\\chemfig{CH_3-CH_2=O}", "C H _ { 3 } - C H _ { 2 } = O"),
        ("\\chemfig{HC~CH}", "H C \\equiv C H"),
        ("\\chemfig { A -[:180] B }", "B - A"),
        ("\\chemfig{A-[:15]B}", "A - B"),
        ("\\chemfig{A-[:-15]B}", "A - B"),
        ("\\chemfig{A-[,0.25]B}", "A B"),
        ("\\chemfig{A<[,0.2]B}", "A B"),
        ("\\chemfig{A}", "A"),
        ("\\chemfig{A-[:15.1]B}", "\\chemfig1"),
        ("\\chemfig{A(-[2]C)-B}", "\\chemfig1"),
        ("\\chemfig{A<B}", "\\chemfig1"),
        ("\\chemfig{A?-B-C?}", "\\chemfig1"),
        # Regions stand in the text by number, definitions do not, and one that is not closed takes the rest.
        (
            "2 \\chemfig{A-[2]B} + \\xrightarrow{\\chemfig{C-[2]D}} H_2O",
            "2 \\chemfig1 + \\overset { \\chemfig2 } { \\rightarrow } H _ { 2 } O",
        ),
        ("\\definesubmol{a}{-[2]B} \\chemfig{A!a} !", "\\chemfig1 !"),
        ("x \\chemfig{A-[2]B \\chemfig{C}", "x \\chemfig1"),
    ],
)
def test_the_text_of_a_line(text: str, tokens: str) -> None:
    assert " ".join(line(text).tokens) == tokens


def test_a_line_may_mix_both_ways_of_writing_and_have_options() -> None:
    read = line("\\chemfig{A-[2]B} \\chemfig { A -[:90.0,1.0] B } \\chemfig [atom sep=2em] [x] {A-[2]B}")
    assert [region.molecule for region in read.regions] == [molecule("A-[2]B")] * 3


def test_a_region_that_is_not_closed_is_a_problem() -> None:
    problems = reading("x \\chemfig{A-[2]B \\chemfig{C}").problems
    assert problems == ["at character 10 of the text: expected a '}' that closes this '{'"]
