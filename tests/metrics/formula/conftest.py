from __future__ import annotations

from collections.abc import Iterator

import pytest

from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.samples import benchmark_with


@pytest.fixture(scope="session")
def typesetter() -> Iterator[Typesetter]:
    with Typesetter(seconds=2) as opened:
        yield opened


@pytest.fixture(scope="session")
def benchmark_(typesetter: Typesetter) -> FormulaBenchmark:
    return benchmark_with(typesetter)
