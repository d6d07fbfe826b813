"""The records of the formula benchmark."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class FormulaTruth(msgspec.Struct, frozen=True):
    """The ground truth of a sample: one formula or table, or the LaTeX source of a whole document."""

    latex: str | None = None
    document: str | None = None


class FormulaPrediction(msgspec.Struct, frozen=True):
    """The prediction of a sample: one formula or table, or a whole document in its dialect.

    document: a text, or the texts of its pages in order, each read by itself.
    dialect: latex (the same as None), mathpix, gpt4o or nougat; metrics.formula.pairs rejects others.
    """

    latex: str | None = None
    document: str | tuple[str, ...] | None = None
    dialect: str | None = None


class FormulaOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the formula benchmark."""

    time_limit: Annotated[int, msgspec.Meta(ge=1, le=600)] = 5
    """Seconds of processor time that typesetting one formula may take."""
    max_characters: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 20_000
    """A longer formula is rejected; within a document it is left out, or as a prediction counts as empty."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=5_000)] = 2_000
    """A formula with more tokens is rejected; within a document it is left out, or as a prediction counts as empty."""
    max_formulas: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1_000
    """A document with more displayed formulas is rejected."""
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 4_000_000
    """A sample that takes more work, as counted before it is done, is rejected.

    So is one formula that takes more to typeset; within a document it is one beyond the limits, as above.
    """
    protocol: Literal["published", "released"] = "published"
    """How formulas are read: as TeX prints them, in Unicode normalization form C, or as the released CDM tool does."""
    images: bool = False
    """Whether to draw the formulas and measure image_edit_distance and image_mse."""
