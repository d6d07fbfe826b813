"""The verdicts of gates for other programs: JUnit XML for CI, and short Markdown for a pull request or chat."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any

from ...transforms.records import printable
from ..reports.markdown import cell, code, number, table
from ..reports.moved import MovedSample
from .verdict import gates_passed

Verdict = Mapping[str, Any]


def junit(title: str, verdicts: Sequence[Verdict], others: Sequence[str] = ()) -> bytes:
    """Returns a JUnit report: a test case for each verdict, and one for each line in `others`, which all fail.

    A gate that fails or is inconclusive is a failure, an invalid one an error; one that changes no exit code, as it is
    advisory or inconclusive ones pass, is skipped with its reason.
    """
    suite = ET.Element("testsuite", name=printable(title))
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for each in verdicts:
        case = ET.SubElement(suite, "testcase", classname=printable(each["system"] or title), name=_name(each))
        counts["tests"] += 1
        if each["verdict"] == "pass":
            ET.SubElement(case, "system-out").text = printable(each["reason"])
            continue
        kind = "skipped" if not each["blocks"] else "error" if each["verdict"] == "invalid" else "failure"
        counts["errors" if kind == "error" else "skipped" if kind == "skipped" else "failures"] += 1
        told = ET.SubElement(case, kind, message=printable(f"{each['verdict']}: {each['reason']}"))
        if kind != "skipped":
            told.set("type", each["verdict"])
    for line in others:
        counts["tests"] += 1
        counts["failures"] += 1
        case = ET.SubElement(suite, "testcase", classname=printable(title), name="run")
        ET.SubElement(case, "failure", message=printable(line), type="fail")
    for name, count in counts.items():
        suite.set(name, str(count))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _name(verdict: Verdict) -> str:
    return printable(str(verdict["gate"]))


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


def coverage_text(coverage: Mapping[str, Any]) -> str:
    """Returns what became of the records of a system, such as `171 of 396 samples scored, 225 without a prediction`."""
    truths, predictions = coverage["ground_truth"], coverage["predictions"]
    parts = [f"{truths['scored']} of {truths['read']} samples scored"]
    parts += [
        f"{count} {what}"
        for count, what in [
            (truths["missing_prediction"], "without a prediction"),
            (predictions["unmatched"], "predictions without a sample"),
            (truths["duplicate"] + predictions["duplicate"], "duplicates"),
            (truths["rejected"] + predictions["rejected"], "rejected"),
        ]
        if count
    ]
    return ", ".join(parts)
