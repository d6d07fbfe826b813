"""Finished runs that are copied, packed, replaced or read-only say the same, whoever reads them; one that is damaged
anywhere is told in one line with exit code 2, or it does not matter: for all commands.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.attacks.corpora import FLAGS, corpus, places, written
from tests.runs import command, evaluate, write_lines

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[2]
EVALUATE = (sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", *FLAGS)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over the same ground truth, the second with a prediction less."""
    folder = tmp_path_factory.mktemp("nights")
    truths, predictions = written(folder / "in", "traffic_rules", 40, 0)
    fewer = folder / "in" / "fewer.jsonl"
    fewer.write_bytes(b"".join(predictions.read_bytes().splitlines(keepends=True)[:-9]))
    (folder / "gates.yaml").write_text(
        "benchmark: traffic_rules\nbootstrap: {replicates: 5}\nmax_rejected_fraction: 1\n"
        "gates: {overall.f1: {not_worse_than: baseline, margin: 0.01}}\n"
    )
    for name, given in (("monday", predictions), ("tuesday", fewer)):
        assert evaluate(folder / name, truths, given, *FLAGS, config="traffic_rules").code == 0
    return folder


def answers(nights: Path, monday: Path, tuesday: Path, output: Path) -> list[tuple[int, str]]:
    """Returns what gate and compare say of two runs, without the paths."""
    done = [
        command("gate", tuesday, "--config", nights / "gates.yaml", "--baseline", monday),
        command("compare", monday, tuesday, "--output", output, "--no-html"),
        (0, "", (output / "comparison.json").read_text()),
    ]
    paths = re.compile("|".join(map(re.escape, map(str, (monday, tuesday, output)))))
    return [(code, paths.sub(lambda match: Path(match[0]).name, stdout + stderr)) for code, stdout, stderr in done]


def read_only(run: Path, to: Path) -> None:
    shutil.copytree(run, to, symlinks=True)
    subprocess.run(["chmod", "-R", "a-w", to], check=True)


def by_zip(run: Path, to: Path) -> None:
    """Packs what a file manager shows, without hidden folders."""
    with zipfile.ZipFile(to.with_suffix(".zip"), "w") as archive:
        for path in sorted(run.rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(run).parts):
                archive.write(path, path.relative_to(run))
    with zipfile.ZipFile(to.with_suffix(".zip")) as archive:
        archive.extractall(to)


@pytest.mark.parametrize("copy", [read_only, by_zip])
def test_a_copy_says_what_the_run_says(nights: Path, tmp_path: Path, copy: Callable[[Path, Path], None]) -> None:
    copies = tmp_path / "monday", tmp_path / "tuesday"
    for path in copies:
        copy(nights / path.name, path)
    before = {path: path.stat().st_mtime_ns for copy in copies for path in copy.rglob("*")}
    expected = answers(nights, nights / "monday", nights / "tuesday", tmp_path / "runs" / "out")
    assert [code for code, _ in expected] == [1, 0, 0], expected
    assert answers(nights, *copies, tmp_path / "copies" / "out") == expected
    assert {path: path.stat().st_mtime_ns for copy in copies for path in copy.rglob("*")} == before


def test_a_run_that_is_replaced_is_read_as_the_old_or_the_new_one(nights: Path, tmp_path: Path) -> None:
    inputs, run = nights / "in", tmp_path / "run"
    evaluate(run, inputs / "truths.jsonl", inputs / "predictions.jsonl", *FLAGS, config="traffic_rules")
    allowed = [json.loads((nights / name / "summary.json").read_bytes())["systems"] for name in ("monday", "tuesday")]
    given = (f"--ground-truth={inputs / 'truths.jsonl'}", f"--predictions={inputs / 'fewer.jsonl'}", f"--output={run}")
    writer = subprocess.Popen([*EVALUATE, *given], cwd=ROOT)
    is_replaced = False
    while not is_replaced:
        is_replaced = writer.poll() is not None
        code, _, stderr = command("gate", run, "--config", nights / "gates.yaml", "--baseline", nights / "monday")
        assert code in (0, 1, 4), stderr
        # The plain name is absent for a moment while a run is replaced.
        with contextlib.suppress(FileNotFoundError):
            assert json.loads((run / "summary.json").read_bytes())["systems"] in allowed
    assert writer.returncode == 0


def test_many_small_files_need_few_descriptors(tmp_path: Path) -> None:
    for side, records in zip(("t", "p"), corpus("traffic_rules", 200, 1), strict=True):
        for number, record in enumerate(records):
            write_lines(tmp_path / side / f"{number}.jsonl", [record])
    given = [f"--ground-truth={tmp_path}/t/*", f"--predictions={tmp_path}/p/*", f"--output={tmp_path}/out"]
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *EVALUATE, *given]
    done = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


TRUTHS = [toy.sample(index, 0)[0] for index in range(24)]
CONFIG = """\
benchmark: toy
slices: [kind]
bootstrap: {replicates: 10}
gates:
  exact_match: {not_worse_than: baseline, margin: 0.05}
  "similarity @ kind=1": {minimum: 0.01}
"""
DOCUMENTS = ("run.json", "summary.json", "sums.json")
OTHERS: tuple[Any, ...] = ("text", 7, float("nan"), [], {}, None)

SCORE = "evaluate gates.yaml --ground-truth t.jsonl --predictions bad-p.jsonl --output OUT --quiet"
COMMANDS = {
    "gate RUN --config gates.yaml --baseline good": DOCUMENTS,
    "gate good --config gates.yaml --baseline RUN": DOCUMENTS,
    "history RUN --output OUT --no-html": ("run.json", "summary.json"),
    "compare good RUN --output OUT --no-html": (*DOCUMENTS, "samples"),
    "merge RUN apart --output OUT --quiet --no-html": (*DOCUMENTS, "samples", "quarantine"),
    f"{SCORE} --set gates={{}} --no-html --reuse RUN": ("run.json", "summary.json", "samples"),
    f"{SCORE} --baseline RUN": (*DOCUMENTS, "samples"),
    "select RUN --output OUT.jsonl": ("run.json", "summary.json", "samples"),
    "export RUN --to inspect --output OUT.jsonl": ("run.json", "summary.json", "samples"),
}
"""Each command with the files of RUN that it reads."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `good` and `bad` over the same samples, and `apart` over others."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "gates.yaml").write_text(CONFIG)
    wrong = [{**truth, "text": "?"} if place % 5 == 0 else truth for place, truth in enumerate(TRUTHS)]
    others = [{**truth, "sample_id": f"other {truth['sample_id']}"} for truth in TRUTHS]
    write_lines(folder / "t.jsonl", TRUTHS)
    for name, truths, predictions in [("good", TRUTHS, TRUTHS), ("bad", TRUTHS, wrong), ("apart", others, others)]:
        truth = write_lines(folder / f"{name}-t.jsonl", truths)
        given = write_lines(folder / f"{name}-p.jsonl", [*predictions, {"sample_id": f"{name} alone", "text": "x"}])
        more = ("--set", "gates={}", "--quiet", "--no-html")
        assert evaluate(folder / name, truth, given, *more, config=folder / "gates.yaml").code == 0
    return folder


def cuts(run: Path, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yields each file of a run, empty, without its last bytes, and cut off somewhere."""
    for path in sorted(run.rglob("*")):
        if path.suffix in (".json", ".parquet", ".jsonl"):
            content, least = path.read_bytes(), int(path.suffix == ".jsonl")
            for end in (least, len(content) - 3, rng.randrange(least, len(content) - 3)):
                yield str(path.relative_to(run)), content[:end]


def damaged_documents(run: Path) -> Iterator[tuple[str, bytes | None]]:
    """Yields documents that are missing, lack one key at any depth, or have another type, NaN or format there."""
    for name in DOCUMENTS:
        yield name, None
        content = (run / name).read_bytes()
        for *above, last in places(json.loads(content)):
            for other in ("no key", *OTHERS):
                document = json.loads(content)
                holder: Any = document
                for key in above:
                    holder = holder[key]
                if other == "no key":
                    del holder[last]
                elif type(holder[last]) is not type(other) or (last, other) == ("format", 7):
                    holder[last] = other
                yield name, json.dumps(document).encode()


@pytest.mark.parametrize("line", COMMANDS)
def test_damage_is_told_where_it_is_read_and_changes_nothing_elsewhere(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Never a traceback, nor a gate that passes for what is damaged: at best it says the same."""
    monkeypatch.chdir(runs)

    def said(run: Path | str) -> tuple[int, str]:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        words = [word.replace("RUN", str(run)).replace("OUT", f"{tmp_path}/out") for word in line.split(" ")]
        code, _, stderr = command(*words)
        return code, stderr

    rng, fast, needed = random.Random(line), line.startswith(("gate", "history")), COMMANDS[line]
    whole = said("bad")
    (files,) = Path("bad", ".runs").iterdir()
    cut = list(cuts(files, rng))
    cut = cut if fast else [each for each in cut if each[0].startswith(needed)][1::3]
    documents = list(damaged_documents(files))
    for number, (name, content) in enumerate([*cut, *rng.sample(documents, 60 if fast else 3)]):
        run = tmp_path / "damaged"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree("bad", run)
        path = run / ".runs" / files.name / name
        path.unlink() if content is None else path.write_bytes(content)
        code, stderr = said(run)
        if number < len(cut):
            assert (code == 2) == name.startswith(needed), (name, len(content or b""), stderr)
        if code == 2:
            assert (stderr.count("\n"), str(run) in stderr) == (1, True), (name, stderr)
        elif not name.startswith(needed):
            assert (code, stderr.replace(str(run), "bad")) == whole
        else:
            # A verdict that has become `invalid` or `inconclusive` says why; a run without a version, or without the
            # fingerprint of its ground truth, is one that does not compare.
            assert "Traceback" not in stderr
            assert code == whole[0] or {code, whole[0]} <= {0, 1, 4}, (name, stderr)
            assert code or not whole[0], (name, stderr)
