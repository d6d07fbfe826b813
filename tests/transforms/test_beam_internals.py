"""What the project needs of Beam beyond its public interface is there, in every version that setup.py allows."""

from __future__ import annotations

import ast
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.worker import sdk_worker_main

from beamscore.transforms import beam_internals

ROOT = Path(__file__).parents[2]
INTERNALS = {"transforms/beam_internals.py"}
PUBLIC = {
    "apache_beam",
    "apache_beam.io.filesystem",
    "apache_beam.io.filesystems",
    "apache_beam.io.restriction_trackers",
    "apache_beam.io.localfilesystem",
    "apache_beam.metrics",
    "apache_beam.options.pipeline_options",
    "apache_beam.pvalue",
    "apache_beam.transforms.core",
    "apache_beam.transforms.window",
    "apache_beam.typehints.row_type",
    "apache_beam.utils.windowed_value",
}


def test_no_other_module_uses_the_internals_of_beam() -> None:
    found = {}
    for path in [*ROOT.glob("transforms/**/*.py"), *ROOT.glob("pipelines/**/*.py"), ROOT / "__init__.py"]:
        if str(path.relative_to(ROOT)) in INTERNALS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found.update({name: path for name in names if name.split(".")[0] == "apache_beam"})
    assert {name: path for name, path in found.items() if name not in PUBLIC} == {}


def test_every_option_is_known_once() -> None:
    names = beam_internals.option_names(beam_internals.option_parser())
    assert {"--runner", "--flink_master", "--region", "--direct_num_workers", "--job_endpoint"} <= set(names)
    assert len(names) == len(set(names))


def test_a_prefix_is_taken_as_it_is(tmp_path: Path) -> None:
    """`[` and `*` are characters of a name here, not a pattern."""
    folder = tmp_path / "odd[1]*"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    (found,) = beam_internals.list_prefix(f"{folder}/")
    assert (found.path, found.size_in_bytes) == (f"{folder}/a.txt", 1)


def test_the_local_runner_runs_a_pipeline(tmp_path: Path) -> None:
    written = tmp_path / "sum.txt"
    with beam.Pipeline(runner=beam_internals.local_runner(PipelineOptions([]))) as pipeline:
        total = pipeline | beam.Create([1, 2, 3]) | beam.CombineGlobally(sum)
        _ = total | beam.Map(lambda value: written.write_text(str(value)))
    assert written.read_text() == "6"


def test_a_worker_is_started_by_its_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = beam_internals.worker_environment("echo worker")
    assert environment.command_string in ("echo worker", b"echo worker")
    started: list[list[str]] = []
    monkeypatch.setattr(sdk_worker_main, "main", started.append)
    beam_internals.run_worker(["worker", "folder"])
    assert started == [["worker", "folder"]]
