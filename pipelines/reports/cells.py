"""Cells of documents as Markdown and as HTML, and the small figures of a page, without scripts."""

from __future__ import annotations

import math
import re

from markupsafe import Markup, escape

from ..runs.numbers import count_of, signed, trimmed, typeset
from . import document as doc
from .text import clipped, code, number, table, visible

MARKED = ("better", "worse", "fail", "invalid", "inconclusive")
"""The judgements that a reader must not miss."""
LEFT_OUT = {
    "only_baseline": "that only the baseline scored",
    "only_candidate": "that only the candidate scored",
    "neither": "that neither scored",
    "other_ground_truth": "with another ground truth",
}
_INKS = {"better": "var(--good)", "worse": "var(--bad)"}


def cell_markdown(value: doc.Cells) -> str:
    """Returns the contents of a cell, or of a paragraph, as Markdown for a table."""
    match value:
        case tuple():
            return " ".join(map(cell_markdown, value))
        case doc.Bar():
            return cell_markdown(value.measured)
        case doc.Difference():
            return value.text(signed)
        case doc.Measured():
            return value.text(number)
        case doc.Metric(text) | doc.Code(text):
            return code(text)
        case doc.Word():
            return f"**{value.text}**" if value.is_bad or value.text.partition(" (")[0] in MARKED else value.text
        case doc.Link():
            return cell_markdown(value.text)
        case doc.MatrixCell():
            return number(value.count)
        case doc.Counts():
            counts = [count_text(status, count) for status, count in value.counts.items() if count]
            return ", ".join(counts) or "none"
        case _:
            return number(value)


def count_text(status: str, count: int) -> str:
    """Returns how many records have a status, in words."""
    text = LEFT_OUT.get(status, status.replace("_", " "))
    is_noun = status in ("missing_prediction", "duplicate")
    return count_of(count, text) if is_noun else f"{count:,} {text}"


def block_table(block: doc.Table) -> str:
    """Returns a table of a document as Markdown."""
    return table(list(map(cell_markdown, block.header)), (map(cell_markdown, row) for row in block.rows))


class CellWriter:
    """Writes the cells of one document as HTML. The name of a metric opens its meaning."""

    def __init__(self, document: doc.Document) -> None:
        self._document = document

    def html(self, value: doc.Cells) -> Markup:
        """Returns the HTML of a cell or a paragraph."""
        match value:
            case tuple():
                return Markup(" ").join(map(self.html, value))
            case doc.Bar(measured, low, high, line, system):
                verdict = measured.verdict if isinstance(measured, doc.Difference) else ""
                ink = _INKS.get(verdict, "var(--soft)") if system is None else _system_ink(system)
                return self.html(measured) + whisker(measured, low, high, line, ink)
            case doc.Measured():
                write = typeset if isinstance(value, doc.Difference) else as_html
                if value.low is None:
                    return escape(write(value.value))
                between = f"{write(value.low)} to {write(value.high)}"
                return Markup('{} <span class="interval">{}</span>').format(write(value.value), between)
            case doc.Metric():
                better = "higher" if value.higher_is_better else "lower"
                return Markup(
                    '<details class="meaning"><summary><code>{}</code></summary>{}; {} is better.</details>'
                ).format(breakable(value.name), as_html(value.meaning or "no meaning is declared"), better)
            case doc.Code(text):
                return Markup("<code>{}</code>").format(breakable(text))
            case doc.Word(text, is_bad):
                # Gates that change no exit code are marked: `fail (advisory)`.
                name = "fail" if is_bad else text.partition(" (")[0].replace(" ", "-")
                return Markup('<b class="said {}">{}</b>').format(name, as_html(text))
            case doc.Link(str(said), label=str(label)) if label:
                isolated = Markup("<bdi>{}</bdi>{}").format(as_html(label), as_html(said.removeprefix(label)))
                return self.linked(isolated, self._document.address(value))
            case doc.Link():
                return self.linked(value.text, self._document.address(value))
            case doc.MatrixCell():
                link = self._document.link(value.filters, value.system) if value.count else None
                return self.linked(value.count, link)
            case doc.Counts():
                return self._counts(value)
            case _:
                return as_html(value)

    def linked(self, text: str | int, address: str | None) -> Markup:
        """Returns a text, linked to `address` unless that is None."""
        return as_html(text) if address is None else Markup('<a href="{}">{}</a>').format(address, as_html(text))

    def attributes(self, value: doc.Cells) -> Markup:
        """Returns the HTML attributes of the table cell that holds `value`."""
        if isinstance(value, doc.MatrixCell):
            classes = " diagonal" * value.is_correct + " none" * (not value.count)
            return Markup(' class="number{}" style="--shade: {:.3f}"').format(classes, value.share)
        first = value[0] if isinstance(value, tuple) and value else value
        first = first.text if isinstance(first, doc.Link) else first
        is_number = first is None or isinstance(first, (int, float, doc.Measured, doc.Bar))
        is_long = isinstance(value, str) and len(value) > 60
        return Markup(' class="number"' if is_number else ' class="text"' if is_long else "")

    def _counts(self, counts: doc.Counts) -> Markup:
        bars, parts = Markup(""), Markup("")
        for status, count in counts.counts.items():
            if not count:
                continue
            name, text = status.replace("_", "-"), count_text(status, count)
            link = None if counts.system is None else self._document.link({"status": status}, counts.system)
            bars += Markup('<span class="{}" style="flex-grow: {}"></span>').format(name, count)
            part = Markup('<span class="part"><i class="swatch {}" aria-hidden="true"></i>{}</span>')
            parts += part.format(name, self.linked(text, link))
        return Markup('<span class="bar" aria-hidden="true">{}</span>{}').format(bars, parts or "none")


def as_html(value: str | float | None) -> Markup:
    """Returns a text or number formatted for a page, escaped."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return escape(visible(clipped(value)))
    return escape(f"{value:,}" if isinstance(value, int) else number(value).replace("-", "−"))


def breakable(text: str) -> Markup:
    """Returns a name with possible line breaks after dots, underscores and equals signs, but none in a number."""
    return Markup("<wbr>").join(map(as_html, re.split(r"(?<=[._=])(?!(?<=\d\.)\d)(?=.)", clipped(text))))


def whisker(measured: doc.Measured, low: float, high: float, line: float | None, ink: str) -> Markup:
    """Returns an interval as a bar on a range from low to high, with a dot at the value and a thin line at `line`."""
    marks = {"from": measured.low, "to": measured.high, "at": measured.value, "line-at": line}
    positions = {name: (value - low) / ((high - low) or 1) for name, value in marks.items() if value is not None}
    style = "".join(f"--{name}:{position:.4f};" for name, position in positions.items())
    return Markup('<i class="whisker" style="{}--ink:{}"></i>').format(style, ink)


def _system_ink(system: int) -> str:
    # page.css has six colors.
    return f"var(--system-{system % 6})"


def histogram(document: doc.Document, distribution: doc.Distribution, system: int) -> Markup:
    """Returns the counts of a metric in bins; each bin links to its samples."""
    counts, edges = distribution.counts[system], distribution.edges
    largest = max((max(each, default=0) for each in distribution.counts), default=0) or 1
    # Counts are labeled at the center of their bins, see `bin_edges`.
    is_counted = edges[0] % 1 == 0.5 and edges[1] - edges[0] == 1
    bars = Markup("")
    # Only the last bin has its upper edge, and a filter has both.
    uppers = [*(math.nextafter(edge, -math.inf) for edge in edges[1:-1]), edges[-1]]
    for count, first, last, upper in zip(counts, edges, edges[1:], uppers, strict=False):
        link = document.link({"metric": distribution.name, "from": f"{first}", "to": f"{upper}"}, system)
        label = trimmed((first + last) / 2) if is_counted else f"{trimmed(first)} to {trimmed(last)}"
        address = Markup(' href="{}"').format(link) if link and count and not document.distributions_note else ""
        bars += Markup('<a tabindex="-1" title="{}: {}" style="--share: {:.4f}"{}></a>').format(
            label, count_of(count, "sample"), count / largest, address
        )
    ends = (edges[0] + 0.5, edges[-1] - 0.5) if is_counted else (edges[0], (edges[0] + edges[-1]) / 2, edges[-1])
    ticks = Markup("").join(Markup("<span>{}</span>").format(trimmed(each)) for each in ends)
    return Markup(
        '<div class="figure" role="group" aria-label="Distribution of {} of {}">'
        '<div class="bins" data-most="{:,}" style="--ink: {}">{}</div><div class="ticks">{}</div></div>'
    ).format(as_html(distribution.name), as_html(document.systems[system]), largest, _system_ink(system), bars, ticks)
