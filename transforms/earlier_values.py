"""What samples scored in an earlier run, for those that are picked because they changed since."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .io.key_store import KeyStore, key_of, once_per_process
from .records import InputProblem
from .sample_rows import open_table
from .scored_sample import ScoredSample

_VALUE = struct.Struct("<d")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class EarlierRows:
    """The rows of a finished run, the per-sample metric that is looked up, and of which system, for each of ours.

    systems: by the number of our system, the name of the one that it is compared with; None: none.
    """

    files: tuple[str, ...]
    metric: str
    systems: tuple[str | None, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return ["system", "sample_id", "truth_hash", self.metric]

    def check(self) -> None:
        """Raises InputProblem where a file is no table of rows, told by its footer."""
        for path in self.files:
            with open_table(path) as file:
                missing = set(self.columns) - set(file.schema_arrow.names)
            if missing:
                raise InputProblem(f"{path}: the rows of the run cannot be read (no column {min(missing)})")

    def open(self) -> EarlierValues:
        """Returns the values for this process, which reads them once, whatever the number of its threads."""
        return _values_of(self)


class EarlierValues:
    """A per-sample metric of a finished run by system, sample and ground truth, on the disk of this machine."""

    def __init__(self, rows: EarlierRows) -> None:
        self._systems = rows.systems
        self._store = KeyStore()
        try:
            for path in rows.files:
                self._store.add(_read(path, rows.columns))
        except InputProblem as error:
            # They were whole when the run began. No result is lost for its page.
            _LOG.warning("report.html does not show all samples that changed since the baseline: %s", error.message)

    def find(self, samples: Sequence[ScoredSample]) -> list[float | None]:
        """Returns the value of each sample in the earlier run; None where it had none, or another ground truth."""
        keys = [self._key(sample) for sample in samples]
        found = self._store.find([key for key in keys if key is not None])
        return [None if key is None or key not in found else _VALUE.unpack(found[key])[0] for key in keys]

    def _key(self, sample: ScoredSample) -> bytes | None:
        system = self._systems[sample.system]
        return None if system is None else key_of(system, sample.sample_id, sample.truth_hash)


def _read(path: str, columns: Sequence[str]) -> Iterator[tuple[bytes, bytes]]:
    with open_table(path) as file:
        for batch in file.iter_batches(columns=columns):
            cells = (batch.column(name).to_pylist() for name in columns)
            for system, sample_id, truth_hash, value in zip(*cells, strict=True):
                if value is not None:
                    yield key_of(system, sample_id, truth_hash), _VALUE.pack(value)


_values_of = once_per_process(EarlierValues)
