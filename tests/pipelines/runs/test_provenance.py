"""run.json: what it says, and that all that differs between equal runs stands there and nowhere else."""

import json
from pathlib import Path

import pytest

from beamscore.metrics.version import VERSION
from beamscore.pipelines.runs import provenance
from beamscore.pipelines.runs.run import open_result
from beamscore.transforms.io.files import SourceFile
from tests import toy
from tests.plain_loop import make_benchmark
from tests.runs import evaluate, write_lines

CORPUS = [toy.sample(index, 0) for index in range(12)]


def test_a_run_says_where_it_comes_from_and_what_differs_between_equal_runs_is_nowhere_else(tmp_path: Path) -> None:
    truths, predictions = zip(*CORPUS, strict=True)
    truth_files = [write_lines(tmp_path / f"t-{number}.jsonl", truths[number::2]) for number in (0, 1)]
    answers = write_lines(tmp_path / "p.jsonl", filter(None, predictions))
    given = (tmp_path / "t-*.jsonl", {"ours": answers, "same": answers}, "--quiet", "--no-html")
    found, again = (evaluate(tmp_path / name, *given) for name in ("a", "b"))
    assert found.code == 0
    assert (found.bytes(), found.report) == (again.bytes(), again.report)
    document, other = (json.loads((run.output / "run.json").read_bytes()) for run in (found, again))
    keys = "format run_id benchmark systems started ended seconds command runner host versions inputs"
    assert list(document) == keys.split()
    assert document["run_id"] == open_result(str(found.output)).run_id != other["run_id"]
    assert all(document[key] == other[key] for key in ("versions", "inputs"))
    assert [document[key] for key in ("benchmark", "systems", "runner")] == ["toy", ["ours", "same"], "DirectRunner"]
    assert (document["command"][:3], document["command"][-1]) == (["beamscore", "evaluate", "toy"], "--no-html")
    started, ended = (provenance.seconds(document[key]) for key in ("started", "ended"))
    assert document["seconds"] == pytest.approx(ended - started, abs=0.002)
    versions = document["versions"]
    assert versions["beamscore"] == found.summary["version"] == VERSION
    assert set(versions) == {"beamscore", "python", "platform", "packages", "tools"}
    assert "apache-beam" in versions["packages"]
    truth, answered = document["inputs"]["ground_truth"], document["inputs"]["predictions"]
    stats = [(str(path), path.stat()) for path in truth_files]
    listed = [{"path": path, "bytes": at.st_size, "modified": provenance.utc(at.st_mtime)} for path, at in stats]
    size = sum(at.st_size for _, at in stats)
    assert truth == {"records": 12, "count": 2, "bytes": size, "digest": truth["digest"], "files": listed}
    # One of the 12 has no prediction.
    told = [(name, side["records"], side["count"]) for name, side in answered.items()]
    assert told == [("ours", 11, 1), ("same", 11, 1)]


def test_the_versions_of_tex_are_told_where_the_benchmark_runs_it() -> None:
    assert "latex" in provenance.versions(make_benchmark("formula"))["tools"]
    versions = provenance.versions(make_benchmark("traffic_rules"))
    assert (versions["tools"], set(versions["packages"])) == ({}, set(provenance.PACKAGES))


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["--s3_secret_access_key=abc", "--a=eu"], [f"--s3_secret_access_key={provenance.HIDDEN}", "--a=eu"]),
        (["--s3_session_token", "abc", "x"], ["--s3_session_token", provenance.HIDDEN, "x"]),
        (["--environment_option", "--variables A=b"], ["--environment_option", provenance.HIDDEN]),
        (["--environment_type=PROCESS"], ["--environment_type=PROCESS"]),
        *(([f"--{name}=A=b"], [f"--{name}={provenance.HIDDEN}"]) for name in (
            "s3_access_key_id", "environment_config", "environment_options", "profiler_extra_env_vars",
            "job_server_jvm_properties", "azure_connection_string")),
        (["--password", "--quiet"], ["--password", "--quiet"]),
        (["--set", "cluster=token"], ["--set", "cluster=token"]),
    ],
)  # fmt: skip
def test_secrets_of_the_command_line_are_not_kept(typed: list[str], shown: list[str]) -> None:
    assert provenance.without_secrets(["beamscore", *typed]) == ["beamscore", *shown]


def test_of_many_files_the_first_are_listed_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "MAX_FILES_LISTED", 2)
    files = [SourceFile(0, number, f"{number}.jsonl", 10, "jsonl", 1.0) for number in range(5)]
    ((_, side),) = provenance.input_sides(files)
    assert (side.count, side.bytes, [each.path for each in side.files]) == (5, 50, ["0.jsonl", "1.jsonl"])
    assert side.files[0].modified == "1970-01-01T00:00:01.000Z"
    for changed in (("5.jsonl", 10, "jsonl", 1.0), ("4.jsonl", 11, "jsonl", 1.0), ("4.jsonl", 10, "jsonl", 2.0)):
        assert provenance.input_sides([*files[:4], SourceFile(0, 4, *changed)])[0][1].digest != side.digest


def test_a_path_that_is_not_utf_8_can_be_written_and_a_clock_that_was_set_back_gives_no_negative_time() -> None:
    sides = provenance.input_sides([SourceFile(0, 0, "a\udcff", 1, "jsonl")])
    call = provenance.Invocation(("a\udcff",), started=9e9, inputs=sides)
    document = provenance.run_document(call, "id", make_benchmark("toy"), ["ours"], {}, ())
    assert document["seconds"] == 0
    # A filesystem may not say when a file was changed.
    assert document["inputs"]["predictions"]["ours"]["files"][0]["modified"] is None
    assert json.dumps(document, ensure_ascii=False).encode().count(b"a\\\\udcff") == 2
