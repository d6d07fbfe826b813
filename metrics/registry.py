"""The benchmarks by name: from this project, from other installed packages, and from single files.

A package provides a benchmark by an entry point of the group `beamscore.benchmarks`, whose name is the name of the
benchmark and whose value is its class, such as `word_error_rate = my_package.benchmark:WordErrorRate`. The name of a
benchmark in a file is the file and its class, such as `my_metric.py:WER`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import math
import re
import sys
import threading
from collections.abc import Collection, Mapping
from importlib.metadata import entry_points
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .common.text import ALIKE, nearest

if TYPE_CHECKING:
    from .benchmark import Benchmark

ENTRY_POINTS = "beamscore.benchmarks"
NEEDED = ("name", "summary", "truth_type", "prediction_type", "options_type", "metrics", "sample_metrics")

BUILT_IN: dict[str, str] = {
    "chart": "beamscore.metrics.chart.benchmark:ChartBenchmark",
    "chemistry": "beamscore.metrics.chemistry.benchmark:ChemistryBenchmark",
    "figure_text": "beamscore.metrics.figure_text.benchmark:FigureTextBenchmark",
    "formula": "beamscore.metrics.formula.benchmark:FormulaBenchmark",
    "traffic_rules": "beamscore.metrics.traffic_rules.benchmark:TrafficRulesBenchmark",
}
_FILE = re.compile(r"(.+\.py)(?::(\w+))?", re.DOTALL)
_LOADING = threading.RLock()


class BrokenBenchmark(ValueError):
    """A benchmark of a package or a file that cannot be used; the message, one line, names it and says why."""


@functools.cache
def _installed() -> dict[str, list[tuple[str, dict[str, str]]]]:
    """Returns the benchmarks that other packages declare: of each name `module:attribute` and the package's version."""
    declared: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for each in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.value):
        package: dict[str, str] = {}
        # Metadata may be damaged.
        with contextlib.suppress(Exception):
            if each.dist and each.dist.version:
                # The spellings of a name are one package, whose module mostly has this one.
                package = {re.sub(r"[-_.]+", "_", each.dist.name).lower(): each.dist.version}
        declared.setdefault(each.name, []).append((each.value, package))
    return declared


def code_version(benchmark: Benchmark[Any, Any, Any]) -> dict[str, str]:
    """Returns the version of a benchmark's package by the name of the package, or the digest of its FILE.py:CLASS.

    Empty for one of this project, or of a package without a version.
    """
    if benchmark.file:
        return {Path(benchmark.file).name: benchmark.file_digest}
    declared = () if benchmark.name in BUILT_IN else _installed().get(benchmark.name, ())
    return {name: version for _, package in declared for name, version in package.items()}


def benchmark_names() -> list[str]:
    """Returns the names of all installed benchmarks, sorted."""
    return sorted({*BUILT_IN, *_installed()})


def declarations(name: str) -> list[str]:
    """Returns the packages that declare a benchmark, each with its class; not beamscore itself."""
    return [f"{' '.join(package) or 'a package'} ({target})" for target, package in _installed().get(name, ())]


def is_benchmark(name: str) -> bool:
    """Returns whether `name` is an installed benchmark, or FILE.py:CLASS, even if the class is missing."""
    return name in BUILT_IN or _FILE.fullmatch(name) is not None or name in _installed()


def usable_benchmarks() -> dict[str, type[Benchmark[Any, Any, Any]]]:
    """Returns the installed benchmarks by name, without broken ones."""
    usable = {}
    for name in benchmark_names():
        try:
            usable[name] = benchmark_class(name)
        except BrokenBenchmark:
            continue
    return usable


def benchmark_class(name: str) -> type[Benchmark[Any, Any, Any]]:
    """Returns the benchmark called `name`, or the benchmark of a file, FILE.py:CLASS.

    Raises KeyError if it does not exist, BrokenBenchmark if its package or file cannot be imported, or does not declare
    a benchmark that can run, or if several other packages declare it: a built-in benchmark is found without them.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        built_in: type[Benchmark[Any, Any, Any]] = getattr(importlib.import_module(module), attribute)
        return built_in
    of_file = _FILE.fullmatch(name)
    if of_file and not of_file[2]:
        raise BrokenBenchmark(f"the benchmark {name}: give its class too, as {name}:CLASS")
    target = name if of_file else _installed()[name][0][0]
    if not of_file and len(found := declarations(name)) > 1:
        raise BrokenBenchmark(f"the benchmark {name} is declared by {' and by '.join(found)}: keep only one of them")
    where = name if of_file else f"{name} ({target})"
    try:
        module, _, attribute = target.rpartition(":")
        source = _module_of(Path(module).resolve()) if of_file else importlib.import_module(module)
        loaded: Any = getattr(source, attribute, None)
        problem = _problem(loaded) if loaded else f"there is no {attribute} in it{nearest(attribute, vars(source))}"
        if not problem and not of_file and loaded.name != name:
            problem = f"its name is {loaded.name}"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        from .benchmark import error_text

        problem = f"it cannot be loaded: {type(error).__name__}: {' '.join(error_text(error).split())}"
        raise BrokenBenchmark(f"the benchmark {where}: {problem}") from error
    if problem:
        raise BrokenBenchmark(f"the benchmark {where}: {' '.join(problem.split())}")
    if of_file:
        loaded.file = f"{Path(module).resolve()}:{attribute}"
        loaded.file_digest = _digest(Path(module).read_bytes())
        loaded.__reduce__ = _reduced
    kind: type[Benchmark[Any, Any, Any]] = loaded
    return kind


def _module_of(path: Path) -> ModuleType:
    """Returns the module of a file by its absolute path; loads it again if it has changed."""
    name = f"beamscore_file_{_digest(bytes(path) + path.read_bytes())}"
    # No other thread may see a module of which only a part has run.
    with _LOADING:
        if name not in sys.modules:
            module = ModuleType(name)
            module.__file__ = str(path)
            # msgspec resolves the annotations of records in this module.
            sys.modules[name] = module
            try:
                exec(compile(path.read_bytes(), module.__file__, "exec"), module.__dict__)
            except BaseException:
                del sys.modules[name]
                raise
        return sys.modules[name]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _reduced(benchmark: Benchmark[Any, Any, Any]) -> tuple[Any, ...]:
    """Pickles a benchmark of a file by its path: other processes load it, its records and its options from there."""
    import msgspec

    return _loaded_again, (benchmark.file, benchmark.file_digest, msgspec.to_builtins(benchmark.options))


def _loaded_again(file: str, digest: str, options: Any) -> Benchmark[Any, Any, Any]:
    import msgspec

    kind = benchmark_class(file)
    if kind.file_digest != digest:
        raise BrokenBenchmark(f"the benchmark {file} has changed since the run began; run it again")
    return kind(msgspec.convert(options, kind.options_type))


def _problem(kind: Any) -> str:
    """Returns why a class is not a benchmark that can run; empty if it is."""
    import msgspec

    from .benchmark import Benchmark, MetricSpec, error_text, record_fields
    from .scoring import CONTENT_COLUMNS, SLICE_PREFIX, TEXT_COLUMNS

    if not (isinstance(kind, type) and issubclass(kind, Benchmark)):
        return "it is not a class derived from beamscore.metrics.benchmark.Benchmark"
    if missing := [name for name in NEEDED if not hasattr(kind, name)]:
        return f"it lacks {', '.join(missing)}"
    if missing := sorted(kind.__abstractmethods__):
        return f"it lacks the method{'s' * (len(missing) > 1)} {', '.join(missing)}"
    for name in ("name", "summary"):
        if not _is_text(found := getattr(kind, name)):
            return f"{name}: found {found!r:.80}; allowed: {_TEXT}"
    for name in ("truth_type", "prediction_type", "options_type"):
        record = getattr(kind, name)
        if not (isinstance(record, type) and issubclass(record, msgspec.Struct)):
            return f"{name} is not a msgspec.Struct"
        try:
            record_fields(record)
        except Exception as error:  # noqa: BLE001 - an annotation may be anything
            return f"{name}: {type(error).__name__}: {error_text(error)}"
    for name in ("metrics", "sample_metrics"):
        specs = getattr(kind, name)
        if not isinstance(specs, tuple) or not specs or not all(isinstance(spec, MetricSpec) for spec in specs):
            return f"{name} is not a tuple of MetricSpec"
        names = [spec.name for spec in specs]
        for spec in specs:
            for part in ("name", "meaning", "denominator", "classes"):
                if not _is_text(found := getattr(spec, part)):
                    return f"{name}: {spec.name!r:.80}: {part}: found {found!r:.80}; allowed: {_TEXT}"
            if spec.per_sample is not None and not _is_above_0(spec.per_sample, Real):
                return f"{name}: {spec.name}: per_sample: found {spec.per_sample!r:.80}; allowed: one above 0, or None"
            if names.count(spec.name) > 1:
                return f"{name}: {spec.name} is declared twice"
            if not _are_bounds(spec.bounds):
                return (
                    f"{name}: {spec.name}: bounds: found {spec.bounds!r:.80}; allowed: (low, high), None for no bound"
                )
    warned = kind.coverage_warnings
    if not isinstance(warned, Mapping) or not all(map(_is_text, warned.values())):
        return "coverage_warnings is not a mapping of names to texts"
    if not kind.main_metrics():
        return "metrics: none of them has main=1"
    for name in kind.sample_metric_names():
        if name in (*TEXT_COLUMNS, *CONTENT_COLUMNS) or name.startswith(SLICE_PREFIX):
            return f"sample_metrics: {name} is another column of the samples; give the metric another name"
    if sum(spec.main is not None for spec in kind.sample_metrics) != 1:
        return "sample_metrics: exactly one of them has main=1"
    try:
        options = kind.options_type()
    except TypeError as error:
        return f"options_type: each option needs a default ({error})"
    benchmark = kind(options)
    if not isinstance(getattr(benchmark, "options", None), kind.options_type):
        return "__init__: it does not call super().__init__(options)"
    # Of an instance: they may depend on its options.
    for name in ("corpus_statistics", "sliced_columns", "timed"):
        found = getattr(benchmark, name)
        if isinstance(found, str) or not isinstance(found, Collection) or not all(map(_is_text, found)):
            return f"{name}: found {found!r:.80}; allowed: a tuple of texts, such as ('words',)"
    if not _is_above_0(found := benchmark.batch_size, Integral):
        return f"batch_size: found {found!r:.80}; allowed: a whole number of at least 1"
    return _values_problem(kind, benchmark)


_TEXT = "text in UTF-8"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


def _is_above_0(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and 0 < float(value) < math.inf


def _are_bounds(bounds: Any) -> bool:
    """Returns whether a metric may have these bounds: a tuple of two, each a number or None, in order."""
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        return False
    numbers = [each for each in bounds if each is not None]
    return all(isinstance(each, Real) for each in numbers) and (len(numbers) < 2 or numbers[0] < numbers[1])


def _values_problem(kind: Any, benchmark: Any) -> str:
    """Returns in what `values` and the declared metrics do not agree; empty if they do."""
    from .benchmark import PLACEHOLDER, error_with_place
    from .statistics.measured import denominator_terms
    from .statistics.sum_table import metric_values
    from .statistics.sums import Sums

    read: set[str] = set()
    families: set[str] = set()

    class Alike(Sums):
        """Sums with one value under every name; records the names that are read."""

        total = 0.0
        members: tuple[str, ...] = ()

        def __getitem__(self, name: str) -> float:
            read.add(name)
            return self.total

        def family(self, prefix: str) -> dict[str, float]:
            families.add(f"{prefix}[")
            return dict.fromkeys(self.members, self.total)

    try:
        returned = benchmark.values(Alike())
    except Exception as error:  # noqa: BLE001 - it is the code of the user
        return f"values (without samples): {error_with_place(error)}"
    try:
        values = metric_values(returned)
    except ValueError as error:
        return f"{error} (without samples)"
    Alike.total = 1.0
    with contextlib.suppress(Exception):  # the sums may be inconsistent
        values |= benchmark.values(Alike())
    Alike.members, of_members = ("a",), set[str]()
    with contextlib.suppress(Exception):  # and a member of another kind
        of_members = benchmark.values(Alike()).keys() - values
    names = [spec.name for spec in kind.metrics]
    for name in [*values, *sorted(of_members)]:
        spec = kind.spec_of(name)
        if spec is None:
            # Members may be declared each by its name, which may be made of that of the statistic.
            family = name.partition("[")[0] + "["
            by_name = [each for each in names if each.startswith(family) and not PLACEHOLDER.search(each)]
            if name in of_members and (by_name or "[" not in name):
                continue
            return f"values: {name} is not declared in metrics{nearest(name, names)}"
        for term, _ in denominator_terms(spec, name) if spec.denominator else ():
            # A pattern may name statistics of samples alone.
            if isinstance(term, str) and term not in read and not term.startswith(tuple(families)):
                return f"metrics: {name}: values does not read the denominator {term}{nearest(term, read)}"
    known = {each.partition("[")[0] for each in (*read, *families)}
    for name in benchmark.corpus_statistics:
        # It may read one under other options, or of other sums: it is a mistake if it is spelled like one that is read.
        hint = nearest(name, read.difference(benchmark.corpus_statistics), ALIKE)
        if name.partition("[")[0] not in known and hint:
            return f"corpus_statistics: values does not read {name}{hint}"
    for spec in kind.metrics:
        if "[" not in spec.name and spec.name not in values:
            return f"metrics: {spec.name} is not returned by values{nearest(spec.name, values)}"
        if spec.classes and kind.spec_of(spec.classes) is None:
            return f"metrics: {spec.name}: classes: {spec.classes} is not declared{nearest(spec.classes, names)}"
    return ""
