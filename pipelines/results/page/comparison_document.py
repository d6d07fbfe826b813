"""What the page of a comparison shows, as data."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from .document import Compared, Count, Difference, Headline, MetricRow, RecordText


class ComparedCell(msgspec.Struct, frozen=True):
    """One metric of one slice."""

    baseline: float | None
    candidate: float | None
    difference: Difference


class ComparedSliceRow(msgspec.Struct, frozen=True):
    """The main metrics of one slice, in their order. samples: None where that is not known."""

    label: str
    samples: int | None
    values: tuple[ComparedCell, ...]


class ChangedSide(msgspec.Struct, frozen=True):
    """What one side says of a sample that changed.

    prediction: None where there was no record, or it is not in this page. words: what matched what, a line each.
    drawing: an SVG document; problem: why there is none.
    """

    status: str
    metrics: dict[str, float | None]
    prediction: RecordText | None = None
    words: tuple[str, ...] = ()
    drawing: str | None = None
    problem: str = ""


class Changed(msgspec.Struct, frozen=True):
    """A sample that changed. change: of the main per-sample metric, below 0 where it is worse.

    truth: None where the records are not in this page. words: what changed, a line each. sides: baseline, candidate.
    """

    sample_id: str
    kind: str
    change: float | None
    truth: RecordText | None
    words: tuple[str, ...]
    sides: tuple[ChangedSide, ChangedSide]

    def without_drawings(self) -> Changed:
        """Returns the sample of a page that holds drawings enough."""
        problem = "this page holds drawings enough; beamscore draw writes it"
        first, second = (
            msgspec.structs.replace(side, drawing=None, problem=problem) if side.drawing is not None else side
            for side in self.sides
        )
        return msgspec.structs.replace(self, sides=(first, second))


class ComparisonData(msgspec.Struct, frozen=True):
    """What the scripts in the page read. sides: what the baseline and the candidate are called."""

    sides: tuple[str, str]
    metrics: tuple[Compared, ...]
    slices: tuple[ComparedSliceRow, ...]
    sample_metrics: tuple[MetricRow, ...]
    changed: tuple[Changed, ...]


class ChangeCounts(msgspec.Struct, frozen=True):
    """How many samples changed in each way, in one per-sample metric; see `KINDS` of transforms/sample_changes."""

    name: str
    counts: tuple[int, ...]


class FactOfTwo(msgspec.Struct, frozen=True):
    """A line of the provenance of both runs."""

    name: str
    baseline: str
    candidate: str

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it."""
        return self.baseline != self.candidate


class ComparisonPage(msgspec.Struct, frozen=True):
    """The page of a comparison. What it does not have is empty, and `absent` says why, by section.

    names: of the runs, RUN:SYSTEM. counts: of the samples, by what became of them. one_sided: slices that one side
    alone has, in words. changed_total: how many samples changed.
    """

    kind: ClassVar[str] = "comparison"
    title: str
    summary: str
    names: tuple[str, str]
    headline: Headline
    warnings: tuple[str, ...]
    setting: tuple[str, ...]
    counts: tuple[Count, ...]
    samples: int
    other_metrics: tuple[Compared, ...]
    one_sided: tuple[str, ...]
    change_kinds: tuple[str, ...]
    changes: tuple[ChangeCounts, ...]
    facts: tuple[FactOfTwo, ...]
    command: str
    absent: dict[str, str]
    data: ComparisonData
