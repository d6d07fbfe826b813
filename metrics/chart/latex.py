"""LaTeX commands, subscripts and superscripts as Unicode, exactly as the unicodeit package replaces them.

unicodeit tries each of its 4,257 commands on each text, one after the other, which takes milliseconds. Here only the
commands that occur in a text are tried; the tables are the package's own.
"""

from __future__ import annotations

import re
from collections import defaultdict
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
_ALPHABET = frozenset().union(*(command for command, _ in _STEPS))
_WITHOUT_BACKSLASH = tuple(index for index, (command, _) in enumerate(_STEPS) if "\\" not in command)
_BY_COMMAND: defaultdict[str, list[int]] = defaultdict(list)
# (place of the backslash, length) of the commands, by the backslash and the character behind it.
_SHAPES: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
for _index, (_command, _) in enumerate(_STEPS):
    _BY_COMMAND[_command].append(_index)
    _place = _command.find("\\")
    if _place >= 0:
        _SHAPES[_command[_place : _place + 2]].add((_place, len(_command)))


def without_latex(text: str) -> tuple[str, int]:
    """Returns the text with Unicode instead of LaTeX, and the steps that this took, of a microsecond each.

    >>> without_latex("\\\\alpha CO_{2}")[0]
    'α CO₂'
    """
    text = _NEGATED.sub(r"\\slash{\1}", text)
    for mark, _ in COMBININGMARKS:
        text = text.replace(mark + "{", "\\ " + mark[1:] + "{")
    text, steps = _without_commands(text)
    text = _SUBSCRIPTS.sub(lambda group: "".join("_" + each for each in group[1]), text)
    text = _SUPERSCRIPTS.sub(lambda group: "".join("^" + each for each in group[1]), text)
    for script, character in SUBSUPERSCRIPTS:
        text = text.replace(script, character)
    for mark, combining in COMBININGMARKS:
        text = _accented(text, mark, combining)
    return text, (steps + 40 + len(text) // 2) * 2


def _without_commands(text: str) -> tuple[str, int]:
    """Replaces the commands in order, and returns how many steps that took.

    A character that is itself a part of commands, as `{` for `\\lbrace`, may complete a later one; from there on every
    command is tried.
    """
    candidates, lookups = _occurring(text)
    cost = 1 + len(text) // 250
    for count, index in enumerate(candidates):
        command, character = _STEPS[index]
        replaced = text.replace(command, character)
        if replaced != text and character in _ALPHABET:
            for later, latest in _STEPS[index + 1 :]:
                replaced = replaced.replace(later, latest)
            return replaced, lookups // 2 + cost * (count + len(_STEPS) - index)
        text = replaced
    return text, lookups // 2 + cost * len(candidates)


def _occurring(text: str) -> tuple[list[int], int]:
    """Returns the positions in `_STEPS` of the commands that occur in the text, and how many lookups that took."""
    found = {index for index in _WITHOUT_BACKSLASH if _STEPS[index][0] in text}
    lookups = 0
    place = text.find("\\")
    while place >= 0:
        shapes = _SHAPES.get(text[place : place + 2], ())
        lookups += 1 + len(shapes)
        for offset, length in shapes:
            if offset <= place:
                found.update(_BY_COMMAND.get(text[place - offset : place - offset + length], ()))
        place = text.find("\\", place + 1)
    return sorted(found), lookups


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
