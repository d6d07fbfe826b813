"""Pages as the commands write them, and texts that attack them."""

import base64
import functools
import gzip
import json
import random
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec

from beamscore.metrics.version import VERSION
from beamscore.pipelines.runs.run import Run
from tests.runs import command, evaluate, write_lines

CORPORA = Path(__file__).parents[1] / "corpora"
DATA = re.compile(rb'<script type="text/plain" id="data">([^<]*)</script>')
VARIES = (
    (r"20\d\d-\d\d-\d\d(T[\d:.]+Z?| `[\d:]+`| \d\d:\d\d)", "TIME"),
    (r"(\d runs?), 20\d\d-\d\d-\d\d to 20\d\d-\d\d-\d\d", r"\1, DAYS"),
    (r"(>(started|platform|versions|runner)</th>).*?</tr>", r"\1</tr>"),
    (r"\b[0-9a-f]{12}\b|(?<=digest )[0-9a-f]{32}", "ID"),
    (r'(timestamp": "|evaluation_id": "[^"]*/)\d{10}', r"\1SECONDS"),
    (rf'(?<!schema_version": "){re.escape(VERSION)}', "VERSION"),
    (r"(toy\.py):\d+", r"\1"),
    (r"\d+\.\d{7,}", lambda match: f"{float(match[0]):.6g}"),
)


def page_data(path: Path) -> Any:
    """Returns what the scripts of a page read of its only document."""
    found = DATA.search(path.read_bytes())
    assert found
    (document,) = msgspec.json.decode(gzip.decompress(base64.b64decode(found[1])))
    return document


def shown(path: Path) -> str:
    """What a page shows without scripts, and its data."""
    page = path.read_bytes()
    body, data = re.search(rb"<body>(.*?)<script", page, re.DOTALL), DATA.search(page)
    assert body
    assert data
    return body[1].decode() + gzip.decompress(base64.b64decode(data[1])).decode()


def plain(text: str) -> str:
    """The text without what differs between equal runs."""
    for pattern, instead in VARIES:
        text = re.sub(pattern, instead, text)
    return text


HOSTILE = (
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "<svg onload='window.harmed = 1'><a href='javascript:window.harmed = 1'>x</a></svg>",
    "javascript:window.harmed=1",
    "{{ 7 * 7 }}{% raw %}",
    "\u202ereversed\u202c \u200f\u2066\u2069",
    "\x00\x1b[31m\x07\x08",
    "&lt;b&gt;&amp;",
    "]]><!--",
    "a" * 100_000,
    "\U0001f600 e\u0301 \u0644\u063a\u0629",
)
"""Texts that try to run, to break out of their place, or to hide what stands around them."""


def evaluated(name: str, truth: Path, predictions: Mapping[str, Path], output: Path, *more: str) -> Path:
    """Evaluates files with the command, sliced by `source`; returns the page."""
    evaluate(output, truth, predictions, "--quiet", "--slice=source", *more, config=name)
    return output / "report.html"


@functools.cache
def corpus_page(name: str, folder: Path) -> Path:
    truth, predictions = (CORPORA / name / f"{side}.jsonl" for side in ("ground_truth", "predictions"))
    return evaluated(name, truth, {"predictions": predictions}, folder / name)


def compared(baseline: Path, candidate: Path, output: Path, *more: str) -> Path:
    """Compares two finished runs with the command; returns the page."""
    command("compare", baseline, candidate, "--output", output, "--quiet", *more)
    return output / "comparison.html"


def night(
    run: Path, target: Path, started: str, shift: float = 0.0, labels: Sequence[str] = (), missing: int = 0,
    **changes: Any,
) -> None:  # fmt: skip
    """Writes a copy of a finished run as that of another night, each value shifted, its interval and error a tenth.

    labels: of the slices. missing: how many samples more have no prediction. changes: of summary.json.
    """
    shutil.copytree(run, target)
    (copied,) = (target / ".runs").iterdir()
    # The folder has the name of the run.
    root = copied.rename(copied.with_name(re.sub(r"[-:.]", "", started)))
    document = json.loads((root / "run.json").read_bytes())
    document |= {"started": started, "ended": started, "run_id": started}
    (root / "run.json").write_text(json.dumps(document), encoding="utf-8")
    summary = json.loads((root / "summary.json").read_bytes()) | changes
    for system in summary["systems"].values():
        system["coverage"]["ground_truth"]["scored"] -= missing
        system["coverage"]["ground_truth"]["missing_prediction"] += missing
        if labels:
            system["slices"] = dict.fromkeys(labels, next(iter(system["slices"].values())))
        for part in (system, *system["slices"].values()):
            for name, value in part["values"].items():
                if isinstance(value, float):
                    part["values"][name] = moved = min(1.0, max(0.0, value + shift))
                    if (interval := part["intervals"].get(name)) is not None:
                        part["intervals"][name] = [moved + (each - value) / 10 for each in interval]
                    if (error := part["errors"].get(name)) is not None:
                        part["errors"][name] = error / 10
    (root / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


NIGHTS, BREAK, CHANGE, MISSING, SMALL = 40, 15, 26, (9, 10), 30


def nights(run: Path, output: Path) -> None:
    """Writes nights of traffic_rules: a break, a change, gaps, few predictions, another ground truth, and a gate."""
    random_numbers, (system, *_) = random.Random(15), Run.read(str(run)).systems
    gate = {
        "gate": "overall.f1", "tier": "blocking", "metric": "overall.f1", "slice": None, "system": system, "value": 0.4,
        "judge": "interval", "verdict": "fail", "blocks": True, "reason": "too low", "minimum": 0.55,
    }  # fmt: skip
    for number in set(range(NIGHTS)) - set(MISSING):
        day = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        shift = (0.1 if number >= CHANGE else 0.0) + random_numbers.gauss(0, 0.004)
        changes: dict[str, Any] = {"gates": [gate, {**gate, "minimum": 0.551}]} if number == NIGHTS - 1 else {}
        if number >= BREAK:
            changes["fingerprint"] = {"samples": 60, "hash": ("cd" if number == NIGHTS - 3 else "ab") * 16}
        if number == SMALL:
            changes["missing"] = 20
        night(run, output / day, f"{day}T02:00:07.123Z", shift, **changes)


def worse(name: str, folder: Path) -> Path:
    """Writes the predictions of a corpus, every third as that of another sample: those of a system that is worse."""
    found = [json.loads(line) for line in (CORPORA / name / "predictions.jsonl").read_bytes().splitlines()]
    changed = [found[place - 3] | {"sample_id": each["sample_id"]} if place % 3 == 0 else each
               for place, each in enumerate(found)]  # fmt: skip
    return write_lines(folder / f"worse-{name}.jsonl", changed)
