"""The docs: all that they show is read and true, and their commands can be followed to the letter."""

import contextlib
import doctest
import importlib
import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from markdown_it import MarkdownIt

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.commands import messages
from beamscore.pipelines.commands.arguments import COMMANDS
from beamscore.pipelines.config import settings
from beamscore.pipelines.config.gates import GATE_KEYS, gate_target
from beamscore.pipelines.runs.documents import Summary, SystemSummary
from beamscore.transforms.io.field_map import MAX_SAMPLE_ID_LENGTH
from beamscore.transforms.io.files import name_format
from beamscore.transforms.io.readers import MAX_ARRAYS
from beamscore.transforms.records import Quarantined
from beamscore.transforms.rows import sample_schema
from tests.plain_loop import make_benchmark
from tests.runs import command, evaluate, without_progress, write_lines
from tests.test_layers import CODE

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NIGHTLY = DOCS / "how-to" / "nightly.md"
LINKED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
SOURCES = ("metrics", "transforms", "pipelines", "configs", "tests")
BENCHMARKS = DOCS / "explanation" / "benchmarks"
PAGES = sorted(path.stem for path in BENCHMARKS.glob("*.md"))
SHOWING = sorted(path for path in CODE if ">>> " in path.read_text(encoding="utf-8"))
WITH_EXAMPLES = [*(str(path.relative_to(ROOT)) for path in SHOWING), "docs/how-to/python.md"]


def blocks(path: Path) -> Iterator[str]:
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            yield token.content


def records(page: str) -> Iterator[dict[str, Any]]:
    """Yields the records that the page of a benchmark shows."""
    for block in blocks(BENCHMARKS / f"{page}.md"):
        for text in re.split(r'(?=\{"sample_id")', block)[1:]:
            yield json.JSONDecoder().raw_decode(text)[0]


def keys_within(value: Any, path: str = "") -> set[str]:
    """Returns the paths of all keys within a value that hold something."""
    if isinstance(value, (list, tuple)):
        return {key for each in value for key in keys_within(each, path)}
    held = {f"{path}.{key}": each for key, each in value.items() if each is not None} if isinstance(value, dict) else {}
    return {*held, *(key for name, each in held.items() for key in keys_within(each, name))}


@pytest.mark.parametrize("page", PAGES)
def test_the_records_of_a_benchmark_are_read_to_the_last_key_and_can_be_scored(page: str) -> None:
    benchmark = make_benchmark("formula" if page == "formula_documents" else page)
    shown = list(records(page))
    assert shown
    for record in shown:
        read = []
        for kind in (benchmark.truth_type, benchmark.prediction_type):
            with contextlib.suppress(msgspec.ValidationError):
                read.append(keys_within(msgspec.to_builtins(msgspec.convert(record, kind))))
        given = keys_within(record) - {".sample_id", ".source"}
        assert any(given <= each for each in read), (given, read)
    if not page.startswith("formula"):
        assert isinstance(benchmark.score_sample(msgspec.convert(shown[0], benchmark.truth_type), None), SampleScore)


def test_configurations_are_accepted(tmp_path: Path) -> None:
    shown = [block for path in DOCS.rglob("*.md") for block in blocks(path) if re.match(r"benchmark: \w+\n", block)]
    assert len(shown) > 3
    for block in shown:
        (tmp_path / "c.yaml").write_text(block)
        configuration = settings.load(str(tmp_path / "c.yaml"), [], {})
        assert all(gate_target(key, type(configuration.benchmark)) for key in configuration.settings.gates)


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_the_examples_of_docstrings_and_of_a_page_hold(path: str) -> None:
    if path.endswith(".md"):
        result = doctest.testfile(str(ROOT / path), module_relative=False)
    else:
        result = doctest.testmod(importlib.import_module(f"beamscore.{path.removesuffix('.py').replace('/', '.')}"))
    assert result.attempted > (15 if path.endswith(".md") else 0)
    assert not result.failed


def links(page: Path) -> Iterator[str]:
    """Yields the targets of the links and pictures of a page, without those that leave the repository."""
    for block in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        for token in block.children or ():
            target = str(token.attrGet("href") or token.attrGet("src") or "")
            if target and not re.match(r"[a-z]+:", target):
                yield target


@cache
def anchors(page: Path) -> frozenset[str]:
    """Returns the anchors that GitHub gives the headings of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    headings = [text.content for token, text in pairwise(tokens) if token.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def test_links_lead_somewhere_and_from_the_readme_to_every_page() -> None:
    reached: dict[Path, set[Path]] = {}
    for page in LINKED:
        for link in links(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), (page, link)
            assert not anchor or anchor in anchors(target), (page, link)
            reached.setdefault(page, set()).add(target)
    found, new = set(), {ROOT / "README.md"}
    while new:
        found |= new
        new = set().union(*(reached.get(page, ()) for page in new)) - found
    assert set(LINKED) - {ROOT / "CONTRIBUTING.md"} <= found


def test_files_that_are_named_exist() -> None:
    """Pages and pictures in the code, and files of configs/ in pages but for those in somebody's bucket."""
    found = (path for name in SOURCES for path in (ROOT / name).rglob("*"))
    code = [path for path in found if path.suffix in (".py", ".yaml", ".jinja")]
    named = r"\bdocs/[\w/-]+\.(?:md|png)", r"(?<!\$BUCKET/)(?<!-bucket/)\bconfigs/(?!NAME)[\w/]+\.\w+"
    for sources, pattern in zip(([*code, ROOT / "__init__.py", ROOT / "Makefile"], LINKED), named, strict=True):
        for source in sources:
            for path in re.findall(pattern, source.read_text(encoding="utf-8")):
                assert (ROOT / path).exists(), f"{source.relative_to(ROOT)}: {path}"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty checkout but for configurations and corpora."""
    for name in ("configs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out" / "tutorial").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)


def follow(block: str) -> tuple[list[str], list[str]]:
    """Runs the lines of a block; returns what each has printed, and the lines of standard error of all."""
    outputs, errors = [], []
    for line in filter(None, map(str.strip, block.replace("\\\n", " ").split("\n"))):
        if line.startswith("beamscore "):
            code, stdout, stderr = command(*shlex.split(line, comments=True)[1:])
            assert code == (1 if line.endswith("# exits with code 1") else 0), stderr
            assert "Traceback" not in stderr
            errors += without_progress(stderr).splitlines()
        else:
            stdout = subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
        outputs.append(stdout)
    return outputs, errors


@pytest.mark.usefixtures("checkout")
def test_the_readme_has_the_benchmarks_of_the_registry_and_its_example_prints_what_is_shown() -> None:
    named = [(name, benchmark_class(name).summary) for name in benchmark_names() if name != "toy"]
    rows = [f"| [{name}](docs/explanation/benchmarks/{name}.md) | {summary} |" for name, summary in named]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(["| benchmark | what is scored |", "|---|---|", *rows, "", ""]) in readme
    (block,) = [each for each in blocks(ROOT / "README.md") if "$ beamscore " in each]
    typed, box, shown = block.partition("\u250f")
    assert follow(typed.partition("activate\n$ ")[2]) == ([box + shown], [])


@pytest.mark.usefixtures("checkout")
def test_the_examples_of_the_commands_work_in_their_order() -> None:
    lines = [line for block in blocks(DOCS / "reference" / "commands.md") for line in block.splitlines(keepends=True)]
    text = "".join(line for line in lines if "--print-completion" not in line)
    names = set(re.findall(r"^beamscore (\w+)", text, re.MULTILINE))
    assert names == {"convert", "split", "evaluate", "select", "draw"}
    assert follow(text)[1] == []


@pytest.mark.usefixtures("checkout")
def test_every_command_of_the_tutorial_does_what_it_says() -> None:
    outputs = []
    for block in blocks(DOCS / "tutorial" / "tutorial.md"):
        if block.startswith("benchmark:"):
            Path("out/tutorial/gated.yaml").write_text(block)
        elif block.startswith("python -c"):
            script, end, rest = block.partition("truth.jsonl\n")
            subprocess.run(f"{script}{end}", shell=True, check=True)
            outputs += follow(rest)[0]
        elif not block.startswith("python3 -m venv"):
            outputs += follow(block)[0]
    assert "59 of 60 samples scored, 1 without a prediction" in outputs[0]
    assert "size=large" in Path("out/tutorial/sliced/report.md").read_text()
    verdicts = [Path(f"out/tutorial/nights/{night}/report.md").read_text() for night in "12"]
    assert ["2 of 2 gates pass" in verdicts[0], "1 fail, 1 inconclusive" in verdicts[1]] == [True, True]


@pytest.mark.usefixtures("checkout")
def test_three_nights() -> None:
    _, heading, rest = NIGHTLY.read_text(encoding="utf-8").partition("## Three nights\n")
    Path("page.md").write_text(section := heading + rest.partition("\n## ")[0])
    configuration, *others = blocks(Path("page.md"))
    Path("out/nightly.yaml").write_text(configuration)
    errors = follow("".join(others))[1]
    assert sum("# exits with code 1" in line for each in others for line in each.splitlines()) == 1
    # What the page says that is printed is printed.
    (quoted,) = re.findall(r"^> (beamscore: .*) \.\.\.$", section, re.MULTILINE)
    assert any(line.startswith(quoted) for line in errors)
    tonight = Path("out/tonight.md").read_text()
    assert tonight.startswith("**FAIL** ")
    assert "Samples that moved `overall.f1` of tonight most, losses first:" in tonight
    assert ET.parse("out/junit.xml").getroot().find(".//failure") is not None
    history = Path("out/scores/history.md").read_text()
    assert history.startswith("# traffic_rules: 3 runs")
    assert all(text in history for text in ("**worse**", "2026-01-03", "## Against the baseline"))


def page(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def table(name: str, first: str) -> list[list[str]]:
    """Returns the rows of the table of a page whose first heading is `first`."""
    text = page(name).partition(f"| {first} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n")[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the values within nested mappings by their keys, with dots for groups."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {prefix + name: value}
    return found


def test_pages_list_what_there_is() -> None:
    keys, gates = page("configuration"), NIGHTLY.read_text(encoding="utf-8").partition("## Gates\n")[2]
    listed: dict[str, Any] = {
        "commands": dict(re.findall(r"^- \[?`(\w+)`[^:]*: (.*)$", page("commands"), re.MULTILINE)),
        "exit codes": list(dict.fromkeys(int(row[0]) for row in table("outputs", "code"))),
        "columns of samples": {name for cell, _ in table("outputs", "column") for name in code(cell) or ["METRIC"]},
        "keys of gates": {name for cell in re.findall(r"^\| (`.*?) \|", gates, re.MULTILINE) for name in code(cell)},
        "keys and their defaults": {
            key: yaml.safe_load(default)
            for key, default in re.findall(r"`([\w.]+)`\s+\(`([^`]+)`\)", keys.partition("\n## ")[0])
        },
        # A limit of several inputs is a number in the first row.
        "limits": {code(option)[0]: limit for _, limit, option in reversed(table("inputs", "what"))},
    }
    expected = flat(msgspec.to_builtins(settings.Settings(benchmark="toy")))
    assert expected.pop("benchmark") == "toy"
    assert "\n- `benchmark`: " in keys
    limits = {key: f"{default:,}" for key, default in expected.items() if key.startswith("limits.")}
    known = settings.LimitSettings()
    limits |= {"limits.record_bytes": f"{known.record_bytes >> 20} MiB", "limits.depth": f"{known.depth} levels"}
    limits["max_steps"] = "that of the benchmark"
    assert listed == {
        "commands": {name: text for name, (text, _) in COMMANDS.items()},
        "exit codes": [
            *(messages.DONE, messages.FAILED, messages.WRONG_USAGE, messages.CRASHED),
            *(messages.INCONCLUSIVE, messages.INTERRUPTED),
        ],
        "columns of samples": set(sample_schema(["METRIC"], ["NAME"]).names),
        "keys of gates": set(GATE_KEYS),
        "keys and their defaults": expected,
        "limits": limits,
    }
    assert f"a JSON record with more than {MAX_ARRAYS:,} `[`" in page("inputs")
    assert f"a string of 1 to {MAX_SAMPLE_ID_LENGTH:,} characters" in page("inputs")
    endings = [ending for _, names, _ in table("inputs", "format") for ending in code(names) if ending.startswith(".")]
    for ending in endings:
        assert name_format(f"x.jsonl{ending}" if ending in (".gz", ".zst", ".bz2") else f"x{ending}"), ending


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
