from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from beamscore.metrics.benchmark import Benchmark
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.plain_loop import make_benchmark


@pytest.fixture(scope="session")
def typesetter() -> Iterator[Typesetter]:
    with Typesetter(seconds=2) as opened:
        yield opened


@pytest.fixture(scope="session")
def benchmark_() -> Iterator[Benchmark[Any, Any, Any]]:
    benchmark = make_benchmark("formula")
    benchmark.setup()
    yield benchmark
    benchmark.teardown()
