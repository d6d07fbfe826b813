"""A search for slow inputs: whatever a sample makes a benchmark do is counted towards `max_steps`, and ends there.

A sample that costs more than its counted steps and its length explain could stall a run without meeting the limit. The
work is counted in lines of Python: what a function written in C does by itself is not seen.
The samples are pieces of what each benchmark reads, repeated and put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from beamscore.metrics.benchmark import Benchmark, Pair, RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.formula.pairs import formula_pairs
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
_WORDS = ("a", "b ", " ", "\n", "1", "-", "\u00e9", "CO_{2}", "\\frac{", "}", "$x$", "<b>", "a.b,c", "\ud7ff")


def texts(pieces: tuple[str, ...]) -> SearchStrategy[str]:
    """Texts of a few pieces, each repeated."""
    repeated = st.builds(lambda piece, count: piece * count, st.sampled_from(pieces), st.integers(1, MAX_REPEATS))
    return st.lists(repeated, max_size=MAX_PIECES).map("".join)


def repeats(elements: SearchStrategy[Any], most: int = MAX_REPEATS) -> SearchStrategy[list[Any]]:
    """Lists of a few elements, repeated as a whole."""
    return st.builds(lambda some, count: (some * count)[:most], st.lists(elements, max_size=4), st.integers(1, most))


def samples(benchmark: str) -> SearchStrategy[Sample]:
    """Pairs of records of a benchmark, without sample_id; half of them have equal sides."""
    sides = _SIDES[benchmark]
    truth, prediction = sides if isinstance(sides, tuple) else (sides, sides)
    pairs: SearchStrategy[Sample] = st.tuples(truth, prediction)
    return pairs | truth.map(lambda record: (record, record)) if truth is prediction else pairs


def _record(**fields: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(fields)


_NUMBERS = st.integers(0, 6).map(lambda n: 10 * n)
_POINTS = st.lists(st.tuples(_NUMBERS, _NUMBERS).map(list), min_size=3, max_size=12)
_REGION = _record(points=_POINTS, text=texts(_WORDS))
_VALUE = st.integers(-2, 2) | texts(_WORDS) | repeats(st.integers(0, 3) | st.lists(st.just([]), max_size=2))
_PROPERTIES = st.dictionaries(st.sampled_from("abcdef"), _VALUE, max_size=6)
_RULE = _record(properties=_PROPERTIES, centerlines=repeats(st.integers(0, 20)))
_BOX = _record(x0=_NUMBERS, y0=_NUMBERS, width=_NUMBERS, height=_NUMBERS)
_BLOCKS = repeats(_record(bb=_BOX, text=texts(_WORDS)), 30)


def _numbered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**item, "id": number} for number, item in enumerate(items)]


def _chart(blocks: list[dict[str, Any]], role: str, series: list[Any]) -> dict[str, Any]:
    found = _numbered(blocks)
    roles = [{"id": block["id"], "role": role} for block in found]
    data = [{"name": name, "data": [{"x": x, "y": y} for x, y in points]} for name, points in series]
    return {
        "image": {"width": 100, "height": 100},
        "task1": {"output": {"chart_type": "line"}},
        "task2": {"output": {"text_blocks": found}},
        "task3": {"output": {"text_roles": roles}},
        "task6": {"output": {"visual elements": {}, "data series": data}},
    }


_SERIES = repeats(st.tuples(texts(_WORDS), repeats(st.tuples(_NUMBERS | texts(_WORDS), _NUMBERS), 20)), 10)

_SIDES: dict[str, Any] = {
    "chart": st.builds(_chart, _BLOCKS, st.sampled_from(["legend_label", "tick_label"]), _SERIES),
    "chemistry": _record(text=texts(_CHEMFIG) | texts(_CHEMFIG).map("\\chemfig{{{}}}".format)),
    "figure_text": _record(regions=repeats(_REGION, 30)),
    "formula": _record(document=texts(_LATEX)),
    "traffic_rules": (_record(rules=repeats(_RULE, 30).map(_numbered)), _record(rules=repeats(_RULE, 30))),
}

EXAMPLES = {"chart": 25, "chemistry": 80, "figure_text": 40, "formula": 40, "traffic_rules": 25}
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


def scoring(name: str, benchmark: Benchmark[Any, Any, Any], sample: Sample) -> tuple[Callable[[], object], int]:
    """Returns what scores a sample, and the bytes of its records; of a document, what pairs its formulas."""
    truth, prediction = (msgspec.json.encode(record) for record in sample)
    pair: Pair[Any, Any] = Pair(
        "s",
        msgspec.json.decode(truth, type=benchmark.truth_type),
        msgspec.json.decode(prediction, type=benchmark.prediction_type),
    )

    def score() -> object:
        if name != "formula":
            return benchmark.score([pair])
        try:
            # What TeX makes of each formula is a process of its own, with a limit of its own.
            return formula_pairs(pair.truth, pair.prediction, 1000, Budget(MAX_STEPS))
        except RejectedRecord as rejected:
            return rejected

    return score, len(truth) + len(prediction)


def search(name: str) -> None:
    """Looks for the sample with the most work in proportion to what is counted; AssertionError where it is too much."""
    benchmark = make_benchmark(name, max_steps=MAX_STEPS)

    @settings(
        max_examples=EXAMPLES[name],
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @given(samples(name))
    def costs_what_is_counted(sample: Sample) -> None:
        score, size = scoring(name, benchmark, sample)
        score()  # What is imported or made when it is first needed is no work of the sample.
        with counted_steps() as steps:
            lines = executed_lines(score)
            counted = steps()
        per_unit = (lines - LINES_OF_ANY_SAMPLE) / (counted + size)
        target(per_unit)
        assert per_unit <= MAX_LINES_PER_UNIT, f"{lines} lines for {counted} steps and {size} bytes"

    costs_what_is_counted()


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_sample_costs_more_than_what_is_counted(name: str) -> None:
    search(name)


@pytest.mark.parametrize(("counted", "steps"), [(0, 0), (1, MAX_STEPS)])
def test_work_that_is_not_counted_or_goes_on_behind_the_limit_is_noticed(
    monkeypatch: pytest.MonkeyPatch, counted: int, steps: int
) -> None:
    def spend(self: Budget, steps: int) -> None:
        self.steps += counted * steps

    monkeypatch.setattr(Budget, "spend", spend)
    with pytest.raises(AssertionError, match=f"lines for {steps} steps"):
        search("formula")
