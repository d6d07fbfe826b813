"""Metrics made of metrics: a formula of the configuration, such as `mean(task1.macro_f1, task2.hmean)`.

A derived metric is a function of metrics, so of sums. A benchmark with derived metrics is a subclass of the benchmark
that adds them to `values` and to the declarations; whatever works on metrics works on them.

    formula  = number | metric | formula (+ | - | * | /) formula | - formula | (formula) | call
    metric   = a name, such as task1.f1[pie]; in quotation marks if Python could not read it: "property_accuracy[a b]"
    call     = mean(formula, ...) | weighted_mean(formula, ..., weights=[number, ...]) | harmonic_mean(formula, ...)
             | slice_mean(metric, column), the mean of the metric over the slices of a column, which count alike

A derived metric is undefined where one of its parts is, or where it divides by 0. It counts as many units as the part
that has the fewest: the degrees of freedom of a sum of estimates are at least those of its parts (Welch, "The
Generalization of Student's Problem when Several Different Population Variances are Involved", Biometrika 34, 1947).
"""

from __future__ import annotations

import ast
import difflib
import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from typing import Any, NoReturn

import numpy as np

from .benchmark import Benchmark, MetricSpec
from .common.text import truncated
from .statistics.ratios import Value, ratio
from .statistics.sliced_sums import slices_of
from .statistics.sum_table import SumTable, values_of_rows
from .statistics.sums import Sums

AnyBenchmark = Benchmark[Any, Any, Any]
Bounds = tuple[float | None, float | None]
Definitions = tuple[tuple[str, str], ...]
"""The name and the formula of each derived metric."""

MAX_CHARACTERS = 2000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class DefinitionError(ValueError):
    """A definition that cannot be used. name: of the derived metric. The message, one line, says why."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class Found:
    """The values of all metrics, of all samples and, by column, of each of its slices."""

    values: Mapping[str, Value]
    slices: Mapping[str, Sequence[Mapping[str, Value]]]


@dataclass(frozen=True)
class Term:
    """A part of a formula.

    value: from the values of all metrics. direction: 1 where higher is better, -1 where lower is, 0 of a number.
    metrics: those of the benchmark that it is made of, each once. sliced: those of them of which it takes the mean over
    the slices of a column, with the column.
    """

    value: Callable[[Found], Value]
    bounds: Bounds
    direction: int
    metrics: tuple[str, ...] = ()
    sliced: tuple[tuple[str, str], ...] = ()


def with_derived(kind: type[AnyBenchmark], definitions: Mapping[str, str]) -> type[AnyBenchmark]:
    """Returns the benchmark with derived metrics, formulas by name; without any, the benchmark itself.

    They are main metrics, after those of the benchmark; systems are not ranked by them. Raises DefinitionError.
    """
    return _with_derived(kind, tuple(definitions.items())) if definitions else kind


@lru_cache(maxsize=64)
def _with_derived(kind: type[AnyBenchmark], definitions: Definitions) -> type[AnyBenchmark]:
    terms = _Reader(kind, dict(definitions)).terms()
    places = itertools.count(1 + max((spec.main or 0 for spec in kind.metrics), default=0))
    specs = [
        MetricSpec(
            name,
            formula,
            term.direction >= 0,
            term.bounds,
            next(places),
            parts=term.metrics,
            sliced=term.sliced,
        )
        for name, formula in definitions
        for term in [terms[name]]
    ]
    columns = dict.fromkeys(column for term in terms.values() for _, column in term.sliced)
    declared = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "plain": kind,
        "definitions": definitions,
        "terms": terms,
        "metrics": (*kind.metrics, *specs),
        "sliced_columns": tuple(columns),
    }
    return type(kind.__name__, (_WithDerived, kind), declared)


class _WithDerived(AnyBenchmark):
    """What a benchmark with derived metrics does otherwise than the benchmark, `plain`."""

    plain: type[AnyBenchmark]
    definitions: Definitions
    terms: Mapping[str, Term]
    takes_columns = True

    @cached_property
    def _plain(self) -> AnyBenchmark:
        return self.plain(self.options)

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of the benchmark, then the derived ones."""
        return self.values_within(sums, sums)

    def values_within(self, sums: Sums, corpus: Sums) -> dict[str, float | None]:
        """Returns the metrics of some samples of a corpus, the derived ones last; of a SumTable, columns."""
        slices = {
            column: [self._plain_values(part, corpus) for part in slices_of(sums, column).values()]
            for column in self.sliced_columns
        }
        values = self._plain_values(sums, corpus)
        found = Found(values, slices)
        return values | {name: _within(term.bounds, term.value(found)) for name, term in self.terms.items()}

    def _plain_values(self, sums: Any, corpus: Sums) -> dict[str, Value]:
        if isinstance(sums, SumTable):
            return dict(values_of_rows(self._plain, sums, corpus))
        return dict(self._plain.values_within(sums, corpus))

    def __reduce__(self) -> tuple[Any, ...]:
        # The class was made in this process, so that another one cannot import it.
        return _rebuilt, (self._plain, self.definitions)


def _rebuilt(plain: AnyBenchmark, definitions: Definitions) -> AnyBenchmark:
    return _with_derived(type(plain), definitions)(plain.options)


def _within(bounds: Bounds, value: Value) -> Value:
    """Returns a value within its bounds, which rounding may have left."""
    if value is None:
        return None
    low, high = _ends(bounds)
    return np.clip(value, low, high) if isinstance(value, np.ndarray) else min(max(value, low), high)


class _Reader:
    """Reads the formulas of a benchmark; one may name another derived metric, wherever it is defined."""

    def __init__(self, kind: type[AnyBenchmark], formulas: Mapping[str, str]) -> None:
        self._kind = kind
        self._formulas = formulas
        self._terms: dict[str, Term] = {}
        self._open: list[str] = []

    def terms(self) -> dict[str, Term]:
        """Returns the formula of each derived metric; raises DefinitionError."""
        return {name: self._derived(name) for name in self._formulas}

    def _derived(self, name: str) -> Term:
        if name in self._terms:
            return self._terms[name]
        if name in self._open:
            self._refuse(f"it is made of itself: {' -> '.join([*self._open, name])}")
        self._open.append(name)
        formula = self._formulas[name]
        if NAME.fullmatch(name) is None:
            self._refuse("the name must be letters, digits, underscores and dots, such as task8.score")
        if self._kind.spec_of(name) is not None:
            self._refuse(f"{self._kind.name} has a metric of this name; give it another one")
        if len(formula) > MAX_CHARACTERS:
            self._refuse(f"the formula is longer than {MAX_CHARACTERS} characters")
        try:
            term = self._read(ast.parse(formula.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, DefinitionError):
                raise
            self._refuse(f"{truncated(repr(formula), 80)} is not a formula such as mean(first, second)")
        if not term.metrics:
            self._refuse(f"{truncated(repr(formula), 80)} names no metric")
        if term.bounds[0] is not None and term.bounds[0] == term.bounds[1]:
            self._refuse(f"{truncated(repr(formula), 80)} is always {term.bounds[0]:g}")
        self._open.pop()
        self._terms[name] = term
        return term

    def _refuse(self, message: str) -> NoReturn:
        raise DefinitionError(self._open[-1], message)

    def _read(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._number(number)
            case ast.UnaryOp(op=ast.USub()):
                return self._product(self._number(-1), self._read(node.operand))
            case ast.BinOp(op=ast.Add()):
                return self._sum([self._read(node.left), self._read(node.right)], [1.0, 1.0])
            case ast.BinOp(op=ast.Sub()):
                return self._difference(self._read(node.left), self._read(node.right))
            case ast.BinOp(op=ast.Mult()):
                return self._product(self._read(node.left), self._read(node.right))
            case ast.BinOp(op=ast.Div()):
                return self._ratio(self._read(node.left), self._read(node.right))
            case ast.Call(func=ast.Name(id=function)):
                return self._call(function, node)
        name = _name(node)
        if name is None:
            found = truncated(repr(ast.unparse(node)), 80)
            self._refuse(f"{found} is not allowed; allowed: numbers, metrics, + - * / and {_CALLS}")
        return self._metric(name)

    def _call(self, function: str, node: ast.Call) -> Term:
        if function not in FUNCTIONS:
            self._refuse(f"there is no function {function}{_nearest(function, FUNCTIONS)}; there are {_CALLS}")
        if not node.args:
            self._refuse(f"{function} needs metrics, such as {function}(first, second)")
        if function == "slice_mean":
            return self._slice_mean(node)
        parts = [self._read(each) for each in node.args]
        weights = [1.0] * len(parts)
        if function == "weighted_mean":
            weights = self._weights(node, len(parts))
        elif node.keywords:
            self._refuse(f"{function} has no {node.keywords[0].arg or '**'}")
        if function == "harmonic_mean":
            return self._harmonic_mean(parts)
        total = reduce(operator.add, weights)
        return self._ratio(self._sum(parts, weights), self._number(total))

    def _slice_mean(self, node: ast.Call) -> Term:
        names = [_name(each) for each in node.args]
        if len(names) != 2 or node.keywords or names[0] is None or names[1] is None:
            self._refuse("slice_mean needs a metric and a column, such as slice_mean(cdm, subset)")
        metric, column = names[0], names[1]
        if metric in self._formulas:
            self._refuse(f"slice_mean needs a metric of {self._kind.name}; {metric} is a derived one")
        part = self._metric(metric)

        def value(found: Found) -> Value:
            values = [each.get(metric) for each in found.slices[column]]
            if not values:
                return None
            return _calculated(ratio, reduce(lambda one, other: _calculated(operator.add, one, other), values),
                               float(len(values)))  # fmt: skip

        return Term(value, part.bounds, part.direction, part.metrics, ((metric, column),))

    def _weights(self, node: ast.Call, count: int) -> list[float]:
        given = {each.arg: each.value for each in node.keywords}
        found = given.get("weights")
        members = found.elts if isinstance(found, ast.List | ast.Tuple) else []
        weights = [each.value for each in members if isinstance(each, ast.Constant)]
        if given.keys() != {"weights"} or len(members) != count or len(weights) != count:
            self._refuse(f"weighted_mean needs a weight for each of its {count} parts, such as weights=[2, 1]")
        numbers = [float(each) for each in weights if isinstance(each, int | float)]
        if len(numbers) < count or not all(0 < number < math.inf for number in numbers):
            self._refuse(f"weights: found {weights}; allowed: numbers above 0")
        return numbers

    def _metric(self, name: str) -> Term:
        if name in self._formulas:
            return self._derived(name)
        spec = self._kind.spec_of(name)
        if spec is None:
            known = [*(each.name for each in self._kind.metrics), *self._formulas]
            near = _nearest(name, known)
            more = near or f"; `beamscore benchmarks {self._kind.name}` lists them"
            self._refuse(f"{self._kind.name} has no metric {name}{more}")
        return Term(lambda found: found.values.get(name), spec.bounds, 1 if spec.higher_is_better else -1, (name,))

    def _number(self, number: float) -> Term:
        value = float(number)
        if not math.isfinite(value):
            self._refuse(f"found {number}; allowed: a finite number")
        return Term(lambda found: value, (value, value), 0)

    def _sum(self, parts: Sequence[Term], weights: Sequence[float]) -> Term:
        weighted = list(zip(parts, weights, strict=True))

        def value(found: Found) -> Value:
            terms = [_calculated(operator.mul, part.value(found), weight) for part, weight in weighted]
            return reduce(lambda one, other: _calculated(operator.add, one, other), terms)

        bounds = [_combined(operator.mul, part.bounds, (weight, weight)) for part, weight in weighted]
        ends = zip(*bounds, strict=True)
        low, high = (None if None in each else reduce(operator.add, each) for each in ends)
        return Term(value, (low, high), self._common_direction(parts), *_made_of(parts))

    def _difference(self, first: Term, second: Term) -> Term:
        negated = self._product(self._number(-1), second)
        total = self._sum([first, replace(negated, direction=0)], [1.0, 1.0])
        # Of two metrics, it is the first that should be better than the other.
        return replace(total, direction=first.direction or negated.direction)

    def _product(self, first: Term, second: Term) -> Term:
        signs = [-1 if each.bounds[1] is not None and each.bounds[1] <= 0 else 1 for each in (first, second)]
        turned = [replace(each, direction=each.direction * sign)
                  for each, sign in zip((first, second), reversed(signs), strict=True)]  # fmt: skip
        return Term(
            lambda found: _calculated(operator.mul, first.value(found), second.value(found)),
            _combined(operator.mul, first.bounds, second.bounds),
            self._common_direction(turned),
            *_made_of(turned),
        )

    def _ratio(self, first: Term, second: Term) -> Term:
        low, high = second.bounds
        direction = first.direction or -second.direction
        bounds: Bounds = (None, None)
        if low is not None and high is not None and low > 0:
            bounds = _combined(operator.truediv, first.bounds, second.bounds)
        elif low is not None and low >= 0 and (first.bounds[0] or 0.0) >= 0 and first.bounds[0] is not None:
            bounds = (0.0, None)
        if not second.metrics and high is not None and high <= 0:
            self._refuse("it divides by a number that is not above 0")
        return Term(
            lambda found: _calculated(ratio, first.value(found), second.value(found)),
            bounds,
            direction,
            *_made_of([first, second]),
        )

    def _harmonic_mean(self, parts: Sequence[Term]) -> Term:
        for part in parts:
            if part.bounds[0] is None or part.bounds[0] < 0:
                self._refuse("harmonic_mean needs metrics that are never below 0")
        count = float(len(parts))

        def value(found: Found) -> Value:
            values = [part.value(found) for part in parts]
            return None if any(each is None for each in values) else _harmonic_mean(count, values)

        lows, highs = ([part.bounds[end] for part in parts] for end in (0, 1))
        known = [high for high in highs if high is not None]
        high = None if len(known) < len(highs) else _harmonic_mean(count, known)
        low = _harmonic_mean(count, [low or 0.0 for low in lows])
        return Term(value, (low, high), self._common_direction(parts), *_made_of(parts))

    def _common_direction(self, parts: Sequence[Term]) -> int:
        directions = {part.direction for part in parts} - {0}
        if len(directions) > 1:
            higher, lower = (
                next(part.metrics[0] for part in parts if part.direction == sign and part.metrics) for sign in (1, -1)
            )
            self._refuse(f"higher is better of {higher} and lower of {lower}; write 1 - ... where that is meant")
        return directions.pop() if directions else 0


FUNCTIONS = ("mean", "weighted_mean", "harmonic_mean", "slice_mean")
_CALLS = ", ".join(FUNCTIONS)


def _name(node: ast.expr) -> str | None:
    """Returns the name of a metric; None where a node is none."""
    match node:
        case ast.Name():
            return node.id
        case ast.Constant(value=str()):
            return str(node.value)
        case ast.Attribute():
            base = _name(node.value)
            return None if base is None else f"{base}.{node.attr}"
        case ast.Subscript():
            base, member = _name(node.value), _name(node.slice)
            return None if base is None or member is None else f"{base}[{member}]"
    return None


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _made_of(parts: Sequence[Term]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Returns `Term.metrics` and `Term.sliced` of what is made of some parts."""
    metrics = dict.fromkeys(metric for part in parts for metric in part.metrics)
    return tuple(metrics), tuple(dict.fromkeys(each for part in parts for each in part.sliced))


def _calculated(function: Callable[[Value, Value], Value], first: Value, second: Value) -> Value:
    """Returns a function of two values; None where one of them is None."""
    return None if first is None or second is None else function(first, second)


def _harmonic_mean(count: float, values: Sequence[Value]) -> Value:
    """Returns the harmonic mean of values of at least 0; 0 where one of them is."""
    if not any(isinstance(each, np.ndarray) for each in values) and 0 in values:
        return 0.0
    return count / reduce(operator.add, (1 / each for each in values))


def _combined(function: Callable[[float, float], float], one: Bounds, other: Bounds) -> Bounds:
    """Returns the bounds of a product, or of a quotient by what is above 0."""
    ends = [function(first, second) if first else 0.0 for first in _ends(one) for second in _ends(other)]
    # 0 times infinity is 0 here: the bound is not reached.
    low, high = (pick(0.0 if math.isnan(end) else end for end in ends) for pick in (min, max))
    return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)


def _ends(bounds: Bounds) -> tuple[float, float]:
    low, high = bounds
    return (-math.inf if low is None else low), (math.inf if high is None else high)
