"""Which run a text names: a path may have colons of its own, and so may the address of a store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runs.named import find_baseline, split_system
from tests.memory_files import ObjectStore
from tests.runs import evaluate, write_lines

COLONS = ("nightly-12:30", "12:30:00", "a:good", "b:c.txt", "C:")
"""Names of runs of which the last part could be a system."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    records = write_lines(folder / "r.jsonl", [{"sample_id": "a", "text": "x"}])
    return evaluate(folder / "run", records, {"good": records, "30": records}, "--quiet", "--no-html").output


@pytest.fixture(params=["disk", "store"])
def base(request: pytest.FixtureRequest, run: Path, tmp_path: Path) -> Iterator[str]:
    """A folder with copies of a run under each of the names."""
    ObjectStore.clear()
    for name in COLONS:
        if request.param == "disk":
            shutil.copytree(run, tmp_path / name)
        else:
            for path in (path for path in run.rglob("*") if path.is_file()):
                ObjectStore.FILES[f"mem://bucket/{name}/{path.relative_to(run)}"] = path.read_bytes()
    yield str(tmp_path) if request.param == "disk" else "mem://bucket"
    ObjectStore.clear()


def test_a_run_that_is_there_is_meant_whatever_its_colons(base: str) -> None:
    for path in (f"{base}/{name}{end}" for name in COLONS for end in ("", "/")):
        assert split_system(path) == find_baseline(path) == (path, None)
        # Behind a run that is there, a colon tells the system, whatever it is called.
        for system in ("good", "30", "x.txt"):
            assert split_system(f"{path}:{system}") == find_baseline(f"{path}:{system}") == (path, system)


@pytest.mark.parametrize("text", ["mem://bucket", "mem://bucket/run", "run", "run/x", "a:b/c", "a:", "s p:q r"])
def test_what_has_no_system_is_a_run(text: str) -> None:
    assert split_system(text) == (text, None)


def test_a_file_is_still_read(base: str, tmp_path: Path) -> None:
    if base.startswith("mem:"):
        pytest.skip("a blessed file is one of the disk")
    (tmp_path / "blessed.txt").write_text("nightly-12:30:good\n")
    assert find_baseline(f"{base}/blessed.txt") == (f"{base}/nightly-12:30", "good")
    with pytest.raises(UsageError, match=r"none\.txt: cannot be read"):
        find_baseline(f"{base}/none.txt")
