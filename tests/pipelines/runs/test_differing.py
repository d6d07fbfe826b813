"""How many units of two systems differ in a metric: counted in their rows, and at least by their sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.paired import PairedDifference
from beamscore.pipelines.runs.differing import differing_units, least_differing
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.records import InputProblem
from tests import toy
from tests.runs import evaluate, write_lines

CHANGES = {0: "y", 1: "yy", 6: "y", 7: "yyy", 20: "y", 33: "y"}
"""Other texts of some samples; the truth is x, so that longer ones change the similarity too."""
METRICS = ("exact_match", "similarity", "macro")


def test_units_are_counted_by_metric(tmp_path: Path) -> None:
    toy.register()
    truths = [{"sample_id": f"s{n}", "text": "x", "page": n // 2, "kind": n % 2} for n in range(40)]
    after: list[dict[str, Any]] = [{**each, "text": CHANGES.get(n, "x")} for n, each in enumerate(truths)]
    truth = write_lines(tmp_path / "t.jsonl", truths)
    predictions = {"before": truth, "after": write_lines(tmp_path / "p.jsonl", after)}
    more = (
        "--slice=kind",
        "--set=cluster=page",
        "--set=derived.macro=slice_mean(exact_match, kind)",
        "--quiet",
        "--no-html",
    )
    run = Run.read(str(evaluate(tmp_path / "run", truth, predictions, *more).output))
    # The pages 0, 3, 10 and 16 differ; the similarity in the pages 0 and 3 alone.
    for enough, counts in ((9, (4, 2, 4)), (3, (3, 2, 3))):
        found = differing_units((run, "after"), (run, "before"), METRICS, enough)
        assert found == dict(zip(METRICS, counts, strict=True))
    assert set(differing_units((run, "after"), (run, "after"), METRICS, 9).values()) == {0}
    for path in (tmp_path / "run" / ".runs").glob("*/samples/*"):
        path.unlink()
    with pytest.raises(InputProblem):
        differing_units((run, "after"), (run, "before"), METRICS, 9)


@given(st.lists(st.sampled_from([0.0, 0.0, -1.0, 1.0, 0.25]), min_size=1, max_size=30))
def test_the_sums_never_imply_more_units_than_differ(changes: list[float]) -> None:
    """SE of a mean d over n units is sqrt(sum of (d_i - d)^2) / n; equal changes of m units imply exactly m."""
    values, count = np.array(changes), len(changes)
    difference, error = float(values.mean()), float(np.sqrt(np.sum((values - values.mean()) ** 2)) / count)
    paired = PairedDifference(0.0, difference, difference, error, None, count, None)
    differing = int(np.count_nonzero(values))
    if abs(difference) > 1e-9:
        assert least_differing(paired) <= differing + 1e-6
        if len(set(changes) - {0.0}) == 1:
            assert least_differing(paired) == pytest.approx(differing)
