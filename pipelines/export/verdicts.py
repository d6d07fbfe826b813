"""The verdicts of gates as JUnit XML, as short Markdown for a pull request or chat, and as annotations of GitHub."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...transforms.records import printable
from ..config.gates import BASELINE
from ..reports.text import cell, code, number, table
from ..runs.documents import coverage_text, gate_word, gates_passed, worst_verdict
from ..runs.gates import decide
from ..runs.row_changes import MovedSample

StoredVerdict = Mapping[str, Any]


def junit(title: str, verdicts: Sequence[StoredVerdict], others: Sequence[str]) -> bytes:
    """Returns a JUnit report: a test case for each verdict, and one for each line in `others`, which all fail.

    A gate that fails or is inconclusive is a failure, an invalid one an error. A gate that does not change the exit
    code (it is advisory, or inconclusive gates pass) is skipped with its reason.
    """
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", name=printable(title))
    kinds: Counter[str] = Counter()
    cases = [(each["system"], str(each["gate"]), _kind(each), each["verdict"], each["reason"]) for each in verdicts]
    for system, name, kind, word, reason in [*cases, *((None, "run", "failure", "", line) for line in others)]:
        kinds[kind] += 1
        case = ET.SubElement(suite, "testcase", classname=printable(system or title), name=printable(name))
        if kind == "system-out":
            ET.SubElement(case, kind).text = printable(reason)
            continue
        element = ET.SubElement(case, kind, message=printable(f"{word}: {reason}" if word else reason))
        if kind != "skipped":
            element.set("type", word or "fail")
    counts = {"tests": kinds.total(), "failures": kinds["failure"], "errors": kinds["error"]}
    for name, count in {**counts, "skipped": kinds["skipped"]}.items():
        suite.set(name, str(count))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _kind(verdict: StoredVerdict) -> str:
    if verdict["verdict"] == "pass":
        return "system-out"
    return "skipped" if not verdict["blocks"] else "error" if verdict["verdict"] == "invalid" else "failure"


def markdown(
    title: str,
    verdicts: Sequence[StoredVerdict],
    others: Sequence[str] = (),
    moved: Mapping[int, Sequence[MovedSample] | str] | None = None,
    systems: Mapping[str, Any] | None = None,
) -> str:
    """Returns the verdicts as short Markdown, the bad ones first.

    others: lines that fail the run in addition to its gates. moved: by the index in `verdicts`, the samples that moved
    the metric most, or why they are not known. systems: by name, each with its coverage as in summary.json.
    """
    word = "fail" if others else worst_verdict(each["verdict"] for each in verdicts if each["blocks"]) or "pass"
    sections = [f"**{word.upper()}** {cell(title)}: {gates_passed(verdicts)}"]
    coverages = [f"{cell(name)}: {coverage_text(each['coverage'])}" for name, each in (systems or {}).items()]
    sections += ["\n".join(f"- {line}" for line in lines) for lines in (list(map(cell, others)), coverages) if lines]
    order = sorted(verdicts, key=lambda each: (not each["blocks"], each["verdict"] == "pass"))
    rows = [
        [gate_word(each), cell(each["system"] or ""), code(each["gate"]), number(each["value"]), cell(each["reason"])]
        for each in order
    ]
    sections.append(table(["verdict", "system", "gate", "value", "reason"], rows))
    for place, samples in (moved or {}).items():
        verdict = verdicts[place]
        named = f"{code(verdict['gate'])} of {cell(verdict['system'] or '')}"
        if isinstance(samples, str):
            sections.append(f"Which samples moved {named} is not known: {cell(samples)}.")
        elif samples:
            rows = [[cell(each.sample_id), f"{each.effect:+.3g}", each.before, each.after] for each in samples]
            other = verdict["not_worse_than"]
            sides = ("before", "now") if other in (None, BASELINE) else (cell(other), cell(verdict["system"]))
            sections.append(f"Samples that moved {named} most, losses first:")
            sections.append(table(["sample_id", "moved it by", *sides], rows))
    return "\n\n".join(sections) + "\n"


def annotation_lines(title: str, verdicts: Sequence[StoredVerdict], others: Sequence[str]) -> Iterator[str]:
    """Yields a workflow command of GitHub Actions for each line in `others`, and each that a console shows of verdicts.

    Those that change the exit code are errors, the rest warnings; errors come first: GitHub shows ten of each kind.
    """
    # In a property a colon and a comma would end the value.
    name, decision = _escaped(title).replace(":", "%3A").replace(",", "%2C"), decide(verdicts)
    for line in (*others, *decision.failures, *decision.inconclusive):
        yield f"::error title={name}::{_escaped(line)}"
    for line in decision.warnings:
        yield f"::warning title={name}::{_escaped(line)}"


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25")
