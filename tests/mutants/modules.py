"""The modules that are changed, each with the tests that concern it, and the changes that no test need notice."""

from __future__ import annotations

STATISTICS = {
    "metrics/statistics/bootstrap.py": ["tests/metrics/statistics/test_bootstrap.py"],
    "metrics/common/budget.py": ["tests/metrics/common/test_budget.py"],
    "metrics/statistics/measured.py": ["tests/metrics/statistics/test_measured.py"],
    "metrics/statistics/intervals.py": ["tests/metrics/statistics/test_intervals.py"],
    "metrics/statistics/paired.py": ["tests/metrics/statistics/test_paired.py"],
    "metrics/statistics/ratios.py": ["tests/metrics/statistics/test_ratios.py"],
    "metrics/scoring.py": ["tests/transforms/test_score.py"],
    "metrics/statistics/sum_table.py": [
        "tests/metrics/statistics/test_bootstrap.py",
        "tests/metrics/statistics/test_sum_table.py",
    ],
    "metrics/statistics/sums.py": ["tests/metrics/statistics/test_sums.py"],
}

MATCHERS = {
    "metrics/common/assignment.py": ["tests/metrics/common/test_assignment.py"],
    "metrics/common/boxes.py": ["tests/metrics/common/test_boxes.py"],
    "metrics/chart/similarity.py": ["tests/metrics/chart/test_series.py", "tests/metrics/chart/test_elements.py"],
    "metrics/chart/text_blocks.py": ["tests/metrics/chart/test_text_blocks.py"],
    "metrics/chemistry/isomorphism.py": ["tests/metrics/chemistry/test_isomorphism.py"],
    "metrics/chemistry/matcher.py": ["tests/metrics/chemistry/test_matcher.py"],
    "metrics/chemistry/neighbors.py": ["tests/metrics/chemistry/test_matcher.py"],
    "metrics/chemistry/seeds.py": ["tests/metrics/chemistry/test_matcher.py"],
    "metrics/figure_text/deteval.py": ["tests/metrics/figure_text/test_deteval.py"],
    "metrics/formula/cdm/matching.py": [
        "tests/metrics/formula/cdm/test_matching.py",
    ],
    "metrics/formula/limits.py": ["tests/metrics/formula/test_limits.py"],
    "metrics/traffic_rules/metrics.py": [
        "tests/metrics/traffic_rules/test_pairing.py",
        "tests/metrics/traffic_rules/test_tasks.py",
        "tests/metrics/traffic_rules/test_benchmark.py",
    ],
}

TRANSFORMS = {
    "transforms/io/files.py": ["tests/transforms/io/test_files.py", "tests/transforms/test_read.py"],
    "transforms/slice_labels.py": ["tests/transforms/test_slice.py"],
    "transforms/pair.py": ["tests/transforms/test_pair.py"],
    "transforms/io/readers.py": [
        "tests/transforms/io/test_jsonl.py",
        "tests/transforms/io/test_delimited.py",
        "tests/transforms/io/test_tables.py",
        "tests/transforms/test_records.py",
    ],
    "transforms/io/publication.py": ["tests/transforms/io/test_publication.py", "tests/transforms/io/test_claim.py"],
    "transforms/read.py": ["tests/transforms/test_read.py"],
    "transforms/records.py": ["tests/transforms/test_records.py"],
    "transforms/scored.py": ["tests/transforms/test_score.py"],
    "transforms/evaluate.py": ["tests/transforms/test_score.py", "tests/transforms/test_slice.py"],
    "transforms/io/storage.py": ["tests/transforms/io/test_storage.py", "tests/transforms/io/test_publication.py"],
    "transforms/publish.py": ["tests/transforms/test_publish.py", "tests/transforms/io/test_publication.py"],
    "transforms/totals.py": ["tests/transforms/test_slice.py"],
}

MODULES = {**STATISTICS, **MATCHERS, **TRANSFORMS}

EXPLAINED: dict[tuple[str, str], str] = {
    ("metrics/statistics/sum_table.py", "_WHOLE_BITS = 64 % FRACTION_BITS"): "64 % 52 is 64 - 52",
    ("metrics/statistics/bootstrap.py", "@dataclass(frozen=True, slots=False)"): "slots save memory alone",
}
"""By module and the line as it is changed: why no test need notice."""
