"""The list of worst samples: the same whatever the order in which they come."""

from __future__ import annotations

import random

import apache_beam as beam
import pytest
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from pipelines.evaluate import _worst
from tests.plain_loop import make_benchmark
from transforms.scored_sample import ScoredSample

METRICS = [("a", 0.5), ("b", None), ("c", 0.0), ("d", 0.25), ("e", 0.25), ("f", 0.25), ("g", 0.0)]


def scored(sample_id: str, system: int, metric: float | None) -> ScoredSample:
    return ScoredSample(sample_id, system, "scored", None, sample_id, {}, metrics={"similarity": metric})


@pytest.mark.parametrize("seed", range(4))
def test_the_lowest_count_and_of_equal_ones_the_first_by_name(seed: int) -> None:
    samples = [scored(name, system, metric) for system in (0, 1) for name, metric in METRICS]
    random.Random(seed).shuffle(samples)
    with test_pipeline.TestPipeline() as pipeline:
        batches = [samples[:5], samples[5:6], [], samples[6:]]
        found = _worst(pipeline | beam.Create(batches), make_benchmark("toy"), 4)
        ordered = found | beam.Map(lambda each: (each[0], sorted(each[1])))
        lowest = [(0.0, "c", "scored"), (0.0, "g", "scored"), (0.25, "d", "scored"), (0.25, "e", "scored")]
        assert_that(ordered, equal_to([(0, lowest), (1, lowest)]))
