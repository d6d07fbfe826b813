"""A run: an evaluation writes one, and commands that read finished runs start from one."""

from __future__ import annotations

import copy
import math
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from ...metrics.benchmark import Benchmark
from ...metrics.common.text import nearest
from ...metrics.registry import code_version
from ...metrics.statistics.bootstrap import Bootstrap
from ...metrics.statistics.intervals import METHODS
from ...metrics.statistics.measured import Measured, measure, slices_with_value, spec_or_undeclared
from ...metrics.statistics.sum_table import PackedReplicates, SumTable, values_of_rows
from ...metrics.statistics.sums import FRACTION_BITS, Sums
from ...metrics.version import VERSION
from ...transforms.hashes import fingerprint_text
from ...transforms.io.field_map import WITH_FIELDS, column_counter
from ...transforms.io.publication import Layout, Published, find_published
from ...transforms.io.storage import reason_of
from ...transforms.records import GROUND_TRUTH, CauseCount, InputProblem
from ...transforms.repeats import labels_of, paired_of
from ...transforms.rows import EarlierRows
from ...transforms.scored import WITHOUT_FIELDS, Worst
from ...transforms.slice_labels import Slice
from ...transforms.totals import ComputedSlice, SliceKey, truth_count
from ..config import settings
from ..config.errors import UsageError
from ..config.settings import Configuration, of_system, predictions_of
from ..inputs.mismatch import without_values
from .differences import SCORED_ALIKE, RunSignature, code_versions, differences, of_each, signature
from .documents import (
    READABLE_SUMS,
    STATUSES,
    SUMS_FORMAT,
    Fingerprint,
    RunSums,
    SliceSummary,
    SliceSums,
    StoredProvenance,
    Summary,
    SystemSummary,
    SystemSums,
    coverage_document,
    slice_coverage,
)
from .numbers import count_of
from .provenance import RUN_FORMAT
from .ranking import rank, rank_with_ties

SUMMARY = "summary.json"
SUMS = "sums.json"
REPORT = "report.md"
PAGE = "report.html"
RUN = "run.json"
LAYOUT = Layout((REPORT, PAGE, SUMS, SUMMARY, RUN), ("samples", "quarantine"), SUMMARY)
REPEATS_NAMED = SLICES_NAMED = 5
RARE_REPEATS = "repeats that few samples have may be mistyped"
MIN_UNPAIRED, UNPAIRED_SHARE = 5, 0.1
"""If so many samples have no prediction, and so many predictions no sample, their ids may differ in form only."""
MIN_SAMPLES, MIN_CLUSTERS = 20, 8
"""With fewer units than these, the interval of a metric is rough. Five clusters may count as seven: an estimate."""
BOUND_TOLERANCE = 1e-9
"""How far a value may be outside its bounds by rounding, relative to the value if that is above 1."""

_ESCAPED = re.compile(r"\\.", re.DOTALL)

_Document = TypeVar("_Document")


@dataclass(frozen=True)
class JudgedRuns:
    """The runs that gates have judged since a baseline was blessed; see `looks`.

    numbers: the number of each look, from 1, by its predictions; the baseline is 0. runs: the runs that were read, by
    number; None: the run cannot be compared with the baseline.
    """

    numbers: Mapping[str, int]
    runs: Mapping[int, Run | None]


@dataclass
class Run:
    """A run: its documents, and its metrics computed again from its sums.

    path: its folder; empty, and published None, if the run is not yet written. provenance: run.json; empty in a run of
    an earlier version.

    Only in a baseline: system: the system that every other one is compared with; None: the one of the same name.
    judged: the runs that were judged before; None: they are not counted.

    Only in a run that is not yet written: worst: the worst samples of each system. causes: why records were
    quarantined. staged: the files of its rows.
    """

    path: str
    summary: Summary
    provenance: Mapping[str, Any] = field(default_factory=dict)
    published: Published | None = None
    system: str | None = None
    judged: JudgedRuns | None = None
    worst: Mapping[str, Sequence[Worst]] = field(default_factory=dict)
    causes: Sequence[CauseCount] = ()
    staged: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        names: Sequence[str],
        slices: Iterable[ComputedSlice],
        outcomes: Mapping[int, Sums],
        worst: Mapping[int, Sequence[Worst]],
        causes: Sequence[CauseCount],
    ) -> Run:
        """Returns the run of one evaluation, from the results of the pipeline."""
        by_name: dict[str, dict[str, ComputedSlice]] = {name: {} for name in names}
        for each in slices:
            by_name[names[each.key.system]][each.key.label] = each
        truths = outcomes.get(GROUND_TRUTH, Sums())
        coverages = {}
        for number, (name, by_label) in enumerate(by_name.items()):
            if "" not in by_label:
                by_label[""] = _no_samples(SliceKey(number), values_of_rows(configuration.benchmark, Sums(), Sums()))
            coverages[name] = _coverage(by_label[""].coverage, truths, outcomes.get(number, Sums()))
        warnings = []
        if truths["read"] != truths["rejected"]:
            absent = [column for column in configuration.truth_columns() if not truths[column_counter(column)]]
            warnings = [without_values(configuration, column) for column in absent]
        warnings += [line for number, name in enumerate(names) for line in _rare_repeats(name, outcomes.get(number))]
        worst_by_name = {name: worst.get(number, []) for number, name in enumerate(names)}
        return cls.finalized(configuration, by_name, coverages, worst_by_name, causes, warnings)

    @classmethod
    def finalized(
        cls,
        configuration: Configuration,
        slices: Mapping[str, Mapping[str, ComputedSlice]],
        coverages: Mapping[str, Mapping[str, Any]],
        worst: Mapping[str, Sequence[Worst]],
        causes: Sequence[CauseCount],
        warnings: list[str],
    ) -> Run:
        """Returns the run of these slices, ranked; the order of everything depends only on its input.

        slices: by the names of the systems, in order, and by label; the label of all samples is empty.
        """
        benchmark, drawn = configuration.benchmark, configuration.settings.bootstrap
        systems, sums = {}, {}
        truths = {label: each.fingerprint for label, each in next(iter(slices.values())).items()}
        for name, by_label in slices.items():
            labels = sorted(label for label in by_label if label)
            summaries = {
                label: SliceSummary.of(by_label[label], slice_coverage(by_label[label].coverage), truths[label])
                for label in labels
            }
            more = {"tables": by_label[""].tables, "slices": summaries}
            system = SystemSummary.of(by_label[""], coverages[name], truths[""], **more)
            systems[name] = msgspec.structs.replace(system, warnings=_few_units(configuration, system))
            slice_sums = {label: SliceSums.of(by_label[label]) for label in labels}
            sums[name] = SystemSums.of(by_label[""], coverage=coverages[name], slices=slice_sums)
        first = next(iter(slices.values()))[""]
        common: dict[str, Any] = {
            "benchmark": benchmark.name,
            "config": msgspec.json.decode(msgspec.json.encode(configuration.resolved())),
            "fingerprint": Fingerprint(truth_count(first.coverage), fingerprint_text(truths[""])),
        }
        own = [*_without_tables(slices), *_out_of_bounds(benchmark, systems), *_partial_means(configuration, sums)]
        own += dict.fromkeys(line for by_label in slices.values() for line in by_label[""].misspelled)
        own += _unknown_members(configuration, systems)
        own += _unpaired(coverages)
        warned = benchmark.coverage_warnings
        own += [warned[name] for name in warned if any(each.get(name) for each in coverages.values())]
        summary = Summary(
            version=VERSION,
            intervals_method=METHODS if drawn.replicates else {},
            warnings=[*warnings, *own],
            ranking=rank({name: each.values for name, each in systems.items()}, benchmark.ranking_metrics()),
            systems=systems,
            **common,
        )
        summary = msgspec.structs.replace(summary, signature=signature(summary))
        order = worst_first(benchmark)
        most = configuration.settings.worst_samples
        run = cls(
            "",
            summary,
            worst={name: sorted(samples, key=order)[:most] for name, samples in worst.items()},
            causes=causes,
        )
        run.configuration = configuration
        bootstrap = Bootstrap(drawn.replicates, drawn.seed)
        run.sums = RunSums(format=SUMS_FORMAT, unit_bits=FRACTION_BITS, bootstrap=bootstrap, systems=sums, **common)
        if (places := rank_with_ties(run)) is None:
            return run
        return run.changed(ranking_by=places.document(), warnings=[*summary.warnings, *places.warnings])

    @classmethod
    def read(cls, path: str, *, sums: bool = False) -> Run:
        """Returns the finished run in a folder; sums.json is large and is read when needed, or now with `sums`.

        It is opened again if another run replaces it while it is read. Raises UsageError, in one line, if the folder
        holds no run that this version can read.
        """
        while True:
            published = open_result(path)
            try:
                run = cls.published_at(path, published)
                if sums:
                    run.sums  # noqa: B018
            except UsageError:
                if open_result(path).run_id == published.run_id:
                    raise
            else:
                return run

    @classmethod
    def published_at(cls, path: str, published: Published) -> Run:
        """Returns the run of these files in a folder; raises as `read` does."""
        run = cls(path, _decoded(path, published, SUMMARY, Summary), published=published)
        if RUN in published.files and (provenance := _decoded(path, published, RUN, dict[str, Any])):
            try:
                written = msgspec.convert(provenance, StoredProvenance).format
            except msgspec.ValidationError as error:
                raise _problem(path, RUN, reason_of(error)) from error
            if written != RUN_FORMAT:
                raise _problem(path, RUN, _OTHER_FORMAT.format(written, RUN_FORMAT))
            run.provenance = provenance
        return run

    @property
    def systems(self) -> dict[str, SystemSummary]:
        """The systems by name, in the order of their numbers."""
        return self.summary.systems

    @property
    def benchmark(self) -> str:
        """The benchmark as its configuration names it, such as chart or my_metric.py:WER."""
        return str(self.summary.config.get("benchmark", self.summary.benchmark))

    @property
    def reference(self) -> dict[str, str]:
        """What run.json of another run holds of this one."""
        named = {} if self.system is None else {"system": self.system}
        return {"path": self.path, "run_id": self.run_id, **named}

    @property
    def signature(self) -> RunSignature:
        """What the run scored, and with what; determines whether its scores compare with those of a different run."""
        summary, versions = self.summary, self.provenance.get("versions")
        return RunSignature(summary.benchmark, summary.version, summary.config, versions, summary.fingerprint)

    @property
    def rows(self) -> list[str]:
        """The files of the rows of its samples."""
        return list(self.staged) if self.published is None else self.published.folder("samples")

    @property
    def quarantine(self) -> list[str]:
        """The files that list the quarantined records."""
        return [] if self.published is None else self.published.folder("quarantine")

    @property
    def run_id(self) -> str:
        """The id of the run; empty if it is not known."""
        return (self.published and self.published.run_id) or str(self.provenance.get("run_id", ""))

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration, checked; for a stored run without its gates, which an earlier version may have accepted.

        Raises UsageError if this version does not accept it, or if the benchmark is not installed.
        """
        config = {**self.summary.config, "gates": {}}
        # A relative FILE.py:CLASS is of the folder where the run was made.
        if (made_of := self.provenance.get("benchmark_file")) and not os.path.exists(self.benchmark.rpartition(":")[0]):
            config["benchmark"] = str(made_of)
        checked = settings.check(config, posixpath.join(self.path, SUMMARY))
        return replace(checked, settings=msgspec.structs.replace(checked.settings, benchmark=self.benchmark))

    @cached_property
    def sums(self) -> RunSums:
        """The exact sums of the run; for a stored run, checked against its summary."""
        assert self.published is not None
        sums = _decoded(self.path, self.published, SUMS, RunSums)
        if sums.format not in READABLE_SUMS or sums.unit_bits != FRACTION_BITS:
            raise _problem(self.path, SUMS, _OTHER_FORMAT.format(sums.format, SUMS_FORMAT))
        labels = {name: set(system.slices) for name, system in self.systems.items()}
        same = sums.benchmark == self.summary.benchmark and sums.config == self.summary.config
        if not same or {name: set(system.slices) for name, system in sums.systems.items()} != labels:
            raise _problem(self.path, SUMS, _OTHER_RUN)
        return sums

    def changed(self, **changes: Any) -> Run:
        """Returns a copy of the run with these fields of its summary replaced."""
        run = copy.copy(self)
        run.summary = msgspec.structs.replace(self.summary, **changes)
        return run

    def placed(self, place: Callable[[str], str]) -> Run:
        """Returns a copy of the run whose files are read where `place` says."""
        run = copy.copy(self)
        if self.published is not None:
            files = {name: place(path) for name, path in self.published.files.items()}
            run.published = replace(self.published, files=files)
        return run

    def slice(self, system: str, label: str) -> SliceSummary | None:
        """Returns a slice of the summary, all samples if the label is empty; None if it does not exist."""
        return self.systems[system].slice(label) if system in self.systems else None

    def slice_sums(self, system: str, label: str) -> SliceSums:
        """Returns the sums of an existing slice: `sums` has the slices of the summary."""
        system_sums = self.sums.systems[system]
        return system_sums.slices[label] if label else system_sums

    def corpus(self, system: str) -> Sums:
        """Returns the sums of all samples of an existing system."""
        return Sums(self.sums.systems[system].sums)

    def measured(self, system: str, label: str) -> Measured:
        """Returns the metrics of an existing slice with their replicates, computed again from its sums.

        Raises UsageError if they differ from the summary, or if the replicates are damaged.
        """
        sums, summary = self.slice_sums(system, label), self.slice(system, label)
        assert summary is not None
        try:
            table = sums.table(self.sums.bootstrap.replicates)
        except ValueError as error:
            raise _problem(self.path, SUMS, reason_of(error)) from error
        configuration, corpus = self.configuration, self.corpus(system)
        clustered = configuration.settings.cluster is not None
        measured = measure(configuration.benchmark, corpus, table, clustered)
        if measured.values != summary.values:
            self.check_code()
            raise _problem(self.path, SUMS, "its sums do not give the values of summary.json")
        samples = summary.measured_samples(configuration.settings.missing)
        return replace(measured.at_most(samples), predictions=summary.predictions_fingerprint)

    def check_code(self) -> None:
        """Raises UsageError if the benchmark's package or file has changed: its metrics would be of other code."""
        benchmark = self.configuration.benchmark
        here, scored_by = code_version(benchmark), code_versions(self.signature)
        if here and scored_by and here != scored_by:
            changed = benchmark.file or "the package of the benchmark"
            of_both = of_each(scored_by, here)
            raise UsageError(
                f"{self.path}: {changed} has changed since the run{of_both}; evaluate it again, or restore it"
            )

    def system_for(self, name: str) -> str | None:
        """Returns the system to compare a system `name` of a different run with; None if there is none.

        It is `system` if set, else the one of the same name, else the only one.
        """
        if self.system is not None or name in self.systems:
            return self.system or name
        return next(iter(self.systems)) if len(self.systems) == 1 else None

    def earlier_rows(self, configuration: Configuration, systems: Sequence[str]) -> EarlierRows | None:
        """Returns the rows that hold the earlier scores of the samples of these systems.

        None if there are none, or if the scores do not compare. Raises UsageError if a file is damaged.
        """
        here = RunSignature.of(configuration, {"packages": code_version(configuration.benchmark)})
        if not self.rows or differences(here, self.signature, SCORED_ALIKE):
            return None
        metric = configuration.benchmark.main_sample_metric().name
        rows = EarlierRows(tuple(self.rows), metric, tuple(map(self.system_for, systems)))
        try:
            rows.check()
        except InputProblem as error:
            raise UsageError(f"{error.message}, or give --no-html") from error
        return rows


_OTHER_FORMAT = "its format is {}, not {}: another version wrote it"
_OTHER_RUN = "it belongs to another run than summary.json"


def _decoded(path: str, published: Published, name: str, kind: type[_Document]) -> _Document:
    """Returns a document of a finished run; raises UsageError, in one line, if it is damaged."""
    if name not in published.files:
        raise _problem(path, name, "there is no such file")
    try:
        return msgspec.json.decode(published.read(name), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _problem(path, name, reason_of(error)) from error


def _problem(path: str, name: str, reason: str) -> UsageError:
    return UsageError(f"{posixpath.join(path, name)}: no finished run can be read here: {reason}; evaluate again")


def open_result(output: str) -> Published:
    """Returns the paths of the files of the result in the folder `output`, all of one run.

    A run that replaces the result meanwhile removes the files; if one is gone, the caller opens the result again.
    Raises UsageError if there is no result.
    """
    try:
        published = find_published(output, LAYOUT)
    except (OSError, ValueError) as error:
        raise UsageError(f"{output}: no finished run can be read here ({reason_of(error)})") from error
    if published is None:
        path = posixpath.join(output, SUMMARY)
        raise UsageError(f"{path}: no finished run is here (no such file); give the --output folder of a run")
    return published


def _few_units(configuration: Configuration, system: SystemSummary) -> list[str]:
    """Returns a warning if main metrics rest on too few units to trust their intervals, and one for slices."""
    if not configuration.settings.bootstrap.replicates:
        return []
    size, least = "effective sample size", MIN_SAMPLES
    if configuration.settings.cluster:
        size, least = "effective number of clusters", MIN_CLUSTERS
    main = configuration.benchmark.main_metrics()

    def few(part: SliceSummary) -> str:
        units = {metric: part.units[metric] for metric in main if part.intervals.get(metric) is not None}
        return ", ".join(f"{metric} {count}" for metric, count in units.items() if count < least)

    warnings = []
    if counts := few(system):
        warnings.append(f"the {size} of a main metric is below {least}, so its interval is rough: {counts}")
    if slices := sum(few(part) != "" for part in system.slices.values()):
        warnings.append(
            f"in {slices} of {len(system.slices)} slices, the {size} of a main metric is below {least}, "
            "so its interval is rough; see units in summary.json"
        )
    return warnings


def _without_tables(slices: Mapping[str, Mapping[str, ComputedSlice]]) -> Iterator[str]:
    """Yields a warning for each system whose tables the benchmark could not make."""
    for name, by_label in slices.items():
        if problem := by_label[""].table_problem:
            yield f"the tables{of_system(name)} are missing: {problem}"


def _out_of_bounds(benchmark: Benchmark[Any, Any, Any], systems: Mapping[str, SystemSummary]) -> Iterator[str]:
    """Yields a warning for each metric whose value contradicts its declaration, so that its interval is wrong, too."""
    for name, system in systems.items():
        for metric, value in system.values.items():
            spec = benchmark.spec_of(metric)
            if spec is None or value is None:
                continue
            low, high = (
                math.inf * sign if end is None else end for end, sign in zip(spec.bounds, (-1, 1), strict=True)
            )
            if min(value - low, high - value) < -BOUND_TOLERANCE * max(1.0, abs(value)):
                yield (
                    f"{metric}{of_system(name)} is {value:g}, outside its bounds {low:g} to {high:g}: "
                    "the benchmark declares it wrongly"
                )


def _partial_means(configuration: Configuration, sums: Mapping[str, SystemSums]) -> Iterator[str]:
    """Yields a warning for each system that a mean over the slices of a column leaves slices out of."""
    benchmark = configuration.benchmark
    for column in type(benchmark).sliced_columns:
        means = [
            (spec.name, part) for spec in benchmark.metrics for part, sliced_by in spec.sliced if sliced_by == column
        ]
        start = Slice((column,), ("",)).label
        for name, system in sums.items():
            # Those of crossed columns have a comma that is not escaped.
            of_column = [each for each in system.slices if each.startswith(start) and "," not in _ESCAPED.sub("", each)]
            corpus, left_out = Sums(system.sums), dict[tuple[str, ...], dict[str, None]]()
            for mean, part in means:
                values = slices_with_value(benchmark, part, column, corpus, corpus)
                measured = {Slice((column,), (value,)).label for value in values}
                if measured and (lacking := tuple(label for label in of_column if label not in measured)):
                    left_out.setdefault(lacking, {})[mean] = None
            for lacking, names in left_out.items():
                examples = ", ".join(lacking[:SLICES_NAMED])
                yield (
                    f"{', '.join(names)}{of_system(name)} leaves out {len(lacking)} of {len(of_column)} slices of "
                    f"{column}, of which nothing was measured: {examples}{', ...' * (len(lacking) > SLICES_NAMED)}"
                )


def _unknown_members(configuration: Configuration, systems: Mapping[str, SystemSummary]) -> Iterator[str]:
    """Yields a warning for each member of a family that a formula names and no system has; it may be mistyped."""
    known = {metric for each in systems.values() for metric, value in each.values.items() if value is not None}
    for name in configuration.settings.derived if known else ():
        for part in spec_or_undeclared(type(configuration.benchmark), name).parts:
            if "[" in part and part not in known:
                yield f"derived.{name}: {part} has no value in any system{nearest(part, known)}"


def _unpaired(coverages: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yields a warning for each system in which many samples have no prediction and as many predictions no sample."""
    for name, coverage in coverages.items():
        truths, predictions = coverage["ground_truth"], coverage["predictions"]
        missing, unmatched = truths["missing_prediction"], predictions["unmatched"]
        # A rejected record leaves that of the other side alone.
        alone = min(missing, unmatched) - min(truths["rejected"], predictions["rejected"])
        least = max(MIN_UNPAIRED, UNPAIRED_SHARE * (truths["scored"] + missing))
        if truths["scored"] and alone >= least:
            yield (
                f"the {predictions_of(name)}: {count_of(missing, 'sample')} without a prediction, and "
                f"{count_of(unmatched, 'prediction')} without a sample; if they belong together, give both the same ids"
            )


def _rare_repeats(system: str, outcomes: Sums | None) -> list[str]:
    """Returns a warning if some repeats have less than half the predictions of the most frequent repeat.

    Those without a ground truth do not count, though their repeats do: every sample then lacks these.
    """
    counts = {label: outcomes[paired_of(label)] for _, label in labels_of(0, outcomes)} if outcomes else {}
    rare = {label: count for label, count in sorted(counts.items()) if 2 * count < max(counts.values())}
    if not rare:
        return []
    examples = ", ".join(f"{label} has {count:g}" for label, count in [*rare.items()][:REPEATS_NAMED])
    most = f"the most frequent has {max(counts.values()):g} predictions with a ground truth"
    told = f"{RARE_REPEATS}: {examples}; {most}; samples without one miss a prediction"
    return [f"the {predictions_of(system)}: {told}"]


def worst_first(benchmark: Benchmark[Any, Any, Any]) -> Callable[[Worst], Worst]:
    """Returns the key that sorts (value, sample_id, status) by the main per-sample metric, the worst first."""
    spec = benchmark.main_sample_metric()
    return lambda sample: (spec.signed_value(sample[0]), sample[1], sample[2])


def _no_samples(key: SliceKey, values: dict[str, float | None]) -> ComputedSlice:
    replicates = PackedReplicates.of(SumTable.of([]))
    nothing, units = dict.fromkeys(values), dict.fromkeys(values, 0.0)
    return ComputedSlice(key, {}, values, nothing, [], Sums(), replicates, units, errors=dict.fromkeys(values))


def _coverage(counted: Mapping[str, int], truths: Sums, predictions: Sums) -> dict[str, Any]:
    """Returns the coverage of a system. truths, predictions: the counts of each side before scoring."""
    counts = dict(counted)
    for side, outcomes in (("ground_truth", truths), ("predictions", predictions)):
        scored = sum(counts.get(f"{side}.{status}", 0) for status in ("scored", "missing_prediction"))
        if scored and outcomes["read"] and not outcomes[WITH_FIELDS]:
            counts[WITHOUT_FIELDS[side]] = scored
        for status in ("read", *STATUSES[side]):
            name = f"{side}.{status}"
            counts[name] = counts.get(name, 0) + round(outcomes[status])
    return coverage_document(counts)
