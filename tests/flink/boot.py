"""Starts a Python worker as the runner asks for: the contract of Beam's SDK containers, without a container.

The runner gives the worker's id and the runner's endpoints; the provision endpoint tells the rest, as the
environment of `sdk_worker_main`. Packages that a job stages (--setup_file, --requirements_file) are not installed:
the worker runs in the environment of the Python that runs this file, which has what the job needs.
"""

from __future__ import annotations

import argparse
import os
import runpy

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc, endpoints_pb2
from google.protobuf import json_format, text_format  # type: ignore[import-untyped]


def main() -> None:
    """Becomes the worker."""
    parser = argparse.ArgumentParser()
    for name in ("--id", "--provision_endpoint", "--logging_endpoint", "--control_endpoint", "--artifact_endpoint"):
        parser.add_argument(name)
    given = parser.parse_args()
    with grpc.insecure_channel(given.provision_endpoint) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        info = service.GetProvisionInfo(request, metadata=[("worker_id", given.id)], timeout=60).info
    environment = {
        "WORKER_ID": given.id,
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
        "LOGGING_API_SERVICE_DESCRIPTOR": _endpoint(info.logging_endpoint, given.logging_endpoint),
        "CONTROL_API_SERVICE_DESCRIPTOR": _endpoint(info.control_endpoint, given.control_endpoint),
    }
    os.environ.update(environment)
    # In this process, as another one would import Beam again.
    runpy.run_module("apache_beam.runners.worker.sdk_worker_main", run_name="__main__", alter_sys=True)


def _endpoint(provisioned: endpoints_pb2.ApiServiceDescriptor, given: str) -> str:
    return str(text_format.MessageToString(endpoints_pb2.ApiServiceDescriptor(url=provisioned.url or given)))


if __name__ == "__main__":
    main()
