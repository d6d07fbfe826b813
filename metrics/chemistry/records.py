"""The records of the chemistry benchmark, and its options."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ..common.text import normalized


class ChemistryTruth(msgspec.Struct, frozen=True):
    """The ground truth of one image: `text` is a line of LaTeX, its molecules in raw Chemfig or in SSML."""

    text: str


class ChemistryPrediction(msgspec.Struct, frozen=True):
    """The prediction for one image: `text` is the line, in either notation."""

    text: str


class ChemistryOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options; see configs/chemistry.yaml.

    protocol: `published` follows the rules of the task page. `released` reproduces the verdict of the competition's
        Graph Matching Tool on every line of SSML or plain text, even where the tool departs from its rules. Functions
        with a parameter `released` say what it changes; docs/explanation/benchmarks/chemistry.md has the full list.
    """

    protocol: Literal["published", "released"] = "published"
    normalize_text: bool = False
    max_angle_deviation: Annotated[float, msgspec.Meta(ge=0, le=180)] | None = 45.0
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 3_000_000
    tokens: Literal["blanks", "latex"] = "blanks"
    max_characters: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 100_000

    def compared(self, text: str) -> str:
        """Returns the text in the form in which the protocol compares texts."""
        return text if self.protocol == "released" else normalized(text)
