"""The common document of reports, comparisons and histories; pages and Markdown are templates over it.

A report is one run, a comparison two, a history many. Each has a verdict, sections of blocks that both formats show in
the same way, and data that the scripts of a page draw. Texts are not escaped until they are rendered, and are clipped
if they would fill a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from ...metrics.benchmark import MetricSpec
from .text import distinct_line, visible

Judgement = Literal[
    "pass", "fail", "inconclusive", "invalid", "better", "worse", "mixed", "identical", "no difference shown",
    "not judged",
]  # fmt: skip
SIGNS: dict[str, str] = {
    "pass": "✔", "fail": "✘", "inconclusive": "≈", "invalid": "⚠", "better": "▲", "worse": "▼", "mixed": "▲▼",
    "identical": "=", "no difference shown": "≈", "not judged": "•",
}  # fmt: skip


MOVED = {"lost": -1, "won": 1}
"""The reasons to look at a sample that any change is, by its sign."""


class Link(msgspec.Struct, frozen=True):
    """A text or a count that links to samples, or to another page.

    filters: select the samples, see `Document.link`; None for no samples. system: whose samples; None: of all.
    address: of the other page. label: a slice with which the text begins; its script does not turn the rest around.
    """

    text: str | int
    filters: dict[str, str] | None = None
    system: int | None = None
    address: str | None = None
    label: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """The judgement, a sentence with its numbers, the reasons, and the slices that lost most."""

    judgement: Judgement
    sentence: str
    reasons: tuple[Link, ...] = ()
    lost: tuple[Link, ...] = ()

    @property
    def sign(self) -> str:
        """The judgement as a sign, for readers who cannot see its color."""
        return SIGNS[self.judgement]


class Measured(msgspec.Struct, frozen=True):
    """A value with its interval, if it has one."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def known(self) -> list[float]:
        """The value and the ends of its interval, without those that are None."""
        return [each for each in (self.value, self.low, self.high) if each is not None]

    def text(self, write: Callable[[float | None], str]) -> str:
        """Returns the value with its interval, such as `-0.1700 (-0.2460 to -0.0940)`."""
        return write(self.value) + ("" if self.low is None else f" ({write(self.low)} to {write(self.high)})")


class Difference(Measured, frozen=True):
    """A paired difference with its interval and verdict. The value is None if it is not known."""

    verdict: str = "not compared"


class Metric(msgspec.Struct, frozen=True):
    """One metric and its bounds, with the values of all systems. is_change: it is a difference of two runs."""

    name: str
    meaning: str = ""
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    main: bool = False
    values: tuple[Measured, ...] = ()
    is_change: bool = False

    @classmethod
    def of(cls, spec: MetricSpec | None, name: str, systems: Sequence[Mapping[str, Any]] = ()) -> Metric:
        """Returns the declaration of a metric, if it has one, with its values in systems of summary.json."""
        values = tuple(measured(system, name) for system in systems)
        if spec is None:
            return cls(name, values=values)
        return cls(name, spec.meaning, spec.higher_is_better, *spec.bounds, spec.main is not None, values)


def measured(entry: Mapping[str, Any], name: str) -> Measured:
    """Returns a metric of a system or slice of summary.json with its interval."""
    return Measured(entry["values"].get(name), *(entry["intervals"].get(name) or (None, None)))


class Compared(msgspec.Struct, frozen=True):
    """One metric of two sides. p: of the swap test, None if it was not run.

    detectable: the interval of a true difference as large as this excludes 0 with a probability of 80 %; None if it is
    not known.
    """

    metric: Metric
    system: int
    baseline: Measured
    candidate: Measured
    difference: Difference
    p: float | None = None
    detectable: float | None = None

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name


class Bar(msgspec.Struct, frozen=True):
    """A value, or a difference, that a page also draws on a range. line: a reference value.

    system: the one whose color it has; None for the color of its verdict.
    """

    measured: Measured
    low: float
    high: float
    line: float | None = None
    system: int | None = None


class MatrixCell(msgspec.Struct, frozen=True):
    """A count of a confusion matrix. share: of its row."""

    count: int
    share: float
    is_correct: bool
    filters: dict[str, str]
    system: int


class Word(msgspec.Struct, frozen=True):
    """A judgement, such as `worse`. Pages show it with a color and a sign; Markdown has important ones in bold.

    is_bad: shown as a failure, whatever the text.
    """

    text: str
    is_bad: bool = False


class Code(msgspec.Struct, frozen=True):
    """A name as written in a configuration."""

    text: str


class Counts(msgspec.Struct, frozen=True):
    """Counts of records by status. system: the one whose samples the counts link to; None for no links."""

    counts: dict[str, int]
    system: int | None = None


Cell = None | str | int | float | Link | Measured | Metric | Bar | MatrixCell | Word | Code | Counts
"""The contents of a table cell."""
Cells = Cell | tuple[Cell, ...]
"""Several cells are shown side by side."""
Where = Literal["both", "page", "markdown"]


class Text(msgspec.Struct, frozen=True):
    """A paragraph, a heading, an item of a list, or code. label: a word before it, such as `Warning`."""

    text: Cells
    kind: Literal["", "heading", "item", "caption", "setting", "code"] = ""
    label: str = ""
    where: Where = "both"


class Table(msgspec.Struct, frozen=True):
    """A table with row names in the first column. folded: whether a page first hides it, or shows it, below its title;
    None: it has no title."""

    title: str
    header: Sequence[Cell]
    rows: Sequence[Sequence[Cells]]
    kind: Literal["", "metrics", "matrix"] = ""
    folded: bool | None = None
    where: Where = "both"


class Slot(msgspec.Struct, frozen=True):
    """The position of an element that a page draws from its data."""

    name: Literal["verdict", "slices", "distributions", "samples", "series", "multiples", "nights"]
    where: Where = "page"


Block = Text | Table | Slot


class Section(msgspec.Struct, frozen=True):
    """A titled part of a document; in a page, a target of links."""

    id: str
    title: str
    blocks: Sequence[Block]
    where: Where = "both"


class Sliced(msgspec.Struct, frozen=True):
    """The main metrics of one slice of one system, in their order. samples: None if it is not known.

    differences: from the baseline, empty without a baseline. where: the columns of the slice with their values, as
    `SampleTable.slices` has them.
    """

    label: str
    system: int
    samples: int | None
    values: tuple[Measured, ...]
    differences: tuple[Difference, ...] = ()
    where: dict[str, str] = {}

    @property
    def filters(self) -> dict[str, str]:
        """The filters that select its samples."""
        return {f"slice.{name}": value for name, value in self.where.items()}


class Distribution(msgspec.Struct, frozen=True):
    """The distribution of a per-sample metric: for each system the counts between the N + 1 edges, and quartiles.

    quartiles: lower quartile, median and upper quartile; empty if the system has no value.
    """

    name: str
    meaning: str
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    quartiles: tuple[tuple[float, ...], ...]


SliceValue = str | list[str]
"""A list for columns that hold lists."""


class SampleTable(msgspec.Struct, frozen=True):
    """Rows of samples by column, the worst first.

    total: how many rows the run has; `ids` may hold fewer. slices: for each column the texts, none empty, by which
    samples are filtered. metrics: values of each per-sample metric, rounded. cells: the rows that a cell of a confusion
    matrix counts, by `cell_name`; empty if they were not collected.
    """

    total: int
    ids: Sequence[str]
    systems: Sequence[int]
    statuses: Sequence[str]
    slices: dict[str, Sequence[SliceValue]]
    metrics: dict[str, Sequence[float | None]]
    cells: dict[str, Sequence[int]] = {}


def cell_name(title: str, row: Any, column: str) -> str:
    """Returns the name of a cell of a confusion matrix in a filter."""
    return distinct_line(f"{title}: {row} → {column}")


class CardSide(msgspec.Struct, frozen=True):
    """The result of one run for a sample: its status, metrics and prediction, what matched what, and the drawing.

    drawing: an SVG document. problem: why it is missing. prediction: None if it is missing or could not be read.
    """

    status: str
    metrics: dict[str, float | None]
    prediction: str | None = None
    words: tuple[str, ...] = ()
    drawing: str | None = None
    problem: str = ""


class Card(msgspec.Struct, frozen=True):
    """A sample to look at, in one run or in both compared runs.

    row: its index in the rows of the page; -1 if it is not known yet. whys: the reasons to show it, the best one first.
    change: of the main per-sample metric, in a comparison. words: what changed. truth: None if its records are not in
    the page. slices: the columns to slice by, with their values as JSON, if the rows of the page come from the cards.
    picture: the real picture as a data URI, for its place in the drawings. picture_problem: why it is missing.
    """

    sample_id: str
    system: int
    whys: tuple[str, ...]
    sides: tuple[CardSide, ...]
    truth: str | None = None
    words: tuple[str, ...] = ()
    change: float | None = None
    slices: dict[str, str | None] = {}
    row: int = -1
    picture: str = ""
    picture_problem: str = ""


class NightRow(msgspec.Struct, frozen=True):
    """One run of a history. link: the address of its page, relative to this one; None if it has no page.

    verdict: of all of its gates together, empty without gates. part: a number that is equal for nights with comparable
    scores. scored: for each system, how many of its samples were scored and repeats are missing; empty if not run.
    """

    run: str
    started: str
    version: str
    link: str | None
    verdict: str
    part: int
    scored: tuple[str, ...]


class Series(msgspec.Struct, frozen=True):
    """One metric of one slice of one system, with a value for each night; None if the night does not have it.

    label: empty for all samples, which have lows and highs. samples: of the last night that has the slice.
    """

    label: str
    system: int
    metric: int
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...] = ()
    highs: tuple[float | None, ...] = ()
    samples: int = 0


class More(msgspec.Struct, frozen=True):
    """Samples of which a page holds only some: how many there are, if that is known, and the command that lists all.

    command: empty if there is none: samples/ has all, or each system has a command of its own, if `total` is not known.
    """

    command: str
    total: int | None = None


EventKind = Literal["break", "change point", "missing before", "coverage"]


class Event(msgspec.Struct, frozen=True):
    """An event of a night, for one metric and one system; -1 means all of them."""

    night: int
    what: EventKind
    text: str
    system: int = -1
    metric: int = -1


class GateLine(msgspec.Struct, frozen=True):
    """A gate bound of the last run for a metric of all samples."""

    metric: int
    value: float
    text: str


class Nights(msgspec.Struct, frozen=True):
    """The nights of a history, oldest first. events: newest first."""

    nights: tuple[NightRow, ...]
    series: tuple[Series, ...]
    events: tuple[Event, ...]
    gates: tuple[GateLine, ...]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a report on one run, two compared runs, or many runs.

    systems: their names; for a comparison, the names of its sides. header: names and values. metrics: the main metrics.
    lead: the metric by which slices are sorted. differences: of the main metrics from the baseline. draw: for each
    system the command that draws a sample of it, without its id; empty if the benchmark has no drawings. samples_page:
    where the samples are, if not here. more: by filter, such as `why=lost` or `why=lost&system=a`, the samples that are
    not all here.
    """

    kind: Literal["evaluation", "comparison", "history"]
    title: str
    benchmark: str
    verdict: Verdict
    systems: tuple[str, ...] = ()
    summary: str = ""
    header: tuple[tuple[str, Cells], ...] = ()
    sections: tuple[Section, ...] = ()
    metrics: tuple[Metric, ...] = ()
    lead: str = ""
    differences: tuple[Compared, ...] = ()
    slices: tuple[Sliced, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    sample_metrics: tuple[Metric, ...] = ()
    samples: SampleTable | None = None
    samples_page: str = ""
    cards: tuple[Card, ...] = ()
    history: Nights | None = None
    draw: tuple[str, ...] = ()
    more: dict[str, More] = {}
    samples_note: str = ""
    distributions_note: str = ""

    def shown(self, where: Where) -> list[Section]:
        """Returns the sections and blocks that are shown in a page, or in Markdown."""
        sections = (
            msgspec.structs.replace(each, blocks=[block for block in each.blocks if block.where in ("both", where)])
            for each in self.sections
            if each.where in ("both", where)
        )
        return [each for each in sections if each.blocks]

    def link(self, filters: Mapping[str, str], system: int | None = None) -> str | None:
        """Returns the address of the samples that pass filters, as base.js reads it; None if there are none.

        filters: `id`, `status`, `why`, `cell`, `metric` with `from` and `to`, or `slice.NAME`, each with its value.
        system: whose samples; None: of all.
        """
        has_systems = self.kind != "comparison" and len(self.systems) > 1
        query = {**filters, **({"system": self.systems[system]} if has_systems and system is not None else {})}
        if (why := filters.get("why")) in MOVED:
            query["sort"] = f"{'-' * (MOVED[why] > 0)}{self._change or 'change'}"
        address = f"{self.samples_page}#samples?{urlencode({name: visible(value) for name, value in query.items()})}"
        table = self.samples
        if table is None or not table.ids:
            return address if self.samples_page else None
        known = {
            "id": table.ids,
            "status": table.statuses,
            "metric": table.metrics,
            "cell": table.cells,
        }
        for name, value in filters.items():
            if name.startswith("slice."):
                if name.removeprefix("slice.") not in table.slices:
                    return None
            elif name == "why":
                if not self._has(value, system):
                    return None
            elif value not in known.get(name, (value,)):
                return None
        return address

    @property
    def _change(self) -> str:
        """The per-sample metric that is a change; empty if there is none."""
        return next((each.name for each in self.sample_metrics if each.is_change), "")

    def _has(self, why: str, system: int | None) -> bool:
        """Returns whether there is a reason to look at a sample of a system, None: of any. As report.js, it takes each
        change for one."""
        if any(why in card.whys for card in self.cards if system in (None, card.system)):
            return True
        table, sign = self.samples, MOVED.get(why, 0)
        if table is None or not self._change:
            return False
        changes = zip(table.systems, table.metrics[self._change], strict=True)
        return any(sign * (change or 0) > 0 for of, change in changes if system in (None, of))

    def address(self, link: Link) -> str | None:
        """Returns the address of a link; None if this page has no target for it."""
        return link.address if link.filters is None else self.link(link.filters, link.system)

    def data(self) -> dict[str, Any]:
        """Returns the parts that the scripts of a page read."""
        names = "kind systems metrics lead slices sample_metrics samples cards history draw more"
        return {name: getattr(self, name) for name in names.split()}
