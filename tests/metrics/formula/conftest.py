from collections.abc import Iterator

import pytest

from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.render.typeset import Typesetter
from tests.metrics.formula.samples import benchmark_with


@pytest.fixture(scope="session")
def typesetter() -> Iterator[Typesetter]:
    opened = Typesetter(seconds=2)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def benchmark_(typesetter: Typesetter) -> FormulaBenchmark:
    return benchmark_with(typesetter)
