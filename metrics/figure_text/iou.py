"""Intersection over Union: the matching of the Robust Reading Competitions since ICDAR 2015, one to one.

As the script of the tasks 4.1 and 4.4 has it (incidental scene text): ground-truth regions in order, and for each the
detections in order, the first free pair with (area in common) / (area of both together) > 0.5 is matched. End to end
the pairs are right if their texts are equal: the text does not decide which pairs are matched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .deteval import Match
from .overlaps import Overlap
from .regions import Region

MIN_IOU = 0.5


class IouMatcher:
    """The pairs of one figure with enough in common, to be matched for several choices of the regions that count."""

    def __init__(
        self, truths: Mapping[int, Region], detections: Mapping[int, Region], overlaps: Sequence[Overlap]
    ) -> None:
        self._near = [
            (each.truth, each.detection)
            for each in overlaps
            if each.common / (truths[each.truth].area + detections[each.detection].area - each.common) > MIN_IOU
        ]

    def matches(self, care: Collection[int], dont_care: Collection[int]) -> list[Match]:
        """Returns the matches of the ground-truth regions `care` with all detections but `dont_care`."""
        matched: dict[int, int] = {}
        taken = set(dont_care)
        for truth, detection in self._near:
            if truth in care and truth not in matched and detection not in taken:
                matched[truth] = detection
                taken.add(detection)
        return [Match([truth], [detection]) for truth, detection in matched.items()]
