from __future__ import annotations

from typing import Any

import pytest

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.results.page.comparison_headline import comparison_headline

CHEMISTRY = benchmark_class("chemistry")


def compared(verdict: str) -> dict[str, Any]:
    return {"baseline": 0.5, "candidate": 0.25, "difference": -0.25, "interval": [-0.5, 0.0], "verdict": verdict}


@pytest.mark.parametrize(
    ("verdicts", "judgement", "sentence"),
    [
        (["worse", "worse"], "worse", "The candidate is worse in 2 of 2 main metrics."),
        (["better"], "better", "The candidate is better in 1 of 1 main metric."),
        (["better", "worse"], "mixed", "The candidate is worse in 1 and better in 1 of 2 main metrics."),
        (["too few differ"], "no difference shown", "No difference is shown in the main metric."),
        (["no difference shown"] * 3, "no difference shown", "No difference is shown in any of 3 main metrics."),
    ],
)
def test_the_main_metrics_decide(verdicts: list[str], judgement: str, sentence: str) -> None:
    metrics = {f"m{number}": compared(verdict) for number, verdict in enumerate(verdicts)}
    document = {"missing": [], "metrics": metrics, "slices": {"a": {"metrics": {"x": compared("better")}}}}
    found = comparison_headline(document, CHEMISTRY, list(metrics))
    assert found.judgement == judgement
    assert found.sentence.startswith(sentence)
    assert "m0 went from 0.5000 to 0.2500: −0.2500 (−0.5000 to 0.0000)." in found.sentence
    assert found.sentence.endswith("Of 1 slice, 0 are worse in some metric and 1 better.")
    assert len(found.reasons) == sum(verdict in ("worse", "better") for verdict in verdicts)


def test_without_rows_there_is_no_verdict() -> None:
    found = comparison_headline({"missing": ["x"], "metrics": {}, "slices": {}}, CHEMISTRY, [])
    assert found.judgement == "none"
