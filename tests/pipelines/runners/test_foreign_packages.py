"""The command in a folder that holds somebody else's packages of the names of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker_pool import bare_environment

CORPUS = Path(__file__).parents[2] / "corpora" / "traffic_rules"
PROGRAM = Path(sys.executable).with_name("beamscore")


def foreign(folder: Path, *names: str) -> Path:
    """Returns `folder` with packages of these names, none of which can be imported."""
    for name in names:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError(f'this is the {__name__} of somebody else')\n")
    return folder


def evaluate(folder: Path, *program: str | Path, more: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    inputs = [f"--{side}={CORPUS / side.replace('-', '_')}.jsonl" for side in ("ground-truth", "predictions")]
    return subprocess.run(
        [
            *program,
            "evaluate",
            "traffic_rules",
            *inputs,
            "--output",
            "out",
            "--set",
            "bootstrap.replicates=2",
            "--quiet",
            *more,
        ],
        cwd=folder,
        env=bare_environment(Path(sys.executable)),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("more", [(), ("--processes", "2")])
def test_the_command_and_its_workers_import_what_is_installed(tmp_path: Path, more: tuple[str, ...]) -> None:
    if not PROGRAM.exists():
        pytest.skip("needs the program beamscore beside this Python")
    done = evaluate(foreign(tmp_path, "metrics", "transforms", "pipelines", "yaml", "numpy"), PROGRAM, more=more)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_that_is_run_takes_the_packages_beside_its_own(tmp_path: Path) -> None:
    if not PROGRAM.exists():
        pytest.skip("needs beamscore installed for this Python")
    done = evaluate(foreign(tmp_path, "metrics", "transforms"), sys.executable, "-m", "beamscore.pipelines.commands",
                    more=("--processes", "2"))  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
