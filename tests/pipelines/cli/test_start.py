"""How a command begins and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

AT_THE_END = """
import atexit, gc, sys
from beamscore.pipelines.cli.start import main

# What is registered first runs last.
atexit.register(lambda: print("objects left to look at:", len(gc.get_objects())))
sys.argv[1:] = {arguments}
sys.exit(main())
"""


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["benchmarks"], 0), (["evaluate"], 2)])
def test_python_does_not_look_for_garbage_when_a_command_ends(arguments: list[str], code: int) -> None:
    """Among the objects of the libraries, several hundred thousand, it takes half a second."""
    text = AT_THE_END.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert int(done.stdout.rpartition(":")[2]) < 1000
