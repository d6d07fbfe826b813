"""The graph that Dataflow is given, as its own runner makes it: what is in it, and what must not be."""

import base64
import binascii
import bz2
import hashlib
import pickletools
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import apache_beam as beam
import pytest
from apache_beam import coders
from apache_beam.options.pipeline_options import GoogleCloudOptions, WorkerOptions
from apache_beam.portability.api import beam_runner_api_pb2 as protos
from apache_beam.runners.pipeline_context import PipelineContext

import beamscore
from beamscore.metrics.registry import benchmark_names
from beamscore.pipelines.commands.main import main
from beamscore.pipelines.runners import dataflow_template
from tests.memory_files import ObjectStore
from tests.pipelines.runners.test_dataflow_template import IMAGE, JOB

ROOT = Path(__file__).parents[2]


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The graphs that the DataflowRunner would submit. Nothing leaves this process."""
    graphs: list[Any] = []
    client = ModuleType("apache_beam.runners.dataflow.internal.apiclient")

    def job(_: Any, graph: Any) -> None:
        graphs.append(graph)
        raise KeyboardInterrupt

    client.get_container_image_from_options = lambda options: options.view_as(WorkerOptions).sdk_container_image  # type: ignore[attr-defined]
    client.Job = job  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, client.__name__, client)
    monkeypatch.setattr("apache_beam.runners.dataflow.internal.apiclient", client, raising=False)
    monkeypatch.setattr(GoogleCloudOptions, "validate", lambda *_: [])
    monkeypatch.setattr("beamscore.pipelines.runners.launch.check_reachable", list)
    yield graphs
    ObjectStore.clear()


def graph_of(submitted: list[Any], benchmark: str = "chart", files: int = 2) -> Any:
    """Launches the template on files whose names do not compress, and returns the graph."""
    for index in range(files):
        name = hashlib.blake2b(str(index).encode(), digest_size=16).hexdigest()
        ObjectStore.FILES[f"mem://bucket/truth/{name}.jsonl"] = b"x" * (index * 7919 % 1009)
    ObjectStore.FILES["mem://bucket/predictions.jsonl"] = b""
    given = {"ground_truth": "truth/*.jsonl", "predictions": "predictions.jsonl", "output": "out"}
    paths = [f"--{name}=mem://bucket/{path}" for name, path in given.items()]
    more = (f"--config={benchmark}", "--slices=source;source,kind", f"--sdk_container_image={IMAGE}")
    assert dataflow_template.main([*JOB, *paths, *more]) == 130
    return submitted[-1]


def payloads(graph: Any) -> Iterator[tuple[str, bytes]]:
    """Yields what is pickled in a graph, by the step or coder that it belongs to."""
    parts = [(step.unique_name, step.spec.payload) for step in graph.components.transforms.values()]
    parts += [(name, coder.spec.payload) for name, coder in graph.components.coders.items()]
    parts += [(name, each.SerializeToString()) for name, each in graph.components.windowing_strategies.items()]
    for name, payload in parts:
        for found in re.finditer(rb"[A-Za-z0-9+/]{40,}={0,2}", payload):
            for decompress in (bz2.decompress, zlib.decompress):
                try:
                    yield name, decompress(base64.b64decode(found.group()))
                except (OSError, zlib.error, binascii.Error):
                    continue


def strings(pickled: bytes) -> set[str]:
    return {argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)}


@pytest.mark.parametrize("benchmark", [name for name in benchmark_names() if name != "toy"])
def test_nothing_of_this_checkout_is_in_the_graph(submitted: list[Any], benchmark: str) -> None:
    """Code of the project is named, and found on the workers; none of it is pickled, which would hold its path."""
    graph = graph_of(submitted, benchmark)
    found = list(payloads(graph))
    named = {module for _, pickled in found for module in strings(pickled) if module.startswith("beamscore.")}
    assert {f"beamscore.{each}" for each in ("transforms.evaluate", "pipelines.evaluate")} <= named
    assert f"beamscore.metrics.{benchmark}.benchmark" in named
    for name, pickled in found:
        assert [each for each in strings(pickled) if re.match(r"(tests|__main__|conftest)(\.|$)", each)] == [], name
        local = [each for each in strings(pickled) if each.startswith(("/tmp", "file:", str(Path.cwd())))]
        assert [each for each in local if "/apache_beam/" not in each] == [], name
        for floor in ("metrics", "transforms", "pipelines"):
            assert f"{ROOT}/{floor}/".encode() not in pickled, f"{name} holds code of {floor} by value"
    assert str(ROOT).encode() not in graph.SerializeToString()


def test_keys_are_coded_one_way_and_workers_run_the_image(submitted: list[Any]) -> None:
    """Equal keys must have equal bytes, or what belongs together is not grouped."""
    pipeline = beam.Pipeline()
    _ = {side: pipeline | side >> beam.Create([]) for side in ("ground_truth", "x")} | beamscore.Evaluate("toy")
    for graph in (pipeline.to_runner_api(), graph_of(submitted)):
        context, groups = PipelineContext(graph.components), {}
        for step in graph.components.transforms.values():
            if step.spec.urn in ("beam:transform:group_by_key:v1", "beam:transform:combine_per_key:v1"):
                (source,) = step.inputs.values()
                coder = context.coders.get_by_id(graph.components.pcollections[source].coder_id)
                groups[step.unique_name.replace("Evaluate/Evaluate/", "Evaluate/")] = coder
        assert {name for name, coder in groups.items() if not coder.key_coder().is_deterministic()} == set()
        assert isinstance(groups["Evaluate/Pair/ByBucket"].key_coder(), coders.VarIntCoder)
        # Coding blocks as anything else would cost more than reading them.
        assert isinstance(groups["Evaluate/Pair/ByBucket"].value_coder(), coders.BytesCoder)
        assert isinstance(groups["Evaluate/Combine/GroupByKey"].key_coder(), coders.BytesCoder)
        assert "Evaluate/Outcomes/GroupByKey" in groups
    # What is staged is a list of the launcher's packages, which Beam logs; no package, and no session of a script.
    for environment in graph.components.environments.values():
        assert environment.urn == "beam:env:docker:v1"
        assert protos.DockerPayload.FromString(environment.payload).container_image == IMAGE
        roles = [protos.ArtifactStagingToRolePayload.FromString(each.role_payload) for each in environment.dependencies]
        assert [role.staged_name for role in roles] in ([], ["submission_environment_dependencies.txt"])


def test_only_counts_names_of_files_and_blocks_are_flattened(submitted: list[Any]) -> None:
    """A local runner holds in memory what is."""
    graph_of(submitted)
    for command, option in (("split", "--ground-truth"), ("convert", "--input")):
        line = (command, "chart", f"{option}=mem://bucket/predictions.jsonl", "--output=mem://bucket/o.jsonl")
        assert main([*line, *JOB]) == 130
    for graph in submitted:
        for step in graph.components.transforms.values():
            if step.spec.urn == "beam:transform:flatten:v1" and len(step.inputs) > 1:
                for source in step.inputs.values():
                    name = graph.components.pcollections[source].unique_name
                    assert re.search(r"\)\.outcomes$|\(StageQuarantine\)|/Blocks\d\.|/Start/", name)


def test_ten_thousand_files_fit_in_a_graph(submitted: list[Any]) -> None:
    """Dataflow takes graphs of up to 10 MB; each file adds as much."""
    few, many = (graph_of(submitted, files=files).ByteSize() for files in (2, 1002))
    assert few < 300_000
    assert 0 < (many - few) / 1000 < 95
