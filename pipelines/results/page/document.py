"""What the page of an evaluation shows, as data: the template renders it, and the scripts read the part called `data`.

Some of it is part of the other pages too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec

from ....transforms.pick import Why

Judgement = Literal[
    "pass", "fail", "inconclusive", "invalid", "none", "better", "worse", "mixed", "no difference shown"
]


class Headline(msgspec.Struct, frozen=True):
    """The verdict: one sentence, and the reasons for it."""

    judgement: Judgement
    sentence: str
    reasons: tuple[str, ...] = ()


class GateRow(msgspec.Struct, frozen=True):
    """What a gate says of one system, and why."""

    verdict: Judgement
    gate: str
    tier: str
    system: str
    target: str
    reason: str


class Count(msgspec.Struct, frozen=True):
    """How many records of one side had one status."""

    status: str
    count: int


class CoverageRow(msgspec.Struct, frozen=True):
    """What became of the records of one side of one system; `share` of a count is its part of `read`."""

    system: str
    side: str
    read: int
    counts: tuple[Count, ...]


class Cause(msgspec.Struct, frozen=True):
    """Why records were quarantined, how many, and the first of them."""

    count: int
    side: str
    stage: str
    cause: str
    place: str
    error: str


class Measured(msgspec.Struct, frozen=True):
    """A value with its interval, where there is one."""

    value: float | None
    low: float | None = None
    high: float | None = None


class MetricRow(msgspec.Struct, frozen=True):
    """One metric of all systems, in the order of the systems."""

    name: str
    meaning: str
    higher_is_better: bool
    low: float | None
    high: float | None
    main: bool
    values: tuple[Measured, ...]


class Difference(msgspec.Struct, frozen=True):
    """A paired difference with its interval, and what is said of it; it may not be known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = "not compared"


class Compared(msgspec.Struct, frozen=True):
    """One metric of a system and of its baseline. p: of the swap test, None where there was none.

    detectable: a true difference as large as this is found with a chance of 80 %; None where that is not known.
    """

    name: str
    meaning: str
    higher_is_better: bool
    system: int
    baseline: Measured
    candidate: Measured
    difference: Difference
    p: float | None = None
    detectable: float | None = None


class SliceRow(msgspec.Struct, frozen=True):
    """The main metrics of one slice of one system, in the order of the main metrics.

    differences: from the baseline, in the same order; empty where there is none.
    """

    label: str
    system: int
    samples: int
    values: tuple[Measured, ...]
    differences: tuple[Difference, ...] = ()


class Distribution(msgspec.Struct, frozen=True):
    """How a per-sample metric is spread: for each system the counts between the edges, and quartiles in words.

    edges: N + 1 for N counts. quartiles: lowest, lower quartile, median, upper quartile and highest of each system,
    empty where the system has no value.
    """

    name: str
    meaning: str
    higher_is_better: bool
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    quartiles: tuple[tuple[float, ...], ...]


class HeatCell(msgspec.Struct, frozen=True):
    """A cell of a table; `shade` from 0 to 1 is its part of its row in a confusion matrix, None elsewhere."""

    text: str
    number: bool = False
    shade: float | None = None
    diagonal: bool = False


class TablePart(msgspec.Struct, frozen=True):
    """A table of a benchmark for one system."""

    system: str
    title: str
    is_matrix: bool
    header: tuple[str, ...]
    rows: tuple[tuple[HeatCell, ...], ...]


class Coded(msgspec.Struct, frozen=True):
    """A column of few distinct texts: the texts, and for each row the number of its own; -1 where it has none."""

    texts: Sequence[str]
    codes: Sequence[int]


class SampleTable(msgspec.Struct, frozen=True):
    """Rows of samples by column, the worst first.

    total: how many rows the run has; `ids` may hold fewer. metrics: values of each per-sample metric, rounded.
    """

    total: int
    ids: Sequence[str]
    systems: Sequence[int]
    statuses: Coded
    slices: dict[str, Coded]
    metrics: dict[str, Sequence[float | None]]


class RecordText(msgspec.Struct, frozen=True):
    """A record as indented JSON; `left_out` characters of it are not here."""

    text: str
    left_out: int = 0


class Card(msgspec.Struct, frozen=True):
    """A sample to look at: both records, what matched what, and the drawing.

    row: its place among the rows of the page; -1 where that is not known yet. why: see transforms.pick. words: what
    matched what, a line each. drawing: an SVG document. problem: why there is none. before: the main per-sample metric
    in the baseline, where that is known.
    """

    row: int
    system: int
    status: str
    why: Why
    metrics: dict[str, float | None]
    truth: RecordText
    prediction: RecordText | None
    details: Any = None
    words: tuple[str, ...] = ()
    drawing: str | None = None
    problem: str = ""
    before: float | None = None

    def without_drawing(self) -> Card:
        """Returns the card of a page that holds drawings enough."""
        problem = "this page holds drawings enough; beamscore draw writes it"
        return msgspec.structs.replace(self, drawing=None, problem=problem)


class PageData(msgspec.Struct, frozen=True):
    """What the script in the page reads.

    differences: from the baseline. pair: of the two systems of a run, the second less the first.
    """

    systems: tuple[str, ...]
    metrics: tuple[MetricRow, ...]
    sample_metrics: tuple[MetricRow, ...]
    differences: tuple[Compared, ...]
    pair: tuple[Compared, ...]
    slices: tuple[SliceRow, ...]
    distributions: tuple[Distribution, ...]
    samples: SampleTable | None
    cards: tuple[Card, ...]


class Fact(msgspec.Struct, frozen=True):
    """A line of the provenance."""

    name: str
    value: str


class Page(msgspec.Struct, frozen=True):
    """A page of one evaluation. What a run does not have is empty, and `absent` says why, by section.

    spread: of which rows the distributions are; empty where of all. baseline: what the run is compared with, or why it
    is not; empty where nobody asked for it. pair: how two systems are compared; empty unless there are two.
    """

    kind: ClassVar[str] = "evaluation"
    title: str
    summary: str
    headline: Headline
    setting: tuple[str, ...]
    warnings: tuple[str, ...]
    gates: tuple[GateRow, ...]
    coverage: tuple[CoverageRow, ...]
    causes: tuple[Cause, ...]
    other_metrics: tuple[MetricRow, ...]
    tables: tuple[TablePart, ...]
    facts: tuple[Fact, ...]
    command: str
    configuration: str
    absent: dict[str, str]
    spread: str
    baseline: str
    pair: str
    data: PageData
