from __future__ import annotations

from beamscore.metrics.formula.latex.commands import sanitize


def test_whatever_is_not_in_the_vocabulary_is_an_unknown_command() -> None:
    assert sanitize(r"\frac\alpha\input\\\newline") == "\\frac\\alpha\\unknowncommand \\\\\\newline"
    assert sanitize(r"\begin{array}\begin{filecontents}") == "\\begin{array}\\unknowncommand "
    assert "\\unknowncommand" in sanitize("x\\")
