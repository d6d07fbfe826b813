"""The normal form of a formula or a table: one LaTeX token after another, in one spelling.

A formula is parsed and printed again (metrics.formula.latex.parser); if it does not parse, it is split into LaTeX
tokens, or as given at its blanks, as the released CDM tool does. A table is not parsed. Then the rules on tokens apply:
dots and operator names are spelled out, delimiters join the commands that size them, colors go, missing braces are
filled in.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...common.text import without_comments
from . import commands
from .parser import (
    BLANK,
    Unparsable,
    clean_formula,
    cut_at_comment,
    group_end,
    normal_tokens,
    plain_text,
    visible_tokens,
    without_layout,
    without_lengths,
)

_ONE_ARGUMENT = commands.MARKS | commands.INVISIBLE
_TWO_ARGUMENTS = frozenset(commands.FRACTIONS.values()) | commands.STACKS
_DIMENSIONS = {"\\hspace": 1, "\\vspace": 1, "\\rule": 2, "\\specialrule": 3}
_TABLE_RULES = frozenset({"\\cmidrule", "\\cline"})
_BEFORE_LENGTH = frozenset({"\\", "]", "}"})
_ENVIRONMENT = frozenset({"\\begin", "\\end"})
_WITH_DELIMITER = commands.SIZED | {"\\left", "\\right", "\\middle", "\\string"}
_ARRAY = "\\begin{array}"
_END_OF_CELL = re.compile(r"[&}]|\\(?:\\|cr|hline|tabularnewline|end\{.*)")
_TABLE = re.compile(r"\\begin\s*\{\s*tabular")
_TOOL_CHINESE = re.compile("[\u4e00-\u9fff]")
_TOOL_PUNCTUATION = str.maketrans({"，": ", ", "：": ": ", "；": "; "})
MAX_OPTION = 40
_LENGTH_OPTION = re.compile(r"\[[-.0-9]+[cepm][xtm]\]")
_TOOL_LENGTH = re.compile(r"[-+.0-9a-z]+")
_PLAIN_LENGTH = re.compile(rf"(?:[-+.0-9a-z]|\\{commands.REGISTER})+")


class Unbalanced(Exception):
    """A command lacks an argument or its closing brace, so the formula cannot be typeset."""


class NormalForm(NamedTuple):
    """The tokens of a formula or a table, and whether it was in the grammar, which has no tables."""

    tokens: tuple[str, ...]
    parsed: bool = True


def normal_form(text: str, released: bool = False) -> NormalForm:
    """Returns the normal form of a formula's or a table's LaTeX; of blank text, no tokens.

    `released`: as the released CDM tool has it, which joins all lines before it cuts at a comment, reads the
    arguments of layout, takes the word "tabular" for a table, replaces Chinese punctuation, keeps the last of two
    scripts of a kind on a nucleus, prints \\pmod without and \\atop with parentheses, splits a text that does not parse
    at its blanks, and adds no braces to arguments of \\multicolumn and \\multirow.

    Raises Unbalanced if a command's argument is missing or has no closing brace.
    """
    if not released:
        text = without_layout(without_comments(text)[0])
    table = "tabular" in text if released else _TABLE.search(text)
    if table:
        return NormalForm(_rewritten(_table_tokens(text if released else without_lengths(text)), released, table=True))
    if released and _TOOL_CHINESE.search(text):
        text = text.translate(_TOOL_PUNCTUATION)
    clean = clean_formula(text, released)
    try:
        return NormalForm(_rewritten(normal_tokens(clean, released), released))
    except Unparsable:
        visible = plain_text(text).split() if released else visible_tokens(without_lengths(clean))
        tokens = visible if released else [token for token in visible if token != "$"]
        return NormalForm(_rewritten(tokens, released), parsed=False)


def closing(tokens: list[str], opening: int, pair: tuple[str, str] = ("{", "}")) -> int:
    """Returns the index of the token that closes the one at `opening`.

    Raises Unbalanced if the token at `opening` does not open, or nothing closes it.
    """
    if opening >= len(tokens):
        raise Unbalanced("an argument is missing")
    end = group_end(tokens, opening, pair)
    if end is None:
        raise Unbalanced(f"nothing closes {tokens[opening]} at token {opening}")
    if end == opening:
        raise Unbalanced(f"an argument is missing at token {opening}")
    return end


def after_option(tokens: list[str], at: int) -> int:
    """Returns the index after the brackets at `at`; `at` if none start there. A length in brackets is one token."""
    if at < len(tokens) and tokens[at][0] == "[":
        return closing(tokens, at, ("[", "]")) + 1 if tokens[at] == "[" else at + 1
    return at


def _table_tokens(text: str) -> list[str]:
    """Returns the tokens of a table without blanks; a missing \\end{tabular} is added.

    A star directly behind `\\\\` keeps a page together and is no ink; behind a blank, amsmath prints it.
    """
    text = cut_at_comment(plain_text(text).replace("\\\\%", "\\\\ %")).replace("\\\\*", "\\\\ ")
    if "\\end{tabular}" not in text.replace(BLANK, ""):
        text += "\\end{tabular}"
    return visible_tokens(text)


def _rewritten(tokens: list[str], released: bool, table: bool = False) -> tuple[str, ...]:
    return tuple(_with_braces(_with_one_spelling(_joined(tokens, released, table), released, table), released))


def _joined(tokens: list[str], released: bool, table: bool) -> list[str]:
    """Joins tokens that form a unit: an environment's name, plain columns, a length, a sized delimiter.

    In a table, so are the position of a tabular with its columns and, if `released`, a length in brackets behind a
    command or its arguments.
    """
    result: list[str] = []
    at = 0
    while at < len(tokens):
        token, end, kept = tokens[at], at, True
        if token in _WITH_DELIMITER:
            end = min(at + 1, len(tokens) - 1)
        elif token in _ENVIRONMENT:
            end = _group_end(tokens, at + 1)
            if table and "".join(tokens[at : end + 1]) == "\\begin{tabular}":
                end = _group_end(tokens, _option_end(tokens, end + 1) + 1)
        elif token in _DIMENSIONS:
            start = at if released else _option_end(tokens, at + 1)
            end = _lengths_end(tokens, start, _DIMENSIONS[token], _TOOL_LENGTH if released else _PLAIN_LENGTH)
            end = end if end > start else at
            registers = any(each[0] == "\\" for each in tokens[start + 1 : end + 1])
            kept = end == at or not (registers or (table and token in commands.SKIPS))
        elif token in _TABLE_RULES and at + 1 < len(tokens):
            start = _option_end(tokens, at + 1) + 1
            start = start if tokens[start : start + 1] != ["("] else closing(tokens, start, ("(", ")")) + 1
            end = closing(tokens, start) if start < len(tokens) else at
        elif token in commands.COLORS:
            end, kept = _group_end(tokens, _option_end(tokens, at + 1) + 1), False
        elif released and table and token == "[" and result and result[-1][0] in _BEFORE_LENGTH:
            option = _option_end(tokens, at)
            end = option if _LENGTH_OPTION.fullmatch("".join(tokens[at : option + 1])) else at
        joined = "".join(tokens[at : end + 1]) if kept else ""
        result += [joined] if joined else []
        at = end + 1
        if joined == _ARRAY and tokens[at : at + 1] == ["{"] and "}" in tokens[at:]:
            end = tokens.index("}", at)
            columns = "".join(tokens[at + 1 : end])
            if columns and not columns.strip("lrc"):
                result.append(f"{{{columns}}}")
                at = end + 1
    return result


def _group_end(tokens: list[str], at: int) -> int:
    """Returns the index of the end of the group at `at`; at - 1 if no group starts there."""
    return closing(tokens, at) if tokens[at : at + 1] == ["{"] and "}" in tokens[at + 1 :] else at - 1


def _option_end(tokens: list[str], at: int) -> int:
    """Returns the index of the end of the short brackets at `at`; at - 1 if none start there."""
    option = tokens[at : at + MAX_OPTION]
    return at + option.index("]") if option[:1] == ["["] and "]" in option else at - 1


def _lengths_end(tokens: list[str], at: int, groups: int, pattern: re.Pattern[str]) -> int:
    """Returns the index of the end of the groups after `at`; `at` if not all of them are lengths."""
    end = at
    for _ in range(groups):
        start, end = end + 1, _group_end(tokens, end + 1)
        if end < start or not pattern.fullmatch("".join(tokens[start + 1 : end])):
            return at
    return end


def _with_one_spelling(tokens: list[str], released: bool, table: bool) -> list[str]:
    """Spells out dots, dashes and operator names, renames commands, and removes those in `commands.DROPPED`."""
    result: list[str] = []
    names = {} if released else commands.FRACTIONS if table else commands.RENAMED
    for token in tokens:
        if token in commands.LIMIT_OPERATORS and not (released or table):
            result += ["\\operatorname", "{", *token[1:], "}"]
        elif token in commands.SPELLED and (released or token not in commands.MODULI):
            letters = "mod" if token.endswith("mod") else token[1:]
            result += ["\\mathrm", "{", *letters, "}"]
        elif token in commands.DOTS:
            is_argument = result[-1:] in (["^"], ["_"]) and not released
            result += ["{", ".", ".", ".", "}"] if is_argument else [".", ".", "."]
        elif token in {"--", "---"}:
            result += token
        elif token == "*" and result and result[-1] == "\\operatorname":
            continue
        elif token not in commands.DROPPED:
            result.append("\\operatorname" if token == "\\operatorname*" else names.get(token, token))
    return result


def _with_braces(tokens: list[str], released: bool) -> list[str]:
    """Returns the tokens with braces added around arguments that have none.

    Unless `released`, moduli become what amsmath prints.
    """
    result = list(tokens)
    at = 0
    while at < len(result):
        token = result[at]
        if token in commands.MODULI and not released:
            if token != "\\mod":
                if result[at + 1 : at + 2] in ([], ["}"]):  # as TeX, which prints no modulus if there is none
                    result[at + 1 : at + 1] = ["{", "}"]
                result[_brace(result, at + 1) - 1] = ")"
                del result[at + 1]
            result[at : at + 1] = commands.MODULI[token]
        elif token in _ONE_ARGUMENT:
            _brace(result, at + 1)
        elif token in commands.OPTIONAL_THEN_ONE:
            start = at + 1
            if start < len(result) and result[start] == "[":
                start = closing(result, start, ("[", "]")) + 1
            _brace(result, start)
        elif token in _TWO_ARGUMENTS:
            second = _brace(result, at + 1)
            result += ["{", "}"] if second == len(result) else []
            _brace(result, second)
        elif token in commands.SPANS and not released:
            start = at + 1
            for _ in range(3):
                start = after_option(result, start)
                if start < len(result) and _END_OF_CELL.fullmatch(result[start]):
                    raise Unbalanced(f"an argument is missing at token {start}")
                start = _brace(result, start)
        at += 1
    return result


def _brace(tokens: list[str], at: int) -> int:
    """Puts braces around the argument at `at`, in place, including any one-argument commands it starts with.

    Returns the index after it.
    """
    if at < len(tokens) and tokens[at] == "{":
        return closing(tokens, at) + 1
    last = at
    while last < len(tokens) and tokens[last] in _ONE_ARGUMENT:
        last += 1
    if last >= len(tokens):
        raise Unbalanced("an argument is missing at the end")
    end = closing(tokens, last) if tokens[last] == "{" else last
    tokens.insert(end + 1, "}")
    tokens.insert(at, "{")
    return end + 3
