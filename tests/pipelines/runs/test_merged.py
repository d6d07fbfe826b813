"""What a merged run may be made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beamscore.pipelines.commands.merge import merged_configuration
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runs.differences import SCORED_ALIKE, differences
from beamscore.pipelines.runs.run import Run
from tests import toy
from tests.finished_runs import row, write, write_run


def test_the_confidence_of_intervals_is_no_part_of_what_a_run_is(tmp_path: Path) -> None:
    """It changes neither a score nor a replicate; the intervals of all are those of the first run's."""
    toy.register()
    paths = []
    for name, confidence in (("a", 0.95), ("b", 0.8)):
        settings = {"bootstrap": {"replicates": 50, "confidence": confidence}}
        paths.append(str(write_run(tmp_path / name, [row(name, 1.0)], settings)))
    runs = [Run.read(each) for each in paths]
    assert differences(runs[0].signature, runs[1].signature, SCORED_ALIKE) == []
    assert merged_configuration(runs, "out").settings.bootstrap.confidence == 0.95
    other = {"bootstrap": {"replicates": 50, "seed": 1}}
    seeded = Run.read(str(write_run(tmp_path / "c", [row("c", 1.0)], other)))
    (reason,) = differences(runs[0].signature, seeded.signature, SCORED_ALIKE)
    assert "bootstrap" in reason


def test_a_run_without_a_fingerprint_of_its_predictions_is_refused(tmp_path: Path) -> None:
    toy.register()
    runs = [Run.read(str(write_run(tmp_path / name, [row(name, 1.0)], predictions=found)))
            for name, found in (("a", "aa"), ("b", None))]  # fmt: skip
    with pytest.raises(UsageError, match="its predictions have no fingerprint"):
        merged_configuration(runs, "out")


@pytest.mark.parametrize("place", [0, 1])
def test_a_run_without_a_fingerprint_is_refused(tmp_path: Path, place: int) -> None:
    """That of all would be the one of the others alone, and two runs over other samples would look the same."""
    toy.register()
    folders = [write_run(tmp_path / name, [row(name, 1.0)]) for name in "ab"]
    assert merged_configuration([Run.read(str(each)) for each in folders], "out").benchmark.name == "toy"
    path = folders[place] / "summary.json"
    write(path, {**json.loads(path.read_bytes()), "fingerprint": None})
    with pytest.raises(UsageError, match="no fingerprint"):
        merged_configuration([Run.read(str(each)) for each in folders], "out")
