"""What a run leaves behind: whole files and rows; nothing outside of its output, and nothing gone that it reads."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.runs.causes import SCORE_ALL
from beamscore.pipelines.runs.run import LAYOUT
from beamscore.transforms.draw import file_name
from beamscore.transforms.io.publication import RUNS, check_not_replaced
from beamscore.transforms.records import InputProblem
from tests import toy
from tests.runs import command, evaluate, unpack_replicates, write_lines

COUNT = 40
CORPUS = [toy.sample(index, 0) for index in range(COUNT)]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_lines(folder / "truth.jsonl", [truth for truth, _ in CORPUS])
    write_lines(folder / "fair.jsonl", [prediction for _, prediction in CORPUS if prediction])
    write_lines(folder / "none.jsonl", [])
    return folder


def test_a_file_of_others_is_not_replaced(corpus: Path, tmp_path: Path) -> None:
    """A result is, whichever of its files are left."""
    report, given = tmp_path / "report.md", (corpus / "truth.jsonl", corpus / "fair.jsonl", "--quiet", "--no-html")
    report.write_text("the report of somebody else")
    before, said = (
        tree(tmp_path),
        f"--output {tmp_path}: holds no result, but a report.md that it would replace; give another --output",
    )
    for more in ((), ("--check",)):
        found = evaluate(tmp_path, *given, *more)
        assert (found.code, found.stderr, tree(tmp_path)) == (2, f"beamscore: {said}\n", before)
    report.unlink()
    assert evaluate(tmp_path, *given).code == 0
    shutil.rmtree(tmp_path / ".runs")
    assert evaluate(tmp_path, *given).code == 0


def test_an_input_that_the_result_would_replace_is_refused(corpus: Path, tmp_path: Path) -> None:
    output, link = tmp_path / "out", tmp_path / "link"
    records = corpus / "truth.jsonl"
    assert evaluate(output, records, records, "--quiet", "--no-html").code == 0
    shutil.copy(records, output / "samples" / "t.jsonl")
    # By another name of the same folder.
    link.symlink_to(output)
    inside, before = link / "samples" / "t.jsonl", tree(output)
    for truth, prediction, replaced in ((output / "run.json", records, output / "run.json"), (records, inside, inside)):
        message = f"--output {output}: its result would replace the input {replaced}; give another --output\n"
        for more in ((), ("--check",)):
            found = evaluate(output, truth, prediction, *more)
            assert (found.code, found.stderr.endswith(f"beamscore: {message}")) == (2, True)
    assert tree(output) == before


BELOW = st.sampled_from([*LAYOUT.files, *LAYOUT.folders, RUNS, "t.jsonl", "sub", "..", "."])


@given(st.lists(BELOW, max_size=4), st.sampled_from(["/data/out", "/data/out/", "s3://b/out", "s3://b/out/"]))
def test_what_is_replaced_is_told_on_disks_and_stores_alike(names: list[str], output: str) -> None:
    parts: list[str] = []
    for name in names:
        if name == "..":
            parts = [*parts, ".."] if parts[-1:] in ([], [".."]) else parts[:-1]
        elif name != ".":
            parts.append(name)
    is_replaced = bool(parts) and parts[0] in {*LAYOUT.files, *LAYOUT.folders, RUNS}
    with pytest.raises(InputProblem) if is_replaced else nullcontext():
        check_not_replaced(output, LAYOUT, ["/".join([output.rstrip("/"), *names])])


def test_a_side_without_records_fails_with_a_result(corpus: Path, tmp_path: Path) -> None:
    truth, empty, nothing = corpus / "truth.jsonl", corpus / "none.jsonl", tmp_path / "empty.jsonl.gz"
    nothing.write_bytes(b"")
    schemas = []
    for truths, predictions, unmatched, missing in (
        (empty, empty, 0, 0), (nothing, truth, COUNT, 0), (truth, empty, 0, COUNT)
    ):  # fmt: skip
        found = evaluate(tmp_path / "out", truths, predictions, "--slice", "kind", "--quiet", "--no-html")
        assert (found.code, found.stderr.count("\n")) == (1, 1)
        side = "predictions" if missing else "ground truth"
        assert found.stderr.startswith(f"beamscore: the {side}: there is no record in ")
        system = found.summary["systems"]["predictions"]
        coverage = system["coverage"]
        assert system["values"] == dict.fromkeys(("exact_match", "similarity"), 0 if missing else None)
        assert (coverage["balanced"], coverage["predictions"]["unmatched"]) == (True, unmatched)
        assert coverage["ground_truth"]["missing_prediction"] == len(found.samples) == missing
        assert [entry["cause"] for entry in found.quarantine] == ["unmatched"] * unmatched
        (rows,) = found.output.glob("samples/*.parquet")
        schemas.append(pq.read_schema(rows))
        if not missing:
            assert (set(system["intervals"].values()), system["slices"]) == ({None}, {})
            assert found.sums["systems"]["predictions"]["sums"] == {}
    # A file without rows has the columns of one with rows.
    assert schemas == [schemas[-1]] * 3


def test_missing_predictions_can_be_left_out_of_the_score_and_intervals_too(corpus: Path, tmp_path: Path) -> None:
    settings = ("--set", "missing=exclude", "--set", "bootstrap.replicates=0")
    found = evaluate(tmp_path / "out", corpus / "truth.jsonl", corpus / "fair.jsonl", *settings)
    pairs = [(truth, prediction) for truth, prediction in CORPUS if prediction]
    equal = sum(truth["text"] == prediction["text"] for truth, prediction in pairs)
    system = found.summary["systems"]["predictions"]
    assert (system["values"]["exact_match"], system["intervals"]) == (equal / len(pairs), {})
    assert "intervals_method" not in found.summary
    assert system["coverage"]["ground_truth"]["missing_prediction"] == COUNT - len(pairs) > 0
    assert "A missing prediction is left out of the score." in found.report
    assert "Intervals" not in found.report
    assert unpack_replicates(found.sums["systems"]["predictions"]["replicates"], 0) == []


def test_duplicates_are_told_with_their_places_and_no_id_steers_a_terminal(tmp_path: Path) -> None:
    record = {"sample_id": "\x1b[2J|", "text": "x"}
    truths, predictions = (write_lines(tmp_path / f"{count}.jsonl", [record] * count) for count in (1, 5))
    run = evaluate(tmp_path / "out", truths, predictions, "--quiet")
    error = f"the sample_id is first at {predictions}:1; only that record counts"
    told = ", ".join(f"<U+001B>[2J| at {predictions}:{line} ({error})" for line in (2, 3, 4))
    line = f"the predictions: 4 records with a duplicate sample_id: {told}; quarantine/ lists all; {SCORE_ALL}"
    assert (run.code, run.stderr) == (0, f"beamscore: warning: {line}\n")
    # Of many the first three are told.
    (cause,) = json.loads((run.output / "run.json").read_bytes())["quarantine"]
    assert (cause["records"], [each["error"] for each in cause["examples"]]) == (4, [error] * 3)


PIECES = [*"./\\a~*?[:|é\0\n", "..", "%2e%2e", "$HOME", "://", "file:///"]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
NAMES = [*PIECES, *(f"{piece}/x" for piece in PIECES), "../../../x", "/etc/%2e%2e/$HOME", ".runs/x", "run.json"]


def test_no_name_leads_out_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is deep in an empty folder: what leaves it by some `..` is still seen."""
    folder, column = tmp_path / "1" / "2" / "3" / "4", "../../y"
    output = folder / "out"
    records: list[Any] = [{"sample_id": each, "text": each, column: each} for each in NAMES]
    truths = write_lines(folder / "t.jsonl", records)
    # Duplicates and what is broken go to the quarantine.
    broken = [records[0], {"sample_id": column, "text": 3}, b"{" + column.encode()]
    predictions = write_lines(folder / "p.jsonl", [*records, *broken])
    monkeypatch.chdir(folder)
    few = ("--quiet", "--no-html", "--set", "bootstrap.replicates=0", "--set", f"slices={json.dumps([column])}")
    assert evaluate(output, truths, {"..": predictions}, *few).code == 1
    flags = ("--ground-truth", truths, "--output", output / "s.jsonl", "--shards", "3")
    assert command("split", "toy", *flags)[0] == 0
    assert command("select", output, "--output", output / "h.jsonl", "--below", "2")[::2] == (0, "")
    found = {path for path in tmp_path.rglob("*") if not path.is_dir() and output not in path.parents}
    assert found == {truths, predictions}


TEXTS = HOSTILE | st.text() | st.sampled_from(["CON:?*<>|", "x" * 3000, ".hidden", "\ud800"])


@given(TEXTS, TEXTS)
def test_each_picture_has_a_name_of_its_own_right_below_its_folder(first: str, second: str) -> None:
    name = file_name(first)
    assert re.fullmatch(r"[A-Za-z0-9_~%-][A-Za-z0-9_.~%-]*\.svg", name)
    assert len(name) <= 255
    assert (name == file_name(second)) == (first == second)
