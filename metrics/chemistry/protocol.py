"""What the two protocols do differently, each difference by its name.

`published` follows the rules of the task page. `released` reproduces the verdict of the competition's Graph Matching
Tool on every line of SSML or plain text, also where it departs from its rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProtocolName = Literal["published", "released"]


@dataclass(frozen=True, slots=True, eq=False)
class Protocol:
    """One protocol as its policies; see the docs page for the reasons.

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

    cuts_as_tool: bool
    reads_spaced_chemfig: bool
    writes_on_newest_atom: bool
    reads_signs: bool
    ties_open_rings: bool
    orders_by_name: bool
    asks_for_counterparts: bool
    searches_exactly: bool
    compares_narrow_ends: bool
    normalizes_unicode: bool
    limits_angles: bool


PROTOCOLS: dict[ProtocolName, Protocol] = {
    "published": Protocol(
        cuts_as_tool=False,
        reads_spaced_chemfig=True,
        writes_on_newest_atom=False,
        reads_signs=True,
        ties_open_rings=False,
        orders_by_name=False,
        asks_for_counterparts=True,
        searches_exactly=True,
        compares_narrow_ends=True,
        normalizes_unicode=True,
        limits_angles=True,
    ),
    "released": Protocol(
        cuts_as_tool=True,
        reads_spaced_chemfig=False,
        writes_on_newest_atom=True,
        reads_signs=False,
        ties_open_rings=True,
        orders_by_name=True,
        asks_for_counterparts=False,
        searches_exactly=False,
        compares_narrow_ends=False,
        normalizes_unicode=False,
        limits_angles=False,
    ),
}
