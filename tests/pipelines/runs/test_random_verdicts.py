"""What is said of random gates, of random nights and of damaged runs is what the last release said."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.pipelines.config.gates import Gate
from beamscore.pipelines.runs.documents import Fingerprint
from beamscore.pipelines.runs.gates import gate_verdicts
from beamscore.pipelines.runs.run import JudgedRuns, Run
from tests.attacks.corpora import VALUES, holder_at, places
from tests.finished_runs import finished, row, write
from tests.metrics.samples import assert_pinned
from tests.page.corpora import plain
from tests.pipelines.runs import test_history
from tests.runs import command, evaluate_records

SIMILARITIES = (0.0, 0.25, 0.75, 0.999, 1.0, 1.0, 1.0, 1.0)
TARGETS = ("exact_match", "similarity", "exact_match @ kind=a", "similarity @ kind=b", "similarity @ kind=c")


def random_run(rng: random.Random, config: dict[str, Any]) -> Run:
    """Returns a run of two systems on up to 60 random samples, a few of which are left out."""
    first, count, lost = rng.choice([0, 0, 0, 4]), rng.choice([1, 5, 6, 20, 60, 60]), rng.choice([0, 0, 0.05, 0.3])
    rows = []
    for name in ("ours", "last"):
        # Most systems differ in few samples.
        like, changed = random.Random(0), rng.choice([0, 0.05, 0.2, 1])
        for place in range(first, first + count):
            value = like.choice(SIMILARITIES)
            value = rng.choice(SIMILARITIES) if rng.random() < changed else value
            known = None if rng.random() < lost else value
            rows.append(row(f"s{place}", known, "ab"[place % 2], f"u{place // 2}", system=name))
    texts = rng.choice([None, "same", f"predictions {rng.random()}"])
    found = finished(rows, config, rng.choice(["aa", "aa", "bb", None]), texts)
    found.path = f"run {rng.randrange(100)}"
    return found.changed(fingerprint=Fingerprint(9, "ab"))


def random_gate(rng: random.Random) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"minimum": rng.choice([0, 0.2, 0.6, 0.9, 1])},
        {"maximum": rng.choice([0, 0.5, 0.8, 0.95, 1])},
        {"minimum": 0.3, "maximum": 0.9, "not_worse_than": "baseline"},
        *[{"not_worse_than": "baseline", "margin": rng.choice([0, 0.02, 0.2, 0.5])}] * 3,
        {"not_worse_than": "last", "margin": rng.choice([0, 0.05])},
    ]
    others = [{"tier": "advisory"}, {"inconclusive": "pass"}, {"system": "ours"}, {"judge": "point"}, {}]
    return {**rng.choice(kinds), **rng.choice(others), "looks": rng.choice([1, 2, 7, 365])}


def random_verdicts(rng: random.Random) -> Iterator[Any]:
    """Yields the verdicts of gates on runs of one configuration, against a baseline that has judged some of them."""
    shared = {"missing": rng.choice(["wrong", "exclude"]), "cluster": rng.choice([None, None, "page"])}
    config = {**shared, "bootstrap": {"replicates": 100, "confidence": rng.choice([0.9, 0.95])}}
    runs = [random_run(rng, config) for _ in range(9)]
    for _ in range(30):
        run, against, *earlier = rng.sample(runs, len(runs))
        against.judged = JudgedRuns(
            {f"night {n}": n for n in range(rng.choice([5, 7, 7]))}, dict(enumerate(earlier, start=1))
        )
        gates = {target: Gate(**random_gate(rng)) for target in TARGETS}
        judged = replace(run.configuration, settings=msgspec.structs.replace(run.configuration.settings, gates=gates))
        yield msgspec.to_builtins(gate_verdicts(judged, run, rng.choice([*[against] * 9, None])))


def random_nights(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yields the rows of up to 30 nights of some systems, whose values, settings and coverage change at times."""
    now: dict[str, Any] = {"version": "0.2.0", "scoring": "a f0", "ground_truth": "9:ab", "derived": None}
    later: dict[str, list[Any]] = {
        "version": ["0.2.1", "0.3.0"], "scoring": ["a f0", "b f0", "a f1", "a"], "ground_truth": ["9:ab", "8:cd", None],
        "derived": [None, '{"similarity": "mean(exact_match)"}'], "missing": [0, 1, 3],
        "gates": ["pass", "fail", "inconclusive", "invalid", None],
    }  # fmt: skip
    systems, day, level = rng.choice([["ours"], ["ours", "theirs"], ["a", "b", "c"]]), 0.0, 0.9
    for _ in range(rng.randrange(1, 30)):
        day += rng.choice([1] * 9 + [0.01, 2, 3.4])
        level = rng.choice([level] * 9 + [0.5, 0.8, 0.95])
        if rng.random() < 0.15:
            key = rng.choice([*later])
            now = {**now, key: rng.choice(later[key])}
        for system in rng.sample(systems, len(systems) - (rng.random() < 0.05)):
            for metric in ("exact_match", "similarity"):
                value = rng.choice([level + rng.choice([0, 0.01, -0.01, 0.02])] * 30 + [None])
                yield test_history.row(
                    day, value, **now, system=system, metric=metric, scored=rng.choice([9] * 9 + [4])
                )


def random_histories(rng: random.Random) -> Iterator[Any]:
    """Yields what is said of a history."""
    found = test_history.history([*random_nights(rng)])
    yield test_history.text_of(found)
    yield msgspec.to_builtins(test_history.document_of(found).verdict)
    yield [str(each) for each in found.changes]


DOCUMENTS = ("summary.json", "sums.json", "run.json")
COMMANDS = ("gate RUN --set=gates.exact_match.minimum=0.5", "export RUN --to=model-index", "gate OTHER --baseline=RUN")


def random_damage(rng: random.Random, run: Path) -> Iterator[Any]:
    """Yields what commands say of a run of which a document has another value, or none, at a random place."""
    name = rng.choice(DOCUMENTS)
    content = (run / name).read_bytes()
    document = json.loads(content)
    key = rng.choice([each for each in document if each not in ("command", "host", "versions")])
    path = rng.choice([each for each in places(document) if each[0] == key])
    holder, last = holder_at(document, path)
    if rng.random() < 0.3:
        del holder[last]
    else:
        holder[last] = rng.choice([*VALUES, 7, "x"])
    write(run / name, document)
    words = rng.choice(COMMANDS).replace("RUN", str(run)).replace("OTHER", str(run.with_name("other"))).split(" ")
    yield [name, path, *map(plain, map(str, command(*words, *["--quiet"] * (words[0] == "gate"))))]
    (run / name).write_bytes(content)


@pytest.mark.parametrize(
    ("what", "times", "expected"),
    [(random_verdicts, 4, "01810d9600c093b1"), (random_histories, 40, "4862b9c013a1f3c9")],
)
def test_what_is_said(
    what: Callable[[random.Random], Iterator[Any]], times: int, expected: str, tmp_path: Path
) -> None:
    rng = random.Random(0)
    assert_pinned([each for _ in range(times) for each in what(rng)], expected, tmp_path, digits=6)


def test_what_is_said_of_damaged_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That nothing damaged passes a gate is in attacks/test_finished_runs."""
    monkeypatch.chdir(tmp_path)
    samples = [{"sample_id": f"s{number}", "text": "x" * (number % 3), "kind": number % 2} for number in range(8)]
    gate = "--set=gates={exact_match @ kind=1: {not_worse_than: baseline, margin: 0.2}}"
    for name, more in (("run", []), ("other", ["--baseline=run", gate])):
        flags = ("--slice=kind", "--set=bootstrap.replicates=20", "--quiet", "--no-html", *more)
        run = evaluate_records(Path("made", name), samples, samples[: 8 - len(more)], *flags)
        # A copy without hidden folders.
        (files,) = (run.output / ".runs").iterdir()
        files.rename(name)
    rng = random.Random(0)
    assert_pinned(
        [each for _ in range(250) for each in random_damage(rng, Path("run"))], "67f409669e98a3de", tmp_path, digits=6
    )
