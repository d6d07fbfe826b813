"""`beamscore describe`: the tables are those of the plain sums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.metrics.description import sums_of
from beamscore.metrics.figure_text.description import FigureTextDescription
from beamscore.metrics.figure_text.records import FigureTruth
from tests.runs import Run, command, write_lines

CORPUS = Path(__file__).parents[1] / "corpora" / "figure_text" / "ground_truth.jsonl"
DESCRIPTION = FigureTextDescription()
BAD = [
    b"{broken",
    b'{"sample_id": "invalid", "regions": 3}',
    b'{"sample_id": "figure-00000", "regions": []}',
    json.dumps({"sample_id": "wide", "source": list(range(11)), "figure_type": "Mix"}).encode(),
]


def describe(output: Path, truths: Path, *flags: str) -> Run:
    found = command("describe", "figure_text", "--ground-truth", truths, "--output", output, *flags)
    return Run(*found, output)


def document(run: Run) -> Any:
    return json.loads((run.output / "description.json").read_bytes())


def plain(records: list[Any]) -> dict[str, int]:
    sums = sums_of(DESCRIPTION, [msgspec.convert(record, FigureTruth) for record in records])
    return {"samples": len(records), **{name: int(sums[name]) for name in sums}}


@pytest.fixture(scope="module")
def records() -> list[Any]:
    return [json.loads(line) for line in CORPUS.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> Run:
    folder = tmp_path_factory.mktemp("described")
    write_lines(folder / "t.jsonl", [*records, *BAD])
    flags = ("--slice", "source", "--slice", "source,figure_type", "--set", "limits.slices_per_sample=12")
    return describe(folder / "out", folder / "t.jsonl", *flags)


def test_sums_and_tables_are_those_of_a_plain_loop(described: Run, records: list[Any]) -> None:
    found = document(described)
    assert found["sums"] == plain(records)
    assert found["sums"]["articles"] == len({record["article"] for record in records})
    sums = sums_of(DESCRIPTION, [msgspec.convert(record, FigureTruth) for record in records])
    assert found["tables"] == json.loads(msgspec.json.encode(DESCRIPTION.tables(sums)))


def test_slices_count_distinct_things_for_themselves(described: Run, records: list[Any]) -> None:
    slices = document(described)["slices"]
    sources = sorted({record["source"] for record in records})
    assert len(sources) > 1
    for source in sources:
        assert slices[f"source={source}"] == plain([record for record in records if record["source"] == source])
    crossed = {(record["source"], record["figure_type"]) for record in records}
    assert set(slices) == {f"source={source}" for source in sources} | {
        f"source={source},figure_type={kind}" for source, kind in crossed
    }
    # An article may have figures of several sources.
    articles = sum(slices[f"source={source}"]["articles"] for source in sources)
    assert articles > document(described)["sums"]["articles"]


def test_what_is_left_out_is_counted_and_kept(described: Run, records: list[Any]) -> None:
    found = document(described)
    assert (found["samples"], found["rejected"], found["duplicates"]) == (len(records), 3, 1)
    assert described.code == 1
    said, often, rest = described.stderr.partition("; most often: ")
    assert said == (
        f"beamscore: 3 of {len(records) + 4} records were rejected, more than max_rejected_fraction 0 allows"
    )
    assert often
    assert rest.endswith("; see quarantine/\n")
    errors = {entry["sample_id"]: entry["error"] for entry in described.quarantine}
    assert set(errors) == {None, "invalid", "figure-00000", "wide"}
    assert errors["wide"].startswith("the columns source (11) put the sample into 22 slices, more than the 12 of ")


def test_the_report(described: Run, records: list[Any]) -> None:
    report = (described.output / "description.md").read_text(encoding="utf-8")
    assert described.stdout == f"report: {described.output}/description.md\n"
    assert f"{len(records)} samples described.\n\nLeft out: 3 rejected, 1 duplicates; quarantine/ says" in report
    titles = [line.removeprefix("## ") for line in report.splitlines() if line.startswith("## ")]
    assert titles == [table["title"] for table in [*document(described)["tables"], *document(described)["compared"]]]
    assert sorted(path.name for path in described.output.iterdir()) == [
        ".runs",
        "description.json",
        "description.md",
        "quarantine",
    ]


def test_an_empty_data_set_is_told(tmp_path: Path) -> None:
    truths = write_lines(tmp_path / "t.jsonl", [])
    run = describe(tmp_path / "out", truths, "--slice", "source")
    told = f"beamscore: the ground truth: there is no record in {truths}; nothing was described\n"
    assert (run.code, run.stdout, run.stderr) == (1, "", told)
    found = document(run)
    assert (found["samples"], found["rejected"], found["sums"], found["slices"]) == (0, 0, {}, {})
    assert found["tables"][0]["rows"] == [["all", 0, 0, 0, 0]]


@pytest.mark.parametrize("name", ["chart", "chemistry", "formula"])
def test_records_of_another_benchmark_are_told(tmp_path: Path, name: str) -> None:
    """Also where some of them cannot be read."""
    lines = (CORPUS.parents[1] / name / "ground_truth.jsonl").read_bytes().splitlines()[:20]
    run = describe(tmp_path / "out", write_lines(tmp_path / "t.jsonl", [*lines, b"{broken"]), "--slice", "source")
    assert (run.code, run.stdout, run.stderr.count("\n")) == (1, "", 1)
    assert "the ground truth: no record has a field that figure_text reads, regions, figure_type, art" in run.stderr
    assert f" (did you mean the benchmark {name}" in run.stderr
    found = document(run)
    assert (found["samples"], found["ground_truth_without_fields"]) == (20, 20)
    assert not any("without_fields" in name for sums in (found["sums"], *found["slices"].values()) for name in sums)


def test_figures_without_any_field_are_described_where_others_have_one(tmp_path: Path, records: list[Any]) -> None:
    """However many of them come first: more than are looked at to tell what a file holds."""
    bare = [{"sample_id": f"bare {index}"} for index in range(1200)]
    run = describe(tmp_path / "out", write_lines(tmp_path / "t.jsonl", [*bare, records[0]]))
    assert (run.code, run.stderr) == (0, "")
    assert (document(run)["samples"], document(run)["ground_truth_without_fields"]) == (1201, 1200)


def test_a_hostile_slice_is_escaped(tmp_path: Path) -> None:
    truth = {"sample_id": "a", "source": "<b>|x", "figure_type": "Mix"}
    run = describe(tmp_path / "out", write_lines(tmp_path / "t.jsonl", [truth]), "--slice", "source")
    assert "| `source=`&lt;`b>`\\|`x` |" in (run.output / "description.md").read_text()
    assert "source=<b>|x" in document(run)["slices"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chart"], "describe does not support the benchmark chart, only figure_text"),
        (["figure_text"], "output: nothing is given; give --output DIR, or output in the configuration"),
        (["figure_text", "--output", "out"], "ground_truth: nothing is given; give --ground-truth GLOB, or "),
        (
            [
                "figure_text",
                "--ground-truth",
                "t.jsonl",
                "--output",
                "out",
                "--slice",
                "page",
                "--set",
                "limits.slices=2",
            ],
            "slices by page: there are more than 2; slice by columns with fewer values, or raise limits.slices",
        ),
    ],
)
def test_wrong_usage_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "t.jsonl", [{"sample_id": str(page), "page": page} for page in range(3)])
    code, stdout, stderr = command("describe", *arguments)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith(f"beamscore: {message}")
    assert not list(tmp_path.glob("out/*"))
