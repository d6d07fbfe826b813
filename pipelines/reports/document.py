"""The one document of a report, a comparison and a history: pages and Markdown are templates over it.

A report is one run, a comparison two, a history many. A part that a document does not have is empty, and `notes` says
why, by section. Texts are as they came, cut where they would fill a page; they are escaped where they are rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

import msgspec

from ..runs.causes import QuarantineCause
from ..runs.numbers import fixed, typeset
from ..runs.verdict import GateVerdict
from .text import one_line, visible

Judgement = Literal[
    "pass", "fail", "inconclusive", "invalid", "better", "worse", "mixed", "identical", "no difference shown",
    "not judged",
]  # fmt: skip
SIGNS: dict[str, str] = {
    "pass": "✔", "fail": "✘", "inconclusive": "≈", "invalid": "⚠", "better": "▲", "worse": "▼", "mixed": "▲▼",
    "identical": "=", "no difference shown": "≈", "not judged": "•",
}  # fmt: skip


class Lost(msgspec.Struct, frozen=True):
    """A slice that lost, with what it lost in words. where: its columns with their values; see Slice."""

    text: str
    where: dict[str, str] = {}
    system: int = 0


class Verdict(msgspec.Struct, frozen=True):
    """The judgement, the sentence that says it with its numbers, the reasons, and the slices that lost most."""

    judgement: Judgement
    sentence: str
    reasons: tuple[str, ...] = ()
    lost: tuple[Lost, ...] = ()

    @property
    def sign(self) -> str:
        """The judgement as a sign, for who does not see its color."""
        return SIGNS[self.judgement]


class Measured(msgspec.Struct, frozen=True):
    """A value with its interval, where there is one."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Metric(msgspec.Struct, frozen=True):
    """One metric and its bounds, with the values of all systems. is_change: whether it is a difference of two runs."""

    name: str
    meaning: str = ""
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    main: bool = False
    values: tuple[Measured, ...] = ()
    is_change: bool = False


class Difference(msgspec.Struct, frozen=True):
    """A paired difference with its interval, and what is said of it; it may not be known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = "not compared"


class Compared(msgspec.Struct, frozen=True):
    """One metric of two sides. p: of the swap test, None where there was none.

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


class Slice(msgspec.Struct, frozen=True):
    """The main metrics of one slice of one system, in their order; samples: None where that is not known.

    before: the values of the baseline, and differences: from it; both empty where there is none. where: the columns of
    the slice with their values, as `SampleTable.slices` has them.
    """

    label: str
    system: int
    samples: int | None
    values: tuple[Measured, ...]
    before: tuple[float | None, ...] = ()
    differences: tuple[Difference, ...] = ()
    where: dict[str, str] = {}


class Distribution(msgspec.Struct, frozen=True):
    """How a per-sample metric is spread: for each system the counts between the N + 1 edges, and quartiles.

    quartiles: lowest, lower quartile, median, upper quartile and highest; empty where the system has no value.
    """

    name: str
    meaning: str
    higher_is_better: bool
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    quartiles: tuple[tuple[float, ...], ...]


class Coded(msgspec.Struct, frozen=True):
    """A column of few distinct texts: the texts, and for each row the number of its own; -1 where it has none.

    members: of a text that is a list, by its number, the texts in it.
    """

    texts: Sequence[str]
    codes: Sequence[int]
    members: Mapping[int, Sequence[str]] = {}


class SampleTable(msgspec.Struct, frozen=True):
    """Rows of samples by column, the worst first.

    total: how many rows the run has; `ids` may hold fewer. metrics: values of each per-sample metric, rounded. cells:
    the rows that a cell of a confusion matrix counts, by `cell_name`; empty where nobody has looked.
    """

    total: int
    ids: Sequence[str]
    systems: Sequence[int]
    statuses: Coded
    slices: dict[str, Coded]
    metrics: dict[str, Sequence[float | None]]
    cells: dict[str, Sequence[int]] = {}


def cell_name(title: str, row: Any, column: str) -> str:
    """Returns what a cell of a confusion matrix is called in a filter."""
    return one_line(f"{title}: {row} → {column}")


class RecordText(msgspec.Struct, frozen=True):
    """A record as indented JSON; `left_out` characters of it are not here."""

    text: str
    left_out: int = 0


class CardSide(msgspec.Struct, frozen=True):
    """What one run says of a sample: its status, metrics and prediction, what matched what, and the drawing.

    drawing: an SVG document; problem: why there is none. prediction: None where there was none that could be read.
    """

    status: str
    metrics: dict[str, float | None]
    prediction: RecordText | None = None
    words: tuple[str, ...] = ()
    drawing: str | None = None
    problem: str = ""


class Card(msgspec.Struct, frozen=True):
    """A sample to look at, in one run or in both that are compared.

    row: its place among the rows of the page; -1 where that is not known yet. why: it is shown. change: of the main
    per-sample metric since the baseline. words: what changed. truth: None where its records are not in the page.
    slices: the columns to slice by, with their values as JSON, where the rows of the page come from the cards.
    """

    sample_id: str
    system: int
    why: str
    sides: tuple[CardSide, ...]
    truth: RecordText | None
    words: tuple[str, ...] = ()
    change: float | None = None
    details: Any = None
    slices: dict[str, str | None] = {}
    row: int = -1


class Fact(msgspec.Struct, frozen=True):
    """A line of the header or the provenance, with a value for each run. link: the page of the run, if it has one."""

    name: str
    values: tuple[str, ...]
    link: str | None = None


class CoverageRow(msgspec.Struct, frozen=True):
    """What became of the records of one side of one system."""

    system: int
    side: str
    read: int
    counts: dict[str, int]

    @property
    def is_clean(self) -> bool:
        """Whether every record was scored."""
        return self.counts["scored"] == self.read

    def some(self) -> list[tuple[str, int]]:
        """Returns the statuses of any record, with their counts."""
        return [(status, count) for status, count in self.counts.items() if count]


class TablePart(msgspec.Struct, frozen=True):
    """A table of a benchmark for one system; is_matrix: whether it counts classes against classes."""

    system: int
    title: str
    is_matrix: bool
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


class ListedSample(NamedTuple):
    """A sample that the Markdown names: its id, some values, and its status or how it changed."""

    sample_id: str
    values: tuple[float | None, ...]
    status: str


class Night(msgspec.Struct, frozen=True):
    """One run of a history. link: the address of its page, relative to this one; None where there is none.

    verdict: what all of its gates come to, empty where it has none. part: a number that nights share whose scores can
    be compared. scored: for each system, how many of its samples were scored, in words; empty where it was not run.
    """

    run: str
    started: str
    version: str
    link: str | None
    verdict: str
    part: int
    scored: tuple[str, ...]


class Series(msgspec.Struct, frozen=True):
    """One metric of one slice of one system, a value for each night; None where the night does not have it.

    label: empty of all samples, which have lows and highs. samples: of the last night that has the slice.
    """

    label: str
    system: int
    metric: int
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...] = ()
    highs: tuple[float | None, ...] = ()
    samples: int = 0


EventKind = Literal["break", "change point", "missing before", "coverage"]


class Event(msgspec.Struct, frozen=True):
    """Something that happened on a night: to one metric, and to one system, or to all (-1).

    before, after: the values at a change point. earlier: the run before a gap, or that a broken series goes on from.
    """

    night: int
    what: EventKind
    text: str
    system: int = -1
    metric: int = -1
    before: float | None = None
    after: float | None = None
    earlier: str = ""

    def why(self) -> str:
        """Returns what happened in words."""
        if self.before is not None and self.after is not None:
            return f"{fixed(self.before)} to {fixed(self.after)}, {typeset(self.after - self.before)}"
        if self.what == "missing before":
            return f"{self.text} after {self.earlier}"
        return f"{self.text}; compared with {self.earlier}" if self.earlier else self.text


class GateLine(msgspec.Struct, frozen=True):
    """A bound of a metric of all samples in the last run."""

    metric: int
    value: float
    text: str


class TonightMetric(msgspec.Struct, frozen=True):
    """One metric of the last night: against the last one that it compares with, the medians, and the blessed run.

    medians: the value less the median of the 7 and the 30 nights before. gate: what its gate says.
    """

    metric: int
    measured: Measured
    difference: Difference
    medians: tuple[float | None, ...] = ()
    blessed: Difference = Difference()
    gate: str = ""


class Tonight(msgspec.Struct, frozen=True):
    """One system on the last night. dropped: how many more than usual have no score. against: the night before it.

    not_compared: why there is no difference from that.
    """

    system: int
    coverage: str
    dropped: str
    against: str
    not_compared: str
    metrics: tuple[TonightMetric, ...]

    def blessed(self) -> list[TonightMetric]:
        """Returns the metrics that are compared with the run that a person has blessed."""
        return [each for each in self.metrics if each.blessed.value is not None]


class NightRow(NamedTuple):
    """A line of the table of nights: of one system on one night; system: -1 where it says why a series breaks."""

    started: str
    run: str
    system: int
    values: Sequence[float | None]
    scored: str = ""
    is_flagged: bool = False
    verdict: str = ""


class Nights(msgspec.Struct, frozen=True):
    """The nights of a history in the order of time. events: the last first. total: how many nights there are.

    unreadable: folders that look like runs and could not be read, a line each.
    """

    nights: tuple[Night, ...]
    series: tuple[Series, ...]
    events: tuple[Event, ...]
    gates: tuple[GateLine, ...]
    tonight: tuple[Tonight, ...]
    total: int
    series_left_out: int = 0
    unreadable: Sequence[str] = ()

    def events_of(self, what: EventKind) -> list[Event]:
        """Returns the events of a kind, the last first; those of one night as they came."""
        return [event for event in self.events if event.what == what]

    def table(self, count: int) -> Iterator[NightRow]:
        """Yields the lines of the last `count` nights, the last first, with a line where scores stop to compare."""
        whole = [each for each in self.series if not each.label]
        broken = {event.night: event.text for event in self.events_of("break")}
        flagged = {(event.night, event.system) for event in self.events_of("coverage")}
        for number in range(len(self.nights) - 1, max(-1, len(self.nights) - 1 - count), -1):
            night = self.nights[number]
            for system, scored in enumerate(night.scored):
                values = [each.values[number] for each in whole if each.system == system]
                if scored:
                    is_flagged = (number, system) in flagged
                    yield NightRow(night.started[:16], night.run, system, values, scored, is_flagged, night.verdict)
            if number in broken:
                metrics = len({each.metric for each in whole})
                yield NightRow("—— break ——", broken[number], -1, [None] * metrics)


class Notes(msgspec.Struct, frozen=True):
    """What there is to say of a section, or why it is empty."""

    baseline: str = ""
    pair: str = ""
    records: str = ""
    samples: str = ""
    distributions: str = ""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say of one run, of two that are compared, or of many.

    systems: the names, of a comparison those of its sides. metrics: the main ones. differences: of the main metrics
    from the baseline; pair: of the two systems of a run, the second less the first. counts: of the samples of a
    comparison, by what became of them. changes: by per-sample metric, how many samples changed in which way. listed:
    by system, the samples that the Markdown names. draw: the command that draws a sample of the run, without its id.
    """

    kind: Literal["evaluation", "comparison", "history"]
    title: str
    benchmark: str
    verdict: Verdict
    systems: tuple[str, ...] = ()
    summary: str = ""
    header: tuple[Fact, ...] = ()
    setting: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    gates: tuple[GateVerdict, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    ranked_by: str = ""
    coverage: tuple[CoverageRow, ...] = ()
    extra_counts: tuple[dict[str, int], ...] = ()
    counts: dict[str, int] = {}
    causes: tuple[QuarantineCause, ...] = ()
    metrics: tuple[Metric, ...] = ()
    other_metrics: tuple[Metric, ...] = ()
    differences: tuple[Compared, ...] = ()
    other_differences: tuple[Compared, ...] = ()
    pair: tuple[Compared, ...] = ()
    slices: tuple[Slice, ...] = ()
    one_sided: dict[str, Sequence[str]] = {}
    verdicts: dict[str, int] = {}
    tables: tuple[TablePart, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    changes: dict[str, dict[str, int]] = {}
    threshold: float = 0.0
    listed: tuple[tuple[ListedSample, ...], ...] = ()
    listed_by: str = ""
    sample_metrics: tuple[Metric, ...] = ()
    samples: SampleTable | None = None
    cards: tuple[Card, ...] = ()
    history: Nights | None = None
    facts: tuple[Fact, ...] = ()
    command: str = ""
    draw: str = ""
    configuration: str = ""
    notes: Notes = Notes()

    def is_clean(self) -> bool:
        """Returns whether every record was read, paired and scored."""
        return not self.causes and all(row.is_clean for row in self.coverage)

    def has_intervals(self) -> bool:
        """Returns whether any main metric has an interval."""
        return any(found.low is not None for metric in self.metrics for found in metric.values)

    def measured_metrics(self, slices: Sequence[Slice]) -> list[int]:
        """Returns the places of the main metrics that any of the slices has."""
        return [
            place for place in range(len(self.metrics)) if any(each.values[place].value is not None for each in slices)
        ]

    def link(self, filters: Mapping[str, str], system: int = 0) -> str | None:
        """Returns the address of the samples that pass filters, as address.js reads it; None where this page has none.

        filters: `status`, `why`, `cell`, `metric` with `from` and `to`, or `slice.NAME`, each with its value.
        """
        table = self.samples
        if table is None or not table.ids:
            return None
        known = {
            "status": table.statuses.texts,
            "why": {card.why for card in self.cards},
            "metric": table.metrics,
            "cell": table.cells,
        }
        for name, value in filters.items():
            if name.startswith("slice."):
                if name.removeprefix("slice.") not in table.slices:
                    return None
            elif value not in known.get(name, (value,)):
                return None
        many = self.kind == "evaluation" and len(self.systems) > 1
        wanted = {**filters, **({"system": self.systems[system]} if many else {})}
        return "#samples?" + urlencode({name: visible(value) for name, value in wanted.items()})

    def slice_link(self, found: Lost) -> str | None:
        """Returns the address of the samples of a slice."""
        return self.link({f"slice.{name}": value for name, value in found.where.items()}, found.system)

    def data(self) -> dict[str, Any]:
        """Returns the parts that the scripts of a page read."""
        return {name: getattr(self, name) for name in DATA}


DATA = (
    "kind", "systems", "metrics", "differences", "slices", "sample_metrics", "samples", "cards", "history",
    "draw",
)  # fmt: skip
