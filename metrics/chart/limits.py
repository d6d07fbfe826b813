"""How large a record may be, and the work of each comparison: all is scored in bounded time and memory.

A step of a sample's budget is at most about a microsecond.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

from ..benchmark import RejectedRecord, Side
from .names import MAX_REWRITTEN_LENGTH, may_have_latex
from .records import (
    Chart,
    ChartData,
    ChartOptions,
    PredictedTextRoles,
    Task,
    TaskName,
    elements_of,
    identifier_text,
    series_of,
)

# The fixed cost of comparing two series, lines or point sets, whatever they hold.
STEPS_PER_PAIR_OF_SERIES = 100
# That of two sets of points under the released protocol, which inverts a covariance for each two.
STEPS_PER_PAIR_OF_RELEASED_POINTS = 400


def pair_steps(rows: int, columns: int, passes: int = 1) -> int:
    """The steps of `passes` tables of numbers `[rows, columns]`; each needs some ten operations of an element."""
    return passes * (1 + rows * columns // 20)


def assignment_steps(rows: int, columns: int) -> int:
    """The steps of the best assignment of `[rows, columns]`, which takes their product times the smaller at worst."""
    return 10 + rows * columns * min(rows, columns) // 1200


def function_steps(sizes: Sequence[int], other_sizes: Sequence[int]) -> int:
    """The steps of comparing functions of so many points, each with each of the others, and of their assignment."""
    rows, columns = len(sizes), len(other_sizes)
    compared = STEPS_PER_PAIR_OF_SERIES * rows * columns + columns * sum(sizes) + rows * sum(other_sizes)
    return compared + assignment_steps(rows, columns)


def table_steps(sizes: Sequence[int], other_sizes: Sequence[int], pair: int) -> int:
    """The steps of comparing sets of so many points, each with each of the others: `pair`, a table, an assignment."""
    steps = assignment_steps(len(sizes), len(other_sizes))
    for size, other in product(sizes, other_sizes):
        steps += pair + pair_steps(size, other) + assignment_steps(size, other)
    return steps


def reading_steps(texts: Sequence[str]) -> int:
    """The steps of reading texts of blocks; every command of LaTeX is looked for in a text with a backslash."""
    joined = "".join(texts)
    steps = len(texts) + len(joined) // 50
    if may_have_latex(joined):
        lengths = [(min(len(text), MAX_REWRITTEN_LENGTH), "\\" in text) for text in texts if may_have_latex(text)]
        steps += sum([400 + 15 * length if of_commands else 40 + length for length, of_commands in lengths])
    return steps


def error_rate_steps(truth: str, predicted: str) -> int:
    """The steps of a character error rate; a text of twice the length is wrong without comparing them."""
    if len(predicted) >= 2 * len(truth):
        return 1
    return 1 + _word_operations([truth], [predicted]) // 80


def text_steps(texts: Collection[str], others: Collection[str]) -> int:
    """The steps of the distances of each text to each of the others: two passes over their table, and the edits."""
    return pair_steps(len(texts), len(others), 2) + _word_operations(texts, others) // 80


def _word_operations(first: Collection[str], second: Collection[str]) -> int:
    """64 cells of a column of the table of edits are one operation; either text may be the column."""
    characters, other_characters = len("".join(first)), len("".join(second))
    words, other_words = len(first) + characters // 64, len(second) + other_characters // 64
    return max(words * other_characters, other_words * characters)


def check_truth(truth: Chart, tasks: Collection[TaskName]) -> None:
    """Raises RejectedRecord if the ground truth of one of these tasks lacks what its items are compared by.

    Without it all items would be equal, so that a field with a wrong name on both sides would make predictions right.
    """
    roles = truth.task3.output.text_roles if truth.task3 and truth.task3.output else None
    compared: tuple[tuple[TaskName, str, str, Sequence[Any] | None], ...] = (
        ("task2", "text_blocks", "text", truth.text_blocks),
        ("task3", "text_roles", "id", roles),
        ("task5", "legend_pairs", "id", truth.legend_pairs),
    )
    for task, name, field, items in compared:
        for number, item in enumerate((items or ()) if task in tasks else ()):
            if getattr(item, field) is None:
                raise RejectedRecord("ground_truth", f"{task}.output.{name}[{number}] has no `{field}`")


def check_sizes(truth: Chart, prediction: Chart | None, tasks: Collection[TaskName], options: ChartOptions) -> None:
    """Raises RejectedRecord if one of these tasks of a record has more than the options allow."""
    records: tuple[tuple[Side, Chart | None], ...] = (("ground_truth", truth), ("prediction", prediction))
    for side, record in records:
        for what, count, option in () if record is None else _sizes(record, tasks):
            if count > (most := getattr(options, option)):
                raise RejectedRecord(side, f"{what}: {count} are more than {option} allows ({most})")


def _sizes(record: Chart, tasks: Collection[TaskName]) -> Iterator[tuple[str, int, str]]:
    """Yields what these tasks count in a record, how many there are, and the option that limits it.

    Task 7 is compared with the task 6 of the ground truth.
    """
    if "task2" in tasks and (blocks := record.text_blocks):
        yield "task2 text_blocks", len(blocks), "max_text_blocks"
    if "task3" in tasks and record.task3 and (roles := record.task3.output):
        yield "task3 text_roles", len(roles.text_roles or ()), "max_text_blocks"
        if isinstance(roles, PredictedTextRoles) and isinstance(roles.text_blocks, list):
            yield "task3 text_blocks", len(roles.text_blocks), "max_text_blocks"
    if "task4" in tasks and (axes := record.axes):
        yield "task4 x-axis ticks", len(axes.x_axis or ()), "max_text_blocks"
        yield "task4 y-axis ticks", len(axes.y_axis or ()), "max_text_blocks"
    if "task5" in tasks and (pairs := record.legend_pairs):
        yield "task5 legend_pairs", len(pairs), "max_text_blocks"
    if record.task6 and not {"task6a", "task6b", "task7"}.isdisjoint(tasks):
        yield from _data_sizes("task6", record.task6)
    if "task7" in tasks and (data := getattr(record, "task7", None)) is not None:
        yield from _data_sizes("task7", data)


def _data_sizes(task: str, data: Task[ChartData]) -> Iterator[tuple[str, int, str]]:
    if elements := elements_of(data):
        lines = elements.lines or ()
        yield f"{task} lines", len(lines), "max_series"
        yield f"{task} bars", len(elements.bars or ()), "max_points"
        yield f"{task} boxplots", len(elements.boxplots or ()), "max_points"
        yield f"{task} points of lines", sum(map(len, lines)), "max_points"
        yield f"{task} scatter points", len(elements.points()), "max_points"
    if series := series_of(data):
        points = [point for one in series if isinstance(one.data, list) for point in one.data]
        labels = [*[one.name for one in series], *[point.x for point in points]]
        texts = [label for label in labels if isinstance(label, str)]
        length = len("".join(texts))
        if len(texts) < len(labels):
            length += sum([len(identifier_text(label) or "") for label in labels if not isinstance(label, str)])
        yield f"{task} data series", len(series), "max_series"
        yield f"{task} points of data series", len(points), "max_points"
        yield f"{task} characters of series names and labels", length, "max_characters"
