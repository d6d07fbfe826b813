"""`evaluate --check`, and data sets whose columns have other names."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.runs import command, evaluate, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(30)]
TRUTHS = [truth for truth, _ in SAMPLES]
PREDICTIONS = [prediction for _, prediction in SAMPLES if prediction]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # No run decodes a field that it does not score, nor its name.
    lines = [json.dumps({**each, "unread": 0}).replace("0}", '-1e999, "\xfc": 1}\n') for each in TRUTHS]
    (tmp_path / "t.jsonl").write_text("".join(lines), encoding="latin-1")
    write_lines(tmp_path / "p.jsonl", PREDICTIONS)
    write_lines(tmp_path / "named-p.jsonl", [{"id": n, "out": {"best": "?"}} for n, _ in enumerate(TRUTHS)])
    return tmp_path


def check(truths: str, predictions: str, *more: str) -> tuple[int, list[str], str]:
    given = ("--ground-truth", truths, "--predictions", predictions, "--check", *more)
    code, stdout, stderr = command("evaluate", "toy", *given)
    return code, stdout.splitlines(), stderr


def test_it_says_what_the_run_would_do_and_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    code, lines, stderr = check("t.jsonl", "p.jsonl", "--slice", "kind", "--output", "out")
    assert (code, stderr, sorted(folder.iterdir())) == (0, "", before)
    sizes = [(folder / name).stat().st_size for name in ("t.jsonl", "p.jsonl")]
    done = evaluate(folder / "done", "t.jsonl", "p.jsonl", "--set", "missing=exclude")
    values = done.summary["systems"]["predictions"]["values"]
    assert lines == [
        "benchmark: toy, protocol published",
        f"ground truth: 1 file, {sizes[0]:,} bytes, 30 records",
        "  fields found: text in 30 of 30, words in 30 of 30",
        "  other columns: kind, unread, \ufffd",
        # Samples 5, 16 and 27 have no prediction.
        f"predictions: 1 file, {sizes[1]:,} bytes, 27 records",
        "  fields found: text in 27 of 27",
        "pairs: 27 of all 27 sample_ids are in all 30 records of the ground truth",
        f"  scores of the first 27: exact_match {values['exact_match']:.4g}, similarity {values['similarity']:.4g}",
        "  slices so far: kind=0, kind=1",
        "output: out would be created",
    ]


def test_as_many_records_would_be_rejected_as_the_run_rejects(folder: Path) -> None:
    """In each format, and for each reason for which a record is not read."""
    ids = ["s0", "", "s1", "x" * 1025, "s2", None]
    texts = ["a", "b", "c" * 2000, "d", "e", "f"]
    records = [{"sample_id": name, "text": text} for name, text in zip(ids, texts, strict=True)]
    write_lines(folder / "p.jsonl", records)
    pq.write_table(pa.table({"sample_id": ids, "text": texts}), folder / "p.parquet")
    for file in ("p.jsonl", "p.parquet"):
        more = ("--set", "limits.record_bytes=1500", "--set", "max_rejected_fraction=1")
        _, lines, _ = check("t.jsonl", file, *more)
        assert sum(line.startswith("  4 of the first records would be rejected, such as ") for line in lines) == 1
        found = evaluate(folder / "out", "t.jsonl", file, "--no-html", *more).summary["systems"]["predictions"]
        assert found["coverage"]["predictions"]["rejected"] == 4, file


def test_what_would_be_rejected_replaced_or_not_scored_is_told(folder: Path) -> None:
    bad: list[Any] = [{"sample_id": "s0", "text": 5}, {"text": "x"}, {"sample_id": "s1", "text": ""}, "x"]
    write_lines(folder / "bad.jsonl", [*bad, {"sample_id": "s1", "text": "y"}])
    evaluate(folder / "done", "t.jsonl", "p.jsonl", "--no-html")
    code, lines, stderr = check("t.jsonl", "bad.jsonl", "--output", "done")
    run_id = json.loads((folder / "done" / "run.json").read_bytes())["run_id"]
    assert (code, stderr) == (0, "")
    assert lines[-1] == f"output: done holds the result of run {run_id}, which it would replace"
    assert lines[-2].startswith("  1 of them would be rejected, such as s0: ")
    assert " bytes, 5 records" in lines[4]
    expected = "rejected, such as bad.jsonl:2: sample_id must be ", "left out as duplicates, such as bad.jsonl:5: s1"
    for line, number, ending in zip(lines[6:8], (2, 1), expected, strict=True):
        assert line.startswith(f"  {number} of the first records would be {ending}")
    assert not any("set repeats: true" in line for line in lines)
    write_lines(folder / "r.jsonl", [{**each, "repeat": number} for each in PREDICTIONS for number in (1, 2)])
    (line,) = [line for line in check("t.jsonl", "r.jsonl")[1] if "as duplicates" in line]
    assert line.endswith("; to score several predictions of a sample, give each a repeat, and set repeats: true")
    (folder / "empty").mkdir()
    assert check("t.jsonl", "p.jsonl", "--output", "empty")[1][-1] == "output: empty is empty"


def test_metrics_without_a_value_are_refused_if_all_is_scored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy.ToyBenchmark, "values", lambda *_: dict.fromkeys(("exact_match", "similarity")))
    write_lines(folder / "predicted.jsonl", [truth for truth, prediction in SAMPLES if prediction])
    told = "beamscore: pairs: no metric has a value; see the ground truth and the predictions\n"
    assert check("predicted.jsonl", "p.jsonl")[::2] == (2, told)
    assert check("t.jsonl", "p.jsonl")[::2] == (0, "")


NO_ID = "predictions: no predicted sample_id is in the ground truth"
NO_FIELD = "predictions: no record has a field that toy reads, text; they have"
ALL_REJECTED = "predictions: all of the first 30 records would be rejected: named-p.jsonl:1:"
ID = "--set fields.predictions.sample_id=id"
UNREAD = "the run reads no such field"
REFUSED = {
    "t.jsonl named-p.jsonl": f"{ALL_REJECTED} sample_id must be ",
    "t.jsonl named-p.jsonl --set fields.predictions.text=id.best": f"{ALL_REJECTED} best must be in a JSON object, ",
    f"t.jsonl named-p.jsonl {ID}": f"{NO_FIELD} id, out; name",
    "t.jsonl p.jsonl --set fields.predictions.text=txt": f"{NO_FIELD} only a sample_id; none has txt, which",
    f"t.jsonl named-p.jsonl {ID} --set fields.predictions.text=oot": f"{NO_FIELD} id, out; none has oot, which fields "
    "names (did you mean out?)\n",
    "t.jsonl p.jsonl --set fields.prediction.text=x": "fields.prediction: there is no such side (did",
    "t.jsonl p.jsonl --set fields.predictions.txt=x": f"fields.predictions.txt: {UNREAD} (did you mean text?); "
    "allowed: sample_id, text, repeat\n",
    "t.jsonl p.jsonl --set fields.ground_truth.txt=x": f"fields.ground_truth.txt: {UNREAD} (did you mean text?); "
    "allowed: sample_id, text, words, image\n",
    "t.jsonl ids.jsonl": f"{NO_ID} (which has s0, for example, not e\u0301)",
    "t.jsonl no-text.jsonl": "pairs: all of the first 2 would be rejected, such as s0: Expected `str",
    "t.jsonl latin-1.jsonl": "pairs: all of the first 1 would be rejected, such as s0: a text is not UTF-8\n",
    "t.jsonl cut.jsonl.gz": "predictions: none of the first records can be read: cut.jsonl.gz",
    "t.jsonl p.jsonl --output t.jsonl": "--output t.jsonl: cannot be written: ",
}


def test_what_the_run_would_refuse_is_refused(folder: Path) -> None:
    write_lines(folder / "ids.jsonl", [{"sample_id": "e\u0301", "text": "x"}])
    write_lines(folder / "no-text.jsonl", [{"sample_id": f"s{number}", "text": 5} for number in range(2)])
    (folder / "latin-1.jsonl").write_bytes(b'{"sample_id": "s0", "text": "\xe9"}')
    (folder / "cut.jsonl.gz").write_bytes(b"\x1f\x8b")
    for line, problem in REFUSED.items():
        code, _, stderr = check(*line.split())
        assert (code, f"beamscore: {problem}" in stderr) == (2, True), stderr


def test_fields_of_slices_clusters_repeats_and_pictures_may_have_other_names(folder: Path) -> None:
    names = ("ground_truth.kind=k", "ground_truth.group=g", "ground_truth.image=i", "predictions.repeat=r")
    write_lines(folder / "t2.jsonl", [{**truth, "k": 1, "g": "x"} for truth in TRUTHS])
    given = [flag for name in names for flag in ("--set", f"fields.{name}")]
    assert check("t2.jsonl", "p.jsonl", *given, "--slice", "kind", "--set", "cluster=group")[::2] == (0, "")


@pytest.mark.parametrize("more", [(), ("--check",)])
def test_a_folder_of_pictures_that_does_not_exist_is_warned_of(folder: Path, more: tuple[str, ...]) -> None:
    given = ("evaluate", "toy", "--ground-truth", "t.jsonl", "--predictions", "p.jsonl", "--output", "out", "--no-html")
    for places in ("nope/", "nope/{sample_id}.png", "t.jsonl"):
        told = f"beamscore: warning: pictures: {places}: there is no folder {places.partition('/{')[0]}\n"
        assert command(*given, *more, "--set", f"pictures={places}")[::2] == (0, told)
    for places in (".", "./{sample_id}.png", "./x-{sample_id}/a.png"):
        assert command(*given, *more, "--set", f"pictures={places}")[::2] == (0, "")


def test_a_file_that_breaks_off_is_refused_as_by_the_run(folder: Path) -> None:
    """Also if records are read before it does, and a file of another format than its name says."""
    none = "predictions: none of the first records can be read: "
    whole = gzip.compress((folder / "p.jsonl").read_bytes())
    for name, content in (("end", whole[:-8]), ("half", whole[: len(whole) // 2]), ("bad", whole[:-8] + bytes(8))):
        (folder / f"{name}.jsonl.gz").write_bytes(content)
        code, _, stderr = check("t.jsonl", f"{name}.jsonl.gz")
        run = evaluate(folder / "out", "t.jsonl", f"{name}.jsonl.gz", "--no-html")
        assert stderr.count("\n") == 1
        assert (code, stderr.replace(none, "").splitlines()) == (run.code, run.stderr.splitlines()[-1:])
        assert code == 2
    evaluate(folder / "kept", "t.jsonl", "p.jsonl", "--no-html")
    before = (folder / "kept" / "summary.json").read_bytes()
    (folder / "p.json").write_text(json.dumps(PREDICTIONS, indent=1))
    told = "p.json: cannot be read as jsonl: it is a JSON array; write one object per line\n"
    run = evaluate(folder / "kept", "t.jsonl", "p.json", "--no-html")
    assert (run.code, run.stderr) == (2, f"beamscore: {told}")
    assert (folder / "kept" / "summary.json").read_bytes() == before
    assert check("t.jsonl", "p.json")[::2] == (2, f"beamscore: {none}{told}")


def test_more_records_than_it_looks_at_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.pipelines.inputs.inputs.RECORDS_LOOKED_AT", 10)
    write_lines(folder / "many.jsonl", [{"sample_id": f"s{1000 + index}", "text": "x"} for index in range(500)])
    code, lines, _ = check("many.jsonl", "many.jsonl")
    assert (code, lines[1].endswith(" bytes, 10 and more records")) == (0, True)
    # The ids of the first records may not meet where the rest does.
    code, lines, _ = check("t.jsonl", "many.jsonl")
    assert (code, any("among the first records, no predicted sample_id" in line for line in lines)) == (0, True)
