"""Numbers for people: rounded, but never so far that they become misleading."""

from __future__ import annotations

import math

DECIMALS = 4
MAX_DIGITS = 17
NEGLIGIBLE = 1e-9
"""A value this near to a whole number is shown as that: the difference is a rounding error or negligible."""


def half_up(value: float, places: int) -> float:
    """Returns a number rounded, a half away from zero, as toFixed in a page rounds; a zero has no sign."""
    # Only an odd multiple of 2^-(places + 1) is a float halfway between two numbers of so many places.
    if value * 2 ** (places + 1) % 2 == 1:
        value = math.nextafter(value, math.copysign(math.inf, value))
    return round(value, places) + 0.0


def fixed(value: float) -> str:
    """Returns a number with four decimals, or as many more as distinguish it from a whole one; a zero has no sign.

    A value of 0.99996 is not 1.0000, and a difference of 0.00004 not 0.0000: a reader would take it for all, or none.

    >>> fixed(0.25), fixed(0.99996), fixed(1.0), fixed(-1e-17)
    ('0.2500', '0.99996', '1.0000', '0.0000')
    """
    places = DECIMALS
    if math.isfinite(value) and abs(value - round(value)) > NEGLIGIBLE:
        while round(value, places) == round(value):
            places += 1
    return f"{half_up(value, places):.{places}f}"


def trimmed(value: float) -> str:
    """Returns a number as `fixed`, without the zeros at its end.

    >>> trimmed(0.25), trimmed(0.99996), trimmed(1234567.0)
    ('0.25', '0.99996', '1234567')
    """
    return fixed(value).rstrip("0").rstrip(".")


def signed(value: float | None) -> str:
    """Returns a difference as `fixed`, with its sign; 0 has no sign, and None is a dash.

    >>> signed(0.25), signed(-0.00004), signed(0.0), signed(None)
    ('+0.2500', '-0.00004', '0.0000', '–')
    """
    if value is None:
        return "–"
    text = fixed(value)
    return f"+{text}" if float(text) > 0 else text


def typeset(value: float | None) -> str:
    """Returns a difference as `signed`, with a minus sign that is as wide as the plus sign."""
    return signed(value).replace("-", "−")


def digits_apart(limit: float, *values: float) -> int:
    """Returns how many significant digits to show: four, or as many more as distinguish the values from a limit.

    >>> digits_apart(0.9, 0.81, 0.899), digits_apart(0.9, 0.899996)
    (4, 6)
    """
    different = [value for value in values if abs(value - limit) > NEGLIGIBLE]
    return next(
        (n for n in range(4, MAX_DIGITS) if f"{limit:.{n}g}" not in [f"{each:.{n}g}" for each in different]), MAX_DIGITS
    )


def percent(share: float) -> str:
    """Returns a share such as a confidence in percent, with as many decimals as it has.

    >>> percent(0.95), percent(0.995)
    ('95%', '99.5%')
    """
    return f"{100 * share:.6g}%"


def count_of(number: int, what: str) -> str:
    """Returns a count with its noun, in the plural unless it is 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
