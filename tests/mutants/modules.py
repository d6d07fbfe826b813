"""The modules that are changed, each with the tests that concern it, and the changes that no test need notice."""

from __future__ import annotations

STATISTICS = {
    "metrics/bootstrap.py": ["tests/metrics/test_bootstrap.py"],
    "metrics/intervals.py": ["tests/metrics/test_intervals.py"],
    "metrics/ratios.py": ["tests/metrics/test_ratios.py"],
    "metrics/replicates.py": ["tests/metrics/test_replicates.py"],
    "metrics/split.py": ["tests/metrics/test_split.py"],
    "metrics/sums.py": ["tests/metrics/test_sums.py"],
}

MATCHERS = {
    "metrics/assignment.py": ["tests/metrics/test_assignment.py"],
    "metrics/chart/similarity.py": ["tests/metrics/chart/test_series.py", "tests/metrics/chart/test_elements.py"],
    "metrics/chart/text_blocks.py": ["tests/metrics/chart/test_text_blocks.py"],
    "metrics/chemistry/matcher.py": ["tests/metrics/chemistry/test_matcher.py"],
    "metrics/figure_text/deteval.py": ["tests/metrics/figure_text/test_deteval.py"],
    "metrics/formula/consistency.py": ["tests/metrics/formula/test_matching.py"],
    "metrics/formula/matching.py": ["tests/metrics/formula/test_matching.py"],
    "metrics/traffic_rules/pairing.py": ["tests/metrics/traffic_rules/test_pairing.py"],
}

TRANSFORMS = {
    "transforms/blocks.py": ["tests/transforms/test_read.py"],
    "transforms/combine.py": ["tests/transforms/test_combine.py"],
    "transforms/depth.py": ["tests/transforms/test_depth.py"],
    "transforms/figures.py": ["tests/transforms/test_figures.py"],
    "transforms/files.py": ["tests/transforms/test_files.py", "tests/transforms/test_read.py"],
    "transforms/jsonl.py": ["tests/transforms/test_jsonl.py"],
    "transforms/labels.py": ["tests/transforms/test_slice.py"],
    "transforms/pair.py": ["tests/transforms/test_pair.py"],
    "transforms/parquet.py": ["tests/transforms/test_parquet.py"],
    "transforms/quarantine.py": ["tests/transforms/test_quarantine.py"],
    "transforms/read.py": ["tests/transforms/test_read.py"],
    "transforms/records.py": ["tests/transforms/test_records.py"],
    "transforms/score.py": ["tests/transforms/test_score.py"],
    "transforms/slice.py": ["tests/transforms/test_slice.py"],
    "transforms/stage.py": ["tests/transforms/test_write.py"],
    "transforms/write.py": ["tests/transforms/test_write.py"],
}

MODULES = {**STATISTICS, **MATCHERS, **TRANSFORMS}

EXPLAINED: dict[tuple[str, str], str] = {}
"""By module and the line as it is changed: why no test need notice."""
