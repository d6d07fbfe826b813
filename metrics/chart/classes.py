"""Tasks 1 and 3: the class of the chart and the roles of its text, scored by a confusion matrix.

Each class that occurs in the ground truth has precision, recall and F from the counts; the macro metrics are the
means over these classes. Rows of the matrix are true classes, columns predicted ones. `(none)` as a column counts
what was not predicted, as a row what was predicted for a text that is not there; `(other)` counts predicted
classes that are not known. Source: CHART-Infographics, tasks 1 and 3; metric1_synthetic.py and metric3.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ..statistics.ratios import mean, precision_recall_f1, where
from ..statistics.sums import Sums
from ..table import Table
from .batch import Batch
from .details import listed, shortened
from .names import compared_text
from .options import TEXT_ROLES, ChartOptions
from .records import ChartTruth, PredictedTextRoles, TextRole, TextRoles, identifier_text
from .sample import ChartSample, Memo, normalised_class

NONE = "(none)"
OTHER = "(other)"
MAX_CLASS_LENGTH = 64
KNOWN_ROLES = frozenset(TEXT_ROLES)


class ClassScore(msgspec.Struct, frozen=True, gc=False):
    """The score of one pair of classes: the cell of the confusion matrix, whether it is right, and the details.

    is_listed: whether the true class is one of the option `classes`.
    """

    cell: str
    correct: float
    details: dict[str, Any]
    attempted: bool
    is_listed: bool


def score_chart_classes(batch: Batch, options: ChartOptions) -> None:
    """Scores task 1 of the charts whose ground truth has a class; charts of equal classes share one score."""
    scores: dict[tuple[str, str, bool], ClassScore] = {}
    classes = batch.classes
    known = frozenset([normalised_class(compared_text(name, options)) for name in options.classes])
    for sample, _, predicted in batch.rows(batch.truths.classes, batch.predictions.classes):
        chart_class = sample.chart_class
        if not chart_class.name or sample.rejected is not None:
            continue
        ambiguous = chart_class.is_bar and is_ambiguous(sample.truth, options)
        key = chart_class.name, classes[predicted].name, ambiguous
        score = scores.get(key)
        if score is None:
            score = scores[key] = _score_class(*key, known, options)
        sample.statistics[score.cell] = 1
        sample.metrics["task1.correct"] = score.correct
        sample.has_listed_class = score.is_listed
        sample.add("task1", score.correct, score.details, score.attempted)


def _score_class(
    true_class: str, given: str, ambiguous: bool, known: Collection[str], options: ChartOptions
) -> ClassScore:
    predicted = given
    if ambiguous:
        true_class, predicted = _as_ambiguous(true_class, predicted, options)
    correct = float(predicted == true_class)
    details = {"truth": shortened(true_class), "predicted": shortened(given) or None}
    cell = _cell("task1", true_class, _known(predicted, true_class, known))
    return ClassScore(cell, correct, details, given != "", true_class in known)


def is_ambiguous(truth: ChartTruth, options: ChartOptions) -> bool:
    """Says whether a bar chart may be called grouped as well as stacked.

    It may where it says `ambiguous: true`, and, as published, where it has one data series. The released script
    knows only a list of such charts, which is what `ambiguous` stands for.
    """
    if truth.ambiguous:
        return True
    data = truth.task6.output if truth.task6 else None
    one_series = data is not None and data.data_series is not None and len(data.data_series) == 1
    return one_series and options.protocol == "published"


def _as_ambiguous(true_class: str, predicted: str, options: ChartOptions) -> tuple[str, str]:
    """Returns true and predicted class of an ambiguous bar chart.

    Published, a prediction of the same orientation becomes the true class; released, both become grouped.
    """
    if options.protocol == "published":
        same = _as_grouped(predicted) == _as_grouped(true_class)
        return true_class, true_class if same else predicted
    return _as_grouped(true_class), _as_grouped(predicted)


def _as_grouped(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return f"grouped {rest}" if kind in ("grouped", "stacked") else name


def predicted_roles(output: TextRoles | None, options: ChartOptions) -> list[TextRole] | None:
    """Returns the roles that a prediction has, None where it has none.

    Released, they may be called `text_blocks`, of which those up to the first that is no text role count.
    """
    if output is None:
        return None
    if output.text_roles is not None or options.protocol == "published":
        return output.text_roles
    blocks = output.text_blocks if isinstance(output, PredictedTextRoles) else None
    return None if blocks is None else list(_readable(blocks))


def _readable(entries: Any) -> Iterable[TextRole]:
    for entry in entries if isinstance(entries, list) else ():
        try:
            yield msgspec.convert(entry, TextRole)
        except msgspec.ValidationError:
            return


def score_text_roles(batch: Batch, options: ChartOptions) -> None:
    """Scores task 3 of the charts that have it: the role of each text block, by id.

    A text whose true role is none of the four is left out, with what was predicted for it. A role that is
    predicted for an id that the ground truth lacks, and a second role for the same id, count against precision.
    Where a text has one of the four and another true role, each of both is right. Released, the four are wrong there,
    since what is predicted for the text is left out, and the first id that the ground truth lacks is the last that is
    read of a prediction.
    """
    names = Memo(_role_name)
    cells = Memo(_role_cell)
    right_cells = Memo(_right_role_cell)
    identifiers = batch.identifiers
    for sample, task, output in batch.rows(batch.truths.text_roles, batch.predictions.text_roles):
        if task is None or task.text_roles is None or not sample.is_open:
            continue
        true_roles = [(identifiers[role.id], names[role.role]) for role in task.text_roles]
        given = predicted_roles(output, options)
        read: Sequence[TextRole] = given or ()
        if options.protocol == "released":
            read = _up_to_an_unknown_id(read, {key for key, _ in true_roles})
        given_roles = [(identifiers[role.id], names[role.role]) for role in read]
        compared = _compared_roles(true_roles, given_roles, options.protocol == "released")
        _note_roles(sample, compared, cells, right_cells, given is not None)


IdentifiedRole = tuple["str | None", str]
WrongRole = tuple["str | None", "str | None", "str | None"]
"""An id, its true role and the predicted one; None where there is none."""


class ComparedRoles(NamedTuple):
    """The roles of one chart: how often each was right, and what was wrong."""

    right: dict[str, int]
    wrong: list[WrongRole]


def _compared_roles(truths: Sequence[IdentifiedRole], given: Sequence[IdentifiedRole], released: bool) -> ComparedRoles:
    """Compares the distinct (id, role) of one chart."""
    true_roles, given_roles = dict(truths), dict(given)
    if len(true_roles) < len(truths) or len(given_roles) < len(given):
        return _compared_repeated_roles(dict.fromkeys(truths), dict.fromkeys(given), released)
    right: dict[str, int] = {}
    wrong: list[WrongRole] = []
    for key, role in truths:
        if role in KNOWN_ROLES:
            predicted = given_roles.get(key)
            if predicted == role:
                right[role] = right.get(role, 0) + 1
            else:
                wrong.append((key, role, predicted or None))
    if not given_roles.keys() <= true_roles.keys():
        wrong += [(key, None, role) for key, role in given if role and key not in true_roles]
    return ComparedRoles(right, wrong)


def _compared_repeated_roles(
    truths: Mapping[IdentifiedRole, None], given: Mapping[IdentifiedRole, None], released: bool
) -> ComparedRoles:
    """Compares roles where an id has several of them."""
    right: dict[str, int] = {}
    unmatched: list[IdentifiedRole] = []
    others: dict[str | None, list[str]] = {}
    other_roles = [pair for pair in truths if pair[1] not in KNOWN_ROLES]
    ignored = {key for key, _ in other_roles}
    also_right = {key for key, role in other_roles if role and (key, role) in given}
    for pair in truths:
        if pair[1] not in KNOWN_ROLES:
            continue
        is_right = pair in given or pair[0] in also_right
        if is_right and not (released and pair[0] in ignored):
            right[pair[1]] = right.get(pair[1], 0) + 1
        else:
            unmatched.append(pair)
    for pair in given:
        if pair[1] and pair[0] not in ignored:
            left = others.setdefault(pair[0], [])
            if pair not in truths:
                left.append(pair[1])
    wrong: list[WrongRole] = []
    for key, role in unmatched:
        roles = others.get(key)
        wrong.append((key, role, roles.pop(0) if roles else None))
    return ComparedRoles(right, wrong + [(key, None, role) for key, left in others.items() for role in left])


def _note_roles(
    sample: ChartSample,
    compared: ComparedRoles,
    cells: Memo[tuple[str, str], str],
    right_cells: Memo[str, str],
    attempted: bool,
) -> None:
    """Counts the cells of the confusion matrix of one chart, those of right roles first."""
    counts = sample.statistics
    correct = 0
    for name, count in compared.right.items():
        counts[right_cells[name]] = count
        correct += count
    total = correct
    errors: list[RoleError] = []
    for key, role, predicted in compared.wrong:
        cell = cells[role or NONE, predicted or NONE]
        counts[cell] = counts.get(cell, 0) + 1
        total += role is not None
        shown = None if predicted is None or (role and predicted == NONE) else shortened(predicted)
        errors.append(RoleError(key, role, shown))
    accuracy = correct / total if total else None
    sample.metrics["task3.accuracy"] = accuracy
    sample.add("task3", accuracy, {"correct": correct, "errors": listed(errors)}, attempted)


class RoleError(msgspec.Struct, frozen=True, gc=False):
    """What was wrong about the role of a text block, as the details have it; None where there is no role."""

    id: str | None
    truth: str | None
    predicted: str | None


def _role_name(role: str | None) -> str:
    return normalised_class(role or "")


def _role_cell(roles: tuple[str, str]) -> str:
    true_role, predicted = roles
    return _cell("task3", true_role, _known(predicted, true_role, TEXT_ROLES))


def _right_role_cell(role: str) -> str:
    return _role_cell((role, role))


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


def _known(predicted: str, true_class: str, known: Collection[str]) -> str:
    """Returns the column of a predicted class, so that no column is named by unbounded text."""
    if not predicted or predicted == NONE:
        return NONE
    return predicted if predicted in known or predicted == true_class else OTHER


def _cell(task: str, true_class: str, predicted: str) -> str:
    return f"{task}.confusion[{_column(true_class)}|{_column(predicted)}]"


def _column(name: str) -> str:
    return name[:MAX_CLASS_LENGTH].replace("|", "/")


def confusion(task: str, sums: Sums) -> dict[tuple[str, str], float]:
    """Returns the confusion counts of a task by (true class, predicted class)."""
    cells: dict[tuple[str, str], float] = {}
    for name, count in sums.bracketed(f"{task}.confusion").items():
        true_class, _, predicted = name.partition("|")
        cells[true_class, predicted] = count
    return cells


def class_values(task: str, sums: Sums) -> dict[str, float | None]:
    """Returns macro and per-class precision, recall and F of a task.

    A class that was never predicted has precision 0. Without ground truth the macro metrics are None.
    """
    true_counts: defaultdict[str, float] = defaultdict(float)
    predicted_counts: defaultdict[str, float] = defaultdict(float)
    cells = confusion(task, sums)
    for (true_class, predicted), count in cells.items():
        true_counts[true_class] += count
        predicted_counts[predicted] += count
    classes = [name for name in true_counts if name != NONE]
    measured = {}
    for name in classes:
        counts = cells.get((name, name), 0.0), predicted_counts[name], true_counts[name]
        measured[name] = [where(true_counts[name], value) for value in precision_recall_f1(*counts)]
    values: dict[str, float | None] = {}
    for place, metric in enumerate(("precision", "recall", "f1")):
        values[f"{task}.macro_{metric}"] = mean([each[place] for each in measured.values()])
    for name, (precision, recall, f1) in measured.items():
        values[f"{task}.precision[{name}]"] = precision
        values[f"{task}.recall[{name}]"] = recall
        values[f"{task}.f1[{name}]"] = f1
    return values


def confusion_table(task: str, title: str, sums: Sums) -> Table | None:
    """Returns the confusion matrix of a task; None where nothing was counted."""
    cells = confusion(task, sums)
    if not cells:
        return None
    marks = (OTHER, NONE)
    names = sorted({name for cell in cells for name in cell if name not in marks})
    columns = names + [mark for mark in marks if any(predicted == mark for _, predicted in cells)]
    rows = names + [NONE] * any(true_class == NONE for true_class, _ in cells)
    return Table(
        title,
        ["truth \\ predicted", *columns],
        [[row, *(int(cells.get((row, column), 0)) for column in columns)] for row in rows],
    )
