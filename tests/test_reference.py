"""The pages of docs/reference/ say what the code has: every key with its default, every column, code and option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from beamscore.pipelines.commands import messages
from beamscore.pipelines.commands.arguments import COMMANDS
from beamscore.pipelines.config.settings import LimitSettings, Settings
from beamscore.pipelines.runs.documents import Summary, SystemSummary
from beamscore.transforms.io.field_map import MAX_SAMPLE_ID_LENGTH
from beamscore.transforms.io.files import name_format
from beamscore.transforms.io.readers import MAX_ARRAYS
from beamscore.transforms.records import Quarantined
from beamscore.transforms.rows import SLICE_PREFIX, sample_schema
from tests.runs import evaluate, write_lines

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def table(name: str, first: str) -> list[list[str]]:
    """Returns the rows of the table of a page whose first heading is `first`."""
    text = page(name).partition(f"| {first} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n")[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def defaults(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Returns the default of each key that has one, with dots for groups."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(settings):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if isinstance(default, msgspec.Struct):
            found |= defaults(type(default), f"{prefix}{field.encode_name}.")
        else:
            found[prefix + field.encode_name] = default
    return found


def test_the_keys_of_a_configuration_and_their_defaults() -> None:
    keys = page("configuration").partition("\n## ")[0]
    rows = dict(re.findall(r"`([\w.]+)`\s+\(`([^`]+)`\)", keys))
    expected = defaults(Settings)
    assert expected.pop("benchmark") is msgspec.NODEFAULT
    assert "\n- `benchmark`: " in keys
    assert {key: yaml.safe_load(default) for key, default in rows.items()} == expected


def test_the_limits_of_inputs() -> None:
    limits: dict[str, str] = {}
    for _, limit, option in table("inputs", "what"):
        limits.setdefault(code(option)[0], limit)
    expected = {key: f"{default:,}" for key, default in defaults(Settings).items() if key.startswith("limits.")}
    expected |= {
        "limits.record_bytes": f"{LimitSettings().record_bytes >> 20} MiB",
        "max_steps": "that of the benchmark",
    }
    assert {key: limit.removesuffix(" levels") for key, limit in limits.items()} == expected
    assert f"a JSON record with more than {MAX_ARRAYS:,} `[`" in page("inputs")
    assert f"a string of 1 to {MAX_SAMPLE_ID_LENGTH:,} characters" in page("inputs")


def test_every_ending_of_a_file_that_is_documented_is_read() -> None:
    endings = [ending for _, names, _ in table("inputs", "format") for ending in code(names) if ending.startswith(".")]
    for ending in endings:
        assert name_format(f"x.jsonl{ending}" if ending in (".gz", ".zst", ".bz2") else f"x{ending}"), ending


def test_the_exit_codes() -> None:
    assert list(dict.fromkeys(int(row[0]) for row in table("outputs", "code"))) == [
        *(messages.DONE, messages.FAILED, messages.WRONG_USAGE, messages.CRASHED),
        *(messages.INCONCLUSIVE, messages.INTERRUPTED),
    ]


def test_the_columns_of_the_samples() -> None:
    documented = [name for cell, _ in table("outputs", "column") for name in code(cell) or ["METRIC"]]
    names = sample_schema(["METRIC"], ["NAME"]).names
    assert f"{SLICE_PREFIX}NAME" in documented
    assert set(documented) == set(names)


def test_the_files_of_a_run_and_their_keys(tmp_path: Path) -> None:
    truths = write_lines(tmp_path / "t.jsonl", [{"sample_id": str(each), "text": "x"} for each in range(3)])
    predictions = write_lines(tmp_path / "p.jsonl", [{"sample_id": "0", "text": "x"}, b"damaged"])
    run = evaluate(tmp_path / "out", truths, predictions, "--quiet", "--set", "max_rejected_fraction=1", config="toy")
    documented = {code(file)[0]: code(content) for file, content in table("outputs", "file")}
    assert {path.name for path in run.output.iterdir()} - {".runs"} == {name.partition("/")[0] for name in documented}
    assert set(documented["summary.json"]) == {*Summary.__struct_fields__, *SystemSummary.__struct_fields__}
    assert documented["quarantine/*.jsonl"] == list(Quarantined.__struct_fields__)
    about = msgspec.json.decode((run.output / "run.json").read_bytes())
    assert set(about) - {"format"} <= set(documented["run.json"])


def test_the_commands_and_their_purposes() -> None:
    rows = dict(re.findall(r"^- \[?`(\w+)`[^:]*: (.*)$", page("commands"), re.MULTILINE))
    assert rows == {name: text for name, (text, _) in COMMANDS.items()}
