"""What is in the brackets after a bond and a hook of raw Chemfig."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from .unreadable import UnreadableMolecule

ARITHMETIC = re.compile(r"[-+*/(). 0-9]{1,60}\Z")
OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
HOOK = re.compile(r"\?\[\s*([^,\[\]{}\s]*)\s*(?:,\s*([^\[\]]*))?\]\Z")
HOOK_BONDS = ("-", "=", "~", ">", "<", ">:", "<:", ">|", "<|")
"""Bonds of hooks by number, from 1."""
MAX_ANGLE = 1e6
MAX_LENGTH = 1e3
MAX_CACHED_LENGTH = 32
NO_FIELDS: Sequence[str] = ("",) * 5


def read_number(text: str, offset: int, what: str, largest: float) -> float:
    """Returns the value of `text`: a number or arithmetic with + - * / and parentheses, as TeX's calculator has it.

    Raises UnreadableMolecule with `offset` where it is no such thing, or is above `largest` in magnitude.
    """
    value = _short_value(text) if len(text) <= MAX_CACHED_LENGTH else _arithmetic(text)
    if value is None or not abs(value) <= largest:
        expected = f"{what} between {-largest:g} and {largest:g} instead of {text[:40]!r}"
        raise UnreadableMolecule(offset, expected)
    return value


def _arithmetic(text: str) -> float | None:
    """Returns the value of `text`; None where it is no arithmetic."""
    if "**" in text or "//" in text or not ARITHMETIC.match(text):
        return None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return _value(ast.parse(re.sub(r"\b0+(?=\d)", "", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None


_short_value = lru_cache(maxsize=4_096)(_arithmetic)
"""The same angles and lengths come again and again."""


def read_length(text: str, offset: int) -> float:
    """Returns the length of a bond, 0 or more.

    Raises UnreadableMolecule where it is none.
    """
    length = read_number(text, offset, "a length", MAX_LENGTH)
    if length < 0:
        raise UnreadableMolecule(offset, f"a length of 0 or more instead of {text[:40]!r}")
    return length


def _value(node: ast.AST) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return -_value(node.operand) if isinstance(node.op, ast.USub) else _value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError(node)


def read_hook(token: str, offset: int) -> tuple[str, str]:
    """Returns the name and the bond type of `?`, `?[name]`, `?[name,bond]` or `?[name,bond,style]`.

    The name is `a` and the bond `-` where none is given; a bond may be a number from 1 to 9.

    Raises UnreadableMolecule where it is no hook.
    """
    match = HOOK.match(token)
    if not match:
        raise UnreadableMolecule(offset, f"a hook such as ?[a] or ?[a,{{-}}] instead of {token[:40]!r}")
    kind = (match.group(2) or "").split(",")[0].strip().strip("{}").strip().rstrip("_^") or "-"
    if kind.isdecimal() and 1 <= int(kind) <= len(HOOK_BONDS):
        kind = HOOK_BONDS[int(kind) - 1]
    if kind not in HOOK_BONDS:
        raise UnreadableMolecule(offset, f"a bond or a number from 1 to 9 in the hook instead of {kind[:40]!r}")
    return match.group(1) or "a", kind


def split_fields(inside: str) -> Sequence[str]:
    """Returns the five fields of `[angle,length,from,to,style]`, empty where absent; a mark `@{name}` is dropped."""
    return _short_fields(inside) if len(inside) <= MAX_CACHED_LENGTH else _fields(inside)


def _fields(inside: str) -> Sequence[str]:
    inside = inside.strip()
    if inside.startswith("@") and "}" in inside:
        inside = inside[inside.index("}") + 1 :].lstrip()
    fields = [field.strip() for field in inside.split(",", 4)]
    fields[0] = fields[0].replace(" ", "")
    return *fields, *NO_FIELDS[len(fields) :]


_short_fields = lru_cache(maxsize=4_096)(_fields)
