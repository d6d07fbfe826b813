"""The laws that every benchmark keeps, so that any runner may cut, order and merge its samples as it likes."""

import builtins
import gc
import importlib
import itertools
import math
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import AnyBenchmark, Pair, RejectedRecord, SampleScore
from beamscore.metrics.registry import BUILT_IN, benchmark_class, benchmark_names
from beamscore.metrics.statistics.bootstrap import checked_statistics
from beamscore.metrics.statistics.measured import denominator_columns
from beamscore.metrics.statistics.sum_table import SumTable, values_of_rows
from beamscore.metrics.statistics.sums import Sums
from tests import toy
from tests.plain_loop import comparable, make_benchmark, ready

COUNT = 24


def generator(name: str) -> Callable[[int, int], tuple[Any, Any]]:
    """Returns what makes sample records: that of tests/generate for our benchmarks, else the one beside it."""
    if name == "toy":
        return toy.sample
    package = benchmark_class(name).__module__.rpartition(".")[0]
    module = f"tests.generate.{name}" if name in BUILT_IN else f"{package}.generate"
    sample: Callable[[int, int], tuple[Any, Any]] = importlib.import_module(module).sample
    return sample


class Scored:
    """A benchmark that is set up, its pairs, the results of scoring each alone, and the sums of those scored."""

    def __init__(self, benchmark: AnyBenchmark) -> None:
        self.name, self.benchmark = benchmark.name, benchmark
        generate = generator(self.name)
        kind = tuple[benchmark.truth_type, benchmark.prediction_type | None]  # type: ignore[name-defined]
        self.records = [generate(index, 3) for index in range(COUNT)]
        decode = msgspec.json.Decoder(kind).decode
        self.pairs = [Pair(each[0]["sample_id"], *decode(msgspec.json.encode(each))) for each in self.records]
        self.alone = score_alone(benchmark, self.pairs)
        self.scores = [result for result in self.alone if isinstance(result, SampleScore)]
        self.sums = [Sums.of(score.statistics) for score in self.scores]
        self.values = benchmark.values(Sums.merged(self.sums))


def score_alone(benchmark: AnyBenchmark, pairs: Iterable[Any]) -> list[SampleScore | RejectedRecord]:
    return [result for pair in pairs for result in benchmark.score([pair])]


@pytest.fixture(scope="module", params=benchmark_names())
def scored(request: pytest.FixtureRequest) -> Iterator[Scored]:
    with ready(make_benchmark(request.param)) as benchmark:
        yield Scored(benchmark)


def test_the_corpus_says_something_and_is_a_function_of_index_and_seed(scored: Scored) -> None:
    """The laws below would hold of nothing, too."""
    assert len({pair.sample_id for pair in scored.pairs}) == COUNT
    assert len(scored.scores) > COUNT / 2
    assert any(pair.prediction is None for pair in scored.pairs) or scored.name != "toy"
    assert len({comparable(score) for score in scored.scores}) > 3
    assert all(scored.values.get(spec.name) is not None for spec in scored.benchmark.ranking_metrics())
    again = [generator(scored.name)(index, 3) for index in reversed(range(COUNT))][::-1]
    assert msgspec.json.encode(again) == msgspec.json.encode(scored.records)


def test_scores_and_values_are_as_declared(scored: Scored) -> None:
    kind = scored.benchmark
    for score in scored.scores:
        assert checked_statistics(score.statistics) == score.statistics
        msgspec.json.encode(score.details)
    for specs in (kind.metrics, kind.sample_metrics):
        assert len({spec.name for spec in specs}) == len(specs)
        assert all(spec.meaning for spec in specs)
    for place in ("main", "rank"):
        places = sorted(getattr(spec, place) for spec in kind.metrics if getattr(spec, place) is not None)
        assert places == list(range(1, len(places) + 1))
        assert places
    assert [spec.main for spec in kind.sample_metrics if spec.main is not None] == [1]
    assert set(kind.main_metrics()) | {spec.name for spec in kind.ranking_metrics()} <= set(scored.values)
    of_samples = {spec.name: spec for spec in kind.sample_metrics}
    measured = [(of_samples[name], value) for score in scored.scores for name, value in score.metrics.items()]
    for name, value in scored.values.items():
        spec = kind.spec_of(name)
        assert spec is not None, name
        assert value is None or (type(value) in (float, int) and math.isfinite(value)), name
        measured.append((spec, value))
    for spec, value in measured:
        low, high = spec.bounds
        assert value is None or low is None or low <= value, spec.name
        assert value is None or high is None or value <= high, spec.name


def test_every_metric_declares_what_it_is_a_share_of(scored: Scored) -> None:
    """From the denominator follows how many samples a metric rests on: those that add nothing to it change nothing."""
    corpus = Sums.merged(scored.sums)
    names = tuple(corpus)
    for metric, value in scored.values.items():
        spec = scored.benchmark.spec_of(metric)
        assert spec is not None, metric
        columns = denominator_columns(spec, metric, {name: place for place, name in enumerate(names)})
        assert any(columns) or not value, f"{metric}: no statistic is called {spec.denominator}"
        added, subtracted = ([sum(each[names[column]] for column in some) for each in scored.sums] for some in columns)
        shares = [more - less for more, less in zip(added, subtracted, strict=True)]
        assert value is None or not value or sum(shares) > 0, metric
        if spec.per_sample is not None:
            assert set(shares) <= {0, spec.per_sample}, metric
        others = Sums.merged(each for each, share in zip(scored.sums, shares, strict=True) if share)
        assert not spec.denominator or scored.benchmark.values_within(others, corpus).get(metric) == value, metric


def test_no_score_depends_on_how_python_adds_floats(scored: Scored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Python 3.12, `sum` of floats rounds once: a score must have the same bits there."""
    add = sum

    def rounded_once(values: Iterable[Any], start: Any = 0) -> Any:
        held = list(values)
        is_float = held and all(isinstance(value, (int, float)) for value in held) and isinstance(add(held), float)
        return math.fsum([start, *held]) if is_float else add(held, start)

    monkeypatch.setattr(builtins, "sum", rounded_once)
    again = score_alone(scored.benchmark, scored.pairs)
    values = scored.benchmark.values(Sums.merged(scored.sums))
    monkeypatch.undo()
    assert repr(values) == repr(scored.values)
    assert [comparable(result) for result in again] == [comparable(result) for result in scored.alone]


WEIGHTS = st.lists(st.integers(0, 3), min_size=COUNT, max_size=COUNT)


@given(st.lists(WEIGHTS, min_size=1, max_size=4), st.integers(0, COUNT), st.integers(0, 9), st.booleans())
def test_columns_have_the_metrics_of_rows(scored: Scored, rows: Any, few: int, left_out: int, released: bool) -> None:
    """Of few samples, and without some of their statistics, so that every denominator is 0 somewhere."""
    protocols = get_args(get_type_hints(scored.benchmark.options_type).get("protocol"))
    benchmark = make_benchmark(scored.name, **{"protocol": protocols[-1]} if released and protocols else {})
    sums = scored.sums[: few + 1]
    corpus = Sums.merged(sums)
    names = {name for place, name in enumerate(Sums.merged(scored.sums)) if place % 10 != left_out}
    units = [{name: total for name, total in each.units().items() if name in names} for each in sums]
    drawn = [
        Sums.merged(Sums({name: total * weight for name, total in each.items()})
                    for each, weight in zip(units, row, strict=False)) for row in rows
    ]  # fmt: skip
    found = values_of_rows(benchmark, SumTable.of(drawn), corpus)
    for place, row in enumerate(drawn):
        expected = benchmark.values_within(row, corpus)
        for metric in {*found, *expected}:
            value, column = expected.get(metric), found.get(metric, [math.nan] * len(drawn))
            assert repr(math.nan if value is None else float(value)) == repr(float(column[place])), metric


@pytest.mark.parametrize("max_steps", [None, 1, 1000])
def test_a_score_depends_neither_on_its_batch_nor_on_its_process(scored: Scored, max_steps: int | None) -> None:
    """Also pickled, and beside samples that take too much: at 1 step none of a batch is scored, at 1,000 most are."""
    options = {field.name: field.type for field in msgspec.structs.fields(scored.benchmark.options)}
    if max_steps and "max_steps" not in options:
        pytest.skip("the work of a sample has no limit")
    for protocol in get_args(options["protocol"]) if max_steps and "protocol" in options else (None,):
        given = {"max_steps": max_steps, "protocol": protocol}
        made = make_benchmark(scored.name, **{name: value for name, value in given.items() if value})
        benchmark: AnyBenchmark = pickle.loads(pickle.dumps(made))
        assert (type(benchmark), benchmark.options) == (benchmark_class(scored.name), made.options)
        with ready(benchmark):
            alone = score_alone(benchmark, scored.pairs) if max_steps else scored.alone
            for size in {min(benchmark.batch_size, largest) for largest in (COUNT, 5)}:
                order = random.Random(size).sample(range(COUNT), COUNT)
                batches = [order[start : start + size] for start in range(0, COUNT, size)]
                # What is there already is not looked at again.
                gc.freeze()
                gc.disable()
                try:
                    found = [each for batch in batches for each in benchmark.score([scored.pairs[n] for n in batch])]
                    assert scored.name == "formula" or not gc.collect(), "reference cycles"
                finally:
                    gc.enable()
                assert list(map(comparable, found)) == [comparable(alone[index]) for index in order], protocol


def test_nothing_and_a_single_sample_have_values(scored: Scored) -> None:
    """A sample in which something can be measured has values; one that adds nothing to the sums may have none."""
    values = scored.benchmark.values(Sums())
    assert values
    assert all(value is None or isinstance(value, float) for value in values.values())
    assert scored.benchmark.score([]) == []
    msgspec.json.encode(scored.benchmark.tables(Sums()))
    measured = [score for score in scored.scores if score.statistics]
    assert len(measured) > COUNT / 2
    for score in measured:
        assert any(value is not None for value in scored.benchmark.values(Sums.of(score.statistics)).values())


def test_predictions_score_better_than_none(scored: Scored) -> None:
    """Every ground truth that can be scored at all is scored without a prediction, and all that ranks is lower then."""
    could = [isinstance(each, SampleScore) for each in scored.alone]
    pairs = [msgspec.structs.replace(pair, prediction=None) for pair in itertools.compress(scored.pairs, could)]
    missing = score_alone(scored.benchmark, pairs)
    without = scored.benchmark.values(Sums.merged(Sums.of(each.statistics) for each in missing))  # type: ignore[union-attr]
    for spec in scored.benchmark.ranking_metrics():
        worse, better = without[spec.name], scored.values[spec.name]
        assert better is not None
        assert worse is None or spec.signed_value(worse) < spec.signed_value(better)
