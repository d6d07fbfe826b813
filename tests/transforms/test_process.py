"""What a run changes in its process ends with it; what it needs of Beam's internals is there."""

import contextlib
import gc
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import scipy.special
from apache_beam.io.aws.clients.s3 import boto3_client, messages
from apache_beam.options.pipeline_options import PipelineOptions
from threadpoolctl import threadpool_info, threadpool_limits

from beamscore.pipelines.commands.arguments import beam_flags
from beamscore.transforms import beam_internals
from beamscore.transforms.process import faults_end_the_bundle, gc_paused, one_blas_thread
from beamscore.transforms.records import InputProblem

ROOT = Path(__file__).parents[2]
PUBLIC = {"apache_beam"} | {f"apache_beam.{name}" for name in (
    *("io.filesystem", "io.filesystems", "io.restriction_trackers", "io.localfilesystem", "metrics"),
    *("options.pipeline_options", "pvalue", "transforms.core", "transforms.trigger", "transforms.window"),
    *("typehints.row_type", "utils.windowed_value"),
)}  # fmt: skip


def test_the_collector_is_off_within_and_on_again_behind_also_after_an_error() -> None:
    seen: list[bool] = []
    with contextlib.suppress(ZeroDivisionError), gc_paused():
        with gc_paused():
            seen.append(gc.isenabled())
        seen.append(gc.isenabled())
        raise ZeroDivisionError
    assert (seen, gc.isenabled()) == ([False, False], True)


def test_linear_algebra_uses_one_thread_until_the_last_has_left() -> None:
    def blas_threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    assert scipy.special.ndtr(0) == 0.5
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread:
            with one_blas_thread:
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_a_fault_of_the_machine_is_a_problem_of_one_line_unless_it_is_excused() -> None:
    said = "scoring failed because of this machine, not of a record: "
    for error, message in ((MemoryError(), f"{said}MemoryError"), (OSError("full"), f"{said}OSError: full")):
        with pytest.raises(InputProblem) as problem, faults_end_the_bundle("scoring"):
            raise error
        assert problem.value.message == f"{message}; fix that and run again"
        with pytest.raises(type(error)), faults_end_the_bundle("scoring", lambda _: True):
            raise error


def test_no_other_module_uses_the_internals_of_beam() -> None:
    paths = {*ROOT.glob("transforms/**/*.py"), *ROOT.glob("pipelines/**/*.py"), ROOT / "__init__.py"}
    for path in paths - {ROOT / "transforms" / "beam_internals.py"}:
        found = re.findall(r"^ *(?:from|import) (apache_beam[\w.]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(found) <= PUBLIC, path


def test_each_option_of_beam_is_known_once_and_reaches_the_workers() -> None:
    parser = beam_internals.option_parser()
    names = beam_internals.option_names(parser)
    # The beginning of a name is none.
    assert parser.parse_known_args(["--direct_num_work=2"])[1] == ["--direct_num_work=2"]
    assert {"--runner", "--flink_master", "--region", "--direct_num_workers", "--job_endpoint"} <= set(names)
    assert len(names) == len(set(names))
    # The command line looks them up without importing Beam, but for those of Beam YAML.
    assert set(names) ^ set(beam_flags()) <= {"--yaml_experimental_features"}
    runner = beam_internals.local_runner(PipelineOptions(["--job_name=mine"]), None)
    assert "mine" in str(runner._provision_info.provision_info.pipeline_options)


def test_a_file_is_uploaded_to_s3_as_a_whole_when_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    uploads: list[Any] = []

    def upload(content: Any, bucket: str, *more: Any, **config: Any) -> None:
        uploads.append((content.read(), bucket, *more, config["Config"]))
        if bucket == "full":
            raise OSError("no space")

    before, kind = boto3_client.Client, beam_internals.SharedClient
    monkeypatch.setattr(boto3_client, "boto3", None)
    with beam_internals.shared_clients:
        assert boto3_client.Client is kind
        with pytest.raises(RuntimeError, match="install beamscore with the extra aws"):
            kind(None)
    assert boto3_client.Client is before
    monkeypatch.setattr(boto3_client, "boto3", True)
    monkeypatch.setattr(beam_internals, "_shared", lambda _: SimpleNamespace(upload_fileobj=upload))
    monkeypatch.setitem(sys.modules, "boto3.s3.transfer", SimpleNamespace(TransferConfig=lambda **more: more))
    client = kind(None)
    for bucket, said in (("open", "the upload has failed before"), ("full", "no space")):
        name = client.create_multipart_upload(messages.UploadRequest(bucket, "key", "text/x")).upload_id
        parts = [client.upload_part(messages.UploadPartRequest(bucket, "key", name, n, b"%d" % n)) for n in (1, 2)]
        done = messages.CompleteMultipartUploadRequest(bucket, "key", name, parts)
        if bucket == "open":
            client.complete_multipart_upload(done)
        with pytest.raises(messages.S3ClientError) as error:
            client.complete_multipart_upload(done)
        assert ([part.part_number for part in parts], error.value.message) == ([1, 2], said)
        assert uploads.pop() == (b"12", bucket, "key", {"ContentType": "text/x"}, {"use_threads": False})
