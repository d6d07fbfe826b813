"""Metrics made of metrics: a formula of the configuration, such as `mean(task1.macro_f1, task2.hmean)`.

A derived metric is a function of metrics, so of sums. A benchmark with derived metrics is a subclass of the benchmark
that adds them to `values` and to the declarations; whatever works on metrics works on them.

    formula  = number | metric | formula (+ | - | * | /) formula | - formula | (formula) | call
    metric   = a name, such as f1[pie] or cdm.best_of[2]; in quotes if Python cannot read it: "property_accuracy[a b]"
    call     = mean(formula, ...) | weighted_mean(formula, ..., weights=[number, ...]) | harmonic_mean(formula, ...)
             | slice_mean(metric, column), the mean of the metric over the slices of a column, which count alike; those
               in which it has no value are left out

The same function evaluates a formula twice: over ranges, to validate it and get its bounds before any measurement, and
over values. A derived metric is undefined if one of its parts is, or if it divides by 0. It counts as many units as
the part that has the fewest: the degrees of freedom of a sum of estimates are at least those of its parts (Welch, "The
Generalization of Student's Problem when Several Different Population Variances are Involved", Biometrika 34, 1947).
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from .benchmark import AnyBenchmark, MetricSpec
from .common.text import nearest, truncated
from .statistics.measured import spec_or_undeclared
from .statistics.slice_names import slices_of
from .statistics.sum_table import values_of_rows
from .statistics.sums import Sums

Definitions = tuple[tuple[str, str], ...]
"""The name and the formula of each derived metric."""

FUNCTIONS = ("mean", "weighted_mean", "harmonic_mean", "slice_mean")
USAGES = "mean(a, b), weighted_mean(a, b, weights=[2, 1]), harmonic_mean(a, b), slice_mean(metric, column)"
MAX_CHARACTERS = 2000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class DefinitionError(ValueError):
    """An invalid definition. name: of the derived metric. The message, one line, says what is wrong."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def with_derived(kind: type[AnyBenchmark], definitions: Mapping[str, str]) -> type[AnyBenchmark]:
    """Returns the benchmark with derived metrics, formulas by name; without any, the benchmark itself.

    They are main metrics, after those of the benchmark; systems are not ranked by them. Raises DefinitionError.
    """
    return _with_derived(kind, tuple(definitions.items())) if definitions else kind


@lru_cache(maxsize=1024)
def normal_form(formula: str) -> str:
    """Returns a formula as Python writes it: no blanks, redundant parentheses or quotes make a different one.

    A formula that cannot be read is returned unchanged: those of a stored run are read before they are checked.

    >>> normal_form("mean(  (b), 'c[pie]', 'c[area map]')")
    "mean(b, c[pie], 'c[area map]')"
    """
    with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.unparse(_Unquoted().visit(ast.parse(formula.strip(), mode="eval")))
    return formula


class _Unquoted(ast.NodeTransformer):
    """Writes the name of a metric without quotes if Python can read it, else all of it in quotes."""

    def visit(self, node: ast.AST) -> Any:
        name = _name(node) if isinstance(node, ast.expr) else None
        if name is None:
            return super().visit(node)
        with contextlib.suppress(ValueError, SyntaxError):
            body = ast.parse(name, mode="eval").body
            if _name(body) == name:
                return body
        return ast.Constant(name)


def formulas_behind(name: str, definitions: Mapping[str, str]) -> dict[str, str]:
    """Returns the normal forms of the formulas that decide a metric: its own and those of the derived metrics in them.

    It is empty for a metric that is not derived.

    >>> formulas_behind("c", {"a": "x", "b": "y", "c": "mean(a,z)"})
    {'c': 'mean(a, z)', 'a': 'x'}
    """
    found: dict[str, str] = {}
    left = [name]
    while left:
        each = left.pop()
        if each in definitions and each not in found:
            found[each] = normal_form(definitions[each])
            left += _metrics_in(found[each])
    return found


def _metrics_in(formula: str) -> list[str]:
    """Returns the metrics that a formula is computed from; none of a formula that cannot be."""
    found: list[str] = []

    def leaf(part: float | str, column: str | None = None) -> Any:
        found.extend([part] if isinstance(part, str) else [])
        return np.float64(math.nan)

    # The formulas of a stored run are read before they are checked.
    with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError, OverflowError):
        _computed(ast.parse(formula.strip(), mode="eval").body, leaf)
        return found
    return []


@lru_cache(maxsize=64)
def _with_derived(kind: type[AnyBenchmark], definitions: Definitions) -> type[AnyBenchmark]:
    reader = _Ranges(kind, dict(definitions))
    first = 1 + max((spec.main or 0 for spec in kind.metrics), default=0)
    specs = []
    for place, (name, formula) in enumerate(definitions, first):
        computed = reader.derived(name)
        # What is made of metrics, such as a spread, has no denominator, and so no units in a slice: its parts do.
        units = {part: spec_or_undeclared(kind, part).parts or (part,) for part in computed.metrics}
        parts = dict.fromkeys(each for part in computed.metrics for each in units[part])
        known: dict[str, Any] = {"bounds": computed.bounds, "parts": tuple(parts), "sliced": computed.sliced}
        known["spread"] = any(spec_or_undeclared(kind, part).spread for part in computed.metrics)
        if None in computed.bounds:
            known["loss"] = computed.loss
        specs.append(MetricSpec(name, formula, computed.direction >= 0, main=place, **known))
    declared = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "plain": kind,
        "definitions": definitions,
        "formulas": reader.formulas,
        "metrics": (*kind.metrics, *specs),
        "sliced_columns": tuple(dict.fromkeys(column for spec in specs for _, column in spec.sliced)),
    }
    return type(kind.__name__, (_WithDerived, kind), declared)


class _WithDerived(AnyBenchmark):
    """A benchmark with derived metrics in addition to those of the benchmark `plain`.

    formulas: of each derived metric, after those that it names.
    """

    plain: type[AnyBenchmark]
    definitions: Definitions
    formulas: Mapping[str, ast.expr]
    takes_columns = True

    @cached_property
    def _plain(self) -> AnyBenchmark:
        return self.plain(self.options)

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of the benchmark, then the derived ones."""
        return self.values_within(sums, sums)

    def values_within(self, sums: Any, corpus: Sums) -> dict[str, Any]:
        """Returns the metrics of some samples of a corpus, the derived ones last; columns [R] for a SumTable."""
        plain = values_of_rows(self._plain, sums, corpus)
        slices = {
            column: [values_of_rows(self._plain, part, corpus) for part in slices_of(sums, column).values()]
            for column in self.sliced_columns
        }
        known = dict(plain)

        def leaf(part: float | str, column: str | None = None) -> Any:
            if not isinstance(part, str):
                return np.float64(part)
            parts = [known] if column is None else slices[column]
            values = [np.asarray(each.get(part), dtype=np.float64) for each in parts]
            if column is not None:
                # The first row decides: the replicates are those of a mean over the same slices.
                values = [each for each in values if not np.isnan(each.flat[0])]
            return _added(values) / len(values) if values else np.float64(math.nan)

        with np.errstate(all="ignore"):
            for name, formula in self.formulas.items():
                known[name] = _computed(formula, leaf)
        derived = {name: known[name] for name, _ in self.definitions}
        if isinstance(sums, Sums):
            derived = {name: None if np.isnan(value) else float(value) for name, value in derived.items()}
        return plain | derived

    def __reduce__(self) -> tuple[Any, ...]:
        # The class was created in this process, so no other process can import it.
        return _rebuilt, (self._plain, self.definitions)


def _rebuilt(plain: AnyBenchmark, definitions: Definitions) -> AnyBenchmark:
    return _with_derived(type(plain), definitions)(plain.options)


def _computed(node: ast.expr, leaf: Callable[..., Any]) -> Any:
    """Returns the result of a formula; raises ValueError if it is invalid.

    leaf: returns the operand for a number, a metric, or the mean of a metric over the slices of a column: a value,
    a column of values [R], NaN if there is nothing to measure, or a Range.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return leaf(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return leaf(-1) * _computed(operand, leaf)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _OPERATIONS[type(operation)](_computed(left, leaf), _computed(right, leaf))
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            raise ValueError(f"there is no function {name}{nearest(name, FUNCTIONS)}; there are {USAGES}")
        case ast.Call(func=ast.Name(id="slice_mean"), args=[one, two], keywords=[]) if _name(one) and _name(two):
            return leaf(_name(one), _name(two))
        case ast.Call(func=ast.Name(id="mean"), args=[_, *_] as parts, keywords=[]):
            return _divided(_added(_computed(each, leaf) for each in parts), leaf(len(parts)))
        case ast.Call(func=ast.Name(id="harmonic_mean"), args=[_, *_] as parts, keywords=[]):
            values = [_computed(each, leaf) for each in parts]
            ranges = [each for each in values if isinstance(each, Range)]
            _common_direction(ranges)
            if any(each.low < 0 for each in ranges):
                raise ValueError("harmonic_mean needs metrics that are never below 0")
            # Not `_divided`: the mean is 0 if one of the parts is.
            return leaf(len(parts)) / _added(leaf(1) / each for each in values)
        case ast.Call(
            func=ast.Name(id="weighted_mean"),
            args=[_, *_] as parts,
            keywords=[ast.keyword(arg="weights", value=ast.List(elts=elements) | ast.Tuple(elts=elements))],
        ) if len(elements) == len(parts) and all(
            isinstance(each, ast.Constant) and isinstance(each.value, int | float) and 0 < each.value < math.inf
            for each in elements
        ):
            weights = [_computed(each, leaf) for each in elements]
            return _divided(
                _added(map(operator.mul, (_computed(each, leaf) for each in parts), weights)), _added(weights)
            )
    if named := _name(node):
        return leaf(named)
    shown = truncated(repr(ast.unparse(node)), 80)
    raise ValueError(f"{shown} is not allowed; allowed: numbers, metrics, + - * /, {USAGES}")


def _divided(one: Any, other: Any) -> Any:
    """Returns one / other, undefined if `other` is 0."""
    return one / other if isinstance(other, Range) else np.where(other == 0, math.nan, one / other)


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divided,
}


class _Ranges:
    """Computes the ranges of formulas, and rejects invalid ones.

    A formula may name other derived metrics, defined before or after it. formulas: of the metrics computed so far,
    each after those that it names.
    """

    def __init__(self, kind: type[AnyBenchmark], definitions: Mapping[str, str]) -> None:
        self.formulas: dict[str, ast.expr] = {}
        self._known: dict[str, Range] = {}
        self._kind = kind
        self._definitions = definitions
        self._open: list[str] = []

    def leaf(self, part: float | str, column: str | None = None) -> Range:
        """Returns the range of a number, of a metric, or of a mean over slices, which has the range of its metric."""
        kind = self._kind
        if not isinstance(part, str):
            if not math.isfinite(part):
                raise ValueError(f"found {part}; allowed: a finite number")
            return Range(float(part), float(part))
        if part in self._definitions:
            if column is not None:
                raise ValueError(f"slice_mean needs a metric of {kind.name}; {part} is a derived one")
            return self.derived(part)
        spec = kind.spec_of(part)
        if spec is None:
            near = nearest(part, [*(each.name for each in kind.metrics), *self._definitions])
            raise ValueError(
                f"{kind.name} has no metric {part}{near or f'; `beamscore benchmarks {kind.name}` lists them'}"
            )
        low, high = spec.bounds
        return Range(
            -math.inf if low is None else low,
            math.inf if high is None else high,
            1 if spec.higher_is_better else -1,
            (part,),
            () if column is None else ((part, column),),
            spec.reach,
        )

    def derived(self, name: str) -> Range:
        """Returns the range of a derived metric; raises DefinitionError if it is invalid."""
        if name in self._known:
            return self._known[name]
        definition = self._definitions[name]
        shown = truncated(repr(definition), 80)
        if name in self._open:
            raise ValueError(f"the definition is circular: {' -> '.join([*self._open, name])}")
        self._open.append(name)
        try:
            if NAME.fullmatch(name) is None:
                raise ValueError("the name must be letters, digits, underscores and dots, such as task8.score")
            if self._kind.spec_of(name) is not None:
                raise ValueError(f"{self._kind.name} already has a metric of this name; choose a different name")
            if len(definition) > MAX_CHARACTERS:
                raise ValueError(f"the formula is longer than {MAX_CHARACTERS} characters")
            try:
                formula = ast.parse(definition.strip(), mode="eval").body
            except ValueError as error:
                # Half a character; a null byte in Python 3.10.
                raise SyntaxError from error
            computed: Range = _computed(formula, self.leaf)
            if not computed.metrics:
                raise ValueError(f"{shown} names no metric")
            if computed.low == computed.high:
                raise ValueError(f"{shown} is always {computed.low:g}")
        except DefinitionError:
            raise
        except ValueError as error:
            raise DefinitionError(name, str(error)) from None
        except (SyntaxError, RecursionError, MemoryError, OverflowError):
            raise DefinitionError(name, f"{shown} is not a formula such as mean(first, second)") from None
        self._open.pop()
        self.formulas[name], self._known[name] = formula, computed
        return computed


@dataclass(frozen=True)
class Range:
    """The range of a part of a formula, known before anything is measured.

    low, high: its bounds, or infinity. direction: 1 if higher is better, -1 if lower is, 0 for a number. metrics: the
    metrics of the benchmark in it, each once. sliced: the metrics whose mean over the slices of a column it contains,
    with the column. loss: see MetricSpec; infinity if it is not known.
    """

    low: float
    high: float
    direction: int = 0
    metrics: tuple[str, ...] = ()
    sliced: tuple[tuple[str, str], ...] = ()
    loss: float = 0.0

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The bounds in the form of a MetricSpec."""
        return None if self.low == -math.inf else self.low, None if self.high == math.inf else self.high

    def __add__(self, other: Range) -> Range:
        ends, direction = [self.low + other.low, self.high + other.high], _common_direction([self, other])
        return self._with(other, ends, direction, self.loss + other.loss)

    def __sub__(self, other: Range) -> Range:
        # In a difference of metrics, the first should be better than the second.
        ends, direction = [self.low - other.high, self.high - other.low], self.direction or -other.direction
        return self._with(other, ends, direction, self.loss + other.loss)

    def __mul__(self, other: Range) -> Range:
        oriented = [replace(part, direction=-part.direction) if by.high <= 0 else part
                  for part, by in ((self, other), (other, self))]  # fmt: skip
        number, part = (other, self) if not other.metrics else (self, other)
        loss = math.inf if number.metrics else abs(number.low) * part.loss
        return self._with(other, self._corners(np.multiply, other), _common_direction(oriented), loss)

    def __truediv__(self, other: Range) -> Range:
        if not other.metrics and other.high <= 0:
            raise ValueError("it divides by a number that is not above 0")
        if other.low < 0 and other.high <= 0:
            turned = Range(-1.0, -1.0)
            return (self * turned) / (other * turned)
        ends = [-math.inf, math.inf] if other.low < 0 else self._corners(np.divide, other)
        loss = math.inf if other.metrics else self.loss / other.low
        # A number above 0 that is divided turns the direction around.
        direction = self.direction or (other.direction if self.high <= 0 else -other.direction)
        return self._with(other, ends, direction, loss)

    def _corners(self, function: np.ufunc, other: Range) -> list[float]:
        with np.errstate(all="ignore"):
            corners = function.outer([self.low, self.high], [other.low, other.high]).ravel().tolist()
        # 0 times infinity is 0 here: the bound is not reached.
        return [0.0 if math.isnan(corner) else corner for corner in corners]

    def _with(self, other: Range, ends: Sequence[float], direction: int, loss: float) -> Range:
        metrics, sliced = dict.fromkeys(self.metrics + other.metrics), dict.fromkeys(self.sliced + other.sliced)
        # No bound is -0.0, which would turn that of a quotient around.
        return Range(min(ends) + 0.0, max(ends) + 0.0, direction, tuple(metrics), tuple(sliced), loss)


def _common_direction(parts: Sequence[Range]) -> int:
    first = {part.direction: part.metrics[0] for part in reversed(parts) if part.direction}
    if len(first) > 1:
        raise ValueError(f"{first[1]} is better if higher and {first[-1]} if lower; use 1 - ... to turn one around")
    return next(iter(first), 0)


def _added(parts: Iterable[Any]) -> Any:
    return reduce(operator.add, parts)


def _name(node: ast.expr) -> str | None:
    """Returns the name of a metric; None if a node is not one."""
    match node:
        case ast.Name():
            return node.id
        case ast.Constant(value=str()):
            return str(node.value)
        case ast.Attribute():
            base = _name(node.value)
            return None if base is None else f"{base}.{node.attr}"
        case ast.Subscript():
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            base, member = _name(node.value), str(index) if type(index) is int else _name(node.slice)
            return None if base is None or member is None else f"{base}[{member}]"
    return None
