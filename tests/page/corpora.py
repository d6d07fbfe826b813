"""Pages of evaluations, as the command writes them."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pipelines.results.page.document import PageData
from tests.runs import command

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "tests" / "corpora"
_DATA = re.compile(rb'<script type="text/plain" id="data">([^<]*)</script>')


@dataclass(frozen=True)
class WrittenPage:
    """A page that the command wrote, with the data in it and the summary beside it."""

    path: Path

    @functools.cached_property
    def data(self) -> PageData:
        found = _DATA.search(self.path.read_bytes())
        assert found
        return msgspec.json.decode(gzip.decompress(base64.b64decode(found[1])), type=PageData)

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
