"""`beamscore history` over folders of runs, and `bless`, which makes the median of some nights the baseline."""

import json
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.reports import history
from beamscore.pipelines.runs.history_index import find_runs
from beamscore.pipelines.runs.named import find_baseline
from tests import finished_runs, toy
from tests.memory_files import ObjectStore
from tests.page.corpora import page_data
from tests.runs import Run, command, evaluate, refused, write_lines, wrong

CORPUS = [toy.sample(index, 0)[0] for index in range(40)]


def run(output: Path, truths: Path, predictions: Any, *more: str, code: int = 0, config: str | Path = "toy") -> Run:
    found = evaluate(output, truths, predictions, "--quiet", "--no-html", *more, config=config)
    assert found.code == code, found.stderr
    return found


def warnings_of(scores: Path) -> list[str]:
    """Returns what `history` warns of, without the path of the folder."""
    code, _, stderr = command("history", scores, "--no-html")
    assert code == 0
    return [line.removeprefix("beamscore: warning: ").replace(f"{scores}/", "") for line in stderr.splitlines()]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nights, the last one with 30 wrong answers, and much that is no run."""
    root = tmp_path_factory.mktemp("history")
    folder = root / "scores"
    write_lines(root / "t.jsonl", CORPUS)
    write_lines(root / "bad.jsonl", wrong(CORPUS, 30))
    for night, name, code in [("2026-01-01", "t", 0), ("2026-01-02", "t", 0), ("deep/2026-01-03", "bad", 1)]:
        gates = (
            'gates={exact_match: {minimum: .9}, "exact_match ": {minimum: .3}, "exact_match @ kind=0": {minimum: .3}'
        )
        gates += ', "exact_match @  kind=0": {minimum: .9, tier: advisory}, similarity: {minimum: .9, tier: advisory}}'
        run(folder / night, root / "t.jsonl", root / f"{name}.jsonl", "--slice=kind", "--set", gates, code=code)
    (folder / "notes").mkdir()
    (folder / "notes" / "readme.txt").write_text("mine")
    (folder / "half" / ".runs" / "abc" / "samples").mkdir(parents=True)
    (folder / "latest").symlink_to("2026-01-02")
    return folder


@pytest.fixture
def scores(nights: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(nights, tmp_path / "scores", symlinks=True))


def test_all_runs_below_a_folder_are_found_and_told_in_time(nights: Path, tmp_path: Path) -> None:
    assert command("history", nights, "--output", tmp_path) == (0, f"3 runs\nreport: {tmp_path}/history.html\n", "")
    rows = pq.read_table(tmp_path / "history.parquet").to_pylist()
    assert list(dict.fromkeys(row["run"] for row in rows)) == ["2026-01-01", "2026-01-02", "deep/2026-01-03"]
    assert {row["slice"] for row in rows} == {"", "kind=0", "kind=1"}
    by_key = {(row["run"], row["slice"], row["metric"]): row for row in rows}
    last = by_key["deep/2026-01-03", "", "exact_match"]
    assert (last["value"], last["verdict"], last["samples"]) == (0.25, "fail", 40)
    assert by_key["deep/2026-01-03", "", "similarity"]["verdict"] == "fail (advisory)"
    assert by_key["deep/2026-01-03", "kind=0", "exact_match"]["verdict"] == "inconclusive"
    assert 0.05 < last["error"] < 0.09  # sqrt(0.25 * 0.75 / 40) = 0.068
    text = (tmp_path / "history.md").read_text()
    assert ["-0.7500 (" in text, "**worse**" in text, "| break" in text] == [True, True, False]
    page = (tmp_path / "history.html").read_text()
    assert ("| **fail (advisory)** |" in text, 'class="said fail">fail (advisory)<' in page) == (True, True)
    assert command("history", nights, "--output", tmp_path, "--no-html")[0] == 0
    assert not (tmp_path / "history.html").exists()


def test_how_many_runs_are_left_out_is_told(nights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_NIGHTS", 2)
    monkeypatch.setattr(history, "NIGHTS_LISTED", 1)
    assert command("history", nights, "--output", tmp_path)[0] == 0
    assert "The last 1 of 3 runs; `history.parquet` has all." in (tmp_path / "history.md").read_text()
    page = page_data(tmp_path / "history.html")
    assert [night["run"] for night in page["history"]["nights"]] == ["2026-01-02", "deep/2026-01-03"]
    assert "The last 2 of 3 runs; history.parquet has all." in (tmp_path / "history.html").read_text()


def test_same_runs_give_the_same_bytes_and_a_replaced_or_removed_one_changes_them(scores: Path, nights: Path) -> None:
    def read() -> tuple[str, bytes, bytes]:
        line = command("history", scores, "--no-html")[1].splitlines()[0]
        return line, (scores / "history.parquet").read_bytes(), (scores / "history.md").read_bytes()

    first = read()
    assert (first[0], read()) == ("3 runs", first)
    run(scores / "2026-01-02", nights.parent / "t.jsonl", nights.parent / "bad.jsonl")
    again = read()
    assert (again[0], again[1] == first[1]) == ("3 runs", False)
    shutil.rmtree(scores / "2026-01-01")
    assert read()[0] == "2 runs"
    told = "beamscore: warning: the median is of 2 nights; fewer than 3 nights are unreliable\n"
    assert command("bless", scores)[2] == told


def test_what_is_no_run_is_told_and_left_out(scores: Path) -> None:
    for name in ("cut", "odd", "old", "no time", "copy"):
        shutil.copytree(scores / "2026-01-01", scores / name, ignore=shutil.ignore_patterns(".runs"))
    # A plain copy has times of its own, so it is no original by its name.
    for name, night in (("0-copy", "2026-01-01"), ("1-copy", "2026-01-02")):
        shutil.copytree(scores / night, scores / name, copy_function=shutil.copyfile)
    (scores / "cut" / "summary.json").write_text('{"benchmark"')
    odd = json.loads((scores / "odd" / "summary.json").read_text())
    finished_runs.write(scores / "odd" / "summary.json", odd | {"config": odd["config"] | {"derived": {"both": 5}}})
    (scores / "old" / "run.json").unlink()
    (scores / "no time" / "run.json").write_text("{}")
    lines = warnings_of(scores)
    places = [line.split(": ")[0] for line in lines]
    assert places == ["cut/summary.json", "no time", "odd", "old", "copy", "0-copy", "1-copy"]
    copies = {"copy": "2026-01-01", "0-copy": "2026-01-01", "1-copy": "2026-01-02"}
    assert lines[-3:] == [f"{name}: a copy of {night}; left out" for name, night in copies.items()]
    assert "## Not read" in (scores / "history.md").read_text()
    # A file that blesses no run is told as a file, not as the option of other commands, which this one does not have.
    none = "it names no run; write the folder of a finished run as its last line"
    gone = "gone/summary.json: no finished run is here (no such file); give the --output"
    for named, told in (("# nothing yet\n", none), ("gone\n", gone)):
        (scores / "blessed.txt").write_text(named)
        *same, last = warnings_of(scores)
        assert (same, last.startswith(f"blessed.txt: {told}")) == (lines, True)


def test_a_night_behind_a_break_is_compared_with_the_one_before_it(scores: Path, nights: Path, tmp_path: Path) -> None:
    """It has the ground truth of the first three nights, the last of which had 30 of 40 wrong, and lacks 4."""
    other = write_lines(tmp_path / "other.jsonl", [{**truth, "text": truth["text"] + "!"} for truth in CORPUS])
    run(scores / "2026-01-04", other, other, "--slice", "kind")
    assert warnings_of(scores) == []
    few = write_lines(tmp_path / "few.jsonl", CORPUS[:36])
    run(scores / "2026-01-05", nights.parent / "t.jsonl", few, "--slice", "kind")
    flagged = "10.0% of the samples were not scored, 0.0% on earlier nights"
    assert warnings_of(scores) == [f"2026-01-05: predictions: {flagged}"]
    text = (scores / "history.md").read_text().replace("−", "-").replace("`", "")
    # 36 of 40 are right, less 10 of 40: by the replicates that both nights share.
    assert "compared with deep/2026-01-03. exact_match rose from 0.2500 to 0.9000, +0.6500 (+0.4" in text
    # With three repeats of each sample, 12 more of which lack a prediction.
    stored = scores / "2026-01-05" / "summary.json"
    summary = json.loads(stored.read_bytes())
    summary["systems"]["predictions"]["coverage"] |= {"repeats": 120, "missing_repeats": 24}
    finished_runs.write(stored, summary)
    told = "20.0% of the repeats of samples were not scored, 0.0% on earlier nights"
    assert warnings_of(scores) == [f"2026-01-05: predictions: {told}"]
    text = (scores / "history.md").read_text()
    assert "\n36 of 40 samples scored, 4 without a prediction; 24 of 120 repeats missing.\n" in text
    assert "| 36 of 40, 24 of 120 repeats missing" in text.replace("*", "").replace("`", "")
    # Replicates of another seed are not paired with those of the night before, but its values are comparable.
    run(scores / "2026-01-06", nights.parent / "t.jsonl", few, "--set=bootstrap.seed=1")
    assert command("history", scores)[0] == 0
    text = (scores / "history.md").read_text().replace("`", "")
    told = "Not compared with 2026-01-05: the options of the bootstrap changed."
    assert (told in text, text.count("—— break ——")) == (True, 2)


def test_runs_of_an_object_store_are_found() -> None:
    """By a commit, or by a summary under its plain name; not by what a run keeps of its own."""
    ObjectStore.clear()
    for path in (
        *("a/.runs/y/run.json", "a/.runs/x/run.json", "a/.runs/x/summary.json", "a/.runs/w/summary.json"),
        *("a/summary.json", "b/c/summary.json", "b/c/samples/samples-1.parquet", ".runs/z/run.json"),
    ):
        ObjectStore.FILES[f"mem://b/scores/{path}"] = b""
    assert find_runs("mem://b/scores") == [".", "a", "b/c"]
    ObjectStore.clear()


@pytest.fixture
def lucky(tmp_path: Path) -> Path:
    """Three nights with 0, 4 and 8 of 40 answers wrong, the first of which is blessed."""
    truths = write_lines(tmp_path / "t.jsonl", CORPUS)
    for number in (1, 2, 3):
        given = write_lines(tmp_path / f"{number}.jsonl", wrong(CORPUS, 4 * number - 4))
        run(tmp_path / "scores" / f"night-{number}", truths, given)
    (tmp_path / "scores" / "blessed.txt").write_text("night-1  # by Ada: release 3")
    return tmp_path / "scores"


def test_the_median_is_blessed_and_each_new_run_is_a_look_until_the_next_blessing(lucky: Path, tmp_path: Path) -> None:
    better = "is better than the median of recent nights by "
    assert warnings_of(lucky)[0].startswith(f"the baseline night-1 {better}")
    gates = [f"--set=gates.{name}={{not_worse_than: baseline, margin: 0.9, looks: {looks}}}"
             for name, looks in (("exact_match", 2), ("similarity", 7))]  # fmt: skip
    given = (*gates, "--baseline", str(lucky / "blessed.txt"), "--quiet")
    for night in ("night-2", "night-2", "night-3"):
        assert command("gate", lucky / night, *given)[::2] == (0, "")
    looks = lucky / "blessed.looks.json"
    counted = json.loads(looks.read_bytes())
    assert list(counted["judged"].values()) == ["night-2", "night-3"]
    counted["judged"].update({f"predictions {number}": f"gone-{number}" for number in range(4)})
    looks.write_text(json.dumps(counted))
    fourth = write_lines(tmp_path / "4.jsonl", CORPUS[3:])
    found = run(tmp_path / "night-4", tmp_path / "t.jsonl", fourth, *given)
    assert "gate exact_match: 7 runs were judged against" in found.stderr
    assert found.stderr.count("no finished run is here (no such file); give the --output folder of a run; left ") == 4
    assert ["the mean of 3 of the last 7 runs" in each["reason"] for each in found.summary["gates"]] == [False, True]
    assert "more than its looks: 2" in found.stderr
    code, stdout, stderr = command("bless", lucky)
    assert (code, stderr.count("\n"), better in stderr) == (0, 2, True)
    told = "blessed night-2, the median of 3 nights: exact_match of predictions 0.9000, similarity "
    assert stdout.startswith(f"{lucky}/blessed.txt: {told}")
    assert find_baseline(str(lucky / "blessed.txt")) == (str(lucky / "night-2"), None)
    assert json.loads(looks.read_bytes())["judged"] == {}
    # What a person wrote stays.
    assert (lucky / "blessed.txt").read_text().startswith("night-1  # by Ada: release 3\n# ")
    assert warnings_of(lucky) == []


def test_a_run_that_scored_nothing_loses_no_history_and_is_never_blessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The median of a good night and a worse one is the worse one."""
    scores = tmp_path / "scores"
    none, truths = (write_lines(tmp_path / f"{len(each)}.jsonl", each) for each in ([], CORPUS))
    run(scores / "no truths", none, truths, "--slice", "kind", code=1)
    assert command("history", scores)[0] == 0
    none_scored = "neither no truths nor a recent night that compares with it scored all its systems"
    assert refused("bless", scores) == f"{scores}: nothing to bless: {none_scored}"
    run(scores / "good", truths, truths)
    run(scores / "no predictions", truths, none, code=1)
    code, stdout, _ = command("bless", scores)
    assert (code, "blessed good, the median of 1 night: exact_match of predictions 1.0000" in stdout) == (0, True)
    run(scores / "of another", none, truths, code=1, config="chemistry")
    # A benchmark may have no values for empty sums.
    values = toy.ToyBenchmark.values
    monkeypatch.setattr(toy.ToyBenchmark, "values", lambda self, sums: values(self, sums) if sums["samples"] else {})
    failing = write_lines(tmp_path / "failing.jsonl", [{**truth, "text": "score fails"} for truth in CORPUS])
    run(scores / "one of two", truths, {"a": truths, "b": failing}, code=1)
    assert command("history", scores)[1].startswith("5 runs\n")
    # The samples of this one count as scored.
    texts = [[{"sample_id": "a", name: []}] for name in ("rules", "rule")]
    named, other = (write_lines(tmp_path / f"{place}.jsonl", each) for place, each in enumerate(texts, 1))
    run(tmp_path / "fields" / "other", named, other, code=1, config="traffic_rules")
    assert "nothing to bless" in refused("bless", tmp_path / "fields")


def test_a_run_is_blessed_only_by_a_line_that_is_read_as_this_run(lucky: Path) -> None:
    blessed, median = lucky / "blessed.txt", lucky / "night-2"
    before = blessed.read_bytes()
    for name in ("#3", "2026-01-01 #2", " night", "night ", "night\n2", "night\u20282"):
        median = median.rename(lucky / name)
        said = f"{blessed}: a line with {name!r} does not name this run; rename its folder: "
        code, _, stderr = command("bless", lucky)
        assert (code, blessed.read_bytes()) == (2, before)
        assert stderr.splitlines()[-1].startswith(f"beamscore: {said}")
    assert not (lucky / "blessed.looks.json").exists()
    blessed.unlink()
    median = median.rename(lucky / "#3")
    assert "a line with '#3' does not name this run" in command("bless", lucky)[2]
    assert not blessed.exists()
    for name in ("a#3", "a b:c"):
        median = median.rename(lucky / name)
        assert command("bless", lucky)[0] == 0
        assert find_baseline(str(blessed)) == (str(median), None)
    # What cannot be read is told and kept.
    blessed.write_bytes(b"night-1 \xff\n")
    assert refused("bless", lucky).startswith(f"{blessed}: cannot be read: 'utf-8' codec can't decode byte 0xff")
    assert blessed.read_bytes() == b"night-1 \xff\n"


@pytest.mark.parametrize("name", ["history.md", "history.html"])
def test_no_report_of_others_is_replaced_or_removed(nights: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    said = f"--output {tmp_path}: holds no result, but a {name} that it would replace; give another --output"
    assert refused("history", nights, "--output", tmp_path, "--no-html") == said
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(name, "mine")]


def test_a_blessed_run_is_compared_by_its_system(lucky: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = {"worst": tmp_path / "3.jsonl", "best": tmp_path / "1.jsonl"}
    run(tmp_path / "rivals", tmp_path / "t.jsonl", rivals)
    better = f"the baseline {tmp_path}/rivals is better than the median of recent nights by "
    (lucky / "blessed.txt").write_text(f"{tmp_path}/rivals:best")
    assert warnings_of(lucky)[0].startswith(better)
    text = (lucky / "history.md").read_text().replace("−", "-").replace("`", "")
    assert f"This run minus the blessed run {tmp_path}/rivals:best, over the same samples" in text
    assert "-0.2000 (" in text.partition("## Against the baseline")[2]  # 8 of 40
    assert better in command("bless", lucky)[2]
    # Old it may be if the gates of the last night say so.
    later = time.time() + 86400 * 31.2
    monkeypatch.setattr("beamscore.pipelines.runs.named.time", SimpleNamespace(time=lambda: later))
    (lucky / "blessed.txt").write_text("night-2")
    assert ["is 31 days old" in line for line in warnings_of(lucky)] == [True]
    summary = json.loads((lucky / "night-3" / "summary.json").read_bytes())
    summary["config"]["gates"] = {"exact_match": {"not_worse_than": "baseline", "looks": 32}}
    finished_runs.write(lucky / "night-3" / "summary.json", summary)
    assert warnings_of(lucky) == []
    (lucky / "blessed.txt").write_text(f"{tmp_path}/rivals:gone")
    assert warnings_of(lucky) == ["blessed.txt: the run has no system gone; it has worst, best"]


def stored_night(folder: Path, number: int, predictions: str, **settings: Any) -> Path:
    """Writes a run with 200 answers, of which the 5 from `5 * number` on are wrong; none of night 0."""
    wrong = range(5 * number, 5 * number + 5) if number else ()
    rows = [finished_runs.row(f"s{place}", 0.5 if place in wrong else 1.0) for place in range(200)]
    name = f"night-{number}" if number else "blessed"
    return finished_runs.write_run(folder / name, rows, settings, predictions=predictions)


def test_what_no_night_shows_the_mean_of_a_week_does(tmp_path: Path) -> None:
    """A loss of 5 / 200 with a standard error of 0.011 is 2.3 of them; that of the mean, 0.0042, is a third of it."""
    folders = [stored_night(tmp_path / "scores", number, f"night {number}") for number in range(8)]
    blessed = tmp_path / "scores" / "blessed.txt"
    blessed.write_text("blessed")

    def gate(number: int) -> tuple[int, str]:
        judged = "--set=gates.exact_match={not_worse_than: baseline, looks: 7}"
        return command("gate", folders[number], judged, "--baseline", blessed, "--quiet")[::2]

    # Who judges again reads the same, of each night.
    assert [gate(number)[0] for number in (1, 2, 3, 4, 5, 6, 7, 7, 3)] == [4] * 6 + [1, 1, 4]
    assert "the mean of 7 runs is -0.025 (" in gate(7)[1]
    assert f"; the worst runs: {', '.join(f'{folder} (0.975)' for folder in folders[1:4])}, ...\n" in gate(7)[1]
    for number in (2, 4, 5):
        shutil.rmtree(folders[number])
    (folders[3] / "sums.json").write_text("{")
    stored_night(tmp_path / "scores", 4, "another night")
    stored_night(tmp_path / "scores", 5, "night 5", missing="exclude")
    code, stderr = gate(7)
    assert (code, "the mean of 3 of the last 7 runs is -0.025 (" in stderr) == (1, True)
    left_out = [line for line in stderr.splitlines() if line.endswith("; left out of the mean of the last 7 runs")]
    reasons = ("no finished run is here", "sums.json", "a different run has replaced", "missing")
    for folder, reason, line in zip(folders[2:6], reasons, left_out, strict=True):
        assert (str(folder) in line, reason in line) == (True, True)
