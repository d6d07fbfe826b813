"""What the commands say of random runs is what they said in the last release, unless it was changed on purpose."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.corpora import DAMAGES, to_line
from tests.metrics.samples import assert_pinned
from tests.page.corpora import plain, shown
from tests.runs import Record, Run, command, write_lines

SAID = [
    "9097ee3cbdd3e049",
    "25377339358ddefa",
    "894f21aebdfa2a44",
    "b1868e9762ce7695",
    "0a639c71781561fe",
    "c468cf49be5f3c7d",
    "40812bf2f2fc1991",
]
REPORTS, FILES = ("summary.json", "report.md", "report.html"), ("junit.xml", "verdicts.md")
COMPARED = "comparison.json", "comparison.md", "comparison.html"
KINDS: tuple[Any, ...] = ("pie", "bar", 3, None, "a|b")


class RandomSamples:
    """Random samples with the settings of all their runs; `rng` draws the rest."""

    def __init__(self, number: int) -> None:
        self.rng = rng = random.Random(number)
        self.systems = ["ours", "theirs", "third"][: rng.choice([1, 1, 2, 3])]
        self.repeats = rng.choice([0, 0, 0, 3])
        settings: dict[str, Any] = {
            "missing": rng.choice(["wrong", "exclude"]),
            "cluster": rng.choice([None, "page"]),
            "slices": rng.choice([["kind"], ["kind", "kind,size"]]),
            "repeats": bool(self.repeats),
            "derived": rng.choice([{}, {"both": "mean(exact_match, similarity)"}]),
            "bootstrap.replicates": rng.choice([0, 50, 100, 100]),
            "max_missing_fraction": rng.choice([0.01, 0.1]),
            "max_rejected_fraction": rng.choice([0, 0.1, 1]),
            "worst_samples": rng.choice([0, 3]),
            "inconclusive": rng.choice(["inconclusive", "pass"]),
        }
        self.judge = {"judge": "interval" if settings["bootstrap.replicates"] else "point"}
        self.settings = [f"--set={name}={json.dumps(value)}" for name, value in settings.items()]
        self.reuse = rng.choice([[], [] if self.repeats else ["--reuse=runs/first"]])
        self.parts = rng.choice(
            [["--folds=3"], ["--group=page"], ["--fractions=a=0.5,b=0.5", "--seed=4"], ["--group=no"]]
        )
        self.selection = [f"--below={rng.choice([0.5, 1, 1])}", *rng.choice([[], ["--value=exact_match"]])]
        self.truths = [self._truth(index) for index in range(rng.choice([20, 60, 60]))]

    def _truth(self, index: int) -> Record:
        text = "truth is bad" if self.rng.random() < 0.01 else "x" * self.rng.randrange(9)
        kind, size = self.rng.choice(KINDS), self.rng.randrange(2)
        return {"sample_id": f"s{index}", "text": text, "kind": kind, "size": size, "page": f"p{index // 3}"}

    def _predictions(self, truths: list[Record], harm: float) -> Iterator[bytes]:
        """Yields lines of predictions, a share of about `harm` of them wrong; a few are missing, twice or damaged."""
        for truth in truths:
            for repeat in range(self.repeats or 1):
                mine = {"sample_id": truth["sample_id"], "text": truth["text"], "repeat": repeat}
                if self.rng.random() < harm:
                    mine["text"] = "x" * self.rng.randrange(9)
                if self.rng.random() < 0.01:
                    mine["text"] = self.rng.choice(["prediction is bad", "score fails", "score is infinite"])
                damage = self.rng.choices([_whole, self.rng.choice(DAMAGES)], (50, 1))[0]
                yield from damage(self.rng, mine)

    def evaluation(self, output: str, truths: list[Record], *more: str) -> tuple[str, ...]:
        """Returns the command line that evaluates predictions of these samples."""
        sides = [f"--ground-truth={write_lines(Path(f'{output}-truths.jsonl'), truths)}"]
        for name in self.systems:
            lines = self._predictions(truths, self.rng.choice([0, 0.1, 0.3, 0.6]))
            sides.append(f"--predictions={name}={write_lines(Path(f'{output}-{name}.jsonl'), lines)}")
        return ("evaluate", "toy", *sides, f"--output={output}", *self.settings, *more)

    def gates(self) -> str:
        """Returns the setting of up to four gates."""
        targets = ["exact_match", "similarity", "exact_match @ kind=pie", "similarity @ kind=3", "similarity @ kind=no"]
        gates = {target: self._gate() for target in self.rng.sample(targets, self.rng.randrange(1, 5))}
        return f"--set=gates={json.dumps(gates)}"

    def _gate(self) -> dict[str, Any]:
        kinds: list[dict[str, Any]] = [
            {"minimum": self.rng.choice([0.2, 0.6, 0.9])},
            {"maximum": self.rng.choice([0.5, 0.95])},
            {"not_worse_than": "baseline", "margin": self.rng.choice([0, 0.02, 0.2])},
            {"minimum": 0.3, "maximum": 0.9, "not_worse_than": "baseline"},
        ]
        others: list[dict[str, Any]] = [{"tier": "advisory"}, {"inconclusive": "pass"}, {"system": "ours"}, {}, {}]
        others += [{"judge": "point"}, {"looks": 365} if self.judge["judge"] == "interval" else {}]
        return {**self.judge, **self.rng.choice(kinds), **self.rng.choice(others)}


def _whole(_: random.Random, record: Record) -> list[bytes]:
    return [to_line(record)]


@pytest.mark.parametrize("number", range(len(SAID)))
def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.chdir(tmp_path)
    said = list[str]()

    def run(name: str, *arguments: str, writes: Sequence[str] = ()) -> None:
        for path in writes:
            Path(path).unlink(missing_ok=True)
        code, stdout, stderr = command(name, *arguments)
        written = (path for path in map(Path, writes) if path.exists())
        texts = [shown(path) if path.suffix == ".html" else path.read_text() for path in written]
        said.extend(map(plain, (f"$ {name} {' '.join(arguments)}\n{code}\n", stdout, stderr, *texts)))

    samples = RandomSamples(number)
    best, other = "runs/first:ours", f"runs/second:{samples.systems[-1]}"
    judged = f"--baseline={best}", "--junit=junit.xml", "--markdown=verdicts.md"
    for output, more in (("runs/first", ()), ("runs/second", (samples.gates(), *judged, *samples.reuse))):
        made = [f"{output}/{name}" for name in REPORTS]
        words = samples.evaluation(output, samples.truths, *more)
        run(*words, "--check")
        run(*words, writes=[*made, *FILES])
        result = Run(0, "", "", Path(output))
        said.extend(plain(str(row)) for row in (*result.samples, *result.quarantine))
    for baseline in [best, "runs/first"] * 4:
        run("gate", "runs/second", samples.gates(), f"--baseline={baseline}", *judged[1:], writes=FILES)
    run("compare", best, other, "--output=compared", writes=[f"compared/{name}" for name in COMPARED])
    run("history", "runs", writes=["runs/history.md", "runs/history.html"])
    for target in ("junit", "github", "model-index", "inspect", "every-eval-ever"):
        run("export", other, f"--to={target}")
    run("bless", "runs", writes=["runs/blessed.txt"])
    run(
        "split",
        "toy",
        "--ground-truth=runs/first-truths.jsonl",
        "--output=parts.jsonl",
        *samples.parts,
        writes=["parts.jsonl"],
    )
    run("select", best, "--output=some.jsonl", *samples.selection, writes=["some.jsonl"])
    if number % 3 == 0:
        half = len(samples.truths) // 6 * 3
        for name, truths in (("left", samples.truths[:half]), ("right", samples.truths[half:])):
            run(*samples.evaluation(name, truths, "--no-html"))
        run("merge", "left", "right", "--output=merged", writes=[f"merged/{name}" for name in REPORTS])
    assert_pinned(said, SAID[number], tmp_path)
