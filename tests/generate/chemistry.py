"""Made-up lines of chemistry: molecules as graphs, written in SSML and raw Chemfig, and predictions with errors."""

import itertools
import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Any

MIRRORED = {"<": ">", ">": "<", "<:": ">:", ">:": "<:", "<|": ">|", ">|": "<|"}
GROUPS = ("OH", "CH_3", "NO_2", "Cl", "Br", "NH_2", "COOH", "CHO", "OCH_3", "SO_3H", "CN", "F")
HETERO_ATOMS = ("N", "O", "S", "NH")
CHAIN_TEXTS = ("CH_2", "CO", "O", "CH")
CONDITIONS = ("Cu/O_2", "\\triangle", "NaOH", "浓H_2SO_4", "FeBr_3", "HCl", "Zn(Hg)")
Bonds = list[tuple[int, str]]
"""The bonds of an atom: the other atom, and the kind as seen from this one."""
ERRORS = ("right", "rewritten", "turned", "atom", "bond", "connection", "missing", "extra", "text", "broken", "none")


@dataclass
class Drawing:
    """A molecule as atoms with text and place (y downwards), bonds, and rings as atoms counter-clockwise."""

    texts: list[str] = field(default_factory=list)
    places: list[tuple[float, float]] = field(default_factory=list)
    bonds: list[tuple[int, int, str]] = field(default_factory=list)
    rings: list[tuple[tuple[int, ...], bool]] = field(default_factory=list)

    def atom(self, text: str, x: float, y: float) -> int:
        self.texts.append(text)
        self.places.append((x, y))
        return len(self.texts) - 1

    def grow(self, begin: int, kind: str, angle: float, text: str = "") -> int:
        x, y = self.places[begin]
        end = self.atom(text, x + math.cos(math.radians(angle)), y - math.sin(math.radians(angle)))
        self.bonds.append((begin, end, kind))
        return end

    def ring(self, root: int, sides: int, first_angle: float, kinds: str, circle: bool) -> list[int]:
        """Closes a regular ring at `root`, whose first side has `first_angle`; returns its atoms."""
        atoms = [root]
        for side in range(sides - 1):
            atoms.append(self.grow(atoms[-1], kinds[side % len(kinds)], first_angle + side * 360 / sides))
        self.bonds.append((atoms[-1], root, kinds[(sides - 1) % len(kinds)]))
        self.rings.append((tuple(atoms), circle))
        return atoms

    def angle(self, begin: int, end: int) -> float:
        return direction(self.places[begin], self.places[end]) % 360

    def middle(self, atoms: Sequence[int]) -> tuple[float, float]:
        xs, ys = zip(*(self.places[atom] for atom in atoms), strict=True)
        return sum(xs) / len(xs), sum(ys) / len(ys)

    def neighbours(self) -> list[Bonds]:
        """For each atom its neighbours, with the bond as seen from the atom."""
        sees: list[Bonds] = [[] for _ in self.texts]
        for begin, end, kind in self.bonds:
            sees[begin].append((end, kind))
            sees[end].append((begin, MIRRORED.get(kind, kind)))
        return sees


def direction(begin: tuple[float, float], end: tuple[float, float]) -> float:
    return math.degrees(math.atan2(begin[1] - end[1], end[0] - begin[0]))


def chain(rng: random.Random) -> Drawing:
    """A branched chain in zigzag, at times with a wedge."""
    drawing = Drawing()
    atom = drawing.atom(rng.choice(("", *GROUPS)), 0, 0)
    for number in range(rng.randint(2, 5)):
        up = 30 if number % 2 == 0 else -30
        kind = rng.choice(("-", "-", "-", "=", "~", "<", ">:"))
        atom = drawing.grow(atom, kind, up, rng.choice(("", "", *CHAIN_TEXTS)))
        if number == 0 or rng.random() < 0.4:
            drawing.grow(atom, rng.choice(("-", "=")), 90 if up > 0 else 270, rng.choice(GROUPS))
    return drawing


def ring(rng: random.Random) -> Drawing:
    """A ring with groups on it, at times hetero atoms or a second ring on a bond."""
    drawing = Drawing()
    sides = rng.choice((3, 4, 5, 6, 6, 6, 6, 7))
    circle = sides == 6 and rng.random() < 0.5
    kinds = "-" if circle or sides % 2 else rng.choice(("-", "-=", "=-"))
    first = rng.choice((-30.0, 0.0, 12.0))
    atoms = drawing.ring(drawing.atom("", 0, 0), sides, first, kinds, circle)
    for place, atom in enumerate(atoms):
        outwards = first + place * 360 / sides - 90 - 180 / sides
        if rng.random() < 0.35:
            end = drawing.grow(atom, rng.choice(("-", "-", "<")), outwards, rng.choice(GROUPS))
            if rng.random() < 0.2:
                drawing.texts[end] = ""
                drawing.ring(end, 6, outwards - 60, "-", True)
        elif place and rng.random() < 0.15:
            drawing.texts[atom] = rng.choice(HETERO_ATOMS)
    return drawing


def fused(rng: random.Random) -> Drawing:
    """Two rings with a common side, and a group."""
    drawing = Drawing()
    atoms = drawing.ring(drawing.atom("", 0, 0), 6, -30.0, "-", False)
    side = rng.randrange(1, 5)
    begin, end = atoms[side], atoms[side + 1]
    sides = rng.choice((5, 6))
    angle = drawing.angle(begin, end)
    atom = begin
    for number in range(sides - 2):
        atom = drawing.grow(atom, "-", angle + 180 + (number + 1) * 360 / sides, "O" if number == 1 else "")
    drawing.bonds.append((atom, end, rng.choice("-=")))
    free = next(a for a in atoms if a not in (begin, end))
    drawing.grow(free, "-", direction(drawing.middle(atoms), drawing.places[free]), rng.choice(GROUPS))
    return drawing


def molecule(rng: random.Random) -> Drawing:
    return rng.choice((chain, ring, ring, fused))(rng)


def write_ssml(drawing: Drawing, start: int = 0, rng: random.Random | None = None, decimals: int = 2) -> str:
    """Writes SSML from any atom on; `rng` shuffles the branches."""
    sees, parents, names = drawing.neighbours(), {start: -1}, iter(ascii_lowercase)
    children: dict[int, Bonds] = {}
    opened, closed = defaultdict[int, list[str]](list), defaultdict[int, list[str]](list)
    circles = {min(atoms): atoms for atoms, circle in drawing.rings if circle}

    def visit(atom: int) -> None:
        """Finds the children of an atom, and the hooks of the bonds that close rings."""
        before = {*children}
        children[atom] = []
        if rng is not None:
            rng.shuffle(sees[atom])
        for other, kind in sees[atom]:
            if other not in parents:
                parents[other] = atom
                children[atom].append((other, kind))
                visit(other)
            elif other != parents[atom] and other in before:
                name = next(names)
                opened[other].append(f"?[{name}]")
                # The bond is drawn from the mark to this atom, and `kind` is seen from this atom.
                closed[atom].append(f"?[{name},{{{MIRRORED.get(kind, kind)}}}]")

    def number(angle: float) -> str:
        return f"{round(angle % 360, decimals) % 360}"

    def written(atom: int) -> list[str]:
        parts = [*spaced(drawing.texts[atom]), *opened[atom], *closed[atom]]
        if atom in circles:
            here, middle = drawing.places[atom], drawing.middle(circles[atom])
            bond = f"-:[:{number(direction(here, middle))},{math.dist(here, middle):.2f}]"
            parts += ["branch(", bond, "\\circle", "branch)"]
        for child, kind in children[atom]:
            inside = [f"{kind}[:{number(drawing.angle(atom, child))},1.0]", *written(child)]
            parts += inside if child == children[atom][-1][0] else ["branch(", *inside, "branch)"]
        return parts

    visit(start)
    return " ".join(["\\chemfig", "{", *written(start), "}"])


def write_chemfig(drawing: Drawing, start: int = 0, rng: random.Random | None = None) -> str:
    """Writes raw Chemfig from any atom on, with `*n` for the rings; `rng` shuffles branches and forms of angles."""
    ring_of = {atom: ring for ring in drawing.rings for atom in ring[0]}
    sees, todo = drawing.neighbours(), [start]

    def together(atom: int) -> tuple[int, ...]:
        return ring_of[atom][0] if atom in ring_of else (atom,)

    # A tree of atoms and whole rings, by the atom that each hangs on: -1 is none. All other bonds are hooks.
    parents, hooks, names = dict.fromkeys(together(start), -1), defaultdict[int, str](str), iter(ascii_lowercase)
    while todo:
        for member in together(todo.pop()):
            for other, _ in sees[member]:
                if other not in parents:
                    parents |= {**dict.fromkeys(together(other), -1), other: member}
                    todo.append(other)
    for begin, end, kind in drawing.bonds:
        if begin != parents[end] and end != parents[begin] and end not in together(begin):
            hook = f"?[{next(names)},{{{kind}}}]"
            hooks[begin] += hook
            hooks[end] += hook

    def angle_of(angle: float, before: float | None) -> str:
        angle = round(angle % 360, 3)
        form = rng.randrange(3) if rng is not None else 0
        if form == 1 and before is not None:
            return f"::{round(angle - before, 3)}"
        return f"{int(angle // 45)}" if form == 2 and angle % 45 == 0 else f":{angle}"

    def text_of(atom: int) -> str:
        return drawing.texts[atom] + hooks[atom]

    def branches(atom: int, before: float | None) -> str:
        out = [(kind, other, drawing.angle(atom, other)) for other, kind in sees[atom] if parents[other] == atom]
        if rng is not None:
            rng.shuffle(out)
        return "".join(f"({kind}[{angle_of(angle, before)}]{whole(other, angle)})" for kind, other, angle in out)

    def whole(atom: int, before: float | None) -> str:
        hanging = branches(atom, before)
        written = text_of(atom) + hanging
        if atom not in ring_of:
            return written
        atoms, circle = ring_of[atom]
        place, count = atoms.index(atom), len(atoms)
        turned = (*atoms[place:], *atoms[:place])
        # The first side of a ring that nothing is before is upright.
        correction = 90 if before is None and not hanging else 90 + 180 / count
        lead = round((drawing.angle(atom, turned[1]) - 360 / count + correction) % 360, 3)
        first, *kinds = (dict(sees[begin])[end] for begin, end in itertools.pairwise((*turned, atom)))
        rest = zip(turned[1:], kinds, strict=True)
        body = first + "".join(text_of(corner) + branches(corner, None) + kind for corner, kind in rest)
        return f"{written}{'**' if circle else '*'}{count}([:{lead}]{body})"

    return f"\\chemfig{{{whole(start, None)}}}"


def spaced(text: str) -> list[str]:
    """`CH_3` as SSML has it: C H _ { 3 }."""
    return re.findall(r"\\[A-Za-z]+|.", re.sub(r"([_^])([^{])", r"\1{\2}", text))


def damaged(drawing: Drawing, error: str, rng: random.Random) -> Drawing:
    """A copy with one changed atom, bond or connection."""
    copy = replace(drawing, texts=[*drawing.texts], places=[*drawing.places], bonds=[*drawing.bonds])
    if error == "atom":
        copy.texts[rng.randrange(len(copy.texts))] += "P"
    elif error == "bond":
        number = rng.randrange(len(copy.bonds))
        begin, end, kind = copy.bonds[number]
        copy.bonds[number] = begin, end, "~" if kind == "=" else "="
    elif error == "connection":
        copy.grow(rng.randrange(len(copy.texts) - 1), "-", rng.uniform(0, 360), "I")
    return copy


def sample(index: int, seed: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A ground-truth record and a prediction record (None: no prediction)."""
    rng = random.Random(f"{seed}:{index}")
    drawings = [molecule(rng) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    notation = rng.choice(("ssml", "ssml", "chemfig"))
    write, error = write_ssml if notation == "ssml" else write_chemfig, rng.choice(ERRORS)
    glue = [rng.choice((" + ", f" \\xrightarrow {{ {rng.choice(CONDITIONS)} }} ")) for _ in drawings]
    truth = {
        "sample_id": f"line_{index:05d}",
        "text": _line([write(drawing) for drawing in drawings], glue),
        "source": rng.choice(("handwritten", "printed")),
        "notation": notation,
        "tags": sorted({"ring" if drawing.rings else "chain" for drawing in drawings}),
    }
    if error == "none":
        return truth, None
    chosen = rng.randrange(len(drawings))
    if error in ("atom", "bond", "connection"):
        drawings[chosen] = damaged(drawings[chosen], error, rng)
    elif error == "missing":
        del drawings[chosen]
    elif error == "extra":
        drawings.insert(chosen, molecule(rng))
        glue.append(" + ")
    as_ssml, anywhere = error in ("rewritten", "extra") or notation == "ssml", error == "rewritten"
    molecules = [
        write_ssml(each, rng.randrange(len(each.texts)) if anywhere else 0, rng) if as_ssml else write_chemfig(each)
        for each in drawings
    ]
    if error == "turned":
        molecules = [text.replace("[:30", "[:33").replace("[:90", "[:86") for text in molecules]
    elif error == "broken":
        molecules[chosen] = molecules[chosen][:-1] + "branch) }"
    elif error == "text":
        glue[0] = f" = {glue[0]}"
    return truth, {"sample_id": truth["sample_id"], "text": _line(molecules, glue), "error": error}


def _line(molecules: list[str], glue: list[str]) -> str:
    words = "".join(text + after for text, after in zip(molecules, glue, strict=False))
    return " ".join(words.split()) + " H _ { 2 } O"
