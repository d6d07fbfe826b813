"""Reusing or resuming a run after one change gives the bytes of a run that knows nothing of the earlier one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
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
from tests.attacks import SEEDS, rng_of
from tests.attacks.corpora import BENCHMARKS, corpus, damaged, to_line
from tests.runs import Record, Run, evaluate

pytestmark = pytest.mark.attacks

COUNT = 16
FLAGS: tuple[str, ...] = ("--quiet", "--no-html", "--set", "max_rejected_fraction=1", "--set", "bootstrap.replicates=5")
FLAGS += ("--slice", "source")
OPTIONS = {
    "chart": ("tasks=[task1,task2]", "text_iou=0.9", "max_steps=20000", "max_text_blocks=5"),
    "chemistry": ("normalize_text=true", "max_angle_deviation=15", "max_steps=500", "tokens=latex"),
    "figure_text": ("geometry=polygon", "case_sensitive=false", "max_steps=50", "tau_threshold=0.9"),
    "formula": ("max_tokens=12", "max_characters=40", "max_steps=3000"),
    "traffic_rules": ('ignore_properties=["RuleIndex","LaneType"]', "max_steps=200"),
}

Write = Callable[[Path, list[Record]], Path]


def jsonl(folder: Path, records: list[Record]) -> Path:
    path = folder / "records.jsonl"
    path.write_bytes(b"".join(to_line(record) + b"\n" for record in records))
    return path


def parquet(folder: Path, records: list[Record]) -> Path:
    """Writes nested fields as JSON text, since records of one column may differ in their fields."""
    path = folder / "records.parquet"
    names = dict.fromkeys(name for record in records for name in record)
    cells = [[_cell(record.get(name)) for record in records] for name in names]
    pq.write_table(pa.table({name: pa.array(each, pa.string()) for name, each in zip(names, cells, strict=True)}), path)
    return path


def _cell(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def other_keys(folder: Path, records: list[Record]) -> Path:
    """Writes the keys of every object in another order."""
    return jsonl(folder, json.loads(json.dumps(records), object_pairs_hook=lambda pairs: dict(reversed(pairs))))


def floats(folder: Path, records: list[Record]) -> Path:
    """Writes whole numbers as 1.0 in place of 1, where the benchmark does not ask for an integer."""
    return jsonl(folder, json.loads(json.dumps(records), parse_int=float))


def damage(folder: Path, records: list[Record]) -> Path:
    path = folder / "records.jsonl"
    path.write_bytes(b"\n".join(damaged(rng_of("one change", len(records)), records)))
    return path


def renamed(folder: Path, records: list[Record]) -> Path:
    return jsonl(folder, [{"key" if name == "sample_id" else name: each for name, each in r.items()} for r in records])


@dataclass(frozen=True)
class Change:
    """What another run does otherwise: its flags, and how it writes its records."""

    flags: tuple[str, ...] = ()
    write: Write = jsonl


SHARED = {
    "nothing": Change(),
    "released": Change(("--set", "protocol=released")),
    "excluded": Change(("--set", "missing=exclude")),
    "seed": Change(("--set", "bootstrap.seed=7")),
    "replicates": Change(("--set", "bootstrap.replicates=9")),
    "cluster": Change(("--set", "cluster=source")),
    "no slices": Change(("--set", "slices=[]")),
    "crossed slices": Change(("--slice", "source,sample_id")),
    "small records": Change(("--set", "limits.record_bytes=300")),
    "flat records": Change(("--set", "limits.depth=4")),
    "order of keys": Change(write=other_keys),
    "floats": Change(write=floats),
    "parquet": Change(write=parquet),
    "fields": Change(
        ("--set", "fields.ground_truth.sample_id=key", "--set", "fields.predictions.sample_id=key"), renamed
    ),
    "damage": Change(write=damage),
}


def changes(name: str) -> dict[str, Change]:
    options = {option: Change(("--set", option)) for option in OPTIONS[name]}
    unknown = "released" if name in ("traffic_rules", "figure_text") else ""
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
            truths, predictions = inputs(made[name], name, jsonl)
            found = evaluate(made[name] / "out", truths, predictions, *FLAGS, config=name)
            assert found.code == 0, found.stderr
        return made[name] / "out"

    return run


def inputs(folder: Path, name: str, write: Write) -> tuple[Path, Path]:
    truths, predictions = corpus(name, COUNT, 3)
    for side in ("truths", "predictions"):
        (folder / side).mkdir(parents=True, exist_ok=True)
    return write(folder / "truths", truths), write(folder / "predictions", predictions)


@pytest.mark.parametrize("way", ["reuse", "resume"])
@pytest.mark.parametrize(("name", "what"), chosen())
def test_the_bytes_are_those_of_a_run_of_its_own(
    tmp_path: Path, earlier: Callable[[str], Path], name: str, what: str, way: str
) -> None:
    change = changes(name)[what]
    given = inputs(tmp_path, name, change.write)
    flags = (*FLAGS, *change.flags)
    whole = evaluate(tmp_path / "whole", given[0], given[1], *flags, config=name)
    if way == "reuse":
        found = evaluate(tmp_path / "out", given[0], given[1], *flags, "--reuse", str(earlier(name)), config=name)
    else:
        keep(earlier(name), name, tmp_path / "out")
        found = evaluate(tmp_path / "out", given[0], given[1], *flags, "--resume", config=name)
    assert found.code == whole.code
    assert whole.code in (0, 1), whole.stderr
    assert found.bytes() == whole.bytes()
    assert found.samples == whole.samples
    assert found.quarantine == whole.quarantine
    assert found.report == whole.report


def keep(run: Path, name: str, output: Path) -> None:
    """Makes a finished run's rows what an interrupted run into `output` has kept."""
    run_id = json.loads((run / "run.json").read_bytes())["run_id"]
    configuration = settings.check(json.loads((run / "summary.json").read_bytes())["config"], "test")
    ask_to_keep(
        str(output), run_id, msgspec.json.encode(RunSignature.of(configuration, versions(configuration.benchmark)))
    )
    shutil.copytree(run / "samples", Path(run_folder(str(output), run_id), "samples"))


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize("damage", ["a metric", "a statistic", "a status", "other rows", "half of the rows"])
def test_rows_that_are_not_as_they_were_written_are_not_taken(
    tmp_path: Path, earlier: Callable[[str], Path], name: str, damage: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(earlier(name), run, ignore=shutil.ignore_patterns(".runs"))
    if damage == "other rows":
        option = OPTIONS[name][-1]
        truths, predictions = inputs(tmp_path, name, jsonl)
        other = evaluate(tmp_path / "other", truths, predictions, *FLAGS, "--set", option, config=name)
        assert other.code == 0
        shutil.rmtree(run / "samples")
        shutil.copytree(tmp_path / "other" / "samples", run / "samples")
    else:
        for path in (run / "samples").glob("*.parquet"):
            pq.write_table(edited(pq.ParquetFile(path).read(), damage), path)
    given = inputs(tmp_path, name, jsonl)
    found = evaluate(tmp_path / "out", given[0], given[1], *FLAGS, "--reuse", str(run), config=name)
    assert found.code == 0
    whole = Run(0, "", "", earlier(name))
    assert found.samples == whole.samples
    assert found.sums["systems"] == whole.sums["systems"]


def edited(table: Any, damage: str) -> Any:
    rows = table.to_pylist()
    if damage == "half of the rows":
        return table.slice(0, len(rows) // 2)
    for row in rows:
        if damage == "a metric":
            name = next(each for each in table.schema.names if table.schema.field(each).type == pa.float64())
            row[name] = 0.125
        elif damage == "a status":
            row["status"], row["prediction_status"] = "missing_prediction", None
        elif row["statistics"] is not None:
            statistics = json.loads(row["statistics"])
            statistics = {name: number + 1 for name, number in statistics.items()} or {"made up": 1}
            row["statistics"] = json.dumps(statistics)
    return pa.Table.from_pylist(rows, table.schema)


def test_without_tex_both_say_so(
    tmp_path: Path, earlier: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, given = earlier("formula"), inputs(tmp_path, "formula", jsonl)
    monkeypatch.setenv("PATH", str(tmp_path))
    whole = evaluate(tmp_path / "whole", given[0], given[1], *FLAGS, config="formula")
    found = evaluate(tmp_path / "out", given[0], given[1], *FLAGS, "--reuse", str(run), config="formula")
    assert found.code == whole.code == 2
    assert found.stderr.splitlines()[-1] == whole.stderr.splitlines()[-1]
