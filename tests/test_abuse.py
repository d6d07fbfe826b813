"""The runner of worst cases: what it measures, and that it notices harm."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import tests.abuse.__main__ as abuse
from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from tests.abuse.case import Case
from tests.abuse.run import MAX_BYTES, MAX_SECONDS, Job, Outcome, run_case, score_job
from tests.generate.traffic_rules import sample

NEIGHBOURS = [sample(index, seed=1) for index in range(4)]
RULES = {"rules": [{"id": 1, "properties": {"a": 1}}]}


def job(prediction: str | None) -> Job:
    neighbours = [
        (msgspec.json.encode(truth).decode(), None if each is None else msgspec.json.encode(each).decode())
        for truth, each in NEIGHBOURS
    ]
    return Job("traffic_rules", {}, msgspec.json.encode(RULES).decode(), prediction, neighbours)


def test_a_case_runs_in_a_process_of_its_own() -> None:
    outcome = run_case("traffic_rules", {}, Case("plain", RULES, RULES), NEIGHBOURS)
    assert outcome.verdict.startswith("scored, ")
    assert 10 << 20 < outcome.peak_bytes < MAX_BYTES
    assert not outcome.failed


def test_the_memory_of_a_case_is_not_that_of_whoever_starts_it() -> None:
    ballast = bytearray(600 << 20)
    outcome = run_case("traffic_rules", {}, Case("plain", RULES, RULES), NEIGHBOURS)
    assert outcome.peak_bytes < len(ballast)


def test_what_the_reader_would_reject_is_no_case() -> None:
    large = Case("large", RULES, {"rules": [{"properties": {"a": "x" * (17 << 20)}}]})
    outcome = run_case("traffic_rules", {}, large, NEIGHBOURS)
    assert outcome.failed
    assert outcome.verdict.startswith("failed: no case: a record of 178")


@pytest.mark.parametrize(
    ("prediction", "verdict"),
    [
        (None, "scored, "),
        ('{"rules": 3}', "rejected: Expected `array | null`, got `int` - at `$.rules`"),
        ("[" * 300 + "]" * 300, "rejected: nested more than 200 deep"),
        (
            '{"rules": [{"properties": {"a": %s}}]}' % ("[" * 20 + "]" * 20),
            "rejected (prediction): rules[0].properties: 'a' cannot be compared: it nests more than 16 deep; "
            "without a prediction: scored, ",
        ),
    ],
)
def test_verdicts(prediction: str | None, verdict: str) -> None:
    # Scored in this process, whose memory is that of all tests before it: the verdict alone is looked at.
    assert score_job(job(prediction)).verdict.startswith(verdict)


def test_a_neighbour_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TrafficRulesBenchmark.score

    def leaky(self: TrafficRulesBenchmark, pairs: Sequence[Pair[Any, Any]]) -> list[SampleScore | RejectedRecord]:
        results = plain(self, pairs)
        if len(pairs) > len(NEIGHBOURS):
            results[-1] = results[0]
        return results

    monkeypatch.setattr(TrafficRulesBenchmark, "score", leaky)
    outcome = score_job(job("{}"))
    assert outcome.verdict.startswith("failed: the results of its neighbours change (scored, ")
    assert outcome.failed


def test_a_benchmark_that_breaks_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TrafficRulesBenchmark.score

    def broken(self: TrafficRulesBenchmark, pairs: Sequence[Pair[Any, Any]]) -> list[SampleScore | RejectedRecord]:
        if len(pairs) > len(NEIGHBOURS):
            raise MemoryError
        return plain(self, pairs)

    monkeypatch.setattr(TrafficRulesBenchmark, "score", broken)
    assert score_job(job("{}")).verdict == "failed: MemoryError: MemoryError"


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        (Outcome(MAX_SECONDS, MAX_BYTES, "scored"), False),
        (Outcome(MAX_SECONDS + 0.1, 0, "scored"), True),
        (Outcome(0.0, MAX_BYTES + 1, "rejected"), True),
        (Outcome(0.0, 0, "failed: a neighbour changes"), True),
    ],
)
def test_what_fails(outcome: Outcome, failed: bool) -> None:
    assert outcome.failed is failed


def test_modules_are_found_and_rows_of_their_own_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readers = ModuleType("tests.abuse.readers")
    rows = [("a long file", 1.25, 3 << 20, "read"), ("a wide file", 9.0, 0, "read")]
    readers.check = lambda: rows  # type: ignore[attr-defined]
    monkeypatch.setattr("sys.argv", ["abuse", "traffic_rules"])
    monkeypatch.setattr(importlib, "import_module", lambda name: readers)
    with pytest.raises(SystemExit) as ended:
        abuse.main()
    assert ended.value.code == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["ok", "traffic_rules:", "a", "long", "file", "1.25", "s", "3", "MiB", "read"]
    assert lines[1] == ["FAIL", "traffic_rules:", "a", "wide", "file", "9.00", "s", "0", "MiB", "read"]
    assert lines[2][:4] == ["2", "cases,", "1", "of"]


def test_every_module_of_the_folder_is_run() -> None:
    folder = Path(abuse.__file__).parent
    assert set(abuse.module_names()) == {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "__main__",
        "case",
        "run",
    }
    assert "traffic_rules" in abuse.module_names()


@pytest.mark.parametrize("module", abuse.module_names())
def test_a_module_has_cases_of_a_benchmark_or_a_check(module: str) -> None:
    loaded = importlib.import_module(f"tests.abuse.{module}")
    assert hasattr(loaded, "cases") or hasattr(loaded, "check")
