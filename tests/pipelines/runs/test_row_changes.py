"""What differs between the rows of a system in two runs: units of a metric, and the samples that moved it, by hand."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.statistics.paired import PairedDifference
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.runs import row_changes
from beamscore.pipelines.runs.named import SystemRun
from beamscore.pipelines.runs.row_changes import MovedSample, differing_units, least_differing, top_contributors
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.records import InputProblem
from tests.finished_runs import SYSTEM, row, write_run
from tests.runs import evaluate_records
from tests.toy import ToyBenchmark

CHANGES = {0: "y", 1: "yy", 6: "y", 7: "yyy", 20: "y", 33: "y"}
"""Other texts of some samples; the truth is x, so that longer ones change the similarity too."""
METRICS = ("exact_match", "similarity", "macro")


def test_units_are_counted_by_metric(tmp_path: Path) -> None:
    truths = [{"sample_id": f"s{n}", "text": "x", "page": n // 2, "kind": n % 2} for n in range(41)]
    # The last sample has no prediction.
    texts: list[dict[str, Any]] = [{**each, "text": CHANGES.get(n, "x")} for n, each in enumerate(truths[:-1])]
    predictions = {"before": truths[:-1], "after": texts}
    macro = "--set=derived.macro=slice_mean(exact_match, kind)"
    more = ("--slice=kind", "--set=cluster=page", "--set=missing=exclude", macro, "--quiet", "--no-html")
    run = Run.read(str(evaluate_records(tmp_path / "run", truths, predictions, *more).output))
    before, after = (SystemRun(run, name) for name in predictions)
    # The pages 0, 3, 10 and 16 differ; the similarity in the pages 0 and 3 alone.
    for enough, counts in ((9, (4, 2, 4)), (3, (3, 2, 3))):
        assert differing_units(after, before, METRICS, enough) == dict(zip(METRICS, counts, strict=True))
    assert set(differing_units(after, after, METRICS, 9).values()) == {0}
    # Each is one of 20 in its kind.
    samples = top_contributors(run.configuration.benchmark, "macro", after, before, count=9)
    assert {each.sample_id: each.effect for each in samples} == pytest.approx({f"s{n}": -1 / 40 for n in CHANGES})
    for path in (tmp_path / "run" / ".runs").glob("*/samples/*"):
        path.unlink()
    with pytest.raises(InputProblem):
        differing_units(after, before, METRICS, 9)


@given(st.lists(st.sampled_from([0.0, 0.0, -1.0, 1.0, 0.25]), min_size=1, max_size=30))
def test_the_sums_never_imply_more_units_than_differ(changes: list[float]) -> None:
    """SE of a mean d over n units is sqrt(sum of (d_i - d)^2) / n; equal changes of m units imply exactly m."""
    values, count = np.array(changes), len(changes)
    difference, error = float(values.mean()), float(np.sqrt(np.sum((values - values.mean()) ** 2)) / count)
    paired = PairedDifference(0.0, difference, difference, error, None, count, None)
    differing = int(np.count_nonzero(values))
    # Changes are multiples of 0.25, so that their sum is exact.
    if not difference:
        assert least_differing(paired) == float("inf")
    else:
        assert least_differing(paired) <= differing + 1e-6
        if len(set(changes) - {0.0}) == 1:
            assert least_differing(paired) == pytest.approx(differing)


def test_only_what_a_metric_depends_on_chooses_the_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a becomes wrong by 0.01, b is worse by 0.7, c, of another slice, is better by 0.8; of d nothing changes."""
    values = {"a": (1.0, 0.99), "b": (0.9, 0.2), "c": (0.2, 1.0), "d": (0.5, 0.5)}
    kinds = dict(zip("abcd", "xxyy", strict=True))
    rows = [[row(name, (*each, None)[side], kinds[name]) for name, each in values.items()] for side in range(3)]
    runs = (Run.read(str(write_run(tmp_path / f"{side}", each))) for side, each in enumerate(rows))
    before, after, unscored = (SystemRun(run, SYSTEM) for run in runs)
    benchmark = after.run.configuration.benchmark
    monkeypatch.setattr(row_changes, "CANDIDATES", 1)

    def strict(self: ToyBenchmark, sums: Sums, values: Any = ToyBenchmark.values) -> Any:
        # The samples have no such sums: it fails, then it is complex, and so on.
        return next(wrong)() if sums["similarity"] > 0.9 * sums["samples"] else values(self, sums)

    wrong: Any = itertools.cycle((lambda: 1 / 0, lambda: {"similarity": (-1) ** 0.5}))
    monkeypatch.setattr(ToyBenchmark, "values", strict)
    for count, expected in ((1, {"b": -0.7 / 4}), (3, {"b": -0.7 / 4, "a": -0.01 / 4, "c": 0.8 / 4})):
        samples = top_contributors(benchmark, "similarity", after, before, count=count)
        assert {each.sample_id: each.effect for each in samples} == pytest.approx(expected)
        assert [each.sample_id for each in samples] == list(expected)
    (sample,) = top_contributors(benchmark, "similarity", after, before, "kind=y")
    assert sample._replace(effect=round(sample.effect, 9)) == MovedSample("c", 0.4, "scored", "scored")
    # b is as wrong as it was.
    assert [each.sample_id for each in top_contributors(benchmark, "exact_match", after, before)] == ["a", "c"]
    assert top_contributors(benchmark, "similarity", unscored, before) == []
    for sides in ((unscored, before), (before, unscored)):
        assert differing_units(*sides, ("similarity",), 9) == {"similarity": 0}
    # A slice is small enough even if the run is not.
    monkeypatch.setattr(row_changes, "MAX_ROWS", 3)
    assert top_contributors(benchmark, "similarity", after, before, "kind=y") == [sample]
    for refused in (
        lambda: top_contributors(benchmark, "similarity", after, before),
        lambda: differing_units(after, before, ("similarity",), 9),
    ):
        with pytest.raises(InputProblem, match="more than 3 samples"):
            refused()
