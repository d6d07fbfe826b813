"""The options of the figure-text benchmark."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .regions import Geometry

Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
ShareBelowOne = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class FigureTextOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How regions are compared; the defaults are the DeTEXT paper's (Yin et al. 2015).

    protocol: `published` asks for more than the thresholds and scores scattered matches on both sides with
        `scatter_factor`; `icdar2013` does as the competition's script: reaching a threshold is enough, and a
        many-to-one match scores 1 for each of its regions.
    geometry: `rectangle` compares rectangles turned upright, `polygon` the exact polygons.
    sigma_threshold, tau_threshold: the shares of a ground-truth region and of a detection that must be covered.
    scatter_factor: what a region counts that several regions of the other side match.
    end_to_end_overlap: a spotted word's (area in common) / (smallest rectangle that holds both) must be above this.
    agreement_overlap: two annotators' regions agree from this 2 common / (sum of areas) on.
    case_sensitive: whether "dna" is a wrong reading of "DNA".
    min_confidence: detections with a lower confidence are left out; null keeps all.
    max_steps: a sample that takes more work is rejected; see metrics.common.budget.
    """

    protocol: Literal["published", "icdar2013"] = "published"
    geometry: Geometry = "rectangle"
    sigma_threshold: ShareBelowOne = 0.8
    tau_threshold: ShareBelowOne = 0.4
    scatter_factor: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.8
    end_to_end_overlap: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.5
    agreement_overlap: Share = 0.85
    case_sensitive: bool = True
    min_confidence: float | None = None
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 4_000_000

    @property
    def nfc(self) -> bool:
        """Whether texts are compared in Unicode normalization form C; the competition's script compares code points."""
        return self.protocol == "published"
