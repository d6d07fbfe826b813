"""`beamscore convert`: turns a benchmark's own file layout into records."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from metrics.benchmark import benchmark_class
from pipelines import launch
from pipelines.commands.common import DONE, FAILED, add_command, check_benchmark
from pipelines.convert import build_conversion, find_role_files
from pipelines.errors import UsageError
from pipelines.records import WriteRecords, columns_of
from transforms.stage import delete_files


def add(commands: Any) -> None:
    """Adds the command."""
    command = add_command(commands, "convert", run, "turn a benchmark's own files into JSONL or Parquet")
    command.add_argument("benchmark", metavar="BENCHMARK", help="the benchmark")
    command.add_argument(
        "--input", metavar="[ROLE=]GLOB", action="append", default=[], help="files; 'roles' in place of GLOB lists them"
    )
    command.add_argument("--output", metavar="FILE", help="ends with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    command.add_argument("--shards", type=int, default=1, help="number of files; 0: as many as the runner likes")


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Converts; 1 where a source could not be read, with the list of those beside the output."""
    check_benchmark(parsed.benchmark)
    kind = benchmark_class(parsed.benchmark)
    converter = kind.converter
    if converter is None:
        raise UsageError(f"{parsed.benchmark} has no layout of its own to convert")
    if parsed.input == ["roles"]:
        for role, meaning in converter.roles.items():
            print(f"{role}: {meaning}")
        return DONE
    if not parsed.input or not parsed.output:
        raise UsageError("give --input [ROLE=]GLOB and --output FILE; `--input roles` lists the roles")
    files = find_role_files(converter, parsed.input)
    write = WriteRecords(parsed.output, columns_of(kind.truth_type, kind.prediction_type), parsed.shards)
    rejected_path = f"{parsed.output}.rejected.jsonl"
    rejected = WriteRecords(rejected_path, {})
    result = launch.run(options, lambda pipeline: build_conversion(pipeline, converter, files, write, rejected))
    count = launch.counter(result, "sources_rejected")
    if not count:
        delete_files([rejected_path])
    else:
        print(f"beamscore: {count} sources could not be converted; {rejected_path} says why", file=sys.stderr)
    return FAILED if count else DONE
