"""No run replaces or removes a file that it reads, wherever below its output that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.runs.run import LAYOUT
from beamscore.transforms.io.publication import RUNS, check_not_replaced
from beamscore.transforms.records import InputProblem
from tests.runs import command, evaluate, write_lines

RECORDS = [{"sample_id": name, "text": "x"} for name in "ab"]
KEPT = [("sub/summary.json", "truth"), (".runs.jsonl", "predictions")]
REPLACED = [("run.json", "truth"), ("samples/t.jsonl", "predictions")]


@pytest.mark.parametrize(("name", "side"), [*KEPT, *REPLACED])
def test_an_input_that_the_result_would_replace_is_refused(tmp_path: Path, name: str, side: str) -> None:
    output = tmp_path / "out"
    (output / name).parent.mkdir(parents=True)
    inside, outside = write_lines(output / name, RECORDS), write_lines(tmp_path / "r.jsonl", RECORDS)
    # By another name of the same folder.
    (tmp_path / "link").symlink_to(output)
    truth, prediction = (inside, outside) if side == "truth" else (outside, tmp_path / "link" / name)
    before = sorted(output.rglob("*"))
    run = evaluate(output, truth, prediction, "--quiet", "--no-html")
    assert len(inside.read_bytes().splitlines()) == len(RECORDS)
    assert run.code == (0 if (name, side) in KEPT else 2)
    if (name, side) in REPLACED:
        path = truth if side == "truth" else prediction
        message = f"--output {output}: its result would replace the input {path}; give another --output\n"
        assert run.stderr == f"beamscore: {message}"
        assert sorted(output.rglob("*")) == before
        flags = ("--ground-truth", truth, "--predictions", prediction, "--output", output, "--check")
        code, _, stderr = command("evaluate", "toy", *flags)
        assert (code, stderr.endswith(message)) == (2, True)


def test_a_result_that_is_read_again_is_not_replaced(tmp_path: Path) -> None:
    records = write_lines(tmp_path / "r.jsonl", RECORDS)
    output = evaluate(tmp_path / "out", records, records, "--quiet", "--no-html").output
    (rows,) = output.glob("samples/*.parquet")
    assert evaluate(output, rows, rows, "--quiet").code == 2
    (tmp_path / "link").symlink_to(output)
    code, _, stderr = command("merge", output, output, "--output", tmp_path / "link")
    assert code == 2
    assert "would replace" in stderr
    assert rows.exists()


NAMES = st.sampled_from([*LAYOUT.files, *LAYOUT.folders, RUNS, "t.jsonl", "sub", "..", "."])


@given(st.lists(NAMES, max_size=4), st.sampled_from(["/data/out", "/data/out/", "s3://b/out", "s3://b/out/"]))
def test_what_is_replaced_is_told_on_disks_and_stores_alike(names: list[str], output: str) -> None:
    path = "/".join([output.rstrip("/"), *names])
    parts: list[str] = []
    for name in names:
        if name == "..":
            parts = [*parts, ".."] if parts[-1:] in ([], [".."]) else parts[:-1]
        elif name != ".":
            parts.append(name)
    below = parts[0] if parts and parts[0] != ".." else ""
    try:
        check_not_replaced(output, LAYOUT, [path])
    except InputProblem:
        assert below in {*LAYOUT.files, *LAYOUT.folders, RUNS}
    else:
        assert below not in {*LAYOUT.files, *LAYOUT.folders, RUNS}
