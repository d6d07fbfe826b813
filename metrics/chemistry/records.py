"""The records of the chemistry benchmark: a line of LaTeX with `\\chemfig{...}` regions in it."""

from __future__ import annotations

import msgspec


class ChemistryTruth(msgspec.Struct, frozen=True):
    """The ground truth of one image: `text` is the line, its molecules in raw Chemfig or in SSML."""

    text: str


class ChemistryPrediction(msgspec.Struct, frozen=True):
    """What a system read in the image: `text` is the line, in either way of writing."""

    text: str
