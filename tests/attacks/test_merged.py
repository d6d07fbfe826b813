"""Merging the runs of any partition of a corpus gives the bytes of one evaluation of all, or a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.corpora import BENCHMARKS, FLAGS, SEEDS, assert_same, corpus, damaged, rng_of
from tests.runs import Run, command, evaluate, write_lines

pytestmark = pytest.mark.attacks


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_runs_of_any_partition_merge_to_one_evaluation_of_all(tmp_path: Path, name: str, seed: int) -> None:
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
    whole = run("whole", parts)
    code, _, stderr = command("merge", *(shard.output for shard in shards), "--output", tmp_path / "merged", "--quiet")
    if code == 2:
        # The same id in two parts: one evaluation would have paired or doubled it.
        assert "in more than one of the runs" in stderr
    else:
        assert_same(Run(code, "", stderr, tmp_path / "merged"), whole)
        assert stderr == whole.stderr.replace(str(whole.output), str(tmp_path / "merged"))
