"""Reports and exports of sample corpora are those of `sample_reports/`, unless they were changed on purpose.

`BEAMSCORE_WRITE=1 pytest tests/pipelines/test_sample_reports.py` writes them anew: read the difference, then commit it.
Numbers of the pages are rounded, as other versions of SciPy may change the last digits.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.page.corpora import CORPORA, nights, plain, shown, worse
from tests.runs import command, evaluate, refused, write_lines

KEPT = Path(__file__).with_name("sample_reports")
SCHEMA = Path(__file__).parent / "export" / "every_eval_ever" / "eval.schema.json"
"""Of the release 0.3.0 of https://pypi.org/project/every-eval-ever, under the license beside it."""
REPORTS = (
    "runs/first/report", "runs/second/report", "runs/three/report", "compared/comparison", "systems/comparison",
    "runs/history", "nights/history", "runs/perfect/report", "equal/comparison",
)  # fmt: skip
EEE = ("--model", "org/reader", "--dataset", "signs", "--organization", "Org", "--relationship", "first_party")
EXPORTS = {
    "every-eval-ever": ("first:ours", *EEE), "inspect": ("three:a",), "junit": ("first",), "github": ("second",),
    "model-index": ("three", "--task", "0o17"),
    "model-index-named": ("first:ours", "--model", "1e5", "--dataset", "-.5"),
}  # fmt: skip
GATES = 'gates={overall.f1: {minimum: 0.5}, "overall.f1 @ source=ramp": {minimum: 0.7, tier: advisory}}'
NIGHTLY = """gates={overall.f1: {not_worse_than: baseline, margin: 0.1}, correspondence.f1: {maximum: 0.9},
"overall.f1 @ source=ramp": {maximum: 0.2}}"""


@pytest.fixture(scope="module", autouse=True)
def _made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two nights of a system, three systems some of whose records are bad, many nights, and all that compares them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("made"))
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        # Paths within this folder are the same in every run.
        for name in ("traffic_rules", "chart", "figure_text"):
            shutil.copytree(CORPORA / name, name)
        truth, good = Path("traffic_rules/ground_truth.jsonl"), Path("traffic_rules/predictions.jsonl")
        bad = write_lines(Path("bad.jsonl"), good.read_bytes().splitlines()[::2])
        first, second, three = Path("runs/first"), Path("runs/second"), Path("runs/three")
        flags = "--slice=source", "--quiet"
        evaluate(first, truth, {"ours": good, "bad": bad}, *flags, "--set", GATES, config="traffic_rules")
        nightly = "--baseline", "runs/first:ours", "--set", NIGHTLY
        evaluate(second, truth, {"ours": bad}, *flags, *nightly, config="traffic_rules")
        command("compare", "runs/first:ours", second, "--quiet", "--output", "compared")
        sides = (Path(f"chart/{name}.jsonl") for name in ("ground_truth", "predictions"))
        truths, lines = (path.read_bytes().splitlines() for path in sides)
        all_truths = write_lines(Path("truths.jsonl"), [*truths, truths[0], b'{"sample_id": 5.5}'])
        odd = [b"{", lines[0], b'{"sample_id": "nobody"}', b'{"sample_id": "chart-000050", "task1": 3}']
        some = write_lines(Path("some.jsonl"), [*lines[:40], *odd])
        systems: dict[str, str | Path] = {"a": "chart/predictions.jsonl", "b": worse("chart", Path()), "c": some}
        evaluate(three, all_truths, systems, *flags, "--baseline=runs/first", config="chart")
        command("compare", f"{three}:a", f"{three}:b", "--quiet", "--samples=3", "--output", "systems")
        equal = dict.fromkeys("ab", "figure_text/ground_truth.jsonl")
        clusters = "--quiet", "--set=cluster=article", "--set=slices=[]"
        evaluate(Path("runs/perfect"), equal["a"], equal, *clusters, config="figure_text")
        command("compare", "runs/perfect:a", "runs/perfect:b", "--quiet", "--output", "equal")
        Path("runs/blessed.txt").write_text("first:ours\n")
        command("history", "runs")
        nights(first, Path("nights"))
        told = command("history", "nights")[1].splitlines()
        assert told[1] == "traffic_rules: overall.f1 of bad changed from 0.4497 to 0.5480 with 2026-01-27", told
        assert len(told) == 1 + 5 + 1  # six changes: the last five are told
        yield


def check(name: str, made: str) -> None:
    kept = KEPT / name
    if os.environ.get("BEAMSCORE_WRITE"):
        kept.write_text(made)
    assert made == kept.read_text()


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str) -> None:
    """The Markdown as a whole, and a hash of what the page shows and of its data."""
    path = Path(name)
    digest = hashlib.blake2b(plain(shown(path.with_suffix(".html"))).encode(), digest_size=8).hexdigest()
    text = plain(path.with_suffix(".md").read_text())
    check(f"{path.parent.name}-{path.name}.md", f"{text}\n<!-- page: {digest} -->\n")


@pytest.mark.parametrize("name", EXPORTS)
def test_exports(name: str) -> None:
    run, *flags = EXPORTS[name]
    code, stdout, _ = command("export", f"runs/{run}", "--to", name.removesuffix("-named"), *flags)
    assert code == 0
    if name == "every-eval-ever":
        jsonschema.validate(json.loads(stdout), json.loads(SCHEMA.read_bytes()))
    check(f"{name}.txt", plain(stdout))


def test_runs_of_several_benchmarks_have_no_median() -> None:
    said = "runs: it holds runs of chart and figure_text and traffic_rules; give a folder with those of one"
    assert refused("bless", "runs") == said
