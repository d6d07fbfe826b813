"""`beamscore convert`: turns a benchmark's own file layout into records."""

from __future__ import annotations

import argparse

from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.registry import benchmark_class
from ...transforms.io.record_files import WriteRecords, columns_of
from ..config.errors import UsageError
from ..config.settings import check_benchmark
from ..convert import build_conversion, find_role_files
from ..runtime import launch
from .common import rejected_beside, unsupported, write_records
from .messages import DONE


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Converts; 1 where a source could not be read, with the list of those in OUTPUT.rejected.jsonl."""
    check_benchmark(parsed.benchmark)
    kind = benchmark_class(parsed.benchmark)
    converter = kind.converter
    if converter is None:
        raise unsupported("convert", parsed.benchmark)
    if parsed.input == ["roles"]:
        for role, meaning in converter.roles.items():
            print(f"{role}: {meaning}")
        return DONE
    if not parsed.input or not parsed.output:
        raise UsageError("give --input [ROLE=]GLOB and --output FILE; `--input roles` lists the roles")
    files = launch.files_for_workers(options, find_role_files(converter, parsed.input))
    write = WriteRecords(
        launch.path_for_workers(options, parsed.output),
        columns_of(kind.truth_type, kind.prediction_type),
        parsed.shards,
    )
    rejected = rejected_beside(write)
    read = [file.path for file in files]
    return write_records(
        options, lambda pipeline: build_conversion(pipeline, converter, files, write, rejected), read, write, rejected
    )
