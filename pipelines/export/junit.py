"""The verdicts of gates as JUnit XML, which CI systems show as tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any

from ...transforms.records import printable

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
