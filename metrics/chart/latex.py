"""LaTeX commands, subscripts and superscripts as Unicode, exactly as the unicodeit package replaces them.

unicodeit replaces each of its 4,257 commands in each text, one after the other. Here those with a backslash are tried
only on texts that have one, and by a look at the text before it is copied; the tables are the package's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unicodeit.data import COMBININGMARKS, REPLACEMENTS, SUBSUPERSCRIPTS

_NEGATED = re.compile(r"\\not(\\[A-z]+)")
_GREEK = "\u03b2\u03c6\u03c7\u2212"
_SUBSCRIPTS = re.compile(rf"_\{{([+-=()<>\-aeoxjhklmnpstiruv{_GREEK}\u03b3\u03c1]+)\}}")
_SUPERSCRIPTS = re.compile(rf"\^\{{([+-=()<>ABDEGHIJKLMNOPRTUWa-pr-z{_GREEK}\u03b3\u03b4\u222b]+)\}}")


def _steps() -> Iterator[tuple[str, str]]:
    """Yields (command, character) in the order of unicodeit; an accent over nothing is met in two spellings."""
    for command, character in REPLACEMENTS:
        yield command, character
        if command.endswith("{}"):
            yield "\\ " + command[1:], character


_STEPS = tuple(_steps())
_STEPS_WITHOUT_BACKSLASH = tuple(step for step in _STEPS if "\\" not in step[0])


def without_latex(text: str) -> str:
    """Returns the text with Unicode instead of LaTeX.

    >>> without_latex("\\\\alpha CO_{2}")
    'α CO₂'
    """
    text = _NEGATED.sub(r"\\slash{\1}", text)
    for mark, _ in COMBININGMARKS:
        text = text.replace(mark + "{", "\\ " + mark[1:] + "{")
    for command, character in _STEPS if "\\" in text else _STEPS_WITHOUT_BACKSLASH:
        if command in text:
            text = text.replace(command, character)
    text = _SUBSCRIPTS.sub(lambda group: "".join("_" + each for each in group[1]), text)
    text = _SUPERSCRIPTS.sub(lambda group: "".join("^" + each for each in group[1]), text)
    for script, character in SUBSUPERSCRIPTS:
        text = text.replace(script, character)
    for mark, combining in COMBININGMARKS:
        text = _accented(text, mark, combining)
    return text


def _accented(text: str, mark: str, combining: str) -> str:
    """Puts the combining character behind the first character of each `\\ mark{}`, without its braces."""
    opening = f"\\ {mark[1:]}{{"
    place = text.find(opening)
    while place >= 0:
        inside = place + len(opening)
        if inside == len(text):
            text = text[:place] + mark + "{"
        else:
            text = text[:place] + text[inside] + combining + text[inside + 2 :]
        place = text.find(opening, max(0, place - len(opening)))
    return text
