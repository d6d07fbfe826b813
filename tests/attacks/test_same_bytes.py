"""A run that is killed and goes on, reuses another after one change, or is merged gives the bytes of one of its own."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import time
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
from beamscore.transforms.io.publication import CLAIM, ask_to_keep, run_folder
from tests.attacks.corpora import BENCHMARKS, FLAGS, SEEDS, corpus, damaged, rng_of, written
from tests.runs import Record, Run, command, evaluate, write_lines
from tests.servers import group_is_empty

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[2]


def assert_same(run: Run, whole: Run) -> None:
    """A run that was interrupted, reused or merged says what one evaluation of all says, to the byte."""
    assert run.code == whole.code
    assert run.bytes() == whole.bytes()
    assert run.samples == whole.samples
    assert run.quarantine == whole.quarantine
    assert run.report == whole.report


def killed_after(moment_s: float, temporary: Path, arguments: list[str]) -> None:
    """Starts a command and kills it, alone, some time after it began to shuffle; its workers see to themselves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "beamscore.pipelines.commands", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: process.poll() is not None or any(temporary.glob("*/*")))
    time.sleep(moment_s)
    process.kill()
    process.wait()
    wait_until(lambda: group_is_empty(process.pid))


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_run_leaves_nothing_that_the_next_one_would_not_remove(
    tmp_path: Path, processes: int, seed: int
) -> None:
    rng = rng_of("killed", processes, seed)
    name = BENCHMARKS[seed % len(BENCHMARKS)]
    inputs = written(tmp_path / "in", name, 60, seed)
    changed = written(tmp_path / "changed", name, 60, seed + 1) if rng.random() < 0.5 else inputs
    temporary, out = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    given = [f"--ground-truth={inputs[0]}", f"--predictions={inputs[1]}", f"--output={out}", *FLAGS, "--resume"]
    for _ in range(2):
        moment_s = rng.choice([0.0, 0.1, 0.5, 1.5]) + rng.random()
        killed_after(moment_s, temporary, ["evaluate", name, *given, f"--processes={processes}"])
    for unfinished in (out / ".runs").glob(f"*{CLAIM}.*"):
        # A claim that is being written counts as that of a living run for as long as a run may be silent.
        os.utime(unfinished, (0, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr("tempfile.tempdir", None)
        resumed = evaluate(out, *changed, "--resume", *FLAGS, config=name)
    assert list(temporary.iterdir()) == []
    assert_same(resumed, evaluate(tmp_path / "whole", *changed, *FLAGS, config=name))
    assert resumed.stderr == ""
    assert len(list((out / ".runs").iterdir())) == 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_runs_of_any_partition_merge_to_one_evaluation_of_all_or_are_refused(
    tmp_path: Path, name: str, seed: int
) -> None:
    rng = rng_of("merge", name, seed)
    truths, predictions = corpus(name, 18, seed)
    count = rng.randint(2, 4)
    place = {truth["sample_id"]: rng.randrange(count) for truth in truths}
    parts = [tmp_path / f"part{number}" for number in range(count)]
    for number, part in enumerate(parts):
        for side, records in (("truths", truths), ("predictions", predictions)):
            own = [record for record in records if place[record["sample_id"]] == number]
            write_lines(part / f"{side}.jsonl", damaged(rng, own))

    def run(output: str, folders: list[Path]) -> Run:
        (truth, predicted), *others = [(part / "truths.jsonl", part / "predictions.jsonl") for part in folders]
        more = [each for pair in others for each in (f"--ground-truth={pair[0]}", f"--predictions=ours={pair[1]}")]
        return evaluate(tmp_path / output, truth, {"ours": predicted}, *more, *FLAGS, config=name)

    shards = [run(f"run{number}", [part]) for number, part in enumerate(parts)]
    assert all(shard.code in (0, 1) for shard in shards)
    whole, merged = run("whole", parts), tmp_path / "merged"
    code, _, stderr = command("merge", *(shard.output for shard in shards), "--output", merged, "--quiet")
    if code == 2:
        # The same id in two parts: one evaluation would have paired or doubled it.
        assert "in more than one of the runs" in stderr
    else:
        assert_same(Run(code, "", stderr, merged), whole)
        assert stderr == whole.stderr.replace(str(whole.output), str(merged))


OPTIONS = {
    "chart": ("tasks=[task1,task2]", "text_iou=0.9", "max_steps=20000", "max_text_blocks=5"),
    "chemistry": ("normalize_text=true", "max_angle_deviation=15", "max_steps=500", "tokens=latex"),
    "figure_text": ("geometry=polygon", "case_sensitive=false", "max_steps=50", "tau_threshold=0.9"),
    "formula": ("max_tokens=12", "max_characters=40", "max_steps=3000"),
    "traffic_rules": ('ignore_properties=["RuleIndex","LaneType"]', "max_steps=200"),
}
SHARED = (
    *("protocol=released", "missing=exclude", "bootstrap.seed=7", "bootstrap.replicates=9", "cluster=source"),
    *("slices=[]", "limits.record_bytes=300", "limits.depth=4"),
)
Write = Callable[[Path, list[Record]], Path]


def jsonl(folder: Path, records: list[Record]) -> Path:
    return write_lines(folder / "records.jsonl", records)


def parquet(folder: Path, records: list[Record]) -> Path:
    """Writes nested fields as JSON text, since records of one column may differ in their fields."""
    names = dict.fromkeys(name for record in records for name in record)
    texts = [{name: each if each is None or isinstance(each, str) else json.dumps(each)
              for name, each in record.items()} for record in records]  # fmt: skip
    folder.mkdir(parents=True)
    table = pa.Table.from_pylist(texts, pa.schema([(name, pa.string()) for name in names]))
    pq.write_table(table, folder / "records.parquet")
    return folder / "records.parquet"


def rewritten(**hooks: Any) -> Write:
    """Returns what writes the records as JSON reads them with these hooks."""
    return lambda folder, records: jsonl(folder, json.loads(json.dumps(records), **hooks))


def damage(folder: Path, records: list[Record]) -> Path:
    return write_lines(folder / "records.jsonl", damaged(rng_of("one change", len(records)), records))


Change = tuple[tuple[str, ...], Write]
"""What another run does otherwise: its flags, and how it writes its records."""
OTHERS: dict[str, Change] = {
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
    unknown = {"protocol=released"} if name in ("traffic_rules", "figure_text") else set()
    set_to = [each for each in (*SHARED, *OPTIONS[name]) if each not in unknown]
    return {**{each: ((f"--set={each}",), jsonl) for each in set_to}, **OTHERS}


def chosen() -> list[tuple[str, str]]:
    """Returns all cases where many seeds are asked for, else a few of each benchmark."""
    few = {name: rng_of("few", name).sample(sorted(changes(name)), 3) for name in BENCHMARKS}
    return [(name, what) for name in BENCHMARKS for what in (changes(name) if len(SEEDS) > 20 else few[name])]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the finished run of a benchmark, made once."""

    @functools.cache
    def run(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        done = evaluate(folder / "out", *inputs(folder, name, jsonl), *FLAGS, config=name)
        assert done.code == 0, done.stderr
        return folder / "out"

    return run


def inputs(folder: Path, name: str, write: Write) -> tuple[Path, Path]:
    truths, predictions = corpus(name, 16, 3)
    return write(folder / "truths", truths), write(folder / "predictions", predictions)


@pytest.mark.parametrize(("name", "what"), chosen())
def test_after_one_change_the_bytes_are_those_of_a_run_that_knows_nothing_of_the_earlier_one(
    tmp_path: Path, earlier: Callable[[str], Path], name: str, what: str
) -> None:
    more, write = changes(name)[what]
    given = inputs(tmp_path, name, write)
    whole = evaluate(tmp_path / "whole", *given, *FLAGS, *more, config=name)
    assert whole.code in (0, 1), whole.stderr
    keep(earlier(name), tmp_path / "resumed")
    for output, flag in (("reused", f"--reuse={earlier(name)}"), ("resumed", "--resume")):
        assert_same(evaluate(tmp_path / output, *given, *FLAGS, *more, flag, config=name), whole)


def keep(run: Path, output: Path) -> None:
    """Makes a finished run's rows what an interrupted run into `output` has kept."""
    run_id = json.loads((run / "run.json").read_bytes())["run_id"]
    configuration = settings.check(json.loads((run / "summary.json").read_bytes())["config"], "test")
    signature = RunSignature.of(configuration, versions(configuration.benchmark))
    ask_to_keep(str(output), run_id, msgspec.json.encode(signature))
    shutil.copytree(run / "samples", Path(run_folder(str(output), run_id), "samples"))
