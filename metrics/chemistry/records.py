"""The records of the chemistry benchmark, its options, and what it reports of a sample."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

import msgspec

ProtocolName = Literal["published", "released"]


class ChemistryTruth(msgspec.Struct, frozen=True):
    """The ground truth of one image: `text` is a line of LaTeX, its molecules in raw Chemfig or in SSML."""

    text: str


class ChemistryPrediction(msgspec.Struct, frozen=True):
    """What a system read in the image: `text` is the line, in either way of writing."""

    text: str


class ChemistryOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options; see configs/chemistry.yaml."""

    protocol: ProtocolName = "published"
    normalize_text: bool = False
    max_angle_deviation: Annotated[float, msgspec.Meta(ge=0, le=180)] | None = 45.0
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 3_000_000
    tokens: Literal["blanks", "latex"] = "blanks"
    max_characters: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 100_000


class MoleculeVerdict(msgspec.Struct, frozen=True):
    """What became of one molecule, by its number in the line (from 1), and why where it is wrong."""

    molecule: int
    equal: bool
    difference: str | None = None


class ChemistryDetails(msgspec.Struct, frozen=True):
    """Which molecule failed and why, and the first place where the text around the molecules differs."""

    molecules: list[MoleculeVerdict]
    text_equal: bool
    text_difference: str | None
    prediction_problems: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Protocol:
    """What the two protocols do differently, each difference by its name; by default as `published` does.

    `published` follows the rules of the task page. `released` reproduces the verdict of the competition's Graph
    Matching Tool on every line of SSML or plain text, also where it departs from its rules. See the docs page for the
    reasons.

    cuts_as_tool: regions are cut out by counting brackets of one kind alone, and text before a `\\chemfig` without an
        argument is lost; else braces are read as LaTeX reads them, and nothing is lost.
    reads_spaced_chemfig: a region of single characters with blanks between them may be raw Chemfig; else it is text.
    writes_on_newest_atom: text and hooks go to the newest atom, text that conflicts with the atom's is dropped, and a
        surplus `branch)` is ignored; else they go to the current atom, all text is kept, and the region is unreadable.
    reads_signs: `-[:-90]` is an angle of 270 degrees; else of 90.
    ties_open_rings: a circle is tied to every atom of the first walk round it that meets itself anywhere; else only to
        a ring that closes where the walk began.
    orders_by_name: between equal choices atoms come in the order of their internal numbers as strings (10 before 2);
        else in order of writing.
    asks_for_counterparts: a bond that closes a ring must lead to the counterpart of its atom; else to any atom that
        was met before.
    searches_exactly: where no guided walk succeeds, all isomorphisms are looked for; else the molecules differ.
    compares_narrow_ends: wedges are equal if they are narrow at the same atom; else a wedge equals its mirror image.
    normalizes_unicode: texts are compared in Unicode normalization form C; else by their code points.
    limits_angles: bonds may be turned by the option `max_angle_deviation` at most; else by any angle.
    """

    cuts_as_tool: bool = False
    reads_spaced_chemfig: bool = True
    writes_on_newest_atom: bool = False
    reads_signs: bool = True
    ties_open_rings: bool = False
    orders_by_name: bool = False
    asks_for_counterparts: bool = True
    searches_exactly: bool = True
    compares_narrow_ends: bool = True
    normalizes_unicode: bool = True
    limits_angles: bool = True


PROTOCOLS: dict[ProtocolName, Protocol] = {
    "published": Protocol(),
    "released": Protocol(*(not getattr(Protocol(), each.name) for each in fields(Protocol))),
}
"""`released` differs from `published` in every one of the policies."""
