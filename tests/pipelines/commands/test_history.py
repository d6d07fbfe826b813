"""`beamscore history` over folders of runs: what it finds, what it reads again, what it leaves out and says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.runs import history_index
from beamscore.pipelines.runs.history_index import find_runs, index_runs
from tests import toy
from tests.runs import command, evaluate, write_lines

CORPUS = [toy.sample(index, 0)[0] for index in range(40)]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nights, the last one bad, one of another ground truth, and much that is no run."""
    root = tmp_path_factory.mktemp("history")
    folder = root / "scores"
    write_lines(root / "t.jsonl", CORPUS)
    write_lines(root / "bad.jsonl", [{**truth, "text": "?" * 9} for truth in CORPUS[:30]] + CORPUS[30:])
    for night, answers in [("2026-01-01", "t"), ("2026-01-02", "t"), ("deep/2026-01-03", "bad")]:
        more = ("--slice", "kind", "--set", "gates.exact_match.minimum=0.9")
        found = evaluate(folder / night, root / "t.jsonl", root / f"{answers}.jsonl", "--quiet", *more)
        assert found.code == (1 if answers == "bad" else 0), found.stderr
    (folder / "notes").mkdir()
    (folder / "notes" / "readme.txt").write_text("mine")
    (folder / "half" / ".runs" / "abc" / "samples").mkdir(parents=True)
    (folder / "latest").symlink_to("2026-01-02")
    return folder


def history(folder: Path, *more: str | Path) -> tuple[int, str, str]:
    return command("history", folder, *more)


def test_all_runs_below_a_folder_are_found_and_told_in_time(scores: Path, tmp_path: Path) -> None:
    code, stdout, stderr = history(scores, "--output", tmp_path)
    assert (code, stderr) == (0, "")
    assert stdout == f"3 runs, 3 of them read now\nreport: {tmp_path}/history.html\n"
    rows = pq.read_table(tmp_path / "history.parquet").to_pylist()
    assert list(dict.fromkeys(row["run"] for row in rows)) == ["2026-01-01", "2026-01-02", "deep/2026-01-03"]
    assert {row["slice"] for row in rows} == {"", "kind=0", "kind=1"}
    last = [row for row in rows if (row["run"], row["slice"], row["metric"]) == ("deep/2026-01-03", "", "exact_match")]
    assert [(row["value"], row["verdict"], row["samples"]) for row in last] == [(0.25, "fail", 40)]
    assert 0.05 < last[0]["error"] < 0.09  # sqrt(0.25 * 0.75 / 40) = 0.068
    text = (tmp_path / "history.md").read_text()
    assert "-0.7500 (" in text
    assert "**worse**" in text
    assert "| break" not in text


def test_the_gates_of_a_night_are_what_its_exit_code_said(tmp_path: Path) -> None:
    """Also those on a slice or on what the run lacks, and not those that change no exit code."""
    folder, truth = tmp_path / "samples", write_lines(tmp_path / "t.jsonl", CORPUS)
    words = {0: "pass", 1: "fail", 4: "inconclusive"}
    gates = {
        "a": '{"exact_match @ kind=0": {"minimum": 0.5}}',
        "b": '{"exact_match @ kind=7": {"minimum": 0.9}}',
        "c": '{"exact_match": {"minimum": 0.99}}',
        "d": '{"exact_match @ kind=7": {"minimum": 0.9, "tier": "advisory"}}',
    }
    codes = {}
    for night, gate in gates.items():
        found = evaluate(folder / night, truth, truth, "--quiet", "--slice", "kind", "--set", f"gates={gate}")
        codes[night] = "invalid" if night == "b" else words[found.code]
    assert codes == {"a": "pass", "b": "invalid", "c": "inconclusive", "d": "pass"}
    # A folder named as the rows of a run holds runs, where it is not within one.
    assert history(tmp_path)[0] == 0
    rows = pq.read_table(tmp_path / "history.parquet").to_pylist()
    assert {row["run"].removeprefix("samples/"): row["gates"] for row in rows} == codes


def test_only_what_is_new_is_read_again(scores: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    shutil.copytree(scores, folder, symlinks=True)
    assert history(folder)[1].startswith("3 runs, 3 of them read now\n")
    first = (folder / "history.parquet").read_bytes(), (folder / "history.md").read_bytes()
    assert history(folder)[1].startswith("3 runs, 0 of them read now\n")
    assert first == ((folder / "history.parquet").read_bytes(), (folder / "history.md").read_bytes())
    assert history(folder, "--rebuild")[1].startswith("3 runs, 3 of them read now\n")
    assert first[0] == (folder / "history.parquet").read_bytes()
    # A night that is evaluated again replaces its rows.
    evaluate(folder / "2026-01-02", scores.parent / "t.jsonl", scores.parent / "bad.jsonl", "--quiet")
    assert history(folder)[1].startswith("3 runs, 1 of them read now\n")
    shutil.rmtree(folder / "2026-01-01")
    assert history(folder)[1].startswith("2 runs, 0 of them read now\n")
    # An index that is damaged is made anew.
    (folder / "history.parquet").write_bytes(b"PAR1")
    assert history(folder)[1].startswith("2 runs, 2 of them read now\n")


def test_folders_that_are_no_runs_are_told_and_left_out(scores: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    shutil.copytree(scores, folder, symlinks=True)
    plain = shutil.ignore_patterns(".runs")
    for name in ("cut", "old", "no time", "copy"):
        shutil.copytree(folder / "2026-01-01", folder / name, ignore=plain)
    (folder / "cut" / "summary.json").write_text('{"benchmark"')
    (folder / "old" / "run.json").unlink()
    (folder / "no time" / "run.json").write_text("{}")
    document = json.loads((folder / "copy" / "run.json").read_bytes())
    code, _, stderr = history(folder)
    assert code == 0
    lines = [line.removeprefix("beamscore: warning: ") for line in stderr.splitlines()]
    assert [line.split(": ")[0].removeprefix(f"{folder}/") for line in lines] == [
        *("cut/summary.json", "no time", "old", "copy"),
    ]
    assert document["run_id"]
    assert lines[-1] == "copy: a copy of 2026-01-01; left out"
    assert "## Not read" in (folder / "history.md").read_text()


@pytest.mark.parametrize("what", ["empty", "gone", "file"])
def test_a_folder_without_runs_is_told_in_one_line(tmp_path: Path, what: str) -> None:
    folder = tmp_path / what
    if what == "empty":
        folder.mkdir()
    elif what == "file":
        folder.write_text("x")
    code, stdout, stderr = history(folder)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith(f"beamscore: {folder}")
    assert "history.md" not in {path.name for path in tmp_path.rglob("*")}


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("# nothing yet\n", "blessed.txt: it names no run; write the folder of a finished run as its last line"),
        (
            "gone\n",
            "blessed.txt: {folder}/gone/summary.json: no finished run is here (no such file); give its --output",
        ),
    ],
)
def test_a_file_that_blesses_no_run_is_told_as_a_file(scores: Path, tmp_path: Path, named: str, told: str) -> None:
    """Not as the option of other commands, which this one does not have."""
    folder = tmp_path / "scores"
    shutil.copytree(scores, folder, symlinks=True)
    (folder / "blessed.txt").write_text(named)
    code, _, stderr = history(folder, "--no-html")
    assert (code, stderr.count("\n")) == (0, 1)
    assert stderr.startswith(f"beamscore: warning: {folder}/{told.format(folder=folder)}")


def test_a_break_is_visible(scores: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    shutil.copytree(scores, folder, symlinks=True)
    other = write_lines(tmp_path / "other.jsonl", [{**truth, "text": truth["text"] + "!"} for truth in CORPUS])
    assert evaluate(folder / "2026-01-04", other, other, "--quiet", "--slice", "kind").code == 0
    history(folder)
    text = (folder / "history.md").read_text()
    assert "**Break:** the ground truth changed. Tonight cannot be compared" in text
    assert "—— break ——" in text
    # The night after it has the ground truth of the first three, the last of which had 30 of 40 wrong, and lacks 4.
    few = write_lines(tmp_path / "few.jsonl", CORPUS[:36])
    assert evaluate(folder / "2026-01-05", scores.parent / "t.jsonl", few, "--quiet", "--slice", "kind").code == 0
    code, _, stderr = history(folder)
    flagged = "10.0 % of the samples were not scored, 0.0 % on the nights before"
    assert (code, stderr) == (0, f"beamscore: warning: 2026-01-05: predictions: {flagged}\n")
    text = (folder / "history.md").read_text().replace("−", "-")
    assert "Tonight is compared with deep/2026-01-03" in text.replace("`", "")
    assert "36 of 40 samples scored, 4 without a prediction." in text
    assert "**36 of 40**" in text
    # 36 of 40 are right, less 10 of 40: by the replicates that both nights share.
    moved = "exact_match rose from 0.2500 to 0.9000, +0.6500 (+0.4"
    assert f"compared with deep/2026-01-03. {moved}" in text.replace("`", "")


def test_runs_of_an_object_store_are_found_by_one_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the last commit, or by a summary under its plain name; not by what a run keeps of its own."""
    listed = {
        "s3://b/scores/a/.runs/y/run.json": (1, 1.0),
        "s3://b/scores/a/.runs/x/run.json": (1, 2.0),
        "s3://b/scores/a/.runs/x/summary.json": (1, 2.0),
        "s3://b/scores/a/.runs/w/summary.json": (1, 3.0),
        "s3://b/scores/a/summary.json": (1, 2.0),
        "s3://b/scores/b/c/summary.json": (7, 3.0),
        "s3://b/scores/b/c/samples/samples-1.parquet": (7, 3.0),
        "s3://b/scores/.runs/z/run.json": (1, 1.0),
    }
    monkeypatch.setattr(history_index, "list_tree", lambda _: listed)
    monkeypatch.setattr(history_index, "is_on_disk", lambda _: False)
    monkeypatch.setattr(history_index, "has_folders", lambda _: False)
    assert find_runs("s3://b/scores") == {".": "z", "a": "x", "b/c": "7-3.0"}


def test_a_thousand_runs_cost_no_reading_the_second_time(scores: Path, tmp_path: Path) -> None:
    """Counted, not timed: each run is read once, whatever is read later."""
    folder = tmp_path / "many"
    for number in range(100):
        target = folder / f"{number:04}"
        target.mkdir(parents=True)
        for name in ("summary.json", "run.json"):
            document = json.loads((scores / "2026-01-01" / name).read_bytes())
            if name == "run.json":
                document["run_id"] = f"id{number}"
            (target / name).write_text(json.dumps(document))
    first = index_runs(str(folder), None)
    assert (first.read, first.unreadable) == (100, [])
    again = index_runs(str(folder), first.table)
    assert again.read == 0
    assert again.table.equals(first.table)
