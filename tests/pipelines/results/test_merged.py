"""What a merged run may be made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.config.errors import UsageError
from pipelines.results.merged import merged_configuration
from pipelines.results.stored import StoredRun
from tests import toy
from tests.finished_runs import row, write, write_run


@pytest.mark.parametrize("place", [0, 1])
def test_a_run_without_a_fingerprint_is_refused(tmp_path: Path, place: int) -> None:
    """That of all would be the one of the others alone, and two runs over other samples would look the same."""
    toy.register()
    folders = [write_run(tmp_path / name, [row(name, 1.0)]) for name in "ab"]
    assert merged_configuration([StoredRun(str(each)) for each in folders], "out").benchmark.name == "toy"
    path = folders[place] / "summary.json"
    write(path, {**json.loads(path.read_bytes()), "fingerprint": None})
    with pytest.raises(UsageError, match="no fingerprint"):
        merged_configuration([StoredRun(str(each)) for each in folders], "out")
