"""Tasks 1 and 3: the class of the chart and the roles of its text, scored by a confusion matrix.

Each class that occurs in the ground truth has precision, recall and F from the counts; the macro metrics are the
means over these classes. Rows of the matrix are true classes, columns predicted ones. `(none)` as a column counts
what was not predicted, as a row what was predicted for a text that is not there; `(other)` counts predicted
classes and roles that are not known, of which there may be any number. Source: CHART-Infographics, tasks 1 and 3;
metric1_synthetic.py and metric3.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec

from ..benchmark import RejectedRecord
from .names import compared_text
from .records import (
    EDITIONS,
    ChartOptions,
    ChartTruth,
    PredictedTextRoles,
    Protocol,
    TextRole,
    identifier_text,
    series_of,
)
from .task_score import TaskScore, listed, not_listed, shortened

NONE = "(none)"
OTHER = "(other)"
NOT_LISTED = "ground_truth_classes_not_listed"
NOT_SCORED = "ground_truth_text_roles_not_scored"
MAX_CLASS_LENGTH = 64

# Charts with a word of these in their class have task 1 alone.
CLASSES_WITHOUT_TASKS = frozenset(["pie", "donut"])

ElementKind = Literal["box", "scatter", "line", "bar"]
"""The kind of plot elements, which the name of a class contains; other charts have no measure in tasks 6 and 7."""
ELEMENT_KINDS: tuple[ElementKind, ...] = get_args(ElementKind)


def element_kind(task: str, chart_class: str) -> ElementKind | None:
    """Returns how the data of charts of a class compare; None if `task` has no measure for them.

    Raises RejectedRecord for a ground truth without a class.
    """
    if not chart_class:
        raise RejectedRecord("ground_truth", f"{task} needs task1.output.chart_type, which says how data compare")
    for kind in ELEMENT_KINDS:
        if kind in chart_class:
            return kind
    return None


def class_of(name: str | None, protocol: Protocol) -> str:
    """Returns the name of a class as classes are compared; empty if there is none."""
    return compared_text(normalized_class(compared_text(name, protocol)), protocol) if name else ""


def normalized_class(name: str) -> str:
    """Returns the name of a class or role as they are compared: lower-cased and stripped."""
    return name.lower().strip()


def score_chart_class(truth: ChartTruth, true_class: str, given: str, options: ChartOptions) -> TaskScore:
    """Returns the score of the class of one chart, which has one; given: the predicted class, empty if it has none.

    A true class that is not one of the option `classes` is counted in the coverage: if no edition has it either, wrong
    predictions of it are `(other)` and do not lower its precision.
    """
    shown = given
    if "bar" in true_class.split():
        true_class, given = _as_ambiguous(truth, true_class, given, options)
    known = _known_classes(options.classes, options.protocol)
    correct = given == true_class
    details = {"truth": shortened(true_class), "predicted": shortened(shown) or None, "correct": correct}
    coverage = None if known.get(true_class) else {NOT_LISTED: 1}
    cell = _cell("task1", true_class, given, known)
    return TaskScore({cell: 1}, {"task1.correct": float(correct)}, float(correct), details, shown != "", coverage)


@lru_cache(maxsize=8)
def _known_classes(classes: tuple[str, ...], protocol: Protocol) -> dict[str, bool]:
    """Returns the classes that have a column of their own, each with whether the option `classes` lists it."""
    of_editions = [name for edition in EDITIONS.values() for name in edition.classes]
    return dict.fromkeys(of_editions, False) | dict.fromkeys([class_of(name, protocol) for name in classes], True)


def is_right_class(details: Mapping[str, Any]) -> bool:
    """Returns whether the class is right; details of task 1 of earlier versions have the classes alone."""
    return bool(details.get("correct", details["truth"] == details["predicted"]))


def _as_ambiguous(truth: ChartTruth, true_class: str, predicted: str, options: ChartOptions) -> tuple[str, str]:
    """Returns true and predicted class of a bar chart, which may be called grouped as well as stacked.

    This applies if it says `ambiguous: true`, and, as published, if it has one data series. The released script has
    only a list of such charts, which `ambiguous` represents. Published, a prediction of the same
    orientation becomes the true class; released, both become grouped.
    """
    grouped, others = _as_grouped(true_class), _as_grouped(predicted)
    if options.protocol == "released":
        return (grouped, others) if truth.ambiguous else (true_class, predicted)
    may_be_both = truth.ambiguous or len(series_of(truth.task6) or ()) == 1
    return true_class, true_class if may_be_both and others == grouped else predicted


def _as_grouped(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return f"grouped {rest}" if kind in ("grouped", "stacked") else name


IdentifiedRole = tuple["str | None", str]
ComparedRole = tuple["str | None", "str | None", "str | None"]
"""An id, its true role and the predicted one; None if there is none."""


def score_text_roles(truth: Sequence[TextRole], output: PredictedTextRoles | None, options: ChartOptions) -> TaskScore:
    """Returns the score of the roles of the text blocks of one chart, by id.

    A text whose true role is not scored is omitted, with the roles predicted for it; the coverage counts such roles
    that the edition does not have either. A role that is predicted for an id that the ground truth lacks, and a second
    role for the same id, count against precision. Where a text has a true role that is scored and another that is not,
    each of both is right. Released, the first is wrong there, since what is predicted for the text is left out, and the
    first id that the ground truth lacks is the last that is read of a prediction.
    """
    released = options.protocol == "released"
    given = predicted_roles(output, options)
    known = {normalized_class(role) for role in options.scored_roles}
    true_roles = _identified(truth)
    read = _up_to_an_unknown_id(given, {key for key, _ in true_roles}) if given and released else given
    compared = _compared_roles(dict.fromkeys(true_roles), dict.fromkeys(_identified(read or ())), known, released)
    counts = Counter([_cell("task3", role or NONE, predicted or NONE, known) for _, role, predicted in compared])
    total = sum([role is not None for _, role, _ in compared])
    wrong = [(key, role, predicted) for key, role, predicted in compared if role != predicted]
    correct = len(compared) - len(wrong)
    errors = []
    for key, role, predicted in wrong:
        shown = None if predicted is None or (role and predicted == NONE) else shortened(predicted)
        errors.append({"id": key, "truth": role, "predicted": shown})
    accuracy = correct / total if total else None
    details = {"correct": correct, "errors": listed(errors), **not_listed(errors=errors)}
    expected = {"", *known, *options.rules.text_roles}
    not_scored = sum([role not in expected for _, role in true_roles])
    coverage = {NOT_SCORED: not_scored} if not_scored else None
    return TaskScore(counts, {"task3.accuracy": accuracy}, accuracy, details, given is not None, coverage)


def predicted_roles(output: PredictedTextRoles | None, options: ChartOptions) -> Sequence[TextRole] | None:
    """Returns the roles that a prediction has, None if it has none.

    Released, they may be called `text_blocks`; only blocks before the first that is not a text role count. Published,
    raises RejectedRecord for blocks alone, unless there are none.
    """
    if output is None:
        return None
    if output.text_roles is not None or output.text_blocks is None:
        return output.text_roles
    if options.protocol == "published":
        if not output.text_blocks:
            return None
        message = "task3.output has text_blocks, not `text_roles`; protocol: released alone reads roles from both"
        raise RejectedRecord("prediction", message)
    roles: list[TextRole] = []
    with suppress(msgspec.ValidationError):
        for entry in output.text_blocks if isinstance(output.text_blocks, list) else ():
            roles.append(msgspec.convert(entry, TextRole))  # noqa: PERF401 - entries before an invalid one are kept
    return roles


def _identified(roles: Sequence[TextRole]) -> list[IdentifiedRole]:
    return [(identifier_text(each.id), normalized_class(each.role or "")) for each in roles]


def _compared_roles(
    truths: dict[IdentifiedRole, None], given: dict[IdentifiedRole, None], known: Collection[str], released: bool
) -> list[ComparedRole]:
    """Returns each scored role, of the distinct (id, role) of one chart, as predicted; then what else is predicted."""
    other_roles = [pair for pair in truths if pair[1] not in known]
    ignored = {key for key, _ in other_roles}
    also_right = {key for key, role in other_roles if role and (key, role) in given}
    others: dict[str | None, list[str]] = {}
    for key, role in given:
        if role and key not in ignored and (key, role) not in truths:
            others.setdefault(key, []).append(role)
    compared: list[ComparedRole] = []
    for key, role in truths:
        if role not in known:
            continue
        if ((key, role) in given or key in also_right) and not (released and key in ignored):
            compared.append((key, role, role))
        else:
            compared.append((key, role, others[key].pop(0) if others.get(key) else None))
    return compared + [(key, None, role) for key, left in others.items() for role in left]


def _up_to_an_unknown_id(roles: Sequence[TextRole], known: Collection[str | None]) -> Sequence[TextRole]:
    """Returns the roles that metric3.py reads before it drops the rest of a file.

    It stops before an entry without a role, and behind one whose id the ground truth lacks.
    """
    for place, role in enumerate(roles):
        if role.role is None:
            return roles[:place]
        if identifier_text(role.id) not in known:
            return roles[: place + 1]
    return roles


def _cell(task: str, true_class: str, predicted: str, known: Collection[str]) -> str:
    """Returns the statistic of a cell, so that no column is named by unbounded text."""
    if not predicted or predicted == NONE:
        predicted = NONE
    elif predicted not in known and predicted != true_class:
        predicted = OTHER
    row, column = (name[:MAX_CLASS_LENGTH].replace("|", "/") for name in (true_class, predicted))
    return f"{task}.confusion[{row}|{column}]"
