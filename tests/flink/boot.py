"""Starts a Python worker as the runner asks for: the contract of Beam's SDK containers, without a container.

The provision endpoint tells what `sdk_worker_main` needs in its environment. Packages that a job stages are not
installed: the Python that runs this file has what the job needs.
"""

import os
import runpy
import sys

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc, endpoints_pb2
from google.protobuf import json_format, text_format  # type: ignore[import-untyped]

given = dict(option.removeprefix("--").split("=", 1) for option in sys.argv[1:])
with grpc.insecure_channel(given["provision_endpoint"]) as channel:
    service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
    request = beam_provision_api_pb2.GetProvisionInfoRequest()
    info = service.GetProvisionInfo(request, metadata=[("worker_id", given["id"])], timeout=60).info
os.environ["WORKER_ID"] = given["id"]
os.environ["PIPELINE_OPTIONS"] = json_format.MessageToJson(info.pipeline_options)
os.environ["RUNNER_CAPABILITIES"] = " ".join(info.runner_capabilities)
for name in ("logging", "control"):
    endpoint = getattr(info, f"{name}_endpoint").url or given[f"{name}_endpoint"]
    descriptor = endpoints_pb2.ApiServiceDescriptor(url=endpoint)
    os.environ[f"{name.upper()}_API_SERVICE_DESCRIPTOR"] = str(text_format.MessageToString(descriptor))
# In this process, as another one would import Beam again.
runpy.run_module("apache_beam.runners.worker.sdk_worker_main", run_name="__main__", alter_sys=True)
