"""The rows of a system as a comparison reads them: one for each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow.dataset as ds

from .records import InputProblem
from .rows import RowSource
from .sample_schema import SLICE_PREFIX


class SampleRow(msgspec.Struct, frozen=True, array_like=True):
    """What a run says of one sample of one system.

    unit: what the bootstrap draws. slice_values: of the columns that were asked for, as JSON; None: absent. metrics:
    the per-sample metrics that were asked for. statistics: a JSON object; None where the sample was not scored.
    truth_hash: of its ground truth; None where that could not be read.
    """

    sample_id: str
    status: str
    unit: str
    slice_values: tuple[str | None, ...]
    metrics: tuple[float | None, ...]
    statistics: str | None
    truth_hash: str | None

    def decoded_statistics(self) -> dict[str, float]:
        """Returns the statistics; none where the sample was not scored. Raises InputProblem where they are damaged."""
        if self.statistics is None:
            return {}
        try:
            return _STATISTICS.decode(self.statistics)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputProblem(f"sample {self.sample_id}: its statistics cannot be read ({error})") from error


_STATISTICS = msgspec.json.Decoder(dict[str, float])


@dataclass(frozen=True)
class SampleTable(RowSource):
    """The rows of one system in the files of a run.

    slices, metrics: the columns that are wanted, by their names without `slice.`.
    """

    system: str = ""
    slices: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns to read."""
        slices = [f"{SLICE_PREFIX}{name}" for name in self.slices]
        return ["sample_id", "status", "unit", *slices, *self.metrics, "statistics", "truth_hash"]

    def where(self) -> Any:
        """Keeps the rows of the system."""
        return ds.field("system") == self.system

    def records(self, batch: Any) -> Iterator[tuple[str, bytes]]:
        """Yields the rows, each as a SampleRow."""
        first = 3 + len(self.slices)
        for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            slices, metrics = cells[3:first], cells[first : first + len(self.metrics)]
            row = SampleRow(cells[0], cells[1], cells[2], slices, metrics, cells[-2], cells[-1])
            yield row.sample_id, msgspec.msgpack.encode(row)
