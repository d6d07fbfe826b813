"""The verdicts of gates as short Markdown for a pull request or chat, and as annotations of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...transforms.records import printable
from ..reports.markdown import cell, code, number, table
from ..runs.documents import coverage_text, gates_passed
from ..runs.moved import MovedSample

Verdict = Mapping[str, Any]


def markdown(
    title: str,
    verdicts: Sequence[Verdict],
    others: Sequence[str] = (),
    moved: Mapping[int, Sequence[MovedSample] | str] | None = None,
    systems: Mapping[str, Any] | None = None,
) -> str:
    """Returns the verdicts as short Markdown, the bad ones first.

    others: lines that fail the run beside its gates. moved: by the place of a verdict in `verdicts`, the samples that
    moved its metric most, or why they are not known. systems: by name, each with its coverage as in summary.json.
    """
    bad = [each for each in verdicts if each["blocks"]]
    words = [word for word in ("fail", "invalid", "inconclusive") if any(each["verdict"] == word for each in bad)]
    word = "fail" if others else words[0] if words else "pass"
    sections = [f"**{word.upper()}** {cell(title)}: {gates_passed(verdicts)}"]
    if others:
        sections.append("\n".join(f"- {cell(line)}" for line in others))
    if systems:
        sections.append(
            "\n".join(f"- {cell(name)}: {coverage_text(each['coverage'])}" for name, each in systems.items())
        )
    order = sorted(verdicts, key=lambda each: (not each["blocks"], each["verdict"] == "pass"))
    rows = [
        [each["verdict"], cell(each["system"] or ""), code(each["gate"]), number(each["value"]), cell(each["reason"])]
        for each in order
    ]
    sections.append(table(["verdict", "system", "gate", "value", "reason"], rows))
    for place, samples in (moved or {}).items():
        verdict = verdicts[place]
        named = f"{code(verdict['gate'])} of {cell(verdict['system'] or '')}"
        if isinstance(samples, str):
            sections.append(f"Which samples moved {named} is not known: {cell(samples)}.")
        elif samples:
            sections.append(f"Samples that moved {named} most:")
            sections.append(_moved(samples))
    return "\n\n".join(sections) + "\n"


def _moved(samples: Sequence[MovedSample]) -> str:
    rows = [[cell(each.sample_id), f"{each.effect:+.3g}", each.before, each.after] for each in samples]
    return table(["sample_id", "moved it by", "before", "now"], rows)


def annotation_lines(title: str, verdicts: Sequence[Verdict], others: Sequence[str] = ()) -> Iterator[str]:
    """Yields a workflow command of GitHub Actions for each verdict that is no pass, and one for each line in `others`.

    What changes the exit code is an error, all else a warning; errors come first, as GitHub shows ten of each kind.
    """
    for line in others:
        yield _annotation("error", title, line)
    for each in sorted(verdicts, key=lambda each: not each["blocks"]):
        if each["verdict"] != "pass":
            system = "" if each["system"] is None else f"{each['system']}: "
            text = f"{system}gate {each['gate']}: {each['verdict']}: {each['reason']}"
            yield _annotation("error" if each["blocks"] else "warning", title, text)


def _annotation(level: str, title: str, text: str) -> str:
    # In a property a colon and a comma would end the value.
    name = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25")
