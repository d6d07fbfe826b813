"""Small figures of a page as SVG, which needs no script: intervals on a range, and bins that link to their samples."""

from __future__ import annotations

import html
from collections.abc import Sequence

from markupsafe import Markup

from .document import Compared, Difference, Distribution, Document, Measured, Metric
from .text import visible

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 300, 110, 40, 18, 12
HALF_STEP = 0.00005
"""Values of samples have four decimals: what is less than an edge is at most this much less."""
_INKS = {"better": "var(--good)", "worse": "var(--bad)"}


def whisker(found: Measured | Difference, low: float, high: float, line: float | None, ink: str) -> Markup:
    """Returns a bar from the ends of an interval, with a dot at the value, on a range; `line` is a thin line across."""

    def at(value: float) -> str:
        return f"{100 * (value - low) / ((high - low) or 1):.2f}"

    def stroke(first: float, last: float, more: str, ends: str = 'y1="5" y2="5"') -> str:
        return f'<line x1="{at(first)}" x2="{at(last)}" {ends} vector-effect="non-scaling-stroke" {more}/>'

    parts = [stroke(low, high, 'stroke="var(--line)"')]
    if line is not None:
        parts.append(stroke(line, line, 'stroke="var(--soft)"', 'y1="0" y2="10"'))
    if found.low is not None and found.high is not None:
        parts.append(stroke(found.low, found.high, f'stroke="{ink}" stroke-width="3"'))
    if found.value is not None:
        parts.append(stroke(found.value, found.value, f'stroke="{ink}" stroke-width="8" stroke-linecap="round"'))
    return Markup(
        '<svg class="whisker" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def value_whisker(metric: Metric, found: Measured, system: int, among: Sequence[Measured] = ()) -> Markup:
    """Returns the interval of a metric between its bounds, which are 0 and 1 where none are declared.

    among: the values of all systems, of which the range is in place of that.
    """
    known = [value for each in (found, *among) for value in (each.value, each.low, each.high) if value is not None]
    if found.value is None:
        return Markup("")
    if not among:
        known += [0.0 if metric.low is None else metric.low, 1.0 if metric.high is None else metric.high]
    return whisker(found, min(known), max(known), None, f"var(--system-{system % 6})")


def difference_whisker(found: Difference, rows: Sequence[Compared]) -> Markup:
    """Returns the interval of a difference around zero, on a range that all rows share."""
    if found.value is None:
        return Markup("")
    of = (each.difference for each in rows)
    reach = max(abs(value) for each in of for value in (each.value, each.low, each.high) if value is not None) or 1.0
    return whisker(found, -reach, reach, 0.0, _INKS.get(found.verdict, "var(--soft)"))


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
        parts.append(f'<a href="{html.escape(link)}" tabindex="-1">{bar}</a>' if link else bar)
    ticks = [f'<text x="{LEFT - 5}" y="{TOP + 4}" text-anchor="end">{most:,}</text>']
    for place, anchor in ((0, "start"), (len(counts) // 2, "middle"), (len(counts), "end")):
        # A count is named in the middle of its bin.
        bin_, shift = (min(place, len(counts) - 1), 0.5) if is_counted else (place, 0.0)
        x, named = LEFT + (bin_ + shift) * step, f"{edges[bin_] + shift:.4g}"
        ticks.append(f'<text x="{x:.1f}" y="{HEIGHT - 4}" text-anchor="{"middle" if shift else anchor}">{named}</text>')
    label = html.escape(visible(f"Distribution of {found.name} of {document.systems[system]}"))
    return Markup(
        f'<svg class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{label}">'
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - 4}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>'
        f"{''.join(parts)}{''.join(ticks)}</svg>"
    )
