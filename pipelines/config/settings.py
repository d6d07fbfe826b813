"""The settings of a run, the same for all benchmarks, checked strictly; a benchmark has its own options too."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
import yaml
from msgspec import Meta

from ...metrics.benchmark import Benchmark, record_fields
from ...metrics.common.text import ALIKE, RELATED, nearest, truncated
from ...metrics.registry import BrokenBenchmark, benchmark_class, benchmark_names, is_benchmark
from ...transforms.io.field_map import SAMPLE_ID, FieldMap
from ...transforms.io.storage import read_bytes, reason_of
from ...transforms.slice_labels import MAX_SLICES, MAX_SLICES_PER_SAMPLE
from .errors import UsageError, shown
from .gates import SYSTEM_NAME, Gate, Inconclusive, SystemName, check_gates, split_override

GROUND_TRUTH_FIELDS, PREDICTION_FIELDS = "ground_truth", "predictions"

DEFAULT_SYSTEM = "predictions"
"""The name of the system if predictions have no name."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class BootstrapSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The Poisson bootstrap: replicates (0: no intervals), confidence of the intervals, seed of the weights."""

    replicates: Annotated[int, Meta(ge=0, le=10_000)] = 200
    confidence: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    seed: int = 0


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits that keep one record or one setting from filling the memory.

    record_bytes: the size of one record. depth: how deep its arrays and objects may be nested. slices_per_sample: how
    many slices one sample may belong to; crossed columns with lists multiply. slices: how many a run may have.
    """

    record_bytes: Annotated[int, Meta(ge=1, le=1 << 30)] = 16 << 20
    depth: Annotated[int, Meta(ge=1, le=500)] = 200
    slices_per_sample: Annotated[int, Meta(ge=1, le=1_000_000)] = MAX_SLICES_PER_SAMPLE
    slices: Annotated[int, Meta(ge=1, le=10_000_000)] = MAX_SLICES


class PageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many samples of each system report.html holds with their records and drawings.

    worst: by the main per-sample metric. flips: where systems differ most. random: chosen by a hash.
    """

    worst: Annotated[int, Meta(ge=0, le=1000)] = 100
    flips: Annotated[int, Meta(ge=0, le=1000)] = 50
    random: Annotated[int, Meta(ge=0, le=1000)] = 20


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that all benchmarks share.

    ground_truth, predictions, output: as on the command line, which takes precedence. missing: whether a missing
    prediction counts as wrong or is left out. max_rejected_fraction: the share of the records of a side that may be
    rejected before the run fails. max_missing_fraction: the share of the samples of a system, without rejected ones,
    that may lack a prediction. slices: columns to slice by, each `column` or `first,second`. cluster: the column of
    samples that belong together, for the bootstrap; a sample without a value is a cluster of its own. repeats:
    whether predictions have a field `repeat`, so that a system may have several for a sample; see `metrics.repeats`.
    derived: formulas of derived metrics by name; see `metrics.derived`. gates: by metric, or `metric @ slice`.
    inconclusive: what a gate counts as if it neither passes nor fails; `pass` does not change the exit code.
    worst_samples: how many the report lists. page: the samples that report.html shows. fields: the paths of the fields
    in the records of `ground_truth`, of `predictions` (all systems) or of one system by its name, as {field: path}.
    pictures: the real pictures of samples, for pages and drawings: a pattern with `{sample_id}`, or the folder that
    `image.path` of a ground-truth record is relative to; None: relative to the file of the record. sample_id_type:
    `any`: a sample_id may also be an integer, compared by its decimal text; `string`: it must be a string.
    """

    benchmark: str
    ground_truth: list[str] = []
    predictions: dict[SystemName, list[str]] = {}
    output: str | None = None
    missing: Literal["wrong", "exclude"] = "wrong"
    max_rejected_fraction: Annotated[float, Meta(ge=0, le=1)] = 0.0
    max_missing_fraction: Annotated[float, Meta(ge=0, le=1)] = 1.0
    slices: list[str] = []
    cluster: Annotated[str, Meta(min_length=1)] | None = None
    repeats: bool = False
    derived: dict[str, str] = {}
    bootstrap: BootstrapSettings = BootstrapSettings()
    limits: LimitSettings = LimitSettings()
    gates: dict[str, Gate] = {}
    inconclusive: Inconclusive = "inconclusive"
    worst_samples: Annotated[int, Meta(ge=0, le=1000)] = 10
    page: PageSettings = PageSettings()
    fields: dict[str, dict[str, str]] = {}
    pictures: str | None = None
    sample_id_type: Literal["string", "any"] = "any"


@dataclass(frozen=True)
class Configuration:
    """A checked configuration: the shared settings, and the benchmark with its own options."""

    settings: Settings
    benchmark: Benchmark[Any, Any, Any]

    def resolved(self) -> dict[str, Any]:
        """Returns the whole configuration with all defaults, as the summary shows it.

        The output folder and the samples of the page are left out: the summary must not depend on where it is written
        or on what a user wants to view. Derived metrics, repeats and `pictures` are included only if they are
        set.
        """
        options = msgspec.to_builtins(self.benchmark.options)
        shared = msgspec.to_builtins(self.settings)
        del shared["output"], shared["page"]
        for name in ("derived", "repeats", "pictures"):
            if not shared[name]:
                del shared[name]
        return {**shared, **options}

    def check_sides(self, predictions: bool = True) -> None:
        """Raises UsageError if there is no ground truth, or no predictions where they are needed."""
        for side, option in (("ground_truth", "--ground-truth GLOB"), ("predictions", "--predictions [NAME=]GLOB")):
            if not getattr(self.settings, side) and (predictions or side == GROUND_TRUTH_FIELDS):
                raise UsageError(f"{side}: missing; give {option}, or {side} in the configuration")

    def output(self) -> str:
        """Returns the folder of the result; raises UsageError if there is none."""
        if not self.settings.output:
            raise UsageError("output: missing; give --output DIR, or output in the configuration")
        return self.settings.output

    def fields_of(self, system: str | None) -> FieldMap:
        """Returns the paths of the fields in the records of a system; None is the ground truth."""
        sides, unscored = self.settings.fields, frozenset[str]()
        if system is None:
            fields = sides.get(GROUND_TRUTH_FIELDS, {})
            unscored = frozenset(fields.keys() - record_fields(self.benchmark.truth_type).keys() - {SAMPLE_ID})
        else:
            fields = {**sides.get(PREDICTION_FIELDS, {}), **sides.get(system, {})}
        return FieldMap.of(fields, self.settings.sample_id_type == "any", unscored)

    def slice_columns(self) -> tuple[tuple[str, ...], ...]:
        """Returns the columns of each slice."""
        return tuple(tuple(part.strip() for part in each.split(",")) for each in self.settings.slices)

    def columns(self) -> tuple[str, ...]:
        """Returns the columns that any slice needs, each once."""
        return tuple(dict.fromkeys(column for each in self.slice_columns() for column in each))

    def truth_columns(self) -> tuple[str, ...]:
        """Returns the ground-truth columns that the run needs in addition to the benchmark, each once."""
        cluster = (self.settings.cluster,) if self.settings.cluster else ()
        return tuple(dict.fromkeys((*self.columns(), *cluster)))


def load(path: str, overrides: Sequence[str], command_line: Mapping[str, Any]) -> Configuration:
    """Reads the configuration `path`, then applies `overrides` (KEY=VALUE) and the command line.

    `path` may also be the name of a benchmark, for its published defaults. Raises UsageError if anything is wrong,
    with the key, its value and the allowed values.
    """
    raw = overridden({"benchmark": path} if is_benchmark(path) else _read_yaml(path), overrides)
    return check({**raw, **{key: value for key, value in command_line.items() if value}}, path)


def check(raw: dict[str, Any], source: str) -> Configuration:
    """Returns the configuration in `raw`; `source` is its name in errors.

    Raises UsageError if a key is unknown or a value is invalid.
    """
    name = raw.get("benchmark")
    if not isinstance(name, str) or not is_benchmark(name):
        known = ", ".join(benchmark_names())
        problem = "it is missing" if name is None else f"found {shown(name)}{nearest(str(name), benchmark_names())}"
        raise UsageError(f"{source}: benchmark: {problem}; allowed: {known}")
    kind = check_benchmark(name)
    shared, own = keys_of(Settings), keys_of(kind.options_type)
    for key in raw:
        if key not in shared | own:
            raise unknown_key(source, key, shared | own, name)
    settings = _convert({key: raw[key] for key in raw if key in shared}, Settings, source)
    options = _convert({key: raw[key] for key in raw if key in own}, kind.options_type, source)
    for key, value in msgspec.structs.asdict(options).items():
        # Comparisons with a bound do not reject NaN.
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{source}: {key}: found {value}; allowed: a finite number")
    if GROUND_TRUTH_FIELDS in settings.predictions:
        raise UsageError(
            f"{source}: predictions.{GROUND_TRUTH_FIELDS}: the other side has this name; give the system another name"
        )
    _check_columns(settings, source)
    if settings.repeats:
        from ...metrics.repeats import with_repeats

        kind = with_repeats(kind)
    if settings.derived:
        kind = _with_derived(kind, settings, source)
    check_gates(settings.gates, kind, settings.bootstrap.replicates, source)
    return Configuration(settings, kind(options))


def check_benchmark(name: str) -> type[Benchmark[Any, Any, Any]]:
    """Returns the benchmark of this name; raises UsageError if it does not exist or cannot be used."""
    if not isinstance(name, str):
        raise UsageError(f"the benchmark must be a name or FILE.py:CLASS, not {shown(name)}")
    if not is_benchmark(name):
        near = nearest(name, benchmark_names())
        raise UsageError(f"there is no benchmark {name}{near}; there are {', '.join(benchmark_names())}")
    try:
        kind = benchmark_class(name)
    except BrokenBenchmark as error:
        raise UsageError(str(error)) from error
    # Only this layer knows the settings, so the registry cannot check it.
    if taken := sorted(keys_of(Settings) & keys_of(kind.options_type)):
        problem = f"options_type: {taken[0]} is a setting of every benchmark; give the option another name"
        raise UsageError(f"the benchmark {name}: {problem}")
    return kind


def unknown_key(source: str, key: Any, allowed: Collection[str], benchmark: str) -> UsageError:
    """Returns the error about a key of a configuration that is none of those allowed for a benchmark."""
    near, known = nearest(str(key), allowed), ", ".join(sorted(allowed))
    return UsageError(f"{source}: {truncated(str(key), 80)}: unknown key{near}; allowed for {benchmark}: {known}")


def keys_of(kind: type[msgspec.Struct]) -> set[str]:
    """Returns the names of the fields of a struct in a configuration."""
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def _with_derived(
    kind: type[Benchmark[Any, Any, Any]], settings: Settings, source: str
) -> type[Benchmark[Any, Any, Any]]:
    """Returns the benchmark with the derived metrics; raises UsageError if one is invalid."""
    from ...metrics.derived import DefinitionError, with_derived

    try:
        kind = with_derived(kind, settings.derived)
    except DefinitionError as error:
        raise UsageError(f"{source}: derived.{error.name}: {error}") from error
    for column in kind.sliced_columns:
        if column not in settings.slices:
            raise UsageError(
                f"{source}: derived: slice_mean needs the slices of {column}{nearest(column, settings.slices)}; "
                f"give `slices: [{column}]`, or --slice {column}"
            )
    return kind


def _check_columns(settings: Settings, source: str) -> None:
    for each in [*settings.slices, settings.cluster or ""]:
        if not each.isascii() and each != each.encode("utf-8", "replace").decode():
            raise UsageError(f"{source}: the column {each!r} is not UTF-8; no record can have it")
    for each in settings.slices:
        if not all(part.strip() for part in each.split(",")):
            raise UsageError(f"{source}: slices: found {each!r}; allowed: column names, joined by commas to cross them")
    for side, fields in settings.fields.items():
        for name, path in fields.items():
            try:
                FieldMap.of({name: path})
            except ValueError as error:
                raise UsageError(f"{source}: fields.{side}.{name}: {error}") from error


def check_field_sides(settings: Settings) -> None:
    """Raises UsageError if `fields` names a system without predictions."""
    sides = list(dict.fromkeys([GROUND_TRUTH_FIELDS, PREDICTION_FIELDS, *settings.predictions]))
    for side in settings.fields:
        if side not in sides:
            raise UsageError(
                f"fields.{side}: there is no such side{nearest(side, sides)}; there are {', '.join(sides)}"
            )


def check_field_names(configuration: Configuration) -> None:
    """Raises UsageError if `fields` names a field that the evaluation does not read.

    For the ground truth, only one that is nearly the name of a field: others may be columns of slices of other runs.
    """
    from ...transforms.pictures import IMAGE
    from ...transforms.repeats import REPEAT

    benchmark = configuration.benchmark
    truths = [SAMPLE_ID, *record_fields(benchmark.truth_type), IMAGE, *configuration.truth_columns()]
    predicted = [SAMPLE_ID, *record_fields(benchmark.prediction_type), REPEAT]
    for side, fields in configuration.settings.fields.items():
        known = list(dict.fromkeys(truths if side == GROUND_TRUTH_FIELDS else predicted))
        for name in fields:
            meant = nearest(name, known, ALIKE if side == GROUND_TRUTH_FIELDS else RELATED)
            if name not in known and (meant or side != GROUND_TRUTH_FIELDS):
                key = truncated(f"fields.{side}.{name}", 80)
                raise UsageError(f"{key}: the run reads no such field{meant}; allowed: {', '.join(known)}")


def _read_yaml(path: str) -> dict[str, Any]:
    try:
        raw = load_yaml(read_bytes(path))
    except (OSError, ValueError) as error:
        known = ", ".join(benchmark_names())
        raise UsageError(
            f"{path}: the configuration cannot be read ({reason_of(error)}); "
            f"give a YAML file, FILE.py:CLASS, or one of {known}{nearest(path, benchmark_names())}"
        ) from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: this is not YAML: {_yaml_problem(error)}") from error
    if not isinstance(raw, dict):
        raise UsageError(f"{path}: the configuration must be a mapping of keys to values, such as `benchmark: chart`")
    return raw


class _Loader(yaml.SafeLoader):
    """SafeLoader, except that a duplicate key is an error, and 1e-9 is a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Returns a mapping; raises MarkedYAMLError unless its keys are plain text and unique."""
        seen = set()
        for key, _ in node.value:
            problem = None if isinstance(key, yaml.ScalarNode) else "a key must be plain text"
            if problem is None and key.value in seen:
                problem = f"the key {key.value} is given twice"
            if problem is not None:
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def load_yaml(text: bytes | str) -> Any:
    """Returns the value of one YAML document; raises yaml.YAMLError if it is invalid or has a duplicate key."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # The constructors of the parser raise these, such as for !!bool x.
        raise yaml.YAMLError(f"a value is not what its tag says, or nested too deeply: {error!r}") from error


def _yaml_problem(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return reason_of(error)
    mark, reason = error.problem_mark, ", ".join(filter(None, (error.context, error.problem)))
    return f"line {mark.line + 1}, column {mark.column + 1}: {' '.join(reason.split())[:200]}"


def overridden(raw: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Returns an unchecked configuration with `overrides` (KEY=VALUE) applied; raises UsageError."""
    for override in overrides:
        path, equals, text = split_override(override)
        override = truncated(override, 80)
        if not equals or not path[0].strip():
            raise UsageError(f"--set {override}: must be KEY=VALUE, such as --set protocol=released")
        place = raw
        for part in path[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise UsageError(f"--set {override}: {part} is not a group of keys")
        try:
            place[path[-1]] = load_yaml(text)
        except yaml.YAMLError as error:
            raise UsageError(f"--set {override}: the value is not YAML: {_yaml_problem(error)}") from error
    return raw


def _convert(raw: dict[str, Any], kind: type[_Struct], source: str) -> _Struct:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {_explain(raw, kind)}") from error


def _explain(value: Any, kind: Any, path: Sequence[Any] = ()) -> str:
    """Returns one line on why `value` is not a `kind`: the key, its value and what is allowed."""
    members = _members(kind)
    struct = next((each for each in members if isinstance(each, type) and issubclass(each, msgspec.Struct)), None)
    inner: dict[Any, Any] = {}
    if get_origin(kind) is dict and isinstance(value, dict):
        inner = dict.fromkeys(value, get_args(kind)[1])
        for name in value:
            if problem := _misfit(name, get_args(kind)[0]):
                return f"{'.'.join(map(str, path))}: the name {shown(name)}: {problem}"
    elif struct is not None and isinstance(value, dict):
        inner = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
        for name in (each for each in value if each not in inner):
            near = nearest(str(name), list(inner))
            return f"{'.'.join(map(str, [*path, name]))}: unknown key{near}; allowed: {', '.join(inner)}"
    for name in inner:
        if name in value and _misfit(value[name], inner[name]):
            return _explain(value[name], inner[name], [*path, name])
    for each in members if isinstance(value, list) else ():
        # All elements of a list are of one type.
        if get_origin(each) in _LISTS and get_args(each)[1:] in ((), (Ellipsis,)):
            for element in value:
                if _misfit(element, get_args(each)[0]):
                    return _explain(element, get_args(each)[0], path)
    # If each key alone is valid, the type itself reports which values are incompatible.
    problem = _misfit(value, kind)
    if choices := [choice for each in members for choice in _choices(each)]:
        problem = f"allowed: {', '.join(sorted(map(str, choices)))}"
    elif path and (expected := _COLLECTION.match(problem)):
        problem = f"give a {expected[1]}, such as {_example(value, kind)}"
    return f"{'.'.join(map(str, path))}: found {shown(value)}; {problem}" if path else problem


def _choices(kind: Any) -> Sequence[Any]:
    """Returns the values of a Literal or an enum; empty for any other type."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return get_args(kind) if get_origin(kind) is Literal else ()


def _members(kind: Any) -> tuple[Any, ...]:
    """Returns the types of a union; another type alone, without its bounds."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


_JSON_TYPE = re.compile(r"(?<=[` ])(?:array|object)(?=[` ])")
_YAML_NAMES = {"array": "list", "object": "mapping"}
_SYSTEM_NAME = "1 to 100 letters, digits, dots, hyphens and underscores"
_LISTS = (list, tuple, set, frozenset)
_COLLECTION = re.compile(r"expected `(list|mapping)\b[^`]*`, got `\w+`\Z")


def _example(value: Any, kind: Any) -> str:
    """Returns a `kind` with `value` within, as YAML on one line; an ellipsis stands for what cannot hold it."""
    if not _misfit(value, kind):
        return shown(value)
    for each in (kind, *get_args(kind)):
        origin, inner = get_origin(each), get_args(each)
        if origin in _LISTS:
            return f"[{_example(value, inner[0])}]"
        if origin is dict:
            return f"{{NAME: {_example(value, inner[1])}}}"
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            first = msgspec.structs.fields(each)[0]
            return f"{{{first.encode_name}: {_example(value, first.type)}}}"
    return "..."


def _misfit(value: Any, kind: Any) -> str:
    """Returns what `value` must be, as msgspec says it but in the terms of YAML; empty if it is a `kind`."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said = (
            str(error).replace("Expected", "expected", 1).replace(f"`str` matching regex {SYSTEM_NAME!r}", _SYSTEM_NAME)
        )
        return _JSON_TYPE.sub(lambda name: _YAML_NAMES[name[0]], said)
    return ""


def predictions_of(system: str) -> str:
    """Returns the name of the predictions of a system in messages; without a name just `predictions`."""
    return f"predictions{of_system(system)}"


def system_prefix(system: str) -> str:
    """Returns the prefix of a message about one system; empty if the system has no name."""
    return "" if system == DEFAULT_SYSTEM else f"{system}: "


def of_system(system: str) -> str:
    """Returns ` of NAME`; empty for predictions without a name."""
    return "" if system == DEFAULT_SYSTEM else f" of {system}"
