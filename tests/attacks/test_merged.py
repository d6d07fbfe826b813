"""Merging the runs of any partition of a corpus gives the bytes of one evaluation of all, or a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import SEEDS, rng_of
from tests.attacks.corpora import BENCHMARKS, corpus, damaged
from tests.runs import Run, command, evaluate

pytestmark = pytest.mark.attacks

FLAGS: tuple[str, ...] = ("--quiet", "--no-html", "--slice", "source", "--set", "max_rejected_fraction=1")
FLAGS += ("--set", "bootstrap.replicates=5", "--set", "limits.depth=40")


def run(output: Path, parts: list[Path]) -> Run:
    """Evaluates the files of some parts."""
    sides = [[str(part / f"{side}.jsonl") for part in parts] for side in ("truths", "predictions")]
    more = [flag for path in sides[0][1:] for flag in ("--ground-truth", path)]
    more += [flag for path in sides[1][1:] for flag in ("--predictions", f"predictions={path}")]
    return evaluate(output, sides[0][0], {"predictions": sides[1][0]}, *FLAGS, *more, config=output.parent.name)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_runs_of_any_partition_merge_to_one_evaluation_of_all(tmp_path: Path, name: str, seed: int) -> None:
    rng = rng_of("merge", name, seed)
    folder = tmp_path / name
    truths, predictions = corpus(name, 18, seed)
    count = rng.randint(2, 4)
    place = {truth["sample_id"]: rng.randrange(count) for truth in truths}
    parts = [folder / f"part{number}" for number in range(count)]
    for number, part in enumerate(parts):
        part.mkdir(parents=True)
        for side, records in (("truths", truths), ("predictions", predictions)):
            own = [record for record in records if place[record["sample_id"]] == number]
            (part / f"{side}.jsonl").write_bytes(b"\n".join([*damaged(rng, own), b""]))
    shards = [run(folder / f"run{number}", [part]) for number, part in enumerate(parts)]
    assert all(shard.code in (0, 1) for shard in shards)
    whole = run(folder / "whole", parts)
    code, _, stderr = command("merge", *(shard.output for shard in shards), "--output", folder / "merged", "--quiet")
    merged = Run(code, "", stderr, folder / "merged")
    if code == 2:
        # The same id in two parts: one evaluation would have paired or doubled it.
        assert "in more than one of the runs" in stderr
        return
    assert (code, stderr) == (whole.code, whole.stderr.replace(str(whole.output), str(merged.output)))
    assert merged.bytes() == whole.bytes()
    assert merged.samples == whole.samples
    assert merged.quarantine == whole.quarantine
    assert merged.report == whole.report
