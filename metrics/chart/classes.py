"""Tasks 1 and 3: the class of the chart and the roles of its text, scored by a confusion matrix.

Each class that occurs in the ground truth has precision, recall and F from the counts; the macro metrics are the
means over these classes. Rows of the matrix are true classes, columns predicted ones. `(none)` as a column counts
what was not predicted, as a row what was predicted for a text that is not there; `(other)` counts predicted
classes that are not known. Source: CHART-Infographics, tasks 1 and 3; metric1_synthetic.py and metric3.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from metrics.chart.options import TEXT_ROLES, ChartOptions
from metrics.chart.records import (
    ChartClass,
    ChartPrediction,
    ChartTruth,
    PredictedTextRoles,
    TextRole,
    TextRoles,
    identifier_text,
    output_of,
)
from metrics.chart.task_score import TaskScore, listed, shortened
from metrics.statistics.ratios import mean, precision_recall_f1, ratio
from metrics.statistics.sums import Sums
from metrics.table import Table

NONE = "(none)"
OTHER = "(other)"
MAX_CLASS_LENGTH = 64


def normalised_class(name: str) -> str:
    """Returns the name of a class as classes are compared: lower-cased and stripped."""
    return name.lower().strip()


def chart_class(output: ChartClass | str | None) -> str:
    """Returns the normalised class of a task 1 output, which some write as bare text; empty where there is none."""
    name = output.chart_type if isinstance(output, ChartClass) else output
    return normalised_class(name or "")


def score_chart_class(truth: ChartTruth, prediction: ChartPrediction | None, options: ChartOptions) -> TaskScore:
    """Scores task 1 of one chart; the ground truth has a class."""
    true_class = chart_class(output_of(truth.task1))
    predicted = chart_class(output_of(prediction.task1)) if prediction else ""
    given = predicted
    if is_ambiguous(truth, true_class, options):
        true_class, predicted = _as_ambiguous(true_class, predicted, options)
    correct = predicted == true_class
    details = {"truth": shortened(true_class), "predicted": shortened(given) or None}
    cell = _cell("task1", true_class, _known(predicted, true_class, options.classes))
    return TaskScore({cell: 1}, {"task1.correct": float(correct)}, float(correct), details)


def is_ambiguous(truth: ChartTruth, true_class: str, options: ChartOptions) -> bool:
    """Says whether a bar chart may be called grouped as well as stacked.

    It may where it says `ambiguous: true`, and, as published, where it has one data series. The released script
    knows only a list of such charts, which is what `ambiguous` stands for.
    """
    if "bar" not in true_class.split():
        return False
    if truth.ambiguous:
        return True
    data = output_of(truth.task6)
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


def predicted_roles(output: PredictedTextRoles | None, options: ChartOptions) -> list[TextRole] | None:
    """Returns the roles that a prediction has, None where it has none.

    Released, they may be called `text_blocks`, of which those up to the first that is no text role count.
    """
    if output is None:
        return None
    if output.text_roles is not None or options.protocol == "published":
        return output.text_roles
    return None if output.text_blocks is None else list(_readable(output.text_blocks))


def _readable(entries: Any) -> Iterable[TextRole]:
    for entry in entries if isinstance(entries, list) else ():
        try:
            yield msgspec.convert(entry, TextRole)
        except msgspec.ValidationError:
            return


def score_text_roles(truth: TextRoles, prediction: Sequence[TextRole] | None, options: ChartOptions) -> TaskScore:
    """Scores task 3 of one chart: the role of each text block, by id.

    A text whose true role is none of the four is left out, with what was predicted for it. A role that is
    predicted for an id that the ground truth lacks, and a second role for the same id, count against precision.
    Released, the first such id is the last that is read of a prediction.
    """
    all_true_roles = _roles(truth.text_roles)
    true_roles = [(key, role) for key, role in all_true_roles if role in TEXT_ROLES]
    ignored = {key for key, role in all_true_roles if role not in TEXT_ROLES}
    given = prediction or ()
    if options.protocol == "released":
        given = _up_to_an_unknown_id(given, {key for key, _ in all_true_roles})
    predicted: dict[str | None, list[str]] = {}
    for key, role in _roles(given):
        if role and key not in ignored:
            predicted.setdefault(key, []).append(role)

    cells: Counter[str] = Counter()
    errors: list[dict[str, Any]] = []
    correct = 0
    unmatched: list[tuple[str | None, str]] = []
    for key, role in true_roles:
        if role in predicted.get(key, ()):
            predicted[key].remove(role)
            cells[_cell("task3", role, role)] += 1
            correct += 1
        else:
            unmatched.append((key, role))
    for key, role in unmatched:
        others = predicted.get(key)
        wrong = others.pop(0) if others else NONE
        cells[_cell("task3", role, _known(wrong, role, TEXT_ROLES))] += 1
        errors.append({"id": key, "truth": role, "predicted": None if wrong == NONE else shortened(wrong)})
    for key, left in predicted.items():
        for role in left:
            cells[_cell("task3", NONE, _known(role, NONE, TEXT_ROLES))] += 1
            errors.append({"id": key, "truth": None, "predicted": shortened(role)})

    accuracy = ratio(correct, len(true_roles))
    details = {"correct": correct, "errors": listed(errors)}
    return TaskScore(cells, {"task3.accuracy": accuracy}, accuracy, details)


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


def _roles(roles: Iterable[TextRole] | None) -> list[tuple[str | None, str]]:
    """Returns (id, normalised role), each once, in order; a text without a role has the empty one."""
    pairs = ((identifier_text(role.id), normalised_class(role.role or "")) for role in roles or ())
    return list(dict.fromkeys(pairs))


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
    measured = {
        name: precision_recall_f1(cells.get((name, name), 0.0), predicted_counts[name], true_counts[name])
        for name in classes
    }
    values: dict[str, float | None] = {}
    for place, metric in enumerate(("precision", "recall", "f1")):
        values[f"{task}.macro_{metric}"] = mean([each[place] or 0.0 for each in measured.values()])
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
