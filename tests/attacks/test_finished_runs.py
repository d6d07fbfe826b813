"""Finished runs that are copied or read-only say the same; damage is told in one line, or does not matter."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.attacks.corpora import FLAGS, corpus, holder_at, places
from tests.runs import command, evaluate_records, write_lines

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[2]


def test_many_small_files_need_few_descriptors(tmp_path: Path) -> None:
    for side, records in zip(("t", "p"), corpus("traffic_rules", 200, 1), strict=True):
        for number, record in enumerate(records):
            write_lines(tmp_path / side / f"{number}.jsonl", [record])
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", sys.executable, "-m", "beamscore.pipelines.commands"]
    given = [f"--ground-truth={tmp_path}/t/*", f"--predictions={tmp_path}/p/*", f"--output={tmp_path}/out", *FLAGS]
    line = [*limited, "evaluate", "traffic_rules", *given]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


TRUTHS = [toy.sample(index, 0)[0] for index in range(24)]
CONFIG = """\
benchmark: toy
slices: [kind]
bootstrap: {replicates: 20}
gates:
  exact_match: {not_worse_than: baseline, margin: 0.05}
  "similarity @ kind=1": {minimum: 0.01}
"""
DOCUMENTS = ("run.json", "summary.json", "sums.json")
OTHERS: tuple[Any, ...] = ("text", 7, float("nan"), [], {}, None)

SCORE = "evaluate gates.yaml --ground-truth bad-truth.jsonl --predictions bad-predictions.jsonl --output OUT --quiet"
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
    for name, truths, answers in [("good", TRUTHS, TRUTHS), ("bad", TRUTHS, wrong), ("apart", others, others)]:
        given = [*answers, {"sample_id": f"{name} alone", "text": "x"}]
        more = ("--set", "gates={}", "--quiet", "--no-html")
        assert evaluate_records(folder / name, truths, given, *more, config=folder / "gates.yaml").code == 0
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
        for place in places(json.loads(content)):
            for other in ("no key", *OTHERS):
                document = json.loads(content)
                holder, last = holder_at(document, place)
                if other == "no key":
                    del holder[last]
                elif type(holder[last]) is not type(other) or (last, other) == ("format", 7):
                    holder[last] = other
                yield name, json.dumps(document).encode()


@pytest.mark.parametrize("line", COMMANDS)
def test_copies_agree_and_damage_is_told(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Never a traceback, nor a gate that passes for what is damaged: at best it says the same."""
    monkeypatch.chdir(runs)

    def said(run: Path | str) -> tuple[int, str, str]:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        words = [word.replace("RUN", str(run)).replace("OUT", f"{tmp_path}/out") for word in line.split(" ")]
        return command(*words)

    rng, fast, needed = random.Random(line), line.startswith(("gate", "history")), COMMANDS[line]
    whole = said("bad")
    # As a file manager packs it, without hidden folders, and where nothing may be written.
    copy = shutil.copytree("bad", tmp_path / "copy", ignore=shutil.ignore_patterns(".*"))
    subprocess.run(["chmod", "-R", "a-w", copy], check=True)
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    code, *texts = said(copy)
    assert (code, *(text.replace(str(copy), "bad") for text in texts)) == whole
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before
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
        code, stdout, stderr = said(run)
        if number < len(cut):
            assert (code == 2) == name.startswith(needed), (name, len(content or b""), stderr)
        if code == 2:
            assert (stderr.count("\n"), str(run) in stderr) == (1, True), (name, stderr)
        elif not name.startswith(needed):
            assert (code, *(text.replace(str(run), "bad") for text in (stdout, stderr))) == whole
        else:
            # A verdict that has become `invalid` or `inconclusive` says why; a run without a version, or without the
            # fingerprint of its ground truth, is one that does not compare.
            assert "Traceback" not in stderr
            assert code == whole[0] or {code, whole[0]} <= {0, 1, 4}, (name, stderr)
            assert code or not whole[0], (name, stderr)
