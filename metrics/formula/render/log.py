"""Reads from TeX's log which formulas of a batch got the page that they have alone."""

from __future__ import annotations

import re

MAX_ERRORS = 50
"""A formula with more errors is not accepted: at a hundred TeX ends the run."""

_LOCAL_ERRORS = r"""
    Undefined\ control\ sequence\. | Extra\ \}, | Extra\ \\ | Extra\ alignment\ tab | Double\ (?:super|sub)script
    | Missing\ (?:\}|\$|\\right\.|\\cr|\\endgroup)\ inserted | Missing\ \{\ inserted\.\n<inserted\ text>
    | Missing\ delimiter | Missing\ number, | Illegal\ unit | Misplaced\ | Ambiguous; | Limit\ controls
    | Display\ math\ should\ end | You\ can't\ use\ | LaTeX\ Error:\ (?:\\begin\{|Bad\ math\ environment)
"""
"""Errors that TeX repairs by leaving a token out or putting one in, reading none beyond it; not those in which a
command takes a mark for its argument, and so prints its number ("Missing { inserted", unless an alignment lacks it)."""

_LINE = re.compile(
    rf"""^(?:
    !\ (?P<local>{_LOCAL_ERRORS})? |
    =formula\ (?P<number>\d+)\ (?:begins|ends\ with\ (?P<displays>\d+)(?P<more>\ and\ more)?)$
    )""",
    re.MULTILINE | re.VERBOSE,
)


def finished(log: str, count: int) -> tuple[frozenset[int], int]:
    """Returns which of `count` formulas may be accepted, and the number of the last that was begun (-1: none).

    The batch says `=formula N begins` before each and after the last, and `=formula N ends with D` where D is how many
    displays it had; `and more` follows where there is something between the displays or after the last. A formula is
    accepted where both lines and the beginning of the next follow each other, and

    - TeX reports no error between them, in a line that starts with an exclamation mark, and D is 1; or
    - it reports at most 50, all of which it repairs where they are, and nothing follows the first display: then all
      the ink is of that display, which TeX made of the formula's own tokens and nothing else.

    Text of a formula never starts a line of the log: TeX shows at most 79 characters of it, after an indentation.
    """
    accepted: set[int] = set()
    last, errors, ended, whole = -1, 0, False, True
    for line in _LINE.finditer(log):
        if line["number"] is None:
            errors += 1
            whole = whole and line["local"] is not None
        elif line["displays"]:
            displays = int(line["displays"])
            alike = displays == 1 if not errors else displays >= 1 and not line["more"]
            whole = whole and not ended and int(line["number"]) == last and alike
            ended = True
        else:
            if int(line["number"]) != last + 1 or last == count:
                break
            if last >= 0 and ended and whole and errors <= MAX_ERRORS:
                accepted.add(last)
            last, errors, ended, whole = last + 1, 0, False, True
    return frozenset(accepted), min(last, count - 1)
