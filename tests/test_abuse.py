"""Worst cases: what their runner measures and notices, and a search for small inputs that are slow to score.

Whatever a sample makes a benchmark do is counted towards `max_steps`, and ends there. A sample that costs more than its
counted steps and its length explain could stall a run without meeting the limit. The work is counted in lines of
Python: what a function written in C does by itself is not seen. The samples are generated ones, or pieces of what a
benchmark reads, repeated and put together.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import Mock, patch

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from beamscore.metrics.benchmark import AnyBenchmark, Pair, RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.pairs import formula_pairs
from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from tests.abuse.run import Case, run_case, score_among
from tests.generate.traffic_rules import sample
from tests.metrics.samples import records
from tests.plain_loop import make_benchmark
from tests.work import executed_lines

Sample = tuple[dict[str, Any], dict[str, Any]]
MAX_REPEATS = 60
MAX_PIECES = 6

_CHEMFIG = (
    "\\chemfig{", "}", "{", "(", ")", "C", "-[:30]", "=", "*6(", "?", "?[a]", "!a", "\\definesubmol{a}{",
    "-[::-60,,1,2]", "@{", "\\", " ", "H_{2}O", "C(-N)(=O)", "~", ",", "[", "]", "#(", "\\lewis{0:,O}", "--",
)  # fmt: skip
_LATEX = (
    "$", "$$", "\\[", "\\]", "\\(", "\\begin{equation}", "\\end{equation}", "\\begin{array}{c}", "\\end{array}", "&",
    "\\\\", "{", "}", "\\newcommand{\\a}{", "\\a", "\\a\\a", "\\def\\b#1{", "\\b", "#1", "x", "x^2_3", "\\frac", "%",
    "\n", "\\begin{verbatim}", "\\end{verbatim}", "\\left(", "\\right.", "\\text{a $x$ b}", "\\", "$x$ ", "\\item ",
)  # fmt: skip


def texts(pieces: tuple[str, ...]) -> SearchStrategy[str]:
    """Texts of a few pieces, each repeated."""
    repeated = st.builds(lambda piece, count: piece * count, st.sampled_from(pieces), st.integers(1, MAX_REPEATS))
    return st.lists(repeated, max_size=MAX_PIECES).map("".join)


TEXTS = ("text", "name")


def grown(value: Any, count: int, length: int) -> Any:
    """A record whose lists and texts are as many times as long; what is repeated has ids of its own."""
    if isinstance(value, dict):
        longer = {name: each * length for name, each in value.items() if name in TEXTS and isinstance(each, str)}
        return {name: grown(each, count, length) for name, each in value.items()} | longer
    if not isinstance(value, list):
        return value
    copies = [(number, grown(each, count, length)) for number in range(count) for each in value]
    has_ids = all(isinstance(each, dict) and "id" in each for each in value)
    return [{**each, "id": f"{each['id']}-{n}"} if has_ids and n else each for n, each in copies]


_WORDS = ("a", "b ", " ", "\n", "1", "-", "\u00e9", "CO_{2}", "\\frac{", "}", "$x$", "<b>", "a.b,c", "\ud7ff")
_NUMBERS = st.integers(0, 6).map(lambda n: 10 * n)
_POINTS = st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=3, max_size=12)
_REGIONS = st.lists(st.fixed_dictionaries({"points": _POINTS, "text": texts(_WORDS)}), max_size=4)
PIECES: dict[str, SearchStrategy[dict[str, Any]]] = {
    "chemistry": (texts(_CHEMFIG) | texts(_CHEMFIG).map("\\chemfig{{{}}}".format)).map(lambda text: {"text": text}),
    "figure_text": st.builds(lambda some, count: {"regions": (some * count)[:30]}, _REGIONS, st.integers(1, 30)),
    "formula": texts(_LATEX).map(lambda text: {"document": text}),
}


def samples(name: str) -> SearchStrategy[Sample]:
    """Generated samples that have grown, or those of pieces; half of them have equal sides."""
    if name in PIECES:
        sides = PIECES[name]
        return st.tuples(sides, sides) | sides.map(lambda side: (side, side))
    made = importlib.import_module(f"tests.generate.{name}").sample

    def sample(index: int, count: int, length: int, is_equal: bool) -> Sample:
        truth, prediction = (grown(side, count, length) for side in made(index, 1))
        return truth, truth if is_equal or prediction is None else prediction

    return st.builds(sample, st.integers(0, 99), st.integers(1, 4), st.integers(1, MAX_REPEATS), st.booleans())


EXAMPLES = {"chart": 25, "chemistry": 80, "figure_text": 40, "formula": 80, "traffic_rules": 25}
MAX_LINES_PER_UNIT = 10
"""Lines of Python for each counted step and each byte of the input; ten lines take about a microsecond."""
LINES_OF_ANY_SAMPLE = 6_000
"""What a sample of a few regions or points costs, most of it in NumPy: half a millisecond."""
MAX_STEPS = 4_000
"""A limit that some of the samples meet: they are rejected, and what was counted last is not done."""


@contextmanager
def counted_steps() -> Iterator[Callable[[], int]]:
    """Yields what tells the steps that all budgets made since have allowed."""
    made: list[Budget] = []
    begin = Budget.__init__

    def noted(self: Budget, max_steps: int) -> None:
        made.append(self)
        begin(self, max_steps)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Budget, "__init__", noted)
        yield lambda: sum(min(budget.steps, budget.steps + budget.left) for budget in made)


def work_per_unit(name: str, benchmark: AnyBenchmark, sample: Sample) -> float:
    """Returns the lines of Python for each counted step and byte of a sample; AssertionError if there are too many."""
    pair: Pair[Any, Any] = Pair("s", *records(name, *sample))
    size = len(msgspec.json.encode(sample))

    def score() -> None:
        if name != "formula":
            benchmark.score([pair])
            return
        # What TeX makes of each formula is a process of its own, with a limit of its own.
        with suppress(RejectedRecord):
            formula_pairs(pair.truth, pair.prediction, 1000, Budget(MAX_STEPS))

    score()  # What is imported or made when it is first needed is no work of the sample.
    with counted_steps() as steps:
        lines = executed_lines(score)
        counted = steps()
    per_unit = (lines - LINES_OF_ANY_SAMPLE) / (counted + size)
    assert per_unit <= MAX_LINES_PER_UNIT, f"{lines} lines for {counted} steps and {size} bytes"
    return per_unit


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_sample_costs_more_than_what_is_counted(name: str) -> None:
    benchmark = make_benchmark(name, max_steps=MAX_STEPS)

    @settings(
        max_examples=EXAMPLES[name],
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @given(samples(name))
    def search(sample: Sample) -> None:
        target(work_per_unit(name, benchmark, sample))

    search()


@pytest.mark.parametrize(("counted", "steps"), [(0, 0), (1, MAX_STEPS)])
def test_work_that_is_not_counted_or_goes_on_behind_the_limit_is_noticed(
    monkeypatch: pytest.MonkeyPatch, counted: int, steps: int
) -> None:
    def spend(self: Budget, steps: int) -> None:
        self.steps += counted * steps

    # 8^4 symbols, once the macros are expanded.
    macros = [f"\\newcommand{{\\{name}}}{{{8 * use}}}" for name, use in (("a", "x"), ("b", "\\a"), ("c", "\\b"))]
    document = {"document": f"{''.join(macros)} $\\c\\c\\c\\c\\c\\c\\c\\c$"}
    benchmark = make_benchmark("formula")
    work_per_unit("formula", benchmark, (document, document))
    monkeypatch.setattr(Budget, "spend", spend)
    with pytest.raises(AssertionError, match=f"lines for {steps} steps"):
        work_per_unit("formula", benchmark, (document, document))


NEIGHBOURS = [sample(index, seed=1) for index in range(4)]
RULES = {"rules": [{"id": 1, "properties": {"a": 1}}]}


def test_a_case_runs_in_a_process_of_its_own_whose_memory_is_not_that_of_whoever_starts_it() -> None:
    ballast = bytearray(600 << 20)
    outcome = run_case("traffic_rules", {}, Case("plain", RULES, RULES), NEIGHBOURS)
    assert outcome.verdict.startswith("scored, ")
    assert 10 << 20 < outcome.peak_bytes < len(ballast)
    assert not outcome.failed


HARMS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda results: [*results[:-1], results[0]], "failed: the results of its neighbours change (scored, "),
    (Mock(side_effect=MemoryError), "failed: MemoryError: MemoryError"),
]


def encoded(record: dict[str, Any]) -> str:
    return msgspec.json.encode(record).decode()


def test_harm_is_noticed_and_a_rejected_prediction_is_none() -> None:
    """In this process, whose memory is that of all tests before it."""
    texts = [(encoded(truth), None if each is None else encoded(each)) for truth, each in NEIGHBOURS]
    truth, plain = encoded(RULES), TrafficRulesBenchmark.score
    nested = f'{{"rules": [{{"properties": {{"a": {"[" * 20 + "]" * 20}}}}}]}}'
    said = "rejected (prediction): rules[0].properties: 'a' cannot be compared: it nests more than 16 deep; "
    for prediction, verdict in (
        (None, "scored, "),
        ("[" * 300 + "]" * 300, "rejected: the record is nested deeper than the 200 levels of limits.depth"),
        (nested, f"{said}without a prediction: scored, "),
    ):
        assert score_among("traffic_rules", {}, (truth, prediction), texts).verdict.startswith(verdict)
    for harm, verdict in HARMS:

        def score(self: Any, pairs: Any, harm: Any = harm) -> Any:
            return harm(plain(self, pairs)) if len(pairs) > len(NEIGHBOURS) else plain(self, pairs)

        with patch.object(TrafficRulesBenchmark, "score", score):
            outcome = score_among("traffic_rules", {}, (truth, "{}"), texts)
        assert (outcome.verdict.startswith(verdict), outcome.failed) == (True, True)
