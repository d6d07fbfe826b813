"""A run that is damaged anywhere is told in one line with exit code 2, or it does not matter: for all commands.

Files are cut off at any point or missing, and documents lack keys or have values of another type. What a command does
not read may not change what it says.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import Run, command, evaluate, write_lines

TRUTHS = [toy.sample(index, 0)[0] for index in range(24)]
CONFIG = """\
benchmark: toy
slices: [kind]
bootstrap: {replicates: 10}
gates:
  exact_match: {not_worse_than: baseline, margin: 0.05}
  "similarity @ kind=1": {minimum: 0.01}
"""
JSON_FILES = ("run.json", "summary.json", "sums.json")
ROWS, QUARANTINE = "samples", "quarantine"

Damage = tuple[str, bytes | None]
"""The path of a file below the run, and what it holds instead; None: it is missing."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `good` and `bad` over the same samples, and `apart` over others."""
    toy.register()
    folder = tmp_path_factory.mktemp("runs")
    (folder / "gates.yaml").write_text(CONFIG)
    wrong = [{**truth, "text": "?"} if place % 5 == 0 else truth for place, truth in enumerate(TRUTHS)]
    others = [{**truth, "sample_id": f"other {truth['sample_id']}"} for truth in TRUTHS]
    write_lines(folder / "t.jsonl", TRUTHS)
    write_lines(folder / "apart.jsonl", others)
    for name, truths, predictions in [("good", TRUTHS, TRUTHS), ("bad", TRUTHS, wrong), ("apart", others, others)]:
        truth = write_lines(folder / f"{name}-t.jsonl", truths)
        given = write_lines(folder / f"{name}-p.jsonl", [*predictions, {"sample_id": f"{name} alone", "text": "x"}])
        more = ("--set", "gates={}", "--quiet", "--no-html")
        assert evaluate(folder / name, truth, given, *more, config=folder / "gates.yaml").code == 0
    return folder


Command = Callable[[Path, Path, Path], Sequence[str | Path]]


def _scoring(runs: Path) -> list[str | Path]:
    inputs: list[str | Path] = ["--ground-truth", runs / "t.jsonl", "--predictions", runs / "bad-p.jsonl", "--quiet"]
    return ["evaluate", runs / "gates.yaml", *inputs]


def _written(name: str, *more: str) -> Command:
    """Returns a command over the run alone, which writes to the folder `output`."""
    return lambda runs, run, output: (name, run, "--output", output / "file.jsonl", *more)


ROWS_READ = ("run.json", "summary.json", ROWS)
COMMANDS: dict[str, tuple[Command, tuple[str, ...]]] = {
    "gate": (
        lambda runs, run, _: ("gate", run, "--config", runs / "gates.yaml", "--baseline", runs / "good"),
        JSON_FILES,
    ),
    "gate against it": (
        lambda runs, run, _: ("gate", runs / "good", "--config", runs / "gates.yaml", "--baseline", run),
        JSON_FILES,
    ),
    "history": (_written("history", "--no-html"), ("run.json", "summary.json")),
    "compare": (
        lambda runs, run, output: ("compare", runs / "good", run, "--output", output, "--no-html"),
        (*JSON_FILES, ROWS),
    ),
    "merge": (
        lambda runs, run, output: ("merge", run, runs / "apart", "--output", output, "--quiet", "--no-html"),
        (*JSON_FILES, ROWS, QUARANTINE),
    ),
    "evaluate --reuse": (
        lambda runs, run, output: (
            *_scoring(runs),
            "--set",
            "gates={}",
            "--no-html",
            "--output",
            output,
            "--reuse",
            run,
        ),
        ROWS_READ,
    ),
    "evaluate --baseline": (
        lambda runs, run, output: (*_scoring(runs), "--baseline", run, "--output", output),
        (*JSON_FILES, ROWS),
    ),
    "select": (_written("select"), ROWS_READ),
    "export": (_written("export", "--to", "inspect"), ROWS_READ),
}
FAST = ("gate", "gate against it", "history")


def root_of(run: Path) -> Path:
    (folder,) = (run / ".runs").iterdir()
    return folder


def cuts(run: Path, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yields each file of a run, empty, without its last bytes, and cut off somewhere."""
    for path in sorted(root_of(run).rglob("*")):
        if path.is_file() and path.suffix in (".json", ".parquet", ".jsonl"):
            content, name = path.read_bytes(), str(path.relative_to(root_of(run)))
            least = 1 if path.suffix == ".jsonl" else 0
            for end in (least, len(content) - 3, rng.randrange(least, len(content) - 3)):
                yield name, content[:end]


def damaged_documents(run: Path, rng: random.Random, count: int) -> Iterator[Damage]:
    """Yields documents that are missing, lack one key, or have a value of another type, NaN or another format.

    All keys of the first level, and `count` others whatever their depth.
    """
    for name in JSON_FILES:
        content = (root_of(run) / name).read_bytes()
        paths = list(_paths(json.loads(content)))
        deeper = [path for path in paths if len(path) > 1]
        yield name, None
        for path in [*(path for path in paths if len(path) == 1), *rng.sample(deeper, min(count, len(deeper)))]:
            for other in ("no key", *OTHERS):
                document = json.loads(content)
                holder: Any = document
                for key in path[:-1]:
                    holder = holder[key]
                if other == "no key":
                    del holder[path[-1]]
                elif type(holder[path[-1]]) is type(other) and not (path == ("format",) and other == 7):
                    continue
                else:
                    holder[path[-1]] = other
                yield name, json.dumps(document).encode()


OTHERS: tuple[Any, ...] = ("text", 7, float("nan"), [], {}, None)


def _paths(document: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in children:
        yield (*above, key)
        if isinstance(value, (dict, list)):
            yield from _paths(value, (*above, key))


def said(runs: Path, name: str, run: Path, tmp_path: Path) -> Run:
    output = tmp_path / "output"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    return Run(*command(*COMMANDS[name][0](runs, run, output)), output)


def damaged(runs: Path, tmp_path: Path, damage: Damage) -> Path:
    run = tmp_path / "damaged"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(runs / "bad", run)
    name, content = damage
    path = root_of(run) / name
    path.unlink() if content is None else path.write_bytes(content)
    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_is_cut_off_is_told_where_it_is_read(runs: Path, tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    whole = said(runs, name, runs / "bad", tmp_path)
    needed = COMMANDS[name][1]
    found = list(cuts(runs / "bad", rng))
    for damage in found if name in FAST else [each for each in found if each[0].startswith(needed)][1::3]:
        run = damaged(runs, tmp_path, damage)
        result = said(runs, name, run, tmp_path)
        if damage[0].startswith(needed):
            assert (result.code, result.stderr.count("\n")) == (2, 1), (damage[0], len(damage[1]), result)
            assert str(run) in result.stderr
        else:
            assert (result.code, result.stderr.replace(str(run), str(runs / "bad"))) == (whole.code, whole.stderr)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_document_that_is_damaged_is_told_or_does_not_matter(runs: Path, tmp_path: Path, name: str) -> None:
    """Never a traceback, nor a gate that passes for what is damaged: at best it says the same."""
    rng = random.Random(f"documents of {name}")
    whole = said(runs, name, runs / "bad", tmp_path)
    found = list(damaged_documents(runs / "bad", rng, 6))
    for damage in rng.sample(found, 60 if name in FAST else 4):
        run = damaged(runs, tmp_path, damage)
        result = said(runs, name, run, tmp_path)
        if result.code == 2:
            assert result.stderr.count("\n") == 1, (damage[0], result)
            assert str(run) in result.stderr
        else:
            # A verdict that has become `invalid` or `inconclusive` says why; a run without a version, or without the
            # fingerprint of its ground truth, is one that does not compare.
            assert "Traceback" not in result.stderr
            assert result.code == whole.code or {result.code, whole.code} <= {0, 1, 4}, (damage[0], result)
            assert result.code or not whole.code, (damage[0], result)
