"""The reports of a sample corpus are those of `sample_reports/`, unless they were changed on purpose.

`BEAMSCORE_WRITE=1 pytest tests/pipelines/test_sample_reports.py` writes them anew: read the difference, then commit it.
Numbers of the pages are rounded, as other versions of SciPy may change the last digits.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import msgspec
import pytest

from beamscore.metrics.version import VERSION
from tests.page.corpora import page_data
from tests.runs import command, evaluate

CORPUS = Path(__file__).parents[1] / "corpora" / "traffic_rules"
KEPT = Path(__file__).with_name("sample_reports")
REPORTS = ("first/report", "second/report", "compared/comparison", "history/history")
GATES = 'gates={overall.f1: {minimum: 0.5}, "overall.f1 @ source=ramp": {minimum: 0.7, tier: advisory}}'
VARIES = (
    (r"20\d\d-\d\d-\d\d(T[\d:.]+Z?| `[\d:]+`| \d\d:\d\d)", "TIME"),
    (r"changes-[0-9a-f]{12}", "changes-ID"),
    (re.escape(VERSION), "VERSION"),
    (r"\d+\.\d{7,}", lambda match: f"{float(match[0]):.6g}"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nights of one system, the second without half of its predictions, and all that compares them."""
    made = tmp_path_factory.mktemp("made")
    truth, good, bad = CORPUS / "ground_truth.jsonl", CORPUS / "predictions.jsonl", made / "bad.jsonl"
    bad.write_bytes(b"".join(good.read_bytes().splitlines(keepends=True)[::2]))
    sliced = "--slice=source", "--quiet"
    evaluate(made / "runs/first", truth, {"ours": good, "bad": bad}, *sliced, "--set", GATES, config="traffic_rules")
    baseline = f"{made}/runs/first:ours"
    evaluate(made / "runs/second", truth, {"ours": bad}, *sliced, "--baseline", baseline, config="traffic_rules")
    command("compare", baseline, str(made / "runs/second"), "--quiet", "--output", str(made / "compared"))
    (made / "runs" / "blessed.txt").write_text("first:ours\n")
    command("history", str(made / "runs"), "--output", str(made / "history"))
    return made


def plain(text: str, folder: Path) -> str:
    """The text without what differs between equal runs."""
    text = text.replace(f"{folder}/", "").replace(f"{CORPUS}/", "")
    for pattern, instead in VARIES:
        text = re.sub(pattern, instead, text)
    return text


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str, folder: Path) -> None:
    """The Markdown as a whole, and a hash of the page's sections and data."""
    path = folder / ("runs" if "report" in name else "") / name
    page = path.with_suffix(".html")
    sections = re.findall(r'<section id="(?!provenance).*?</section>', page.read_text(encoding="utf-8"), re.DOTALL)
    data = msgspec.json.encode(page_data(page)).decode()
    digest = hashlib.blake2b(plain("".join([*sections, data]), folder).encode(), digest_size=8).hexdigest()
    made = f"{plain(path.with_suffix('.md').read_text(), folder)}\n<!-- page: {digest} -->\n"
    kept = KEPT / f"{name.replace('/', '-')}.md"
    if os.environ.get("BEAMSCORE_WRITE"):
        KEPT.mkdir(exist_ok=True)
        kept.write_text(made)
    assert made == kept.read_text()
