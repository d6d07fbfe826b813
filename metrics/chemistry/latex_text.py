"""Normalizes LaTeX text: everything that prints the same becomes the same sequence of tokens.

Blanks, spacing and changes of style are dropped, braces are kept only around arguments, `_2` becomes `_ { 2 }`,
subscripts come before superscripts, and text above and below an arrow is written in one way. Both sides of a
comparison are normalized: molecules and lines in the competition's normalized form, which is already such a form,
keep the verdicts of the competition's tool, and hand-written LaTeX can be compared with them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Union

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\S", re.DOTALL)
MAX_GROUP_DEPTH = 60
"""Braces and options nested deeper than this are read as text: nobody writes them, and they must not exhaust the stack.
"""

_UNPRINTED = r"""
    \space \quad \qquad \enspace \thinspace \, \; \: \! \> \smear \mcfright \mcfleft $ \( \) \[ \]
    \rm \bf \it \mathrm \mathbf \mathit \mathsf \mathbb \mathcal \mathop \mathrel \mathbin \mathord
    \text \textbf \textit \textrm \textsf \mbox \operatorname \boldsymbol \nolimits
    \displaystyle \textstyle \scriptstyle \scriptscriptstyle
    \tiny \scriptsize \footnotesize \small \normalsize \large \Large \LARGE \huge \Huge
"""
_SIZES = r"""
    \left \right \big \bigl \bigm \bigr \Big \Bigl \Bigm \Bigr
    \bigg \biggl \biggm \biggr \Bigg \Biggl \Biggm \Biggr
"""
SIZES = frozenset(_SIZES.split())
"""Sizes of the bracket behind, where a full stop prints none."""
UNPRINTED = frozenset((*_UNPRINTED.split(), "\\ ", *SIZES))
"""Blanks and changes of style, which are dropped; their arguments are kept."""

WITHOUT_ARGUMENT = frozenset(("\\hspace", "\\vspace", "\\color", "\\textcolor"))
"""Blanks and changes of style whose first argument is dropped, too."""

_SYNONYMS = r"""
    \triangle <- \Delta \vartriangle △ Δ ∆
    \rightarrow <- \to \longrightarrow →
    \leftarrow <- \gets \longleftarrow ←
    \leftrightarrow <- \longleftrightarrow ↔
    \Rightarrow <- \Longrightarrow \implies ⇒
    \Leftrightarrow <- \Longleftrightarrow \iff ⇔
    \le <- \leqslant \leq ≤
    \ge <- \geqslant \geq ≥
    . . . <- \ldots \dots
    | <- \mid \vert \lvert \rvert
    \cdot <- \centerdot · ⋅ •
    - <- – — − ― ─ \mcfminus
    ^ { \prime } <- ′ ’ ´ '
    \frac <- \dfrac \tfrac \cfrac
    \overline <- \bar
    \overrightarrow <- \vec
    \\ <- \enter
    \% <- %
    \uparrow <- ↑
    \downarrow <- ↓
    \rightleftharpoons <- ⇌
    \leftrightharpoons <- ⇋
    \rightleftarrows <- ⇄
    \equiv <- ≡
    \times <- ×
    \pm <- ±
    ^ { \circ } <- °
    ^ { \circ } C <- ℃
    \cdots <- …
    | | <- ‖ \| \parallel
    < <- \lt
    > <- \gt
    [ <- \lbrack
    ] <- \rbrack
    : <- \colon
    \not = <- \ne \neq
    + <- \mcfplus
    \textcircled { + } <- \oplus
    \textcircled { - } <- \ominus
"""
_ROWS = [row.split(" <- ") for row in _SYNONYMS.split("\n") if row]
SYNONYMS: dict[str, str] = {
    **{token: meaning.strip() for meaning, tokens in _ROWS for token in tokens.split()},
    **{raised: f"^ {{ {plain} }}" for raised, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)},
    **{lowered: f"_ {{ {plain} }}" for lowered, plain in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)},
}
"""The replacement of each token, as tokens separated by blanks."""

ARROWS = ("rightarrow", "leftarrow", "leftrightarrow", "Rightarrow", "Leftarrow")
HARPOONS = ("rightleftharpoons", "leftrightharpoons", "rightleftarrows")
STACKED_ARROWS: dict[str, str] = {
    **{f"\\x{name}": f"\\{name}" for name in (*ARROWS, *HARPOONS)},
    "\\xlongrightarrow": "\\rightarrow",
    "\\xlongleftarrow": "\\leftarrow",
    "\\xlongequal": "=",
}
"""The plain arrow of each arrow that takes the text above as an argument and the text below as an option."""
STACKS = frozenset(("\\overset", "\\underset", "\\stackrel"))

ARGUMENTS: dict[str, int] = {
    **dict.fromkeys(("\\overline", "\\underline", "\\overrightarrow", "\\textcircled", "\\sqrt", "\\dot", "\\ddot"), 1),
    **dict.fromkeys(("\\boxed", "\\phantom", "\\lewis", "\\Lewis"), 1),
    **dict.fromkeys(("\\frac", "\\Chemabove"), 2),
}
"""The number of arguments of each command whose arguments keep their braces."""

ABOVE = frozenset(("\\chemabove", "\\Chemabove", "\\mcfabove"))
BELOW = frozenset(("\\chembelow", "\\Chembelow", "\\mcfbelow"))
CHARGES = frozenset(("\\charge", "\\Charge"))

Node = Union[str, "list[Node]"]
"""A token, or a group in braces."""


def tokenize(text: str) -> list[str]:
    """Returns the commands and characters of LaTeX text, without blanks; full-width characters become ASCII."""
    return [_narrow(token) for token in TOKEN.findall(text)]


def normalize(tokens: Iterable[str]) -> tuple[str, ...]:
    """Returns the normalized form of `tokens`, empty for no tokens. Never fails: stray braces are dropped."""
    return tuple(_flat(_normal(_tree(tokens))))


def _narrow(token: str) -> str:
    return unicodedata.normalize("NFKC", token) if "！" <= token <= "～" else token


def _tree(tokens: Iterable[str]) -> list[Node]:
    root: list[Node] = []
    open_groups = [root]
    for token in tokens:
        meaning = SYNONYMS[token].split() if token in SYNONYMS else [token]
        if len(meaning) > 1:
            open_groups[-1].append(_tree(meaning))
        elif token == "{" and len(open_groups) <= MAX_GROUP_DEPTH:
            group: list[Node] = []
            open_groups[-1].append(group)
            open_groups.append(group)
        elif token == "}":
            if len(open_groups) > 1:
                open_groups.pop()
        else:
            open_groups[-1] += meaning
    return root


def _flat(nodes: Sequence[Node]) -> Iterator[str]:
    """Yields the tokens of nodes, with braces around each group."""
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from ("{", *_flat(node), "}")


def _normal(nodes: Sequence[Node], options: int = 0) -> list[Node]:
    """Returns the normalized form of nodes, in which every group is an argument; options: how many they are within."""
    written: list[Node] = []
    scripts: dict[str, list[Node]] = {}

    def joined() -> list[Node]:
        return [part for each in "_^" if each in scripts for part in (each, _normal(scripts[each], options))]

    for piece in _pieces(_Reader(nodes, options)):
        if piece[0] in ("_", "^"):
            scripts.setdefault(str(piece[0]), []).append(piece[1])
        else:
            written += joined() + piece
            scripts.clear()
    return written + joined()


class _Reader:
    """A cursor over a list of nodes, which are within as many `options`."""

    def __init__(self, nodes: Sequence[Node], options: int) -> None:
        self.nodes = nodes
        self.options = options
        self.position = 0

    def argument(self) -> list[Node]:
        """Takes an argument, as `take` does; returns its normalized form."""
        return _normal(self.take(), self.options)

    def take(self) -> list[Node]:
        """Takes the next node that prints as an argument; returns its content, the empty list if there is none."""
        while self.position < len(self.nodes):
            node = self.nodes[self.position]
            self.position += 1
            if isinstance(node, list):
                return node
            if node not in UNPRINTED:
                return [node]
        return []

    @property
    def following(self) -> Node | None:
        """The next node; None at the end."""
        return self.nodes[self.position] if self.position < len(self.nodes) else None

    def option(self) -> list[Node]:
        """Takes `[...]` if it is next; returns its normalized content, otherwise the empty list."""
        start = self.position
        if self.nodes[start : start + 1] != ["["] or self.options == MAX_GROUP_DEPTH or start not in self.option_ends:
            return []
        self.position = self.option_ends[start] + 1
        return _normal(self.nodes[start + 1 : self.position - 1], self.options + 1)

    @cached_property
    def option_ends(self) -> dict[int, int]:
        """The index of the closing `]` by the index of each `[` that is closed."""
        ends: dict[int, int] = {}
        opened: list[int] = []
        for number, node in enumerate(self.nodes):
            if node == "[":
                opened.append(number)
            elif node == "]" and opened:
                ends[opened.pop()] = number
        return ends


def _pieces(reader: _Reader) -> Iterator[list[Node]]:
    """Yields symbols and commands with their arguments, reading groups as if they had no braces."""
    while reader.position < len(reader.nodes):
        node = reader.nodes[reader.position]
        reader.position += 1
        if isinstance(node, list):
            yield from _pieces(_Reader(node, reader.options))
        elif piece := _piece(node, reader):
            yield piece


def _piece(token: str, reader: _Reader) -> list[Node]:
    """Takes the arguments of a token; returns both in normalized form, the empty list if they print nothing.

    The argument of `_` and `^` is as it was written: adjacent ones are normalized as one.
    """
    if token in UNPRINTED:
        reader.position += token in SIZES and reader.following == "."
        return []
    if token in ("_", "^"):
        return [token, reader.take()]
    if token in WITHOUT_ARGUMENT:
        reader.position += reader.following == "*"
        reader.option()
        reader.position += 1
        return []
    if token in STACKED_ARROWS:
        below = reader.option()
        return _stack(reader.argument(), below, [STACKED_ARROWS[token]])
    if token in STACKS:
        layer, middle = reader.argument(), reader.argument()
        below, middle = _peeled(middle, "\\underset")
        above, middle = _peeled(middle, "\\overset")
        is_below = token == "\\underset"
        return _stack(above, layer + below, middle) if is_below else _stack(layer + above, below, middle)
    if token in ABOVE or token in BELOW:
        reader.option()
        first, second = reader.argument(), reader.argument()
        return ["\\Chemabove", second, first] if token in BELOW else ["\\Chemabove", first, second]
    if token in CHARGES:
        reader.option()
        charges = reader.nodes[reader.position : reader.position + 1]
        reader.position += 1
        return ["\\charge", [*_charges(charges)], reader.argument()]
    return [token, *(reader.argument() for _ in range(ARGUMENTS.get(token, 0)))]


def _stack(above: list[Node], below: list[Node], middle: list[Node]) -> list[Node]:
    """Returns a symbol with text above and below, as `\\underset { below } { \\overset { above } { symbol } }`."""
    if above:
        middle = ["\\overset", above, middle]
    return ["\\underset", below, middle] if below else middle


def _peeled(nodes: list[Node], command: str) -> tuple[list[Node], list[Node]]:
    """Returns (layer, middle) if `nodes` are `command` with these two arguments, otherwise ([], `nodes`)."""
    match nodes:
        case [str(name), list(layer), list(middle)] if name == command:
            return layer, middle
    return [], nodes


def _charges(argument: Sequence[Node]) -> Sequence[Node]:
    """Returns the charges around an atom, `ANGLE[:DISTANCE]=SIGN`, sorted: their order changes nothing in print."""
    text = " ".join(token for token in _flat(argument) if token not in ("{", "}"))
    return [token for charge in sorted(text.split(" , ")) for token in (*charge.split(" "), ",")][:-1]
