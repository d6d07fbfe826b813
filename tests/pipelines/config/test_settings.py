"""Configurations: what is read, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.gates import Gate
from beamscore.pipelines.config.settings import BootstrapSettings, Configuration, Settings, load, load_yaml

ROOT = Path(__file__).parents[3]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def read(tmp_path: Path, text: str, *overrides: str, **command_line: Any) -> Configuration:
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return load(str(path), overrides, command_line)


def refusal(tmp_path: Path, text: str, *overrides: str) -> str:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text, *overrides)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}/", "")


def test_a_configuration_holds_shared_settings_and_options_of_the_benchmark(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
benchmark: toy
protocol: released
batch: 7
missing: exclude
slices: [kind, "kind , words"]
cluster: page
bootstrap: {replicates: 9, confidence: 9e-1, seed: 4}
limits:
  depth: 10
gates:
  exact_match: {minimum: 1e-3}
predictions: {ours: [a.jsonl, b.jsonl]}
""",
    )
    assert msgspec.to_builtins(found.benchmark.options) == {"protocol": "released", "batch": 7}
    assert found.settings.bootstrap == BootstrapSettings(9, 0.9, 4)
    assert (found.settings.limits.depth, found.settings.limits.record_bytes) == (10, 16 << 20)
    assert found.settings.gates == {"exact_match": Gate(0.001)}
    assert found.settings.predictions == {"ours": ["a.jsonl", "b.jsonl"]}
    assert found.slice_columns() == [("kind",), ("kind", "words")]


def test_aliases_and_merges_are_read_and_1e_9_is_a_number() -> None:
    one = {"x": 1, "y": 1e-9}
    text = "a: &a {x: 1, y: 1e-9}\nb: {<<: *a, x: 2}\nc: [*a, *a]\n"
    assert load_yaml(text) == {"a": one, "b": {"x": 2, "y": 1e-9}, "c": [one, one]}


def test_the_name_of_a_benchmark_stands_for_its_defaults() -> None:
    found = load("toy", [], {})
    assert found.settings == Settings(benchmark="toy")
    assert found.benchmark.options == benchmark_class("toy").options_type()


def test_the_command_line_wins_over_set_and_set_over_the_file(tmp_path: Path) -> None:
    text = "benchmark: toy\noutput: file\nslices: [file]\nmissing: exclude\ncluster: file\n"
    found = read(tmp_path, text, "output=set", "cluster=set", output="line", slices=[]).settings
    assert (found.output, found.slices, found.missing, found.cluster) == ("line", ["file"], "exclude", "set")


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("missing=exclude", "missing", "exclude"),
        ("max_rejected_fraction=1e-3", "max_rejected_fraction", 0.001),
        ("max_missing_fraction=0.05", "max_missing_fraction", 0.05),
        ("cluster=null", "cluster", None),
        ("cluster=", "cluster", None),
        ("cluster=a=b", "cluster", "a=b"),
        ("slices=[kind, 'a,b']", "slices", ["kind", "a,b"]),
        ("bootstrap={replicates: 3}", "bootstrap", BootstrapSettings(3)),
        ("bootstrap.replicates=3", "bootstrap", BootstrapSettings(3, 0.9, 8)),
        (" worst_samples =0", "worst_samples", 0),
        ("gates.exact_match.minimum=0.5", "gates", {"exact_match": Gate(0.5)}),
        ("predictions.ours=[x.jsonl]", "predictions", {"ours": ["x.jsonl"]}),
    ],
)
def test_set_takes_keys_values_and_nested_keys(tmp_path: Path, override: str, key: str, value: Any) -> None:
    text = "benchmark: toy\ncluster: page\nbootstrap: {confidence: 0.9, seed: 8}\n"
    assert getattr(read(tmp_path, text, override).settings, key) == value


def test_an_option_that_is_no_finite_number_is_refused(tmp_path: Path) -> None:
    for value in (".nan", ".inf", "-.inf"):
        found = refusal(tmp_path, f"benchmark: figure_text\nmin_confidence: {value}")
        assert found == f"c.yaml: min_confidence: found {float(value.replace('.', ''))}; allowed: a finite number"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("slices=" + "[" * 3000, "the value is not YAML: a value is not what its tag says, or nested too deeply: "),
        ("slices=2001-99-99", "the value is not YAML: a value is not what its tag says, or nested too deeply: "),
        ("batch=" + "9" * 5000, "the value is not YAML: a value is not what its tag says, or nested too deeply: "),
        ("batch=!!bool x", "the value is not YAML: a value is not what its tag says, or nested too deeply: "),
        ("a\nb", "must be KEY=VALUE"),
    ],
)
def test_a_value_that_cannot_be_read_is_told_in_one_line(tmp_path: Path, override: str, message: str) -> None:
    found = refusal(tmp_path, "benchmark: toy", override)
    assert message in found
    assert len(found) < 400


def test_text_of_the_configuration_cannot_steer_the_terminal(tmp_path: Path) -> None:
    found = refusal(tmp_path, 'benchmark: toy\n"a\\nb\\e[31m": 1')
    assert found.startswith("c.yaml: a<U+000A>b<U+001B>[31m: unknown key")


def test_a_column_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the column .* is not UTF-8; no record can have it"):
        read(tmp_path, "benchmark: toy", slices=["caf\udce9"])


def test_set_reaches_the_options_of_the_benchmark(tmp_path: Path) -> None:
    assert read(tmp_path, "benchmark: toy", "protocol=released", "batch=4").benchmark.options.batch == 4


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("missing", "--set missing: must be KEY=VALUE, such as --set protocol=released"),
        ("=3", "--set =3: must be KEY=VALUE, such as --set protocol=released"),
        ("slices=[", "--set slices=[: the value is not YAML: "),
        ("missing.x=1", "--set missing.x=1: missing is not a group of keys"),
        (
            "misssing=wrong",
            "c.yaml: misssing: unknown key (did you mean missing?); allowed for toy: batch, benchmark, ",
        ),
        (
            "bootstrap.sed=1",
            "c.yaml: bootstrap.sed: unknown key (did you mean seed?); allowed: replicates, confidence, seed",
        ),
        ("benchmark=tox", "c.yaml: benchmark: found 'tox' (did you mean toy?); allowed: "),
    ],
)
def test_set_is_checked_as_the_file_is(tmp_path: Path, override: str, message: str) -> None:
    assert refusal(tmp_path, "benchmark: toy\nmissing: wrong\n", override).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing: maybe", "c.yaml: missing: found 'maybe'; allowed: exclude, wrong"),
        ("protocol: draft", "c.yaml: protocol: found 'draft'; allowed: published, released"),
        ("batch: many", "c.yaml: batch: found 'many'; allowed: an integer"),
        ("batch: true", "c.yaml: batch: found true; allowed: an integer"),
        ("batch: 1.5", "c.yaml: batch: found 1.5; allowed: an integer"),
        ("bootstrap: 200", "c.yaml: bootstrap: found 200; allowed: a group of keys: replicates, confidence, seed"),
        (
            "bootstrap: {replicates: -1}",
            "c.yaml: bootstrap.replicates: found -1; allowed: an integer at least 0 and at most 10000",
        ),
        ("bootstrap: {confidence: 1}", "c.yaml: bootstrap.confidence: found 1; allowed: a number above 0 and below 1"),
        (
            "bootstrap: {confidence: .nan}",
            "c.yaml: bootstrap.confidence: found nan; allowed: a number above 0 and below 1",
        ),
        ("bootstrap: {replicas: 3}", "c.yaml: bootstrap.replicas: unknown key (did you mean replicates?); allowed: "),
        (
            "max_rejected_fraction: 2",
            "c.yaml: max_rejected_fraction: found 2; allowed: a number at least 0 and at most 1",
        ),
        ("limits: {depth: 501}", "c.yaml: limits.depth: found 501; allowed: an integer at least 1 and at most 500"),
        ("slices: kind", "c.yaml: slices: found 'kind'; allowed: a list of text"),
        ("slices: [1]", "c.yaml: slices: found [1]; allowed: a list of text"),
        ("slices: ['a,,b']", "c.yaml: slices: found 'a,,b'; allowed: column names, joined by commas to cross them"),
        ("slices: ['']", "c.yaml: slices: found ''; allowed: column names, joined by commas to cross them"),
        ("gates: {f1: 0.5}", "c.yaml: gates.f1: found 0.5; allowed: a group of keys: minimum, maximum"),
        (
            "gates: {ok: {minimum: 1}, f1: {minimum: x}}",
            "c.yaml: gates.f1.minimum: found 'x'; allowed: a number or null",
        ),
        ("gates: {1: {minimum: 1}}", "c.yaml: gates: found {1: {'minimum': 1}}; allowed: a mapping from text to "),
        (
            "gates: {f1: {minimun: 1}}",
            "c.yaml: gates.f1.minimun: unknown key (did you mean minimum?); allowed: minimum, maximum",
        ),
        ("predictions: {ours: a.jsonl}", "c.yaml: predictions.ours: found 'a.jsonl'; allowed: a list of text"),
        ("predictions: a.jsonl", "c.yaml: predictions: found 'a.jsonl'; allowed: a mapping from "),
        (
            "predictions: {'a b': [x]}",
            "c.yaml: predictions: found {'a b': ['x']}; allowed: a mapping from text that matches ",
        ),
        ("output: 3", "c.yaml: output: found 3; allowed: text or null"),
        ("slice: [kind]", "c.yaml: slice: unknown key (did you mean slices?); allowed for toy: "),
        ("3: x", "c.yaml: 3: unknown key; allowed for toy: "),
        ("cluster: " + "[" + "1," * 500 + "]", "c.yaml: cluster: found [1, 1, 1"),
    ],
)
def test_what_is_wrong_is_told_with_the_key_and_what_is_allowed(tmp_path: Path, text: str, message: str) -> None:
    found = refusal(tmp_path, f"benchmark: toy\n{text}\n")
    assert found.startswith(message)
    assert len(found) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.yaml: the configuration must be a mapping of keys to values, such as `benchmark: chart`"),
        ("- a", "c.yaml: the configuration must be a mapping of keys to values, such as `benchmark: chart`"),
        ("missing: wrong", "c.yaml: benchmark: it is missing; allowed: "),
        ("benchmark: null", "c.yaml: benchmark: it is missing; allowed: "),
        ("benchmrk: toy", "c.yaml: benchmark: it is missing; allowed: "),
        ("benchmark: [toy]", "c.yaml: benchmark: found ['toy']"),
        (
            "benchmark: toy\nbenchmark: toy",
            "c.yaml: this is not YAML: line 2, column 1: the key benchmark is given twice",
        ),
        (
            "benchmark: toy\nlimits:\n  depth: 3\n  depth: 4",
            "c.yaml: this is not YAML: line 4, column 3: the key depth is given twice",
        ),
        ("benchmark: [toy", "c.yaml: this is not YAML: "),
        ("benchmark: toy\n\tmissing: wrong", "c.yaml: this is not YAML: "),
        (
            "benchmark: !!python/object:os.system x",
            "c.yaml: this is not YAML: line 1, column 12: could not determine a constructor",
        ),
        ("? [a, b]\n: c", "c.yaml: this is not YAML: "),
        ("{a: 1}: c", "c.yaml: this is not YAML: "),
        ("benchmark: toy\nslices: *unknown", "c.yaml: this is not YAML: "),
        ("\x00", "c.yaml: this is not YAML: "),
    ],
)
def test_what_is_no_configuration_is_told_so(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text).startswith(message)


def test_a_file_that_is_not_utf8_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"benchmark: \xff\xff")
    with pytest.raises(UsageError, match="this is not YAML"):
        load(str(path), [], {})


@pytest.mark.parametrize("path", ["missing.yaml", "no/such/folder/c.yaml", "chrat", "."])
def test_a_configuration_that_is_not_there_is_told_with_the_benchmarks(path: str) -> None:
    with pytest.raises(
        UsageError, match=r"the configuration cannot be read \(.*\); give a YAML file, FILE.py:CLASS, or one of "
    ) as error:
        load(path, [], {})
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_the_resolved_configuration_shows_every_default_but_not_the_output(tmp_path: Path) -> None:
    resolved = read(tmp_path, "benchmark: toy\noutput: somewhere\n").resolved()
    assert resolved == {
        "benchmark": "toy",
        "ground_truth": [],
        "predictions": {},
        "missing": "wrong",
        "max_rejected_fraction": 0.0,
        "max_missing_fraction": 1.0,
        "slices": [],
        "cluster": None,
        "bootstrap": {"replicates": 200, "confidence": 0.95, "seed": 0},
        "limits": {"record_bytes": 16 << 20, "depth": 200, "slices_per_sample": 1000, "slices": 10_000},
        "gates": {},
        "inconclusive": "inconclusive",
        "worst_samples": 10,
        "fields": {},
        "sample_id_type": "any",
        "protocol": "published",
        "batch": 3,
    }
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(resolved))
    assert load(str(again), [], {}).resolved() == resolved


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_a_shipped_configuration_spells_out_the_defaults(path: Path) -> None:
    found = load(str(path), [], {})
    kind = type(found.benchmark)
    assert found.benchmark.name == path.stem
    assert found.benchmark.options == kind.options_type()
    assert found.settings == Settings(benchmark=path.stem)
    spelled = set(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert spelled >= {field.encode_name for field in msgspec.structs.fields(kind.options_type)}


def test_configurations_are_shipped() -> None:
    assert CONFIGS


def test_no_system_has_the_name_of_the_other_side(tmp_path: Path) -> None:
    message = "predictions.ground_truth: the other side has this name; give the system another name"
    assert refusal(tmp_path, "benchmark: toy\npredictions: {ground_truth: [p.jsonl]}") == f"c.yaml: {message}"
    assert refusal(tmp_path, "benchmark: toy", "predictions.ground_truth=[q]").endswith(message)
