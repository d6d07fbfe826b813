"""How many units a metric rests on: from its denominator and the replicates of it.

A metric is a ratio of sums, and so far as its precision goes a corpus counts as many units as its denominator has
contributors. Where unit u adds d_u, it counts n = (sum d_u)^2 / sum d_u^2 units, which is their number where all add
the same (Kish, Survey Sampling, 1965, section 11.7). A weight of the Poisson bootstrap has mean 1 and variance 1, so
the replicates D_r of the denominator D have mean D and variance sum d_u^2: the mean of (D_r - D)^2 estimates it without
bias, whether samples or clusters are drawn, and no other sum has to be kept.

A mean over K classes gives a unit of class k, of n_k units, the weight 1 / n_k, so that few units of rare classes make
most of its variance, and of the error of that variance. The estimate of a variance of independent errors with the
weights a_u has (sum a_u^2)^2 / sum a_u^4 degrees of freedom (Satterthwaite, "An Approximate Distribution of Estimates
of Variance Components", Biometrics Bulletin 2, 1946): (sum 1 / n_k)^2 / sum 1 / n_k^3, which is the number of all
units where the classes have equally many. That supposes that the variance within each class is estimated from the
class alone. The bootstrap sees no variance within a class of a single unit, so the formula is right to say that it
knows nothing of it, and wrong to say so of the other classes: a t of one degree of freedom would hide any loss. So a
mean over classes counts at least `MIN_CLASS_UNITS`, unless it has fewer units in all. Its effective sample size is
Kish's, K^2 / sum 1 / n_k.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..benchmark import MetricSpec

FloatArray = npt.NDArray[np.float64]

MIN_CLASS_UNITS = 5.0
"""A mean over classes counts so many units, if there are as many; measured in docs/explanation/statistics.md."""


def denominator_columns(spec: MetricSpec, metric: str, names: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the columns, by name in `names`, of the statistics that the denominator of a metric adds up.

    One that the denominator names twice is there twice. `task1.confusion[CLASS|*]`, declared for `task1.recall[CLASS]`,
    is `task1.confusion[pie|...]` for `task1.recall[pie]`, whatever stands after the bar.
    """
    found: list[int] = []
    for term in _terms(spec, metric):
        if isinstance(term, str):
            found += [names[term]] if term in names else []
        else:
            found += [column for name, column in names.items() if term.fullmatch(name)]
    return tuple(found)


@lru_cache(maxsize=16384)
def _terms(spec: MetricSpec, metric: str) -> tuple[str | re.Pattern[str], ...]:
    """Returns the statistics that the denominator of a metric names: a name, or a pattern of many."""
    placeholder = _PLACEHOLDER.search(spec.name)
    member, word = "", None
    if placeholder is not None:
        member = metric[placeholder.start() + 1 : len(metric) - (len(spec.name) - placeholder.end()) - 1]
        word = re.compile(rf"\b{placeholder[1]}\b")
    terms: list[str | re.Pattern[str]] = []
    for term in spec.denominator.split(" + "):
        # The member is put in last: it may hold anything, also what has a meaning in a declaration.
        parts = [member.join(word.split(part)) if word else part for part in term.split("*")]
        terms.append(re.compile(".*".join(map(re.escape, parts)), re.DOTALL) if len(parts) > 1 else parts[0])
    return tuple(terms)


def counted_units(denominators: FloatArray, per_sample: int | None, clustered: bool) -> float:
    """Returns how many units count, from the denominator of the corpus and of its replicates [1 + R].

    Exact where the samples are the units and each that counts adds `per_sample`; else estimated from the replicates,
    with a relative standard error of sqrt(2 / R), and at most the denominator, as a count cannot rest on more units.
    0 where the denominator is 0.
    """
    total = float(denominators[0])
    if total <= 0:
        return 0.0
    most = total / (per_sample or 1)
    if per_sample is not None and not clustered:
        return most
    spread = float(np.mean((denominators[1:] - total) ** 2)) if len(denominators) > 1 else 0.0
    return min(most, total * total / spread) if spread else most


def units_over_classes(classes: Sequence[float]) -> float:
    """Returns how many units count for a mean over classes, from the units of each class; 0 without any.

    At least `MIN_CLASS_UNITS`, and never more than there are.

    >>> round(units_over_classes([10, 10, 10]), 6), round(units_over_classes([30, 6, 3]), 6)
    (30.0, 6.832962)
    >>> units_over_classes([100, 1]), units_over_classes([1, 1])
    (5.0, 2.0)
    """
    shares = [1 / units for units in classes if units > 0]
    if not shares:
        return 0.0
    freedom = math.fsum(shares) ** 2 / math.fsum(share**3 for share in shares)
    return min(max(freedom, MIN_CLASS_UNITS), math.fsum(units for units in classes if units > 0))


def size_over_classes(classes: Sequence[float]) -> float:
    """Returns Kish's effective sample size K^2 / sum 1 / n_k of a mean over K classes; 0 without any.

    As many units of equal weight would give a mean with the same variance.

    >>> round(size_over_classes([10, 10, 10]), 6), round(size_over_classes([100, 1]), 6)
    (30.0, 3.960396)
    """
    shares = [1 / units for units in classes if units > 0]
    return len(shares) ** 2 / math.fsum(shares) if shares else 0.0


_PLACEHOLDER = re.compile(r"\[([A-Z_]+)\]")
