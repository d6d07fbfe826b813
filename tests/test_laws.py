"""The laws that every benchmark keeps, so that any runner may cut, order and merge its samples as it likes."""

from __future__ import annotations

import builtins
import importlib
import math
import pickle
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import Benchmark, Pair, RejectedRecord, SampleScore
from beamscore.metrics.registry import BUILT_IN, benchmark_class, benchmark_names
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums, check_statistics
from beamscore.metrics.statistics.measured import denominator_columns
from beamscore.metrics.statistics.sum_table import SumTable, values_of_rows
from beamscore.metrics.statistics.sums import Sums
from tests import toy
from tests.plain_loop import comparable, make_benchmark

COUNT = 24
BOOTSTRAP = Bootstrap(replicates=5, seed=1)

Result = SampleScore | RejectedRecord


def generator(name: str) -> Callable[[int, int], tuple[Any, Any]]:
    """Returns what makes sample records: that of tests/generate for our benchmarks, else the one beside it."""
    if name == "toy":
        return toy.sample
    package = "tests" if name in BUILT_IN else benchmark_class(name).__module__.rpartition(".")[0]
    module = f"{package}.generate.{name}" if name in BUILT_IN else f"{package}.generate"
    sample: Callable[[int, int], tuple[Any, Any]] = importlib.import_module(module).sample
    return sample


class Scored:
    """A benchmark that is set up, its pairs, and the results of scoring each pair alone."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.benchmark = make_benchmark(name)
        self.benchmark.setup()
        generate = generator(name)
        self.records = [generate(index, 3) for index in range(COUNT)]
        self.pairs = [self.pair(*each) for each in self.records]
        self.alone = [result for pair in self.pairs for result in self.benchmark.score([pair])]
        self.scores = [result for result in self.alone if isinstance(result, SampleScore)]

    def pair(self, truth: Any, prediction: Any) -> Pair[Any, Any]:
        decode = msgspec.json.decode
        return Pair(
            truth["sample_id"],
            decode(msgspec.json.encode(truth), type=self.benchmark.truth_type),
            None
            if prediction is None
            else decode(msgspec.json.encode(prediction), type=self.benchmark.prediction_type),
        )


@pytest.fixture(scope="module", params=benchmark_names())
def scored(request: pytest.FixtureRequest) -> Iterator[Scored]:
    made = Scored(request.param)
    yield made
    made.benchmark.teardown()


def test_the_corpus_says_something(scored: Scored) -> None:
    """The laws below would hold of nothing, too."""
    assert len({pair.sample_id for pair in scored.pairs}) == COUNT
    assert len(scored.scores) > COUNT / 2
    assert any(pair.prediction is None for pair in scored.pairs) or scored.name != "toy"
    assert len({comparable(score) for score in scored.scores}) > 3
    figures = figures_of(scored.benchmark, scored.scores)
    assert all(figures.get(spec.name) is not None for spec in scored.benchmark.ranking_metrics())


def test_samples_are_a_function_of_index_and_seed(scored: Scored) -> None:
    generate = generator(scored.name)
    again = [generate(index, 3) for index in reversed(range(COUNT))][::-1]
    assert msgspec.json.encode(again) == msgspec.json.encode(scored.records)


def test_statistics_can_be_summed_and_columns_are_the_declared_ones(scored: Scored) -> None:
    for score in scored.scores:
        check_statistics(score.statistics)
        assert set(score.metrics) <= set(scored.benchmark.sample_metric_names())
        msgspec.json.encode(score.details)


def test_every_metric_declares_what_it_is_a_share_of(scored: Scored) -> None:
    """From the denominator follows how many samples a metric rests on: as many as add to it, or nearly."""
    sums = Sums.merged(Sums.of(score.statistics) for score in scored.scores)
    for metric, value in scored.benchmark.values(sums).items():
        spec = scored.benchmark.spec_of(metric)
        assert spec is not None, metric
        names = tuple(sums)
        columns = denominator_columns(spec, metric, {name: place for place, name in enumerate(names)})
        assert columns or not value, f"{metric}: no statistic is called {spec.denominator}"
        added = [sum(score.statistics.get(names[column], 0) for column in columns) for score in scored.scores]
        assert value is None or not value or sum(added) > 0, metric
        if spec.per_sample is not None:
            assert set(added) <= {0, spec.per_sample}, metric


def test_no_score_depends_on_how_python_adds_floats(scored: Scored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Python 3.12, `sum` of floats rounds once: a score must have the same bits there."""
    add = sum

    def rounded_once(values: Iterable[Any], start: Any = 0) -> Any:
        held = list(values)
        is_float = held and all(isinstance(value, (int, float)) for value in held) and isinstance(add(held), float)
        return math.fsum([start, *held]) if is_float else add(held, start)

    monkeypatch.setattr(builtins, "sum", rounded_once)
    again = [result for pair in scored.pairs for result in scored.benchmark.score([pair])]
    sums = Sums.merged(Sums.of(each.statistics) for each in scored.scores)
    values = scored.benchmark.values(sums)
    monkeypatch.undo()
    assert repr(values) == repr(scored.benchmark.values(sums))
    assert [comparable(result) for result in again] == [comparable(result) for result in scored.alone]


WEIGHTS = st.lists(st.integers(0, 3), min_size=COUNT, max_size=COUNT)


@given(st.lists(WEIGHTS, min_size=1, max_size=4), st.integers(0, COUNT), st.integers(0, 9), st.booleans())
def test_metrics_of_columns_are_those_of_a_call_for_each_row(
    scored: Scored, rows: list[list[int]], few: int, left_out: int, released: bool
) -> None:
    """Of few samples, and without some of their statistics, so that every denominator is 0 somewhere."""
    protocols = get_args(get_type_hints(scored.benchmark.options_type).get("protocol"))
    benchmark = make_benchmark(scored.name, **{"protocol": protocols[-1]} if released and protocols else {})
    sums = [Sums.of(score.statistics) for score in scored.scores]
    corpus = Sums.merged(sums[: few + 1])
    names = {name for place, name in enumerate(Sums.merged(sums)) if place % 10 != left_out}
    drawn = [
        Sums.merged(
            Sums({name: units for name, units in each.units().items() if name in names}).scaled(weight)
            for each, weight in zip(sums[: few + 1], row, strict=False)
        )
        for row in rows
    ]
    found = values_of_rows(benchmark, SumTable.of(drawn), corpus)
    for place, row in enumerate(drawn):
        expected = benchmark.values_within(row, corpus)
        for metric in {*found, *expected}:
            value, column = expected.get(metric), found.get(metric, [math.nan] * len(drawn))
            assert repr(math.nan if value is None else float(value)) == repr(float(column[place])), metric


def merge_at_random(parts: list[Any], rng: random.Random, merge: Callable[[Any, Any], Any]) -> Any:
    """Merges parts two by two, in a random tree."""
    while len(parts) > 1:
        rng.shuffle(parts)
        parts = [merge(parts[0], parts[1]), *parts[2:]]
    return parts[0]


@pytest.mark.parametrize("seed", range(5))
def test_any_split_order_and_merge_tree_gives_the_same_bytes(scored: Scored, seed: int) -> None:
    rng = random.Random(seed)
    scores = list(enumerate(scored.scores))
    plain = Sums.merged(Sums.of(score.statistics) for _, score in scores)
    whole = collect(scores)
    rng.shuffle(scores)
    cuts = sorted(rng.sample(range(len(scores)), 6))
    shards = [scores[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(scores)], strict=True)]

    merged = merge_at_random(
        [Sums.merged(Sums.of(score.statistics) for _, score in each) for each in shards], rng, Sums.merge
    )
    assert pickle.dumps(merged) == pickle.dumps(plain)

    def merge(into: BootstrapSums, other: BootstrapSums) -> BootstrapSums:
        into.merge(other)
        return into

    replicated = merge_at_random([collect(each) for each in shards], rng, merge)
    assert replicated.to_bytes() == whole.to_bytes()
    assert replicated.sums() == plain
    figures = [scored.benchmark.values(sums) for sums in replicated.table().rows()]
    assert repr(figures) == repr([scored.benchmark.values(sums) for sums in whole.table().rows()])


def collect(scores: Sequence[tuple[int, SampleScore]]) -> BootstrapSums:
    sums = BootstrapSums(BOOTSTRAP)
    for index, score in scores:
        sums.add(BOOTSTRAP.unit_hash(f"s{index}"), score.statistics)
    return sums


@pytest.mark.parametrize("seed", range(3))
def test_a_score_does_not_depend_on_its_batch(scored: Scored, seed: int) -> None:
    rng = random.Random(seed)
    order = rng.sample(range(COUNT), COUNT)
    size = min(scored.benchmark.batch_size, [COUNT, 5, 2][seed])
    found: dict[int, bytes] = {}
    for start in range(0, COUNT, size):
        batch = order[start : start + size]
        results = scored.benchmark.score([scored.pairs[index] for index in batch])
        assert len(results) == len(batch)
        found.update(zip(batch, map(comparable, results), strict=True))
    assert [found[index] for index in range(COUNT)] == [comparable(result) for result in scored.alone]


@pytest.mark.parametrize("max_steps", [1, 100, 1000])
def test_samples_that_take_too_much_do_not_disturb_their_batch(scored: Scored, max_steps: int) -> None:
    """At 1 step no sample of a batch is scored, at 1,000 steps most are."""
    options = {field.name: field.type for field in msgspec.structs.fields(scored.benchmark.options)}
    if "max_steps" not in options:
        pytest.skip("the work of a sample has no limit")
    for protocol in get_args(options["protocol"]) if "protocol" in options else (None,):
        benchmark = make_benchmark(scored.name, max_steps=max_steps, **({"protocol": protocol} if protocol else {}))
        benchmark.setup()
        try:
            together = [
                result
                for start in range(0, COUNT, benchmark.batch_size)
                for result in benchmark.score(scored.pairs[start : start + benchmark.batch_size])
            ]
            alone = [result for pair in scored.pairs for result in benchmark.score([pair])]
        finally:
            benchmark.teardown()
        assert list(map(comparable, together)) == list(map(comparable, alone)), protocol


def test_nothing_has_figures_too(scored: Scored) -> None:
    values = scored.benchmark.values(Sums())
    assert values
    assert all(value is None or isinstance(value, float) for value in values.values())
    assert scored.benchmark.score([]) == []
    msgspec.json.encode(scored.benchmark.tables(Sums()))


def test_a_single_sample_has_figures(scored: Scored) -> None:
    """A sample in which something can be measured has figures; one that adds nothing to the sums may have none."""
    measured = [score for score in scored.scores if score.statistics]
    assert len(measured) > COUNT / 2
    for score in measured:
        values = scored.benchmark.values(Sums.of(score.statistics))
        assert any(value is not None for value in values.values())


def test_predictions_score_better_than_none(scored: Scored) -> None:
    """Every ground truth that can be scored at all is scored without a prediction, and all that ranks is lower then."""
    missing = [
        scored.benchmark.score([Pair(pair.sample_id, pair.truth, None)])[0]
        for pair, result in zip(scored.pairs, scored.alone, strict=True)
        if isinstance(result, SampleScore)
    ]
    without = figures_of(scored.benchmark, missing)
    given = figures_of(scored.benchmark, scored.scores)
    for spec in scored.benchmark.ranking_metrics():
        worse, better = without[spec.name], given[spec.name]
        assert better is not None
        assert worse is None or spec.goodness(worse) < spec.goodness(better)


def figures_of(benchmark: Benchmark[Any, Any, Any], results: Sequence[Result]) -> dict[str, float | None]:
    scores = [result for result in results if isinstance(result, SampleScore)]
    assert len(scores) == len(results)
    return benchmark.values(Sums.merged(Sums.of(score.statistics) for score in scores))


def test_every_figure_is_declared_with_its_meaning(scored: Scored) -> None:
    kind = scored.benchmark
    values = figures_of(kind, scored.scores)
    for name in values:
        assert kind.spec_of(name) is not None, name
    assert set(kind.main_metrics()) | {spec.name for spec in kind.ranking_metrics()} <= set(values)
    for specs in (kind.metrics, kind.sample_metrics):
        assert len({spec.name for spec in specs}) == len(specs)
        assert all(spec.meaning for spec in specs)
    for place in ("main", "rank"):
        places = sorted(getattr(spec, place) for spec in kind.metrics if getattr(spec, place) is not None)
        assert places == list(range(1, len(places) + 1))
        assert places
    assert [spec.main for spec in kind.sample_metrics if spec.main is not None] == [1]


def test_metrics_stay_within_their_bounds(scored: Scored) -> None:
    specs = {spec.name: spec for spec in scored.benchmark.sample_metrics}
    measured = [(specs[name], value) for score in scored.scores for name, value in score.metrics.items()]
    for name, value in figures_of(scored.benchmark, scored.scores).items():
        spec = scored.benchmark.spec_of(name)
        assert spec is not None
        measured.append((spec, value))
    for spec, value in measured:
        lowest, highest = spec.bounds
        assert value is None or lowest is None or value >= lowest, spec.name
        assert value is None or highest is None or value <= highest, spec.name


def test_figures_are_numbers_or_none(scored: Scored) -> None:
    values = figures_of(scored.benchmark, scored.scores)
    for name, value in values.items():
        assert value is None or (type(value) in (float, int) and math.isfinite(value)), name


def test_the_benchmark_travels_to_workers(scored: Scored) -> None:
    fresh = make_benchmark(scored.name)
    copied: Benchmark[Any, Any, Any] = pickle.loads(pickle.dumps(fresh))
    assert type(copied) is benchmark_class(scored.name)
    assert copied.options == fresh.options
    copied.setup()
    try:
        results = [result for pair in scored.pairs[:3] for result in copied.score([pair])]
    finally:
        copied.teardown()
    assert [comparable(result) for result in results] == [comparable(result) for result in scored.alone[:3]]
