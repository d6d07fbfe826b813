"""The numbers in the brackets after a bond, read the same way by both readers."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable

from metrics.chemistry.unreadable import UnreadableMolecule

ARITHMETIC = re.compile(r"[-+*/(). 0-9]{1,60}\Z")
OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
LARGEST_ANGLE = 1e6
LARGEST_LENGTH = 1e3


def read_number(text: str, offset: int, what: str, largest: float) -> float:
    """Returns the value of `text`: a number or arithmetic with + - * / and parentheses, as TeX's calculator has it.

    Raises UnreadableMolecule with `offset` where it is no such thing, or is above `largest` in magnitude.
    """
    expected = f"{what} between {-largest:g} and {largest:g} instead of {text[:40]!r}"
    if "**" in text or "//" in text or not ARITHMETIC.match(text):
        raise UnreadableMolecule(offset, expected)
    try:
        value = float(text)
    except ValueError:
        try:
            value = _value(ast.parse(re.sub(r"\b0+(?=\d)", "", text.strip()), mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
            raise UnreadableMolecule(offset, expected) from None
    if not abs(value) <= largest:
        raise UnreadableMolecule(offset, expected)
    return value


def read_length(text: str, offset: int) -> float:
    """Returns the length of a bond, 0 or more.

    Raises UnreadableMolecule where it is none.
    """
    length = read_number(text, offset, "a length", LARGEST_LENGTH)
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
