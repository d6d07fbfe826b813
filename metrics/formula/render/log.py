"""Reads from TeX's log which formulas of a batch were typeset without an error."""

from __future__ import annotations

import re

_LINE = re.compile(r"^(?:(! )|=formula (\d+) (?:begins|ends with (\d+))$)", re.MULTILINE)


def finished(log: str, count: int) -> tuple[frozenset[int], int]:
    """Returns which of `count` formulas are clean, and the number of the last that was begun (-1: none).

    The batch says `=formula N begins` before each and after the last, and `=formula N ends with D` where D is how many
    displays it had. A formula is clean where both lines and the beginning of the next follow each other, D is 1, and
    between them there is no error, which TeX reports in a line that starts with an exclamation mark. Text of a formula
    never starts a line of the log: TeX shows at most 79 characters of it, after an indentation.
    """
    clean: set[int] = set()
    last, ended, faultless = -1, False, True
    for error, number, displays in _LINE.findall(log):
        if error:
            faultless = False
        elif displays:
            faultless = faultless and not ended and int(number) == last and int(displays) == 1
            ended = True
        else:
            if int(number) != last + 1 or last == count:
                break
            if last >= 0 and ended and faultless:
                clean.add(last)
            last, ended, faultless = last + 1, False, True
    return frozenset(clean), min(last, count - 1)
