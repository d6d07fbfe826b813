"""The records of the formula benchmark."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Dialect = Literal["latex", "mathpix", "gpt4o", "nougat"]


class FormulaTruth(msgspec.Struct, frozen=True):
    """The ground truth of a sample: one formula or table, or the LaTeX source of a whole document."""

    latex: str | None = None
    document: str | None = None


class FormulaPrediction(msgspec.Struct, frozen=True):
    """What a system reads: one formula or table, or a whole document in its dialect (latex where none is given)."""

    latex: str | None = None
    document: str | None = None
    dialect: Dialect | None = None


class FormulaOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the formula benchmark."""

    time_limit: Annotated[int, msgspec.Meta(ge=1, le=600)] = 5
    """Seconds of processor time that typesetting one formula may take."""
    max_characters: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 20_000
    """A longer formula is rejected."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=5_000)] = 2_000
    """A formula with more tokens is rejected."""
    images: bool = False
    """Whether to draw the formulas and measure image_edit_distance and image_mse."""
