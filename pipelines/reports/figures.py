"""Cells and small figures of a page as HTML and SVG, which need no script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markupsafe import Markup, escape

from ..runs.numbers import typeset
from .document import (
    Bar,
    Cells,
    Code,
    Counts,
    Difference,
    Distribution,
    Document,
    Link,
    MatrixCell,
    Measured,
    Metric,
    Word,
)
from .markdown import number, status_text
from .text import clipped, visible

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 300, 110, 40, 18, 12
HALF_STEP = 0.00005
"""Values of samples have four decimals: what is less than an edge is at most this much less."""
_INKS = {"better": "var(--good)", "worse": "var(--bad)"}


class CellWriter:
    """Writes the cells of one document; each name of a metric opens its meaning. ids: of these."""

    def __init__(self, document: Document, ids: Iterator[int]) -> None:
        self._document = document
        self._ids = ids

    def html(self, value: Cells) -> Markup:
        """Returns what a cell, or a paragraph, shows."""
        match value:
            case tuple():
                return Markup(" ").join(map(self.html, value))
            case Bar(found, low, high, line, system):
                verdict = found.verdict if isinstance(found, Difference) else ""
                ink = _INKS.get(verdict, "var(--soft)") if system is None else f"var(--system-{system % 6})"
                return self.html(found) + whisker(found, low, high, line, ink)
            case Measured():
                return self._interval(number, value)
            case Difference():
                return self._interval(typeset, value)
            case Metric():
                return self._metric(value)
            case Code(text):
                return Markup("<code>{}</code>").format(breakable(text))
            case Word(text, is_bad):
                name = "fail" if is_bad else text.replace(" ", "-")
                return Markup('<b class="said {}">{}</b>').format(name, shown(text))
            case Link():
                return self.linked(value.text, self._document.address(value))
            case MatrixCell():
                link = self._document.link(value.filters, value.system) if value.count else None
                return self.linked(value.count, link)
            case Counts():
                return self._counts(value)
            case _:
                return shown(value)

    def linked(self, text: str | int, address: str | None) -> Markup:
        """Returns a text that leads to an address, where it has one."""
        return shown(text) if address is None else Markup('<a href="{}">{}</a>').format(address, shown(text))

    def attributes(self, value: Cells) -> Markup:
        """Returns the attributes of the cell of a table that holds this."""
        if isinstance(value, MatrixCell):
            more = " diagonal" * value.is_correct + " none" * (not value.count)
            return Markup(' class="number{}" style="--shade: {:.3f}"').format(more, value.share)
        first = value[0] if isinstance(value, tuple) and value else value
        first = first.text if isinstance(first, Link) else first
        is_number = first is None or isinstance(first, (int, float, Measured, Difference, Bar))
        is_long = isinstance(value, str) and len(value) > 60
        return Markup(' class="number"' if is_number else ' class="text"' if is_long else "")

    def _interval(self, write: Callable[[float | None], str], found: Measured | Difference) -> Markup:
        if found.low is None:
            return Markup("{}").format(write(found.value))
        between = f"{write(found.low)} to {write(found.high)}"
        return Markup('{} <span class="interval">{}</span>').format(write(found.value), between)

    def _metric(self, metric: Metric) -> Markup:
        better = "higher" if metric.higher_is_better else "lower"
        return Markup(
            '<button type="button" class="meaning" popovertarget="meaning-{id}" title="{meaning}">'
            '<code>{text}</code></button><span popover id="meaning-{id}" class="popover">'
            "<b>{name}</b>: {meaning}; {better} is better.</span>"
        ).format(
            id=next(self._ids), name=shown(metric.name), text=breakable(metric.name), better=better,
            meaning=shown(metric.meaning or "no meaning is declared"),
        )  # fmt: skip

    def _counts(self, found: Counts) -> Markup:
        counts = {status: count for status, count in found.counts.items() if count}
        classes = {status: status.replace("_", "-") for status in counts}
        bars = Markup("").join(
            Markup('<span class="{}" style="flex-grow: {}"></span>').format(classes[status], count)
            for status, count in counts.items()
        )
        parts = Markup("").join(
            Markup('<span class="part"><i class="swatch {}" aria-hidden="true"></i>{}</span>').format(
                classes[status],
                self.linked(
                    f"{count:,} {status_text(status)}",
                    None if found.system is None else self._document.link({"status": status}, found.system),
                ),
            )
            for status, count in counts.items()
        )
        return Markup('<span class="bar" aria-hidden="true">{}</span>{}').format(bars, parts or "none")


def shown(value: str | float | None) -> Markup:
    """Returns a text or number as a page shows it, escaped."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return escape(visible(clipped(value)))
    return escape(f"{value:,}" if isinstance(value, int) else number(value))


def breakable(text: str) -> Markup:
    """Returns a name that may be broken behind its dots, underscores and equals signs."""
    return Markup("<wbr>").join(map(shown, parts(text)))


def parts(text: str) -> list[str]:
    """Returns the parts between which a name may be broken."""
    return re.split(r"(?<=[._=])(?=.)", clipped(text))


def whisker(found: Measured | Difference, low: float, high: float, line: float | None, ink: str) -> Markup:
    """Returns a bar from the ends of an interval, with a dot at the value, on a range; `line` is a thin line across."""
    places = {"from": found.low, "to": found.high, "at": found.value, "line-at": line}
    known = {name: (value - low) / ((high - low) or 1) for name, value in places.items() if value is not None}
    style = "".join(f"--{name}:{place:.4f};" for name, place in known.items())
    return Markup('<i class="whisker" style="{}--ink:{}"></i>').format(style, ink)


def histogram(document: Document, found: Distribution, system: int) -> Markup:
    """Returns the counts of a metric in bins; each bin links to its samples."""
    counts, edges = found.counts[system], found.edges
    most = max((max(each, default=0) for each in found.counts), default=0) or 1
    step = (WIDTH - LEFT - 4) / len(counts)
    unit = (HEIGHT - BOTTOM - TOP) / most
    is_counted = edges[1] - edges[0] == 1
    parts = []
    for place, count in enumerate(counts):
        if not count:
            continue
        first, last = edges[place], edges[place + 1]
        upper = last if place == len(counts) - 1 else last - HALF_STEP
        named = f"{(first + last) / 2:g}" if is_counted else f"{first:.4g} to {last:.4g}"
        link = document.link({"metric": found.name, "from": f"{first:.6g}", "to": f"{upper:.8g}"}, system)
        bar = (
            f'<rect x="{LEFT + place * step + 0.5:.1f}" width="{step - 1:.1f}" '
            f'y="{HEIGHT - BOTTOM - count * unit:.1f}" height="{count * unit:.1f}" '
            f'fill="var(--system-{system % 6})"><title>{named}: {count:,} samples</title></rect>'
        )
        parts.append(f'<a href="{escape(link)}" tabindex="-1">{bar}</a>' if link else bar)
    ticks = [f'<text x="{LEFT - 5}" y="{TOP + 4}" text-anchor="end">{most:,}</text>']
    for place, anchor in ((0, "start"), (len(counts) // 2, "middle"), (len(counts), "end")):
        # A count is named in the middle of its bin.
        bin_, shift = (min(place, len(counts) - 1), 0.5) if is_counted else (place, 0.0)
        x, named = LEFT + (bin_ + shift) * step, f"{edges[bin_] + shift:.4g}"
        ticks.append(f'<text x="{x:.1f}" y="{HEIGHT - 4}" text-anchor="{"middle" if shift else anchor}">{named}</text>')
    label = escape(visible(f"Distribution of {found.name} of {document.systems[system]}"))
    return Markup(
        f'<svg class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{label}">'
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - 4}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>'
        f"{''.join(parts)}{''.join(ticks)}</svg>"
    )
