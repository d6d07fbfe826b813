"""The command in a folder that holds somebody else's packages of the names of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker_pool import bare_environment

pytestmark = pytest.mark.dist

CORPUS = Path(__file__).parents[1] / "corpora" / "traffic_rules"
PROGRAM = Path(sys.executable).with_name("beamscore")


def foreign(folder: Path, *names: str) -> Path:
    """Returns `folder` with packages of these names, none of which can be imported."""
    for name in names:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError(f'this is the {__name__} of somebody else')\n")
    return folder


@pytest.mark.parametrize(
    ("program", "names", "more"),
    [
        ([PROGRAM], ["metrics", "transforms", "pipelines", "yaml", "numpy"], ["--processes", "2"]),
        # A module that is run takes the packages beside it that are not its own.
        ([sys.executable, "-m", "beamscore.pipelines.commands"], ["metrics", "transforms"], []),
    ],
)
def test_the_command_and_its_workers_import_what_is_installed(
    tmp_path: Path, program: list[str | Path], names: list[str], more: list[str]
) -> None:
    if not PROGRAM.exists():
        pytest.skip("needs the program beamscore beside this Python")
    inputs = [f"--{side}={CORPUS / side.replace('-', '_')}.jsonl" for side in ("ground-truth", "predictions")]
    flags = ["--output", "out", "--set", "bootstrap.replicates=2", "--quiet", *more]
    done = subprocess.run(
        [*program, "evaluate", "traffic_rules", *inputs, *flags],
        cwd=foreign(tmp_path, *names),
        env=bare_environment(Path(sys.executable)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
