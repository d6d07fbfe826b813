from __future__ import annotations

import pytest

from beamscore.metrics.formula.render.document import finished

BEGIN = "=formula {} begins\n"
END = "=formula {} ends with 1\n"


def lines(*parts: str | int) -> str:
    """A number stands for a formula without a fault."""
    return "".join(BEGIN.format(part) + END.format(part) if isinstance(part, int) else part for part in parts)


@pytest.mark.parametrize(
    ("log", "clean", "reached"),
    [
        (lines(0, 1, BEGIN.format(2)), {0, 1}, 1),
        ("", set(), -1),
        # Without the beginning of the next it is not known what the last one left behind.
        (lines(0, 1), {0}, 1),
        # An error that TeX repairs where it is does no harm, also where it leads to a second display without ink ...
        (lines(0, BEGIN.format(1), "! Missing $ inserted.\n", END.format(1), BEGIN.format(2)), {0, 1}, 1),
        (lines(0, BEGIN.format(1), "! Extra }, or\n", "=formula 1 ends with 2\n", BEGIN.format(2)), {0, 1}, 1),
        (lines(0, BEGIN.format(1), "! Undefined control sequence.\n" * 50, END.format(1), BEGIN.format(2)), {0, 1}, 1),
        # ... but not where more follows, where a command takes a mark or reads on, or where there are too many.
        (lines(0, BEGIN.format(1), "! Extra }, or\n", "=formula 1 ends with 1 and more\n", BEGIN.format(2)), {0}, 1),
        (lines(0, BEGIN.format(1), "! Missing { inserted.\n", END.format(1), BEGIN.format(2)), {0}, 1),
        (lines(0, BEGIN.format(1), "! Forbidden control\n", END.format(1), BEGIN.format(2)), {0}, 1),
        (lines(0, BEGIN.format(1), "! LaTeX Error: Illegal pream-token\n", END.format(1), BEGIN.format(2)), {0}, 1),
        (lines(0, BEGIN.format(1), "! Undefined control sequence.\n" * 51, END.format(1), BEGIN.format(2)), {0}, 1),
        (lines(0, BEGIN.format(1), "=formula 1 ends with 1 and more\n", BEGIN.format(2)), {0, 1}, 1),
        (lines(0, 1, "! Too many }'s.\n", BEGIN.format(2)), {0}, 1),
        (lines(0, BEGIN.format(1), BEGIN.format(2)), {0}, 1),
        (lines(BEGIN.format(0), "=formula 0 ends with 2\n", 1, BEGIN.format(2)), {1}, 1),
        (lines(0, END.format(0), 1, BEGIN.format(2)), {1}, 1),
        (lines(BEGIN.format(0), END.format(1), 1, BEGIN.format(2)), {1}, 1),
        # A number out of turn ends what is believed.
        (lines(0, BEGIN.format(0), END.format(0), 1), set(), 0),
        (lines(1), set(), -1),
        # Only a line that starts so counts.
        (lines(BEGIN.format(0), "l.3 ! x\n  =formula 1 begins\n", END.format(0), BEGIN.format(1)), {0}, 1),
    ],
)
def test_which_formulas_are_clean(log: str, clean: set[int], reached: int) -> None:
    assert finished(log, 2) == (frozenset(clean), reached)
