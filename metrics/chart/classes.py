"""Tasks 1 and 3: the class of the chart and the roles of its text, scored by a confusion matrix.

Each class that occurs in the ground truth has precision, recall and F from the counts; the macro metrics are the
means over these classes. Rows of the matrix are true classes, columns predicted ones. `(none)` as a column counts
what was not predicted, as a row what was predicted for a text that is not there; `(other)` counts predicted
classes that are not known. Source: CHART-Infographics, tasks 1 and 3; metric1_synthetic.py and metric3.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from metrics.chart.options import TEXT_ROLES, ChartOptions
from metrics.chart.records import ChartTruth, Identifier, PredictedTextRoles, TextRole, identifier_text
from metrics.chart.sample import ChartSample, ClassOfChart, Memo, TaskResults, given_class, normalised_class
from metrics.chart.task_score import TaskScore, listed, shortened
from metrics.statistics.ratios import mean, precision_recall_f1
from metrics.statistics.sums import Sums
from metrics.table import Table

NONE = "(none)"
OTHER = "(other)"
MAX_CLASS_LENGTH = 64


def score_chart_classes(
    samples: Iterable[ChartSample], classes: Memo[str | None, ClassOfChart], options: ChartOptions
) -> TaskResults:
    """Scores task 1 of the charts whose ground truth has a class; charts of equal classes share one score."""
    scores: dict[tuple[str, str, bool], TaskScore] = {}
    for sample in samples:
        chart_class, prediction = sample.chart_class, sample.prediction
        if not chart_class.name:
            continue
        given = "" if prediction is None else classes[given_class(prediction.task1)].name
        key = chart_class.name, given, chart_class.is_bar and is_ambiguous(sample.truth, options)
        score = scores.get(key)
        if score is None:
            score = scores[key] = _score_class(*key, options)
        yield sample, score


def _score_class(true_class: str, given: str, ambiguous: bool, options: ChartOptions) -> TaskScore:
    predicted = given
    if ambiguous:
        true_class, predicted = _as_ambiguous(true_class, predicted, options)
    correct = float(predicted == true_class)
    details = {"truth": shortened(true_class), "predicted": shortened(given) or None}
    cell = _cell("task1", true_class, _known(predicted, true_class, options.classes))
    return TaskScore({cell: 1}, {"task1.correct": correct}, correct, details, given != "")


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


def score_text_roles(
    samples: Iterable[ChartSample], identifiers: Memo[Identifier, str | None], options: ChartOptions
) -> TaskResults:
    """Scores task 3 of the charts that have it: the role of each text block, by id.

    A text whose true role is none of the four is left out, with what was predicted for it. A role that is
    predicted for an id that the ground truth lacks, and a second role for the same id, count against precision.
    Released, the first such id is the last that is read of a prediction.
    """
    names = Memo(_role_name)
    cells = Memo(_role_cell)
    for sample in samples:
        task, prediction = sample.truth.task3, sample.prediction
        if task is None or task.output is None or task.output.text_roles is None:
            continue
        true_roles = dict.fromkeys([(identifiers[role.id], names[role.role]) for role in task.output.text_roles])
        output = None if prediction is None or prediction.task3 is None else prediction.task3.output
        given = predicted_roles(output, options)
        read: Sequence[TextRole] = given or ()
        if options.protocol == "released":
            read = _up_to_an_unknown_id(read, {key for key, _ in true_roles})
        predicted_pairs = dict.fromkeys([(identifiers[role.id], names[role.role]) for role in read])
        yield sample, _score_roles(true_roles, predicted_pairs, cells, given is not None)


IdentifiedRole = tuple["str | None", str]


def _score_roles(
    true_roles: Mapping[IdentifiedRole, None],
    given: Mapping[IdentifiedRole, None],
    cells: Memo[tuple[str, str], str],
    attempted: bool,
) -> TaskScore:
    """Scores the distinct (id, role) of one chart, in order."""
    counts: dict[str, int] = {}
    unmatched: list[IdentifiedRole] = []
    others: dict[str | None, list[str]] = {}
    ignored = {key for key, role in true_roles if role not in TEXT_ROLES}
    correct = 0
    for pair in true_roles:
        role = pair[1]
        if role not in TEXT_ROLES:
            continue
        if pair in given and pair[0] not in ignored:
            cell = cells[role, role]
            counts[cell] = counts.get(cell, 0) + 1
            correct += 1
        else:
            unmatched.append(pair)
    if correct < len(given):
        for pair in given:
            if pair[1] and pair[0] not in ignored:
                left = others.setdefault(pair[0], [])
                if pair not in true_roles:
                    left.append(pair[1])
    total = correct + len(unmatched)
    accuracy = correct / total if total else None
    details = {"correct": correct, "errors": listed(_role_errors(unmatched, others, cells, counts))}
    return TaskScore(counts, {"task3.accuracy": accuracy}, accuracy, details, attempted)


def _role_errors(
    unmatched: Iterable[IdentifiedRole],
    others: Mapping[str | None, list[str]],
    cells: Memo[tuple[str, str], str],
    counts: dict[str, int],
) -> list[dict[str, Any]]:
    """Returns what was wrong, counted in `counts`: true roles with another prediction or none, then what is left."""
    errors: list[dict[str, Any]] = []
    for key, role in unmatched:
        left = others.get(key)
        wrong = left.pop(0) if left else None
        cell = cells[role, wrong or NONE]
        counts[cell] = counts.get(cell, 0) + 1
        errors.append({"id": key, "truth": role, "predicted": None if wrong in (None, NONE) else shortened(wrong)})
    for key, left in others.items():
        for role in left:
            cell = cells[NONE, role]
            counts[cell] = counts.get(cell, 0) + 1
            errors.append({"id": key, "truth": None, "predicted": shortened(role)})
    return errors


def _role_name(role: str | None) -> str:
    return normalised_class(role or "")


def _role_cell(roles: tuple[str, str]) -> str:
    true_role, predicted = roles
    return _cell("task3", true_role, _known(predicted, true_role, TEXT_ROLES))


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
