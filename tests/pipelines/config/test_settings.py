"""Configurations: what is read, what is refused, and in which words; the targets of gates in them."""

import copy
import random
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.config import settings
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.gates import Gate, GateTarget, check_targets, gate_target, label_columns
from beamscore.transforms.slice_labels import sample_slices
from tests.attacks.corpora import VALUES, change_at, places
from tests.metrics.samples import assert_pinned, schema_without_words
from tests.toy import ToyBenchmark

CONFIGS = sorted((Path(__file__).parents[3] / "configs").glob("*.yaml"))


def read(tmp_path: Path, text: str, *overrides: str, **command_line: Any) -> settings.Configuration:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    return settings.load(str(path), overrides, command_line)


def test_a_configuration_holds_shared_settings_and_options_of_the_benchmark(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "benchmark: toy\nprotocol: released\nbatch: 7\nslices: [kind, 'kind , words']\nlimits: {depth: 10}\n"
        "bootstrap: {replicates: 9, confidence: 9e-1, seed: 4}\ngates: {exact_match: {minimum: 1e-3}}\n"
        "predictions: {ours: [a.jsonl, b.jsonl]}\n",
    )
    assert msgspec.to_builtins(found.benchmark.options) == {"protocol": "released", "batch": 7}
    assert found.settings == settings.Settings(
        benchmark="toy",
        slices=["kind", "kind , words"],
        bootstrap=settings.BootstrapSettings(9, 0.9, 4),
        limits=settings.LimitSettings(depth=10),
        gates={"exact_match": Gate(0.001)},
        predictions={"ours": ["a.jsonl", "b.jsonl"]},
    )
    assert (found.slice_columns(), found.truth_columns()) == ((("kind",), ("kind", "words")), ("kind", "words"))


def test_aliases_and_merges_are_read_and_1e_9_is_a_number() -> None:
    one = {"x": 1, "y": 1e-9}
    text = "a: &a {x: 1, y: 1e-9}\nb: {<<: *a, x: 2}\nc: [*a, *a]\n"
    assert settings.load_yaml(text) == {"a": one, "b": {"x": 2, "y": 1e-9}, "c": [one, one]}


def test_the_command_line_wins_over_set_and_set_over_the_file(tmp_path: Path) -> None:
    text = "benchmark: toy\noutput: file\nslices: [file]\nmissing: exclude\ncluster: file\n"
    found = read(tmp_path, text, "output=set", "cluster=set", output="line", slices=[]).settings
    assert (found.output, found.slices, found.missing, found.cluster) == ("line", ["file"], "exclude", "set")


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("max_rejected_fraction=1e-3", "max_rejected_fraction", 0.001),
        ("cluster=", "cluster", None),
        ("cluster=a=b", "cluster", "a=b"),
        ("slices=[kind, 'a,b']", "slices", ["kind", "a,b"]),
        ("bootstrap={replicates: 3}", "bootstrap", settings.BootstrapSettings(3)),
        ("bootstrap.replicates=3", "bootstrap", settings.BootstrapSettings(3, 0.9, 8)),
        (" worst_samples =0", "worst_samples", 0),
        ("predictions.ours=[x.jsonl]", "predictions", {"ours": ["x.jsonl"]}),
        ("gates.similarity.tier=advisory", "gates", {"similarity": Gate(0.5, tier="advisory")}),
        # The name of a metric and a slice may have dots and equals signs of its own.
        ("gates.exact_match @ kind=0.5.minimum=0.25", "gates",
         {"similarity": Gate(0.5), "exact_match @ kind=0.5": Gate(0.25)}),
        ("gates.exact_match @ kind=0.5 = {minimum: 0.25}", "gates",
         {"similarity": Gate(0.5), "exact_match @ kind=0.5": Gate(0.25)}),
    ],
)  # fmt: skip
def test_set_takes_keys_values_and_nested_keys(tmp_path: Path, override: str, key: str, value: Any) -> None:
    text = "benchmark: toy\ncluster: page\nbootstrap: {confidence: 0.9, seed: 8}\ngates: {similarity: {minimum: 0.5}}\n"
    assert getattr(read(tmp_path, text, override).settings, key) == value


TOY = "benchmark: toy\n"
GATES, EXACT = TOY + "gates: {exact_match: ", "gates.exact_match"


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        # What is no configuration.
        ("- a", (), "the configuration must be a mapping of keys to values, such as `benchmark: chart`"),
        ("missing: wrong", (), "benchmark: it is missing; allowed: "),
        ("benchmark: [toy]", (), "benchmark: found ['toy']"),
        (TOY + TOY, (), "this is not YAML: line 2, column 1: the key benchmark is given twice"),
        ("benchmark: !!python/object:os.system x", (), "this is not YAML: line 1, column 12: could not determine a co"),
        # A key, what was found, and what is allowed.
        (TOY + "missing: maybe", (), "missing: found 'maybe'; allowed: exclude, wrong"),
        (TOY + "bootstrap: 200", (), "bootstrap: found 200; give a mapping, such as {replicates: 200}"),
        (TOY + "bootstrap: {replicates: -1}", (), "bootstrap.replicates: found -1; expected `int` >= 0"),
        *(
            (f"{TOY}max_{kind}_fraction: {found}", (), f"max_{kind}_fraction: found {found}; expected `float` {bound}")
            for kind in ("missing", "rejected")
            for found, bound in ((-0.25, ">= 0"), (1.25, "<= 1"))
        ),
        (TOY + "bootstrap: {replicas: 3}", (), "bootstrap.replicas: unknown key (did you mean replicates?); allowed: "),
        (TOY + "slices: ['a,,b']", (), "slices: found 'a,,b'; allowed: column names, joined by commas to cross them"),
        (TOY + "gates: {ok: {minimum: 1}, f1: {minimum: x}}", (), "gates.f1.minimum: found 'x'; expected `float |"),
        (TOY + "predictions: {ours: a.b}", (), "predictions.ours: found 'a.b'; give a list, such as ['a.b']"),
        (TOY + "predictions: a", (), "predictions: found 'a'; give a mapping, such as {NAME: ['a']}"),
        (TOY + "ground_truth:", (), "ground_truth: found null; give a list, such as [...]"),
        (GATES + "0.5}", (), EXACT + ": found 0.5; give a mapping, such as {minimum: 0.5}"),
        (TOY + "worst_samples: [1]", (), "worst_samples: found [1]; expected `int`, got `list`"),
        (TOY + "predictions: {'a b': [x]}", (), "predictions: the name 'a b': expected 1 to 100 letters, dig"),
        ("benchmark: chart\nedition: 2021", (), "edition: found 2021; allowed: 2019, 2020, 2022"),
        ("benchmark: chart\ntasks: [task1, task9]", (), "tasks: found 'task9'; allowed: task1, task2, task3, task4, t"),
        ("benchmark: chart\ntasks: []", (), "tasks: found []; expected `list` of length >= 1"),
        (GATES + "{inconclusive: maybe}}", (), EXACT + ".inconclusive: found 'maybe'; allowed: inconclusive, pass"),
        (GATES + "{system: a b}}", (), EXACT + ".system: found 'a b'; expected 1 to 100 letters, digits, dots"),
        (TOY + "predictions: {ground_truth: [p]}", (), "predictions.ground_truth: the other side has this name; give"),
        (TOY + "cluster: [" + "1," * 500 + "]", (), "cluster: found [1, 1, 1"),
        (TOY + '"a\\nb\\e[31m": 1', (), "a<U+000A>b<U+001B>[31m: unknown key"),
        ("benchmark: figure_text\nmin_confidence: -.inf", (), "min_confidence: found -inf; allowed: a finite number"),
        # What is set on the command line.
        (TOY, ("missing",), "--set missing: must be KEY=VALUE, such as --set protocol=released"),
        (TOY, ("slices=[",), "--set slices=[: the value is not YAML: "),
        (TOY + "missing: wrong", ("missing.x=1",), "--set missing.x=1: missing is not a group of keys"),
        (TOY, ("gates.task1.f1.min=1",), "gates.task1.f1.min: unknown key (did you mean minimum?); all"),
        (TOY, ("benchmark=tox",), "benchmark: found 'tox' (did you mean toy?); allowed: "),
        (TOY, ("slices=" + "[" * 600,), "--set slices=" + "[" * 73 + "…: the value is not YAML: a value is not what"),
        (TOY, ("=1",), "--set =1: must be KEY=VALUE"),
        (TOY + "derived: {mean: 'slice_mean(exact_match, kind)'}", (), "derived: slice_mean needs the slices of kind;"),
        # Gates that could never pass, could never fail, or judge nothing.
        (GATES + "{}}", (), EXACT + ": the gate judges nothing; give minimum, maximum or not_worse_than"),
        (TOY + "gates: {exact_mach: {minimum: 1}}", (), "gates.exact_mach: toy has no such metric (did you mean exact"),
        (TOY + "gates: {xyz: {minimum: 1}}", (), "gates.xyz: toy has no such metric; `beamscore benchmarks toy` lists"),
        (GATES + "{minimum: .nan}}", (), EXACT + ".minimum: found nan; allowed: a finite number or null"),
        (GATES + "{minimum: 0.5, maximum: 0.4}}", (), EXACT + ": the minimum 0.5 is above the maximum 0.4"),
        (GATES + "{margin: 0.1, minimum: 0}}", (), EXACT + ".margin: needs not_worse_than"),
        (GATES + "{minimum: 0.1, judge: point, looks: 2}}", (), EXACT + ".looks: has no effect with"),
        (GATES + "{margin: 1, not_worse_than: b}}", (), EXACT + ".margin: found 1; the metric is always "),
        (GATES + "{minimum: 92}}", (), EXACT + ".minimum: found 92; the metric is always at least 0 and at most 1"),
        (GATES + "{maximum: -1}}", (), EXACT + ".maximum: found -1; the metric is always at least 0 and at most 1"),
        (GATES + "{not_worse_than: a, system: a}}", (), EXACT + ": the system a would be compared with it"),
        (GATES + "{minimum: 0.5}}", ("bootstrap.replicates=0",), EXACT + ".judge: found interval, but bootstrap.rep"),
        (GATES + "{not_worse_than: s}}", ("bootstrap.replicates=19",), EXACT + ".judge: found interval, but bootst"),
        (TOY + "gates: {'exact_match @ ': {minimum: 0.5}}", (), "gates.exact_match @ : there is no label after the @"),
        (GATES + "{minimum: 0, name: a}, similarity: {minimum: 0, name: a}}", (),
         "gates.similarity.name: 'a' is the name of gates.exact_match too"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(tmp_path: Path, text: str, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text, *overrides)
    found = str(error.value).replace(f"{tmp_path}/c.yaml: ", "")
    assert found.startswith(message)
    assert ("\n" in found, len(found) < 400) == (False, True)


def test_what_the_command_line_cannot_give_is_refused_and_what_only_seems_wrong_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the column .* is not UTF-8; no record can have it"):
        read(tmp_path, TOY, slices=["caf\udce9"])
    hint = r": the configuration cannot be read \(.*\); give a YAML file, FILE\.py:CLASS, or one of .*toy"
    # The last is a folder.
    for path in ("chrat", "no/such/folder/c.yaml", "."):
        with pytest.raises(UsageError, match=f"^{re.escape(path)}{hint}"):
            settings.load(path, [], {})
    # Without intervals, values are judged; the ends of the range of a metric are within it.
    assert read(tmp_path, GATES + "{minimum: 0, maximum: 1, judge: point}}", "bootstrap.replicates=0")


def test_the_fields_of_a_system_take_precedence_over_those_of_all_predictions(tmp_path: Path) -> None:
    sides = "fields: {ground_truth: {text: a}, predictions: {text: b, sample_id: id}, theirs: {text: c.d}}"
    configuration = read(tmp_path, TOY + sides)
    found = {system: dict(configuration.fields_of(system).paths) for system in (None, "ours", "theirs")}
    ids = {"sample_id": ("id",)}
    assert found == {None: {"text": ("a",)}, "ours": {"text": ("b",), **ids}, "theirs": {"text": ("c", "d"), **ids}}


def test_the_resolved_configuration_shows_every_default_but_not_the_output(tmp_path: Path) -> None:
    resolved = read(tmp_path, "benchmark: toy\noutput: somewhere\n").resolved()
    names = {field.encode_name for field in msgspec.structs.fields(settings.Settings)}
    assert resolved.keys() == (names - {"output", "page", "derived", "repeats", "pictures"}) | {"protocol", "batch"}
    assert (resolved["bootstrap"], resolved["batch"]) == ({"replicates": 200, "confidence": 0.95, "seed": 0}, 3)
    assert read(tmp_path, yaml.safe_dump(resolved)).resolved() == resolved
    more = {"derived": {"double": "2 * exact_match"}, "repeats": True, "pictures": "pictures"}
    assert {name: read(tmp_path, TOY, **more).resolved()[name] for name in more} == more


@pytest.mark.parametrize("path", [*CONFIGS, Path("toy")], ids=lambda path: path.name)
def test_a_shipped_configuration_spells_out_the_defaults(path: Path) -> None:
    """The name of a benchmark stands for them, too."""
    found = settings.load(str(path), [], {})
    options = benchmark_class(path.stem).options_type
    assert len(CONFIGS) >= 5
    assert (found.settings, found.benchmark.options) == (settings.Settings(benchmark=path.stem), options())
    if path in CONFIGS:
        spelled = set(yaml.safe_load(path.read_text(encoding="utf-8")))
        assert spelled >= {field.encode_name for field in msgspec.structs.fields(options)}


def test_the_keys_of_a_configuration_have_the_kinds_and_bounds_of_this_schema(tmp_path: Path) -> None:
    """And no others: docs/reference/configuration.md has their defaults."""
    assert_pinned([schema_without_words(settings.Settings)], "e90b827e89fe1027", tmp_path)


@pytest.mark.parametrize(
    ("key", "kind", "target"),
    [
        ("exact_match", "toy", GateTarget("exact_match", "")),
        ("exact_match @ kind=1", "toy", GateTarget("exact_match", "kind=1")),
        ("exact_match@mail=a@b", "toy", GateTarget("exact_match", "mail=a@b")),
        ("nothing @ kind=1", "toy", None),
        ("exact_match @", "toy", None),
        # A family of metrics is matched whole.
        *((key, "chart", GateTarget(key, "")) for key in ("task1.f1[pie]", "task1.f1[]", "task1.f1[a]\n]")),
        *((key, "chart", None) for key in ("task1.f1[pie", "task1.f1", "task1.f1[CLASS]x")),
    ],
)
def test_a_key_names_a_metric_and_a_slice(key: str, kind: str, target: GateTarget | None) -> None:
    assert gate_target(key, benchmark_class(kind)) == target


SLICED, AGAINST_BASELINE = {"exact_match @ kind=1": Gate(0.5)}, {"exact_match": Gate(not_worse_than="baseline")}
AGAINST = f"{EXACT}.not_worse_than: "


@pytest.mark.parametrize(
    ("gates", "systems", "slices", "message"),
    [
        (SLICED, "a", [("kind",)], None),
        ({"exact_match": Gate(0.5, system="a")}, "a", [], None),
        (AGAINST_BASELINE, "a", [], None),
        (SLICED, "a", [("page",)], f"{EXACT} @ kind=1: the run does not slice by kind; give --slice kind"),
        ({"exact_match": Gate(0.5, system="new")}, "now", [],
         f"{EXACT}.system: the run has no system new (did you mean now?); there are now"),
        ({"exact_match": Gate(not_worse_than="basline")}, "a b", [],
         f"{AGAINST}the run has no system basline (did you mean baseline?); there are a, b"),
        (AGAINST_BASELINE, "baseline a", [],
         f"{AGAINST}`baseline` is both a system of the run and the run of --baseline; rename the system"),
    ],
)  # fmt: skip
def test_gates_are_checked_against_the_run(gates: Any, systems: str, slices: Any, message: str | None) -> None:
    with nullcontext() if message is None else pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        check_targets(gates, ToyBenchmark, systems.split(), slices)


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=4), min_size=1, max_size=3))
def test_the_columns_of_any_label_are_found(cells: dict[str, str]) -> None:
    (one,) = sample_slices([tuple(cells)], cells)
    assert label_columns(one.label) == tuple(cells)


RICH: dict[str, Any] = {
    "benchmark": "chart", "edition": 2020, "tasks": ["task1", "task6a"], "missing": "exclude", "cluster": "page",
    "slices": ["kind", "kind,size"], "repeats": True, "worst_samples": 3, "inconclusive": "pass", "output": "out",
    "derived": {"both": "mean(task1.macro_f1, 2 * task6a.score)", "most": "slice_mean(task4.f1, kind)"},
    "bootstrap": {"replicates": 50, "confidence": 0.9, "seed": 1}, "limits": {"depth": 40, "slices": 9},
    "fields": {"ground_truth": {"sample_id": "id"}, "ours": {"sample_id": "a.b"}}, "max_missing_fraction": 0.5,
    "ground_truth": ["t.jsonl"], "predictions": {"ours": ["p.jsonl"], "theirs": ["q.jsonl"]},
    "gates": {
        "task1.f1[pie]": {"minimum": 0.5, "maximum": 0.9, "tier": "advisory", "name": "first", "system": "ours"},
        "both @ kind=pie": {"not_worse_than": "baseline", "margin": 0.1, "looks": 365, "judge": "interval"},
    },
}  # fmt: skip


def test_what_is_said_of_a_value_changed_at_random_is_what_the_last_release_said(tmp_path: Path) -> None:
    rng, found = random.Random(0), list[Any]()

    def another(value: Any) -> Any:
        if isinstance(value, dict) and ("benchmark" in value or rng.random() < 0.7):
            wrong = rng.choice([*value])
            return {name[:-1] if name == wrong else name: each for name, each in value.items()}
        return rng.choice([*VALUES, [value], {"depth": value}, f"{value}x", 0.5, -value if value == 0.5 else "a,,b"])

    for path in places({"": RICH}) * 8:
        document = {"": copy.deepcopy(RICH)}
        change_at(document, path, another)
        try:
            found.append(settings.check(document[""], "test").resolved())
        except UsageError as error:
            found.append(str(error))
    assert_pinned(found, "6befabf42b7f5b24", tmp_path)
