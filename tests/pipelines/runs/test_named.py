"""Which run a text names: a path may have colons of its own, and so may the address of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runs.named import find_baseline, split_system
from tests.finished_runs import row, write_run
from tests.memory_files import ObjectStore

COLONS = ("nightly-12:30", "a:good", "b:c.txt", "C:")
"""Names of runs of which the last part could be a system."""


def test_a_run_that_is_there_is_meant_whatever_its_colons(tmp_path: Path) -> None:
    ObjectStore.clear()
    for name in COLONS:
        run = write_run(tmp_path / name, [row("a", 1.0)])
        for file in (file for file in run.rglob("*") if file.is_file()):
            ObjectStore.FILES[f"mem://bucket/{name}/{file.relative_to(run)}"] = file.read_bytes()
    for path in (f"{base}/{name}{end}" for base in (tmp_path, "mem://bucket") for name in COLONS for end in ("", "/")):
        assert split_system(path) == find_baseline(path) == (path, None)
        # Behind a run that is there, a colon tells the system, whatever it is called.
        for named in (f"{path}:good", f"{path}:x.txt"):
            assert split_system(named) == find_baseline(named) == (path, named.rpartition(":")[2])
    ObjectStore.clear()


@pytest.mark.parametrize("text", ["mem://bucket", "mem://bucket/run", "run", "run/x", "a:b/c", "a:", "s p:q r"])
def test_what_has_no_system_is_a_run(text: str) -> None:
    assert split_system(text) == (text, None)


def test_the_last_line_of_a_file_names_a_run_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "blessed.txt").write_text("old # first\n# nothing\nnightly-12:30:good  # by Ada\n\n")
    assert find_baseline(f"{tmp_path}/blessed.txt") == (f"{tmp_path}/nightly-12:30", "good")
    with pytest.raises(UsageError, match=r"none\.txt: cannot be read"):
        find_baseline(f"{tmp_path}/none.txt")
