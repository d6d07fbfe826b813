"""What a run leaves behind: whole files and rows, nothing outside of its output; bad records are told as text."""

import json
import random
import re
import shutil
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamscore.pipelines.runs.causes import REMEDIES, SCORE_ALL
from beamscore.pipelines.runs.run import LAYOUT
from beamscore.transforms.draw import file_name
from beamscore.transforms.io.publication import RUNS, check_not_replaced
from beamscore.transforms.records import InputProblem
from tests import toy
from tests.faults import small_disk
from tests.runs import RESULT_NAMES, Record, Run, command, evaluate, evaluate_records, unpack_replicates, write_lines

COUNT = 40
CORPUS = [toy.sample(index, 0) for index in range(COUNT)]
TRUTHS = [truth for truth, _ in CORPUS]
FAIR = [prediction for _, prediction in CORPUS if prediction]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_of_others_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("the report of somebody else")
    truths, before = write_lines(tmp_path / "t.jsonl", TRUTHS), tree(tmp_path)
    said = f"--output {tmp_path}: holds no result, but a report.md that it would replace; give another --output"
    for more in ((), ("--check",)):
        found = evaluate(tmp_path, truths, truths, *more)
        assert (found.code, found.stderr) == (2, f"beamscore: {said}\n")
        assert tree(tmp_path) == before | {"t.jsonl": truths.read_bytes()}


def test_an_input_that_the_result_would_replace_is_refused(tmp_path: Path) -> None:
    output, link, records = tmp_path / "out", tmp_path / "link", write_lines(tmp_path / "t.jsonl", TRUTHS)
    assert evaluate(output, records, records, "--quiet", "--no-html").code == 0
    shutil.copy(records, output / "samples")
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


def test_a_side_without_records_fails_with_a_result(tmp_path: Path) -> None:
    schemas = []
    for truths, predictions, unmatched, missing in (([], [], 0, 0), ([], TRUTHS, COUNT, 0), (TRUTHS, [], 0, COUNT)):
        found = evaluate_records(tmp_path / "out", truths, predictions, "--slice", "kind", "--quiet", "--no-html")
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


def test_a_report_without_missing_predictions_and_intervals_says_so(tmp_path: Path) -> None:
    settings = ("--set", "missing=exclude", "--set", "bootstrap.replicates=0")
    found = evaluate_records(tmp_path / "out", TRUTHS, FAIR, *settings)
    assert found.summary["systems"]["predictions"]["intervals"] == {}
    assert "intervals_method" not in found.summary
    assert "A missing prediction is left out of the score." in found.report
    assert "Intervals" not in found.report
    assert unpack_replicates(found.sums["systems"]["predictions"]["replicates"], 0) == []
    # Inspect takes no score without a value.
    exported = [json.loads(line) for line in command("export", found.output, "--to", "inspect")[1].splitlines()]
    assert {each["id"]: each["value"] is None for each in exported} == {each["sample_id"]: False for each in FAIR}


def test_duplicates_are_told_with_their_places_and_no_id_steers_a_terminal(tmp_path: Path) -> None:
    record = {"sample_id": "\x1b[2J|", "text": "x"}
    run = evaluate_records(tmp_path / "out", [record], [record] * 5, "--quiet")
    place = f"{tmp_path}/out-predictions.jsonl"
    error = f"the sample_id is first at {place}:1; only that record counts"
    told = ", ".join(f"<U+001B>[2J| at {place}:{line} ({error})" for line in (2, 3, 4))
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
    # Duplicates and what is broken go to the quarantine.
    broken = [records[0], {"sample_id": column, "text": 3}, b"{" + column.encode()]
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    few = ("--quiet", "--no-html", "--set", "bootstrap.replicates=0", "--set", f"slices={json.dumps([column])}")
    truths, predictions = write_lines(folder / "t.jsonl", records), write_lines(folder / "p.jsonl", records + broken)
    assert evaluate(output, truths, {"..": predictions}, *few).code == 1
    assert command("split", "toy", "--ground-truth", truths, "--output", output / "s.jsonl")[0] == 0
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


# Bad records among good ones. What is wrong with a line is in transforms/test_read.py, and with a sample that is scored
# in test_score.py; that each is counted and found in its place, of all benchmarks, in attacks/test_damaged_corpora.py.

RECORD_BYTES = 6_000_000
MARKUP = "<script>alert(1)</script> | `code` [link](javascript:x) ![i](http://x/y.png) *b* \x1b[31mred\nline"


def line(sample_id: Any, **fields: Any) -> bytes:
    return json.dumps({"sample_id": sample_id, **fields}).encode()


UNREADABLE = [
    ("read", "unreadable", b"{broken"),
    ("read", "unreadable", b'{"sample_id": "\xff\xfe"}'),
    ("read", "unreadable", b"\x00" * 100),
    ("read", "no_sample_id", line(None, text=MARKUP)),
    ("read", "too_large", line("huge", text="x" * RECORD_BYTES)),
    ("read", "too_deep", b'{"a":' * 100_000),
]
BAD = {
    "ground_truth": [
        *UNREADABLE,
        ("score", "invalid", b'{"sample_id": "truth1", "text": "\xff"}'),
        ("score", "invalid", line("truth2", text="truth is bad")),
        ("score", "failed", line("odd", text="t")),
        ("pair", "duplicate", line("s0", text=MARKUP)),
    ],
    "ours": [
        *UNREADABLE,
        *(("pair", "unmatched", line(name, text="t")) for name in (f"ghost {MARKUP}", "huge")),
        ("score", "invalid", line("victim1", text=1)),
        ("score", "invalid", line("victim2", text="prediction is bad")),
        ("score", "unmatched", line("truth2", text="t")),
        ("score", "failed", line("odd", text="score fails")),
        ("pair", "duplicate", line("s1", text=MARKUP)),
    ],
}
"""The stage, the cause and the line of each bad record; a duplicate stands after all others."""

# Records that look bad and are good.
ODD_TEXTS = {
    "right to left": "\u202e\u05d0\u05d1 abc",
    "zero\u200bwidth\u2060": "a\u200bb\ufeff",
    "ansi \x1b[2J": "\x1b[31mred\x1b[0m",
    "nul \x00 escaped": "a\x00b",
    MARKUP: MARKUP,
    "five megabytes": "m" * 5_000_000,
    "line\u2028separator": "a\u2028b\x85c",
    "astral \U0001f600": "\U0001f600" * 3,
}

ODD: list[Record] = [{"sample_id": sample_id, "text": text} for sample_id, text in ODD_TEXTS.items()]
GOOD: dict[str, list[Record]] = {
    "ground_truth": [
        *({**truth, "group": "good"} for truth in TRUTHS),
        *({"sample_id": sample_id, "text": "t", "group": "victim"} for sample_id in ("victim1", "victim2")),
        *({**each, "group": MARKUP} for each in ODD),
    ],
    "ours": [*FAIR, *ODD],
}


def run(output: Path, truths: list[Any], predictions: list[Any]) -> Run:
    limits = f"limits={{record_bytes: {RECORD_BYTES}, depth: 9}}"
    flags = ("--slice", "group", "--set", limits, "--set", "worst_samples=100", "--no-html")
    return evaluate_records(output, truths, {"ours": predictions}, *flags)


def test_what_is_rejected_is_told_as_text_and_changes_nothing_of_the_good_ones(tmp_path: Path) -> None:
    sides = []
    for side, records in GOOD.items():
        good = [json.dumps(record, ensure_ascii=False).encode() for record in records]
        *bad, late = [line for _, _, line in BAD[side]]
        sides.append([*random.Random(side).sample([*good, *bad], len(good) + len(bad)), late])
    hostile = run(tmp_path / "hostile", *sides)
    assert hostile.code == 1
    assert {path.name for path in hostile.output.iterdir()} == RESULT_NAMES - {"report.html"}
    lines, labels = hostile.stderr.splitlines(), ("ground-truth records", "predictions")
    assert ["with a duplicate sample_id: " in line for line in lines] == [True, True, False, False]
    # 6 records of a side are unreadable; 2 more are bad, and one sample cannot be scored.
    for line, side, label in zip(lines[2:], GOOD, labels, strict=True):
        read = len(GOOD[side]) + len(BAD[side])
        told = f"ours: 9 of {read} {label} were rejected, more than max_rejected_fraction 0 allows; most often: "
        assert line.startswith(f"beamscore: {told}")
        assert line.endswith(f"; {REMEDIES['unreadable']}; see quarantine/")
    report, found = hostile.report, {(each["side"], each["stage"], each["cause"]) for each in hostile.quarantine}
    tables = report.partition("## Quarantine")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in tables if row.startswith("|")][2:]
    counts = Counter((side, stage, cause) for side, each in BAD.items() for stage, cause, _ in each)
    assert {tuple(row[1:4]): int(row[0]) for row in rows} == counts
    assert found == counts.keys()
    assert not [each for each in ("<script>", "\x1b", "\u202e", "\x00") if each in report]
    # Long text is cut, and control characters are shown as numbers.
    assert max(len(row) for row in report.splitlines()) < 2000
    assert all(character.isprintable() or character == "\n" for character in hostile.stdout + hostile.stderr)
    statuses = {row["sample_id"]: row["status"] for row in hostile.samples}
    assert {statuses[sample_id] for sample_id in ODD_TEXTS} == {"scored"}
    clean = run(tmp_path / "clean", GOOD["ground_truth"][:COUNT], FAIR)
    assert clean.code == 0
    for of_all, expected in ((hostile.summary, clean.summary), (hostile.sums, clean.sums)):
        assert of_all["systems"]["ours"]["slices"]["group=good"] == expected["systems"]["ours"]["slices"]["group=good"]
    good_ids = {truth["sample_id"] for truth in TRUTHS}
    assert [row for row in hostile.samples if row["sample_id"] in good_ids] == clean.samples


# A full disk; one without room for what is shuffled is in transforms/test_blocks.py.


def kibibytes(folder: Path) -> int:
    """Returns what the files below a folder take of a disk, in whole pages."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(-(-size // 4096) * 4 for size in sizes)


@pytest.mark.attacks
def test_a_repeat_that_does_not_fit_leaves_the_result(tmp_path: Path) -> None:
    """Whether there is room for a fifth of the repeat, a half, or most of it."""
    truths = write_lines(tmp_path / "t.jsonl", TRUTHS)
    predictions = write_lines(tmp_path / "p.jsonl", [{**each, "text": "x" * n} for n, each in enumerate(TRUTHS)])
    few, many = (("--no-html", "--set", f"bootstrap.replicates={count}") for count in (20, 5000))
    for name, flags in (("few", few), ("many", many)):
        assert evaluate(tmp_path / name, truths, predictions, *flags).code == 0
    for share in (0.2, 0.5, 0.8):
        # Four pages are for claims and the like.
        size = kibibytes(tmp_path / "few") + 16 + int(share * kibibytes(tmp_path / "many" / ".runs"))
        with small_disk(tmp_path / "disk", size) as disk:
            output = shutil.copytree(tmp_path / "few", disk / "out", symlinks=True)
            before, repeat = tree(output), evaluate(output, truths, predictions, *many)
            assert (repeat.code, repeat.stdout) == (2, "")
            said = "[Errno 28] No space left on device; fix that, or give another --output\n"
            assert repeat.stderr == f"beamscore: --output {output}: cannot be written: {said}"
            assert tree(output) == before
