"""What the project needs of Beam beyond its public interface is there, in every version that setup.py allows."""

from __future__ import annotations

import ast
import pickle
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import pytest
from apache_beam import coders
from apache_beam.coders.coder_impl import create_InputStream, create_OutputStream
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import execution, fn_runner
from apache_beam.runners.worker import sdk_worker_main
from apache_beam.runners.worker.data_plane import InMemoryDataChannel
from apache_beam.transforms.window import GlobalWindows

from beamscore.transforms import beam_internals

ROOT = Path(__file__).parents[2]
INTERNALS = {"transforms/beam_internals.py", "transforms/io/s3.py"}
PUBLIC = {
    "apache_beam",
    "apache_beam.coders",
    "apache_beam.io.filesystem",
    "apache_beam.io.filesystems",
    "apache_beam.io.iobase",
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


def test_each_view_of_options_is_made_once_and_shares_their_values() -> None:
    options = PipelineOptions(["--runner", "DirectRunner", "--job_name", "mine"])
    options = options.view_as(beam_internals.OptionsWithViews)
    standard = options.view_as(StandardOptions)
    assert options.view_as(StandardOptions) is standard
    assert standard.runner == "DirectRunner"
    options.view_as(GoogleCloudOptions).job_name = "other"
    assert options.get_all_options()["job_name"] == "other"
    copied = pickle.loads(pickle.dumps(options))
    assert copied.view_as(StandardOptions).runner == "DirectRunner"


class Example(beam.DoFn):
    def process(self, element: int, window: Any = beam.DoFn.WindowParam, more: int = 3) -> Any:
        yield element

    def finish_bundle(self) -> None:
        pass


def test_the_arguments_of_a_method_are_what_beam_finds() -> None:
    functions = [Example().process, Example().finish_bundle, Example.process, Example.from_runner_api, len, lambda x: x]
    for function in functions * 2:
        found = beam_internals._arguments_and_defaults(function)
        assert found == beam_internals._inspect(function)
        # Whoever changes what it got does not change what others get.
        found[0].append("other")


def test_the_arguments_of_a_method_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inspect, inspected = beam_internals._inspect, []

    def note(function: Any) -> Any:
        inspected.append(function.__name__)
        return inspect(function)

    monkeypatch.setattr(beam_internals, "_inspect", note)
    monkeypatch.setattr(beam_internals, "_INSPECTED", weakref.WeakKeyDictionary())
    for each in (Example(), Example(), Example()):
        beam_internals._arguments_and_defaults(each.process)
        beam_internals._arguments_and_defaults(each.finish_bundle)
    assert inspected == ["process", "finish_bundle"]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 200])
def test_groups_are_partitioned_whole_and_once(parts: int, count: int) -> None:
    buffer = grouping_buffer({b"%d" % key: [b"%d" % key, b"x"] for key in range(count)})
    partitioned = beam_internals._partition_in_pieces(buffer, parts)
    assert len(partitioned) == parts
    assert all(partitioned), "a worker without groups gets no bytes, as from Beam"
    assert buffer.partition(parts) is partitioned, "asked again, it answers the same"
    decoder = buffer._post_grouped_coder.get_impl()
    found = {}
    for part in partitioned:
        for piece in part:
            stream = create_InputStream(piece)
            while stream.size():
                key, values = decoder.decode_from_stream(stream, True).value
                assert key not in found
                found[key] = list(values)
    assert found == {b"%d" % key: [b"%d" % key, b"x"] for key in range(count)}


def test_what_is_partitioned_is_forgotten_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    partition, held = beam_internals._partition, []

    def note(buffer: Any, parts: int) -> Any:
        held.append((len(buffer._table), len(groups)))
        return partition(buffer, parts)

    monkeypatch.setattr(beam_internals, "_partition", note)
    buffer = grouping_buffer({b"%d" % key: [b"x"] for key in range(200)})
    groups = buffer._table
    beam_internals._partition_in_pieces(buffer, 2)
    # 200 groups in at most 64 pieces: 4 in each of 50.
    assert held == [(4, 200 - 4 * (piece + 1)) for piece in range(50)]


def test_input_is_sent_in_messages_of_some_megabytes() -> None:
    channel = InMemoryDataChannel()
    manager = SimpleNamespace(_worker_handler=SimpleNamespace(data_conn=channel))
    pieces = [bytes([number]) * (3 << 20) for number in range(8)]
    beam_internals._send_in_pieces(manager, "bundle", "transform", pieces)
    sent = list(channel.inverse().input_elements("bundle", []))
    # A message leaves once it has more than 10 MB: after four pieces of 3 MiB.
    assert [len(message.data) >> 20 for message in sent if message.data] == [12, 12]
    assert b"".join(message.data for message in sent) == b"".join(pieces)
    beam_internals._send_in_pieces(manager, "empty", "transform", None)
    assert list(channel.inverse().input_elements("empty", [])) == []
    assert hasattr(fn_runner.BundleManager, "_send_input_to_worker")


def grouping_buffer(groups: dict[bytes, list[bytes]]) -> Any:
    """Returns the buffer of the local runner that holds these groups."""
    windowing = beam.core.Windowing(GlobalWindows())
    pair = coders.TupleCoder([coders.BytesCoder(), coders.BytesCoder()])
    group = coders.TupleCoder([coders.BytesCoder(), coders.IterableCoder(coders.BytesCoder())])
    window = GlobalWindows().get_window_coder()
    buffer = execution.GroupingBuffer(
        coders.WindowedValueCoder(pair, window), coders.WindowedValueCoder(group, window), windowing
    )
    stream = create_OutputStream()
    encoder = coders.WindowedValueCoder(pair, window).get_impl()
    for key, values in groups.items():
        for value in values:
            encoder.encode_to_stream(GlobalWindows.windowed_value((key, value)), stream, True)
    buffer.append(stream.get())
    return buffer
