"""What the page of a history shows, as data."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec

from .document import Headline, MetricRow


class NightRow(msgspec.Struct, frozen=True):
    """One run. link: the address of its page, relative to this one; None where there is none.

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
    """One metric of one system, a value for each night; None where the night does not have it."""

    system: str
    metric: int
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


class SliceSeries(msgspec.Struct, frozen=True):
    """One metric of one slice of one system, a value for each night. samples: of the last night that has it."""

    label: str
    system: str
    metric: int
    values: tuple[float | None, ...]
    samples: int


class MarkedNight(msgspec.Struct, frozen=True):
    """A night with something to tell: of one metric of one system, or of all (-1 and an empty name)."""

    night: int
    text: str
    system: str = ""
    metric: int = -1


class Event(NamedTuple):
    """Something that happened on a night."""

    what: str
    mark: MarkedNight


class GateLine(msgspec.Struct, frozen=True):
    """A bound of a metric of all samples in the last run. direction: whether the metric must be above or below it."""

    metric: int
    value: float
    text: str


class BenchmarkHistory(msgspec.Struct, frozen=True):
    """The runs of one benchmark in the order of time. gaps: nights that are missing before the night they name.
    drops: nights on which more samples than usual have no score.

    slices_left_out: how many series of slices are not in the page, as it would become too large.
    """

    benchmark: str
    headline: Headline
    warnings: tuple[str, ...]
    metrics: tuple[MetricRow, ...]
    systems: tuple[str, ...]
    nights: tuple[NightRow, ...]
    nights_left_out: int
    series: tuple[Series, ...]
    slices: tuple[SliceSeries, ...]
    slices_left_out: int
    breaks: tuple[MarkedNight, ...]
    changes: tuple[MarkedNight, ...]
    gaps: tuple[MarkedNight, ...]
    gates: tuple[GateLine, ...]
    drops: tuple[MarkedNight, ...]

    def events(self) -> list[Event]:
        """Returns all that happened, the last first."""
        of_kind = {
            "break": self.breaks,
            "change point": self.changes,
            "missing before": self.gaps,
            "coverage": self.drops,
        }
        events = [Event(what, mark) for what, marks in of_kind.items() for mark in marks]
        return sorted(events, key=lambda event: -event.mark.night)


class HistoryData(msgspec.Struct, frozen=True):
    """What the scripts in the page read."""

    histories: tuple[BenchmarkHistory, ...]


class HistoryPage(msgspec.Struct, frozen=True):
    """The page of all runs below a folder.

    unreadable: folders that look like runs and could not be read, a line each.
    """

    kind: ClassVar[str] = "history"
    title: str
    summary: str
    unreadable: tuple[str, ...]
    command: str
    data: HistoryData
