"""`beamscore describe`: the tables of a data set."""

from __future__ import annotations

import argparse
import json
import posixpath
from functools import partial

from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.published import check_not_replaced
from ...transforms.io.storage import new_run_id, prepare_output
from ...transforms.records import printable
from ..config.errors import UsageError
from ..config.inputs import find_inputs
from ..describe import DOCUMENT, LAYOUT, REPORT, build_description
from ..results.causes import most_frequent, most_often, stored_causes
from ..results.unscored import why_undescribed
from ..runtime import launch
from .arguments import configuration_of
from .common import run_and_publish, unsupported
from .messages import DONE, FAILED, say, warn


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Describes; 1 where there is nothing to describe, or more records were rejected than the configuration allows."""
    configuration = configuration_of(parsed)
    description, output = configuration.benchmark.description, configuration.settings.output
    if description is None:
        raise unsupported("describe", configuration.benchmark.name)
    if not output:
        raise UsageError("output: nothing is given; give --output DIR, or output in the configuration")
    inputs = find_inputs(configuration, configuration.columns(), predictions=False)
    warn(inputs.warnings)
    check_not_replaced(output, LAYOUT, (file.path for file in inputs.files))
    prepare_output(output)
    output = launch.path_for_workers(options, output)
    run_id = new_run_id()
    build = partial(build_description, inputs=inputs, description=description, output=output, run_id=run_id)
    document = json.loads(run_and_publish(options, build, output, run_id, LAYOUT).read(DOCUMENT))
    if (reason := why_undescribed(document, inputs)) is not None:
        say("ERROR", printable(reason))
        return FAILED
    print(f"report: {posixpath.join(output, REPORT)}")
    rejected, read = document["rejected"], document["samples"] + document["rejected"] + document["duplicates"]
    allowed = configuration.settings.max_rejected_fraction
    if rejected <= allowed * read:
        return DONE
    say(
        "ERROR",
        f"{rejected} of {read} records were rejected, more than max_rejected_fraction {allowed:g} allows"
        f"{most_often(most_frequent(stored_causes(document), ('ground_truth',)))}; see quarantine/",
    )
    return FAILED
