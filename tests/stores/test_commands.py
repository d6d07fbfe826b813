"""The commands with inputs, finished runs and outputs on an object store."""

import gc
import io
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.records import zstd
from tests import runs, toy
from tests.resumption import ROOT
from tests.runs import evaluate, without_progress, write_lines, wrong
from tests.stores.conftest import Requests, Store, never

pytestmark = pytest.mark.stores

TRUTHS, found = zip(*(toy.sample(index, 0) for index in range(40)), strict=True)
PREDICTIONS = [prediction for prediction in found if prediction]
WRONG = [{**each, "text": "x"} for each in PREDICTIONS]
FEW = ("--set", "bootstrap.replicates=20", "--slice", "kind")
lines = msgspec.json.Encoder().encode_lines
FILES = ["report.html", "report.md", "run.json", "samples/samples-ID.parquet", "summary.json", "sums.json"]
WHOLE = sorted([*FILES, ".runs/ID/run.json.files", *(f".runs/ID/{name}" for name in FILES)])


def document(store: Store, key: str) -> Any:
    return json.loads(store.files()[key])


def fill(store: Store) -> None:
    """Puts both sides of two systems into the store, in three formats."""
    store.put("in/truth-0.jsonl", lines(TRUTHS[:10]))
    store.put("in/truth-1.jsonl.zst", zstd.compress(lines(TRUTHS[10:20])))
    store.put("in/ours.jsonl.zst", zstd.compress(lines(PREDICTIONS)))
    for key, records in (("in/truth-2.parquet", TRUTHS[20:]), ("in/theirs.parquet", WRONG)):
        content = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(list(records)), content)
        store.put(key, content.getvalue())


def evaluation(
    store: Store, truths: str, predictions: str | Mapping[str, str], output: str, *more: str, config: str = "toy"
) -> list[str]:
    """Returns the command line of an evaluation whose files are all below the bucket."""
    systems = {"predictions": predictions} if isinstance(predictions, str) else predictions
    given = [f"--predictions={name}={store.base}/{glob}" for name, glob in systems.items()]
    sides = [f"--ground-truth={store.base}/{truths}", *given, f"--output={store.base}/{output}".rstrip("/")]
    return ["evaluate", config, *sides, *store.flags, *more]


def command(*arguments: str) -> tuple[int, str, str]:
    """Runs the command line; returns the exit code, standard output, and standard error without progress."""
    code, stdout, stderr = runs.command(*arguments)
    return code, stdout, without_progress(stderr)


def run(store: Store, output: str, *more: str) -> tuple[int, str]:
    systems = {"ours": "in/ours.*", "theirs": "in/theirs.parquet"}
    return command(*evaluation(store, "in/truth-*", systems, output, *FEW, *more))[::2]


def below(store: Store, folder: str) -> list[str]:
    """The keys below a folder, with what differs from run to run cut out."""
    start = f"{folder}/" if folder else ""
    names = [key.removeprefix(start) for key in store.files() if key.startswith(start) and not key.startswith("in/")]
    return sorted(re.sub(r"[0-9a-f]{12}", "ID", name) for name in names)


def without_paths(document: bytes) -> Any:
    found = json.loads(document)
    del found["config"]["ground_truth"], found["config"]["predictions"]
    return found


@pytest.mark.parametrize("folder", ["runs/nightly", ""])
def test_an_evaluation_is_that_of_a_disk_and_replaces_an_earlier_one(store: Store, folder: str, tmp_path: Path) -> None:
    fill(store)
    assert run(store, folder, "--set", "missing=exclude") == (0, "")
    store.put(f"{folder}/samples/notes.txt".lstrip("/"), b"mine")
    assert run(store, folder) == (0, "")
    assert below(store, folder) == sorted([*WHOLE, "samples/notes.txt"]), "and nothing else is left over"
    sides = {"truth": TRUTHS, "ours": PREDICTIONS, "theirs": WRONG}
    paths = {name: write_lines(tmp_path / f"{name}.jsonl", records) for name, records in sides.items()}
    local = evaluate(tmp_path / "out", paths.pop("truth"), paths, *FEW)
    for name, content in local.bytes().items():
        assert without_paths(store.files()[f"{folder}/{name}".lstrip("/")]) == without_paths(content)


def test_a_new_process_loads_and_saves_a_run(store: Store, requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    assert run(store, "out") == (0, "")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.flags[1])
    python = f"load('{store.base}/out:theirs').save('{store.base}/saved')"
    python = f"from beamscore import load; from tests import toy; toy.register(); {python}"
    subprocess.run([sys.executable, "-c", python], cwd=ROOT, check=True)
    found, saved = (document(store, f"{name}/summary.json")["systems"]["theirs"] for name in ("out", "saved"))
    assert saved == found


def test_a_run_of_a_hundred_files_makes_a_few_requests_a_file(store: Store, requests: Requests) -> None:
    for number in range(50):
        store.put(f"in/truth-{number:02}.jsonl", lines(TRUTHS[number % 40 : number % 40 + 1]))
        store.put(f"in/ours-{number:02}.jsonl", lines(PREDICTIONS[number % 30 : number % 30 + 1]))
    requests.seen.clear()
    code, _, stderr = command(*evaluation(store, "in/truth-*", "in/ours-*", "out", *FEW))
    # 20 records of predictions and 10 of the ground truth come twice.
    assert (code, stderr.count("with a duplicate sample_id")) == (0, 2)
    assert len(requests.seen) <= 2 * 100 + 100, "each file is asked for its size, and read; the rest is constant"


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_split_select_and_convert_write_below_the_bucket_itself(store: Store, ending: str) -> None:
    fill(store)
    store.put("raw/line.txt", b"line_1.png\tWater is \\chemfig{H-O-H}\nnothing\n")
    store.put("raw/none.txt", b"nothing\n")
    assert run(store, "out") == (0, "")
    output = {name: f"{store.base}/{name}.{ending}" for name in ("split", "hard", "easy", "line", "none")}
    chemistry = ("convert", "chemistry", "--input")
    for name, code, stderr, *arguments in (
        ("split", 0, "", "split", "toy", "--ground-truth", f"{store.base}/in/truth-*"),
        ("hard", 0, "", "select", f"{store.base}/out"),
        ("easy", 2, "nothing is written", "select", f"{store.base}/out", "--below", "-1"),
        ("line", 1, f"{output['line']}.rejected.jsonl says which", *chemistry, f"lines={store.base}/raw/line.txt"),
        ("none", 1, f"{output['none']}.rejected.jsonl says which", *chemistry, f"{store.base}/raw/none.txt"),
    ):
        done = command(*arguments, "--output", output[name], *store.flags)
        assert (done[0], stderr in done[2], bool(done[2])) == (code, True, bool(stderr))
    found = store.files()
    written = {f"{name}.{ending}" for name in ("split", "hard", "line", "none")}
    listed = {f"{name}.{ending}.rejected.jsonl" for name in ("line", "none")}
    assert {key for key in found if not key.startswith(("in/", "out/", "raw/"))} == written | listed
    if ending == "jsonl":
        assert [found[f"{name}.jsonl"].count(b"\n") for name in ("line", "none")] == [1, 0]
        ids = [json.loads(line)["sample_id"] for line in found["split.jsonl"].splitlines()]
        assert ids == sorted(truth["sample_id"] for truth in TRUTHS)


@pytest.mark.parametrize("number", range(1, 18, 2))
def test_an_upload_that_is_refused_leaves_a_whole_result(store: Store, requests: Requests, number: int) -> None:
    fill(store)
    assert run(store, "out") == (0, "")
    before = {key: content for key, content in store.files().items() if key.startswith("out/")}
    uploads: list[str] = []

    def refuse(method: str, path: str) -> bool:
        counts = method == "PUT" and not any(name in path for name in (".probe", ".claim", ".heartbeat"))
        uploads.extend([path] * counts)
        return counts and len(uploads) == number

    requests.refuse = refuse
    code, stderr = run(store, "out", "--set", "missing=exclude")
    requests.refuse = never
    found = {key: content for key, content in store.files().items() if key.startswith("out/")}
    is_committed = len(uploads) < number or "/.runs/" not in uploads[number - 1]
    assert (code, stderr.count("\n")) == ((0, 0) if len(uploads) < number else (2, 1))
    if code:
        assert f"--output {store.base}/out: cannot be written: " in stderr
        assert is_committed == ("the new result is in place, but not under all of its plain names" in stderr)
        assert is_committed or found == before
    assert run(store, "out", "--set", "missing=exclude") == (0, "")
    assert len(below(store, "out")) == len(WHOLE)
    found = store.files()
    of_run = {key: key.split("/", 3)[3] for key in found if "/.runs/" in key and not key.endswith(".files")}
    assert all(found[f"out/{name}"] == found[key] for key, name in of_run.items())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("EVALUATE --ground-truth=BASE --output=BASE/out", "BASE: this is a bucket; give a pattern"),
        ("EVALUATE --ground-truth=BASE/in --output=BASE/out", "BASE/in: no file matches"),
        (
            "EVALUATE --ground-truth=BASE/in/truth-* --output=BASE-of-nobody/out",
            "--output BASE-of-nobody/out: cannot be written: ",
        ),
        ("EVALUATE --ground-truth=BASE/in/truth-* --output=BASE/out --reuse=BASE/none", "BASE/none/summary.json: "),
        ("gate BASE/runs/none", "BASE/runs/none/summary.json: "),
        ("compare BASE/runs/none BASE/runs/none", "BASE/runs/none/summary.json: "),
        ("history BASE/none", "BASE/none: "),
        ("merge BASE/none BASE/none-either --output=BASE/merged", "BASE/none/summary.json: "),
    ],
)
def test_what_is_not_there_is_said_in_one_line_at_once(store: Store, given: str, said: str) -> None:
    fill(store)
    before = store.files()
    if store.requests is not None:
        store.requests.seen.clear()
    words = given.replace("EVALUATE", "evaluate toy --predictions=BASE/in/ours.*").replace("BASE", store.base).split()
    code, stdout, stderr = command(*words, *store.flags)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert said.replace("BASE", store.base) in stderr
    assert store.requests is None or len(store.requests.seen) < 30
    assert store.files() == before


def test_a_large_object_is_uploaded_in_parts_of_which_none_is_left_behind(store: Store, requests: Requests) -> None:
    texts = [{"sample_id": f"s{index}", "text": "x" * 4_000_000} for index in range(4)]
    store.put("in/long.jsonl", lines(texts))
    flags = ("--ground-truth", f"{store.base}/in/long.jsonl", "--output", f"{store.base}/split.jsonl", *store.flags)
    assert command("split", "toy", *flags)[0] == 0
    written = [json.loads(line) for line in store.files()["split.jsonl"].splitlines()]
    assert [{key: record[key] for key in ("sample_id", "text")} for record in written] == texts
    parts: list[str] = []

    def refuse(method: str, path: str) -> bool:
        is_part = method == "PUT" and ".part" in path
        parts.extend([path] * is_part)
        return is_part and len(parts) == 2

    requests.refuse = refuse
    code, _, stderr = command("split", "toy", *flags)
    assert (code, stderr.count("\n")) == (2, 1)
    assert list(store.bucket.multipart_uploads.all()) == []
    gc.collect()
    assert parts[1] not in parts[2:], "closing the file of an upload that failed asks for nothing more"


def night(store: Store, name: str, count: int, *more: str) -> tuple[int, str]:
    """Evaluates a night on the store with the first `count` samples wrong; returns the code and standard error."""
    gate = "exact_match: {not_worse_than: baseline, margin: 0.05}"
    nightly = f"benchmark: toy\nslices: [kind]\nbootstrap: {{replicates: 50}}\ngates: {{{gate}}}\n"
    sides = {"in/truth.jsonl": TRUTHS, "in/answers.jsonl": wrong(TRUTHS, count)}
    given = {name: lines(records) for name, records in sides.items()}
    for key, content in {**given, "c.yaml": nightly.encode()}.items():
        store.put(key, content)
    files, config = ("in/truth.jsonl", {"tonight": "in/answers.jsonl"}), f"{store.base}/c.yaml"
    return command(*evaluation(store, *files, f"runs/{name}", "--quiet", *more, config=config))[::2]


def test_a_night_is_judged_against_the_baseline_of_the_store(store: Store) -> None:
    assert night(store, "first", 3, "--set", "gates={}") == (0, "")
    store.put("runs/blessed.txt", b"first  # by Ada\n")
    baseline = f"{store.base}/runs/blessed.txt"
    files = ("--junit", f"{store.base}/ci/junit.xml", "--markdown", f"{store.base}/ci/short.md")
    assert night(store, "same", 3, "--baseline", baseline, *files) == (0, "")
    assert b'failures="0"' in store.files()["ci/junit.xml"]
    code, stderr = night(store, "bad", 30, "--baseline", baseline, *files)
    assert code == 1
    assert stderr.startswith("beamscore: tonight: gate exact_match: -0.675 (")
    assert document(store, "runs/bad/run.json")["baseline"]["path"] == f"{store.base}/runs/first"
    before = {key: content for key, content in store.files().items() if key.startswith("ci/")}
    assert b'failures="1"' in before["ci/junit.xml"]
    judged = command("gate", f"{store.base}/runs/bad", "--baseline", baseline, "--quiet", *files, *store.flags)
    assert judged == (1, "", stderr)
    assert {key: content for key, content in store.files().items() if key.startswith("ci/")} == before
    assert command("gate", f"{store.base}/runs/same", "--baseline", baseline, *store.flags)[0] == 0


def test_a_night_reuses_another_is_compared_and_in_the_history(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert night(store, "first", 3, "--set", "gates={}") == (0, "")
    scored = toy.scored_pairs(monkeypatch)
    assert night(store, "second", 13, "--set", "gates={}", "--reuse", f"{store.base}/runs/first") == (0, "")
    assert len(scored) == 10, "those whose answers differ"
    assert document(store, "runs/second/summary.json")["systems"]["tonight"]["values"]["exact_match"] == 27 / 40
    assert document(store, "runs/second/run.json")["reused"]

    given = ("compare", f"{store.base}/runs/first", f"{store.base}/runs/second", *store.flags)
    code, stdout, stderr = command(*given, "--output", f"{store.base}/comparison")
    assert (code, stderr) == (0, "")
    assert f"report: {store.base}/comparison/comparison.html" in stdout
    metric = document(store, "comparison/comparison.json")["metrics"]["exact_match"]
    assert metric["difference"] == pytest.approx(-10 / 40)
    found = {key.removeprefix("comparison/"): text for key, text in store.files().items() if "comparison/" in key}
    assert {"comparison.html", "comparison.md"} < found.keys()
    assert len({key.split("/")[1] for key in found if key.startswith(".runs/")}) == 1
    lists = [text for key, text in found.items() if key.startswith("changes/")]
    assert [text.count(b"\n") for text in lists] == [10]
    assert command(*given, "--quiet") == (0, "", ""), "without an output, the working files lie on this machine"

    flags = ("history", f"{store.base}/runs", *store.flags)
    code, stdout, stderr = command(*flags)
    assert (code, stdout.startswith("2 runs\n"), stderr) == (0, True, "")
    found = dict(store.files())
    assert pq.read_table(io.BytesIO(found["runs/history.parquet"])).num_rows > 0
    assert {"runs/history.md", "runs/history.html"} <= set(found)
    # What the first history wrote is no run.
    code, stdout, _ = command(*flags, "--output", f"{store.base}/elsewhere", "--no-html")
    assert (code, stdout.startswith("2 runs\n")) == (0, True)
    written = [key for key in store.files() if key.startswith("elsewhere/")]
    assert written == ["elsewhere/history.md", "elsewhere/history.parquet"]


def test_runs_over_parts_merge_to_the_run_over_all(store: Store) -> None:
    for number, part in enumerate((slice(15), slice(15, None))):
        store.put(f"in/truth-{number}.jsonl", lines(TRUTHS[part]))
        store.put(f"in/part-{number}.jsonl", lines(wrong(TRUTHS, 11)[part]))
    for which, output in (("0", "a"), ("1", "b"), ("*", "all")):
        given = evaluation(store, f"in/truth-{which}.jsonl", f"in/part-{which}.jsonl", output, *FEW, "--quiet")
        assert command(*given) == (0, "", "")
    parts = (f"{store.base}/a", f"{store.base}/b", "--output", f"{store.base}/merged")
    assert command("merge", *parts, "--quiet", *store.flags) == (0, "", "")
    assert document(store, "merged/sums.json")["systems"] == document(store, "all/sums.json")["systems"]
    found, whole = (document(store, f"{name}/summary.json") for name in ("merged", "all"))
    assert (found["systems"], found["fingerprint"]) == (whole["systems"], whole["fingerprint"])
    assert len({key.split("/")[2] for key in store.files() if key.startswith("merged/.runs/")}) == 1


@pytest.mark.usefixtures("s3")
def test_s3_without_credentials_is_one_line_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beam would repeat each request for minutes."""
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("HOME", str(tmp_path))
    why = "no credentials for S3: Unable to locate credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    sides = ("--ground-truth=s3://b/t.jsonl", "--predictions=p.jsonl", f"--output={tmp_path}")
    assert f"--ground-truth s3://b/t.jsonl: cannot be listed: {why}" in runs.refused("evaluate", "toy", *sides)
    assert f"s3://b/runs: cannot be listed: {why}" in runs.refused("history", "s3://b/runs")
    assert f"s3://b/run: no finished run can be read here ({why}" in runs.refused("gate", "s3://b/run")
