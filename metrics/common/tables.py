"""The best one-to-one assignments of many tables of scores at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .assignment import best_assignment
from .segments import PAIRWISE, Array, Indexes, segment_sums, starts_of, within

Flags = npt.NDArray[np.bool_]


class Tables(NamedTuple):
    """The sides of many tables whose cells stand one after the other, a line for each element of the shorter side.

    shorter, longer: the lengths of both sides of each table. upright: whether its lines are the rows of the table;
    otherwise they are its columns.
    """

    shorter: Indexes
    longer: Indexes
    upright: Flags

    @classmethod
    def of(cls, heights: Indexes, widths: Indexes) -> Tables:
        """Returns the tables of so many rows and columns."""
        return cls(np.minimum(heights, widths), np.maximum(heights, widths), heights <= widths)

    def cells(self) -> tuple[Indexes, Indexes, Indexes]:
        """Returns the table, the row and the column of each cell."""
        widths = np.repeat(self.longer, self.shorter)
        lines, others = np.repeat(within(self.shorter), widths), within(widths)
        numbers = np.repeat(np.arange(len(self.shorter)), self.shorter * self.longer)
        upright = self.upright[numbers]
        return numbers, np.where(upright, lines, others), np.where(upright, others, lines)


class Matches(NamedTuple):
    """The pairs of the best assignment of each table, one table after the other, in order of the rows.

    rows, columns: in their table. places: the cells, among those of all tables. counts: the pairs of each table.
    """

    rows: Indexes
    columns: Indexes
    places: Indexes
    counts: Indexes


def best_matches(scores: Array, tables: Tables) -> Matches:
    """Returns the pairs that `best_assignment` gives for each table alone.

    Where each line has a best score of its own, and no two of them are of the same element, no other assignment has
    their sum. Only other tables are assigned.
    """
    lines = _Lines.of(scores, tables)
    open_tables = lines.clashing(np.arange(len(lines.best)))
    open_tables[lines.tables[lines.repeated]] = True
    return _assigned(scores, tables, lines, open_tables)


def best_assignment_sums(scores: Array, tables: Tables) -> Array:
    """Returns the largest sum of each table, to the last bit `scores[best_assignment(scores)].sum()`.

    scores: 0 or more. Lines without a score above 0 may be of any element.
    """
    lines = _Lines.of(scores, tables)
    scoring = lines.best > 0
    open_tables = lines.clashing(np.flatnonzero(scoring))
    # The sum runs in the order of rows: of columns with equal scores it is not known which row they take.
    sideways = ~tables.upright
    open_tables[lines.tables[lines.repeated & scoring & sideways[lines.tables]]] = True
    open_tables |= sideways & (tables.shorter >= PAIRWISE)
    matches = _assigned(scores, tables, lines, open_tables)
    return segment_sums(scores[matches.places], matches.counts)


class _Lines(NamedTuple):
    """The lines of all tables: which table each is of, its best score, the first element that has it, and whether
    another one has it too."""

    tables: Indexes
    best: Array
    others: Indexes
    repeated: Flags
    sides: Tables

    @classmethod
    def of(cls, scores: Array, tables: Tables) -> _Lines:
        widths = np.repeat(tables.longer, tables.shorter)
        starts = starts_of(widths)
        best = np.maximum.reduceat(scores, starts) if len(scores) else np.zeros(0)
        places = np.flatnonzero(scores == np.repeat(best, widths))
        firsts = np.searchsorted(places, starts)
        repeated = np.diff(np.append(firsts, len(places))) > 1
        of_tables = np.repeat(np.arange(len(tables.shorter)), tables.shorter)
        return cls(of_tables, best, places[firsts] - starts, repeated, tables)

    def clashing(self, counted: Indexes) -> Flags:
        """Tells which tables have two of these lines whose best scores are of the same element, `[T]`."""
        longer = self.sides.longer
        wanted = starts_of(longer)[self.tables[counted]] + self.others[counted]
        taken = np.bincount(wanted, minlength=int(longer.sum()))
        found = np.zeros(len(longer), dtype=np.bool_)
        found[self.tables[counted[taken[wanted] > 1]]] = True
        return found


def _assigned(scores: Array, tables: Tables, lines: _Lines, open_tables: Flags) -> Matches:
    """Returns the best pairs: those of the open tables assigned, in the others each line with its best element."""
    upright = tables.upright[lines.tables]
    of_lines = within(tables.shorter)
    rows, columns = np.where(upright, of_lines, lines.others), np.where(upright, lines.others, of_lines)
    cell_starts, line_starts = starts_of(tables.shorter * tables.longer), starts_of(tables.shorter)
    for count, width, start, line, is_upright in zip(
        tables.shorter[open_tables].tolist(),
        tables.longer[open_tables].tolist(),
        cell_starts[open_tables].tolist(),
        line_starts[open_tables].tolist(),
        tables.upright[open_tables].tolist(),
        strict=True,
    ):
        table = scores[start : start + count * width].reshape(count, width)
        found = slice(line, line + count)
        rows[found], columns[found] = best_assignment(table if is_upright else table.T)
    if not tables.upright.all():
        order = np.lexsort((rows, lines.tables))
        rows, columns, upright = rows[order], columns[order], upright[order]
    widths = tables.longer[lines.tables]
    inside = np.where(upright, rows * widths + columns, columns * widths + rows)
    return Matches(rows, columns, cell_starts[lines.tables] + inside, tables.shorter)
