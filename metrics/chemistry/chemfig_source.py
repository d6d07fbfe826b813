"""Reads the elements of raw Chemfig: groups of atoms with hooks, bonds with brackets, numbers, submolecules."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..common.budget import Budget
from ..common.text import cached_if_short
from .brackets import BracketEnds, match_end
from .molecule import CIRCLE, UnreadableMolecule

COMMAND = re.compile(r"\\(?:[A-Za-z]+|.|\Z)", re.DOTALL)
BLANKS = re.compile(r"\s*")
DIGITS = re.compile(r"[0-9]*")
PLAIN_TEXT = re.compile(r"[A-Za-z0-9_^,.+]+")
"""Matches characters without a special meaning in a group of atoms."""
BOND_STARTS = "-=~<>"
ENDS_OF_GROUP = frozenset(("", "(", ")", "*", *BOND_STARTS))
"""The characters that end a group of atoms, and the empty string at the end of the text."""
BOND_SIDES = {"=": "^_", "<": ":|", ">": ":|"}
"""Characters that may follow the first one of a bond: the kind of a wedge, or the side of a double bond."""
OPTIONAL_ARGUMENT = ("\\chemabove", "\\Chemabove", "\\chembelow", "\\Chembelow", "\\charge", "\\Charge")
DRAWN_CIRCLE = "\\mcfcringle"
HOOK = re.compile(r"([^,\[\]{}\s]*)\s*(?:,([^\[\]]*))?")
"""Two parts in a row that match blanks would take quadratic time."""
HOOK_BONDS = ("-", "=", "~", ">", "<", ">:", "<:", ">|", "<|")
"""The bonds of hooks that the numbers 1 to 9 stand for, in order."""
BRACED = re.compile(r"\s*\{([^{}]*)\}\s*")
ARITHMETIC = re.compile(r"[-+*/(). 0-9]{1,60}")
OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
MAX_EXPANSION_LENGTH = 100_000
MAX_EXPANSIONS = 1_000
NO_FIELDS: Sequence[str] = ("",) * 5


class Submolecule(NamedTuple):
    """A submolecule defined by `\\definesubmol{name}N[alternative]{code}`.

    `alternative` is drawn if the previous bond runs to the left; None: always `code`.
    """

    code: str
    alternative: str | None = None
    arguments: int = 0


class ChemfigSource:
    """A cursor over the content of a region, in which submolecules are expanded in place.

    To take is to return what is at the cursor and move past it. Raises UnreadableMolecule if that is malformed.
    """

    def __init__(self, text: str, submolecules: Mapping[str, Submolecule], budget: Budget) -> None:
        self.submolecules = submolecules
        self.budget = budget
        self.length = len(text)
        self.expansions = 0
        self.position = 0
        self.text = text
        self.offsets: Sequence[int] = range(len(text) + 1)
        self.end_of = BracketEnds(self.text, self.offsets).of

    @property
    def offset(self) -> int:
        """The position of the cursor in the original text."""
        return self.offsets[self.position]

    def peek(self) -> str:
        """Skips blanks and returns the next character without taking it; the empty string at the end."""
        character = self.text[self.position : self.position + 1]
        if character.isspace():
            self.position = match_end(BLANKS, self.text, self.position)
            character = self.text[self.position : self.position + 1]
        return character

    def take(self) -> str:
        """Takes the next character, even if it is a blank."""
        self.position += 1
        return self.text[self.position - 1]

    def take_if(self, characters: str) -> str:
        """Takes the next nonblank character if it is in `characters`; otherwise returns the empty string."""
        following = self.peek()
        if not following or following not in characters:
            return ""
        self.position += 1
        return following

    def take_match(self, pattern: re.Pattern[str]) -> str:
        """Takes the match of `pattern` at the cursor; the empty string if there is none."""
        start, self.position = self.position, match_end(pattern, self.text, self.position)
        return self.text[start : self.position]

    def take_number(self) -> str:
        """Takes digits, or whatever is in braces, stripped; the empty string if there are none."""
        return self.take_enclosed().strip() if self.peek() == "{" else self.take_match(DIGITS)

    def take_enclosed(self) -> str:
        """Takes the bracket at the cursor through its closing one; returns the text between them."""
        start = self.position
        self.position = end = self.end_of(start)
        return self.text[start + 1 : end - 1]

    def take_option(self, opening: str = "[") -> str:
        """Takes an enclosed text, as above, if `opening` is next; otherwise returns the empty string."""
        return self.take_enclosed() if self.peek() == opening else ""

    def take_mark(self) -> None:
        """Takes `@{name}`, a mark for arrows, which draws nothing."""
        offset = self.offset
        self.position += 1
        if self.peek() != "{":
            raise UnreadableMolecule(offset, "a name in braces after '@'")
        self.take_enclosed()

    def take_bond(self) -> tuple[str, int, Sequence[str]]:
        """Takes a bond with its brackets; returns its type, the offset of the brackets, and their fields."""
        kind = self.take()
        side = self.take_if(BOND_SIDES.get(kind, ""))
        if self.peek() == "#" and self.text.startswith("(", end := match_end(BLANKS, self.text, self.position + 1)):
            self.position = end
            self.take_enclosed()
        if self.peek() == "@":
            self.take_mark()
        offset, following = self.offset, self.peek()
        fields = split_fields(self.take_enclosed()) if following == "[" else NO_FIELDS
        return kind if kind == "=" else kind + side, offset, fields

    def take_atoms(self, angle: float) -> tuple[str | None, list[tuple[str, str]]]:
        """Takes a group of atoms; returns its text, tokens separated by blanks, and the (name, bond) of each hook.

        The text is None if there is no group, and empty if nothing in it is printed, as in `|`, `@{name}` or `?`.
        `angle`, in degrees, chooses the alternatives of submolecules.
        """
        text: list[str] = []
        hooks: list[tuple[str, str]] = []
        while (character := self.peek()) not in ENDS_OF_GROUP:
            plain = PLAIN_TEXT.match(self.text, self.position)
            if plain is not None:
                self.position = plain.end()
                text += plain[0]
            elif character == "!":
                self.expand_submolecule(angle)
            elif character == "{":
                text.append(f"{{{self.take_enclosed()}}}")
            elif character == "\\":
                text += self._take_command()
            elif character == "?":
                offset = self.offset
                self.position += 1
                hooks.append(_hook(self.take_option(), offset))
                text.append("")
            elif character == "@":
                self.take_mark()
                text.append("")
            elif character == "}":
                raise UnreadableMolecule(self.offset, "a '{' that this '}' closes")
            else:
                text.append(self.take().strip("|"))
        return " ".join(filter(None, text)) if text else None, hooks

    def _take_command(self) -> list[str]:
        """Takes a command, dropping its options; returns its tokens. `\\chemfig{...}` is replaced by its content."""
        start = self.position
        command = self.take_match(COMMAND)
        if command in OPTIONAL_ARGUMENT:
            self.take_option()
        if command == "\\chemfig" and self.peek() == "{":
            self._splice(start, self.take_enclosed())
            return []
        if command == DRAWN_CIRCLE:
            self.take_option("{")
            return [CIRCLE]
        return ["" if command == "\\chemskipalign" else command]

    def expand_submolecule(self, angle: float) -> None:
        """Replaces the submolecule `!{name}`, `!\\name` or `!n` at the cursor with its code.

        Its alternative is taken if `angle`, in degrees, points to the left, between 90 and 270.
        """
        start, offset = self.position, self.offset
        self.expansions += 1
        if self.expansions > MAX_EXPANSIONS:
            raise UnreadableMolecule(offset, f"at most {MAX_EXPANSIONS} submolecules")
        self.position += 1
        following = self.peek()
        if following == "{":
            name = self.take_enclosed().strip()
        else:
            name = self.take_match(COMMAND) if following == "\\" else self.take() if following else ""
        if name not in self.submolecules:
            raise UnreadableMolecule(offset, f"a submolecule that \\definesubmol defines instead of {name[:40]!r}")
        code, alternative, arguments = self.submolecules[name]
        code = alternative if alternative is not None and 90 < round(angle, 3) < 270 else code
        for number in range(1, arguments + 1):
            argument = self.take_enclosed() if self.peek() == "{" else self.take() if self.peek() else ""
            if len(code) + code.count(f"#{number}") * len(argument) > MAX_EXPANSION_LENGTH:
                raise UnreadableMolecule(offset, f"submolecules that write at most {MAX_EXPANSION_LENGTH} characters")
            code = code.replace(f"#{number}", argument)
        self._splice(start, code)

    def _splice(self, start: int, inserted: str) -> None:
        """Replaces the text from `start` to the cursor with `inserted`, and moves the cursor to `start`."""
        self.budget.spend(len(self.text))
        offset = self.offsets[start]
        if len(self.text) + len(inserted) > self.length + MAX_EXPANSION_LENGTH:
            raise UnreadableMolecule(offset, f"submolecules that write at most {MAX_EXPANSION_LENGTH} characters")
        self.text = self.text[:start] + inserted + self.text[self.position :]
        self.offsets = [*self.offsets[:start], *[offset] * len(inserted), *self.offsets[self.position :]]
        self.end_of = BracketEnds(self.text, self.offsets).of
        self.position = start


@cached_if_short
def split_fields(inside: str) -> Sequence[str]:
    """Returns the five fields of `[angle,length,from,to,style]`, empty if absent; a mark `@{name}` is dropped."""
    inside = inside.strip()
    if inside.startswith("@") and "}" in inside:
        inside = inside[inside.index("}") + 1 :].lstrip()
    fields = [_without_braces(field) for field in inside.split(",", 4)]
    fields[0] = fields[0].replace(" ", "")
    return *fields, *NO_FIELDS[len(fields) :]


def _without_braces(text: str) -> str:
    """Returns what is in the braces if `text` is one pair of them, otherwise `text`; without blanks around it."""
    match = BRACED.fullmatch(text)
    return (match[1] if match else text).strip()


def read_number(text: str, offset: int, what: str, largest: float) -> float:
    """Returns the value of `text`: a number, or arithmetic with + - * / and parentheses, as TeX evaluates it.

    Raises UnreadableMolecule at `offset` if it is neither, or if its magnitude is above `largest`.
    """
    value = _arithmetic(_without_braces(text))
    if value is None or not abs(value) <= largest:
        expected = f"{what} between {-largest:g} and {largest:g} instead of {text[:40]!r}"
        raise UnreadableMolecule(offset, expected)
    return value


@cached_if_short
def _arithmetic(text: str) -> float | None:
    """Returns the value of `text`; None if it is not a valid expression."""
    if "**" in text or "//" in text or not ARITHMETIC.fullmatch(text):
        return None
    try:
        return _value(ast.parse(re.sub(r"(?<![\d.])0+(?=\d)", "", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None


def _value(node: ast.AST) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return -_value(node.operand) if isinstance(node.op, ast.USub) else _value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError(node)


def _hook(inside: str, offset: int) -> tuple[str, str]:
    """Returns the name and the bond of the hook `?` or `?[name,bond,style]`.

    The name defaults to `a` and the bond to `-`; a bond may be given as a number from 1 to 9.
    """
    match = HOOK.fullmatch(inside.lstrip())
    if not match:
        written = f"?[{inside}]"
        raise UnreadableMolecule(offset, f"a hook such as ?[a] or ?[a,{{-}}] instead of {written[:40]!r}")
    kind = (match[2] or "").split(",")[0].strip().strip("{}").strip().rstrip("_^") or "-"
    if kind.isdecimal() and 1 <= int(kind) <= len(HOOK_BONDS):
        kind = HOOK_BONDS[int(kind) - 1]
    if kind not in HOOK_BONDS:
        raise UnreadableMolecule(offset, f"a bond or a number from 1 to 9 in the hook instead of {kind[:40]!r}")
    return match[1] or "a", kind
