"""No run replaces or removes a file that it reads, wherever below its output that is."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.runs.run import LAYOUT
from beamscore.transforms.io.publication import RUNS, check_not_replaced
from beamscore.transforms.records import InputProblem
from tests.runs import command, evaluate, write_lines

RECORDS = [{"sample_id": name, "text": "x"} for name in "ab"]
FLAGS = ("--quiet", "--no-html")


def test_an_input_that_the_result_would_replace_is_refused(tmp_path: Path) -> None:
    output, link = tmp_path / "out", tmp_path / "link"
    records = write_lines(output / "sub" / "summary.json", RECORDS)
    # By another name of the same folder.
    link.symlink_to(output)
    assert evaluate(output, records, link / "sub" / "summary.json", *FLAGS).code == 0
    write_lines(output / "samples" / "t.jsonl", RECORDS)
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    inside = link / "samples" / "t.jsonl"
    for truth, prediction, replaced in ((output / "run.json", records, output / "run.json"), (records, inside, inside)):
        message = f"--output {output}: its result would replace the input {replaced}; give another --output\n"
        run = evaluate(output, truth, prediction, *FLAGS)
        assert (run.code, run.stderr) == (2, f"beamscore: {message}")
        flags = ("--ground-truth", truth, "--predictions", prediction, "--output", output, "--check")
        code, _, stderr = command("evaluate", "toy", *flags)
        assert (code, stderr.endswith(message)) == (2, True)
    code, _, stderr = command("merge", output, output, "--output", link)
    assert (code, "would replace" in stderr) == (2, True)
    assert {path: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before


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
    is_replaced = below in {*LAYOUT.files, *LAYOUT.folders, RUNS}
    with pytest.raises(InputProblem) if is_replaced else nullcontext():
        check_not_replaced(output, LAYOUT, [path])
