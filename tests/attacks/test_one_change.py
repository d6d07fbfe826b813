"""Reusing or resuming a run after one change gives the bytes of a run that knows nothing of the earlier one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.config import settings
from beamscore.pipelines.runs.differences import RunSignature
from beamscore.pipelines.runs.provenance import versions
from beamscore.transforms.io.publication import ask_to_keep, run_folder
from tests.attacks.corpora import BENCHMARKS, FLAGS, SEEDS, assert_same, corpus, damaged, rng_of
from tests.runs import Record, evaluate, write_lines

pytestmark = pytest.mark.attacks

COUNT = 16
OPTIONS = {
    "chart": ("tasks=[task1,task2]", "text_iou=0.9", "max_steps=20000", "max_text_blocks=5"),
    "chemistry": ("normalize_text=true", "max_angle_deviation=15", "max_steps=500", "tokens=latex"),
    "figure_text": ("geometry=polygon", "case_sensitive=false", "max_steps=50", "tau_threshold=0.9"),
    "formula": ("max_tokens=12", "max_characters=40", "max_steps=3000"),
    "traffic_rules": ('ignore_properties=["RuleIndex","LaneType"]', "max_steps=200"),
}

Write = Callable[[Path, list[Record]], Path]


def jsonl(folder: Path, records: list[Record]) -> Path:
    return write_lines(folder / "records.jsonl", records)


def parquet(folder: Path, records: list[Record]) -> Path:
    """Writes nested fields as JSON text, since records of one column may differ in their fields."""
    folder.mkdir(parents=True)
    columns = {
        name: pa.array([_cell(record.get(name)) for record in records], pa.string())
        for name in dict.fromkeys(name for record in records for name in record)
    }
    pq.write_table(pa.table(columns), folder / "records.parquet")
    return folder / "records.parquet"


def _cell(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def rewritten(**hooks: Any) -> Write:
    """Returns what writes the records as JSON reads them with these hooks."""
    return lambda folder, records: jsonl(folder, json.loads(json.dumps(records), **hooks))


def damage(folder: Path, records: list[Record]) -> Path:
    return write_lines(folder / "records.jsonl", damaged(rng_of("one change", len(records)), records))


Change = tuple[tuple[str, ...], Write]
"""What another run does otherwise: its flags, and how it writes its records."""
SHARED: dict[str, Change] = {
    **{
        setting: ((f"--set={setting}",), jsonl)
        for setting in (
            *("protocol=released", "missing=exclude", "bootstrap.seed=7", "bootstrap.replicates=9", "cluster=source"),
            *("slices=[]", "limits.record_bytes=300", "limits.depth=4"),
        )
    },
    "nothing": ((), jsonl),
    "crossed slices": (("--slice=source,sample_id",), jsonl),
    "order of keys": ((), rewritten(object_pairs_hook=lambda pairs: dict(reversed(pairs)))),
    # 1.0 in place of 1, where the benchmark does not ask for an integer.
    "floats": ((), rewritten(parse_int=float)),
    "parquet": ((), parquet),
    "fields": (
        ("--set=fields.ground_truth.sample_id=key", "--set=fields.predictions.sample_id=key"),
        rewritten(object_hook=lambda record: {"key" if k == "sample_id" else k: v for k, v in record.items()}),
    ),
    "damage": ((), damage),
}


def changes(name: str) -> dict[str, Change]:
    unknown = "protocol=released" if name in ("traffic_rules", "figure_text") else ""
    options: dict[str, Change] = {option: ((f"--set={option}",), jsonl) for option in OPTIONS[name]}
    return {**{what: each for what, each in SHARED.items() if what != unknown}, **options}


CASES = [(name, what) for name in BENCHMARKS for what in changes(name)]


def chosen() -> list[tuple[str, str]]:
    """Returns all cases where many seeds are asked for, else a few of each benchmark."""
    if len(SEEDS) > 20:
        return CASES
    few = {name: rng_of("few", name).sample(sorted(changes(name)), 3) for name in BENCHMARKS}
    return [(name, what) for name, what in CASES if what in few[name]]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the finished run of a benchmark, made once."""
    made: dict[str, Path] = {}

    def run(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            done = evaluate(made[name] / "out", *inputs(made[name], name, jsonl), *FLAGS, config=name)
            assert done.code == 0, done.stderr
        return made[name] / "out"

    return run


def inputs(folder: Path, name: str, write: Write) -> tuple[Path, Path]:
    truths, predictions = corpus(name, COUNT, 3)
    return write(folder / "truths", truths), write(folder / "predictions", predictions)


@pytest.mark.parametrize("way", ["reuse", "resume"])
@pytest.mark.parametrize(("name", "what"), chosen())
def test_the_bytes_are_those_of_a_run_of_its_own(
    tmp_path: Path, earlier: Callable[[str], Path], name: str, what: str, way: str
) -> None:
    more, write = changes(name)[what]
    given, flags = inputs(tmp_path, name, write), (*FLAGS, *more)
    if way == "reuse":
        flags = (*flags, f"--reuse={earlier(name)}")
    else:
        keep(earlier(name), name, tmp_path / "out")
    run = evaluate(tmp_path / "out", *given, *flags, *(["--resume"] if way == "resume" else []), config=name)
    whole = evaluate(tmp_path / "whole", *given, *FLAGS, *more, config=name)
    assert whole.code in (0, 1), whole.stderr
    assert_same(run, whole)


def keep(run: Path, name: str, output: Path) -> None:
    """Makes a finished run's rows what an interrupted run into `output` has kept."""
    run_id = json.loads((run / "run.json").read_bytes())["run_id"]
    configuration = settings.check(json.loads((run / "summary.json").read_bytes())["config"], "test")
    ask_to_keep(
        str(output), run_id, msgspec.json.encode(RunSignature.of(configuration, versions(configuration.benchmark)))
    )
    shutil.copytree(run / "samples", Path(run_folder(str(output), run_id), "samples"))
