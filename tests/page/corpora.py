"""Pages of evaluations, as the command writes them."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from beamscore.pipelines.reports.document import Card, SampleTable
from tests.runs import command

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "tests" / "corpora"
_DATA = re.compile(rb'<script type="text/plain" id="data">([^<]*)</script>')


def page_data(path: Path) -> Any:
    """Returns what the scripts of a page read of its only document."""
    found = _DATA.search(path.read_bytes())
    assert found
    (document,) = msgspec.json.decode(gzip.decompress(base64.b64decode(found[1])))
    return document


@dataclass(frozen=True)
class WrittenPage:
    """A page that the command wrote, with the data in it and the summary beside it."""

    path: Path

    @functools.cached_property
    def data(self) -> Any:
        return page_data(self.path)

    @property
    def samples(self) -> SampleTable:
        return msgspec.convert(self.data["samples"], SampleTable)

    @property
    def cards(self) -> list[Card]:
        return msgspec.convert(self.data["cards"], list[Card])

    @property
    def summary(self) -> Any:
        return json.loads((self.path.parent / "summary.json").read_bytes())


def evaluated(name: str, truth: Path, predictions: Mapping[str, Path], output: Path, *more: str) -> WrittenPage:
    """Evaluates files with the command, sliced by `source`."""
    sides = [f"--predictions={system}={path}" for system, path in predictions.items()]
    inputs = [str(ROOT / "configs" / f"{name}.yaml"), "--ground-truth", str(truth), *sides]
    command("evaluate", *inputs, "--output", str(output), "--quiet", "--slice=source", *more)
    return WrittenPage(output / "report.html")


@functools.cache
def corpus_page(name: str, output: Path) -> WrittenPage:
    """Returns the page of a sample corpus."""
    folder = CORPORA / name
    return evaluated(name, folder / "ground_truth.jsonl", {"predictions": folder / "predictions.jsonl"}, output)


def compared(baseline: Path, candidate: Path, output: Path, *more: str) -> Path:
    """Compares two finished runs with the command; returns the page."""
    command("compare", str(baseline), str(candidate), "--output", str(output), "--quiet", *more)
    return output / "comparison.html"


_NOT_ID = str.maketrans("", "", "-:.")


def night(
    run: Path,
    target: Path,
    started: str,
    move: Callable[[float], float],
    labels: Sequence[str] = (),
    missing: int = 0,
    **changes: Any,
) -> None:
    """Writes a copy of a finished run as that of another night, each value moved, its interval and error a tenth.

    labels: of the slices, in place of their own. missing: how many samples have no prediction that had one. changes: of
    summary.json.
    """
    shutil.copytree(run, target)
    (copied,) = (target / ".runs").iterdir()
    # The folder has the name of the run.
    root = copied.rename(copied.with_name(started.translate(_NOT_ID)))
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
                    moved = min(1.0, max(0.0, move(value)))
                    part["values"][name] = moved
                    if (interval := part["intervals"].get(name)) is not None:
                        part["intervals"][name] = [moved + (each - value) / 10 for each in interval]
                    if (error := part["errors"].get(name)) is not None:
                        part["errors"][name] = error / 10
    (root / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


def worse(path: Path, target: Path) -> Path:
    """Writes every third prediction of another sample: a system that is worse."""
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    changed = [
        {**(found[index - 3] if index % 3 == 0 else record), "sample_id": record["sample_id"]}
        for index, record in enumerate(found)
    ]
    target.write_text("".join(json.dumps(record) + "\n" for record in changed), encoding="utf-8")
    return target
