"""One cluster for all tests of this folder, and the corpora they evaluate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flink.cluster import FlinkCluster
from tests.flink.install import PROJECT
from tests.runs import Run, evaluate

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks these tests, which run only where they are asked for: they download Flink at first, and take minutes."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            item.add_marker(pytest.mark.flink)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkCluster]:
    """A cluster of two TaskManagers; a test that kills one starts another."""
    with FlinkCluster(tmp_path_factory.mktemp("flink")) as running:
        yield running


def sides_of(benchmark: str) -> tuple[Path, Path]:
    """Returns the ground truth and the predictions of a sample corpus."""
    corpus = PROJECT / "tests" / "corpora" / benchmark
    return corpus / "ground_truth.jsonl", corpus / "predictions.jsonl"


def evaluate_well(output: Path, benchmark: str, sides: tuple[Path, Path], *more: str) -> Run:
    run = evaluate(output, *sides, *more, config=benchmark)
    assert (run.code, run.stderr) == (0, "")
    return run
