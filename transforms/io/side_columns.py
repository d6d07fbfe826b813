"""What the readers must know of the columns of one side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .field_map import FIELDS_AS_NAMED, SAMPLE_ID, FieldMap


@dataclass(frozen=True, slots=True)
class SideColumns:
    """What the readers must know of the columns of one side.

    wanted: the fields that matter; of a Parquet file no other columns are read. None: all of them.
    structured: the fields whose values are never plain text: where a column holds text, it is JSON.
    counted: those of which the outcomes tell, under the name of `presence`, whether any record has a value.
    fields: where the fields are that have other names in the files.
    texts: the fields that may be plain text, in order, and of each whether a record must have it.
    """

    wanted: frozenset[str] | None
    structured: frozenset[str] = frozenset()
    counted: tuple[str, ...] = ()
    fields: FieldMap = FIELDS_AS_NAMED
    texts: Mapping[str, bool] = field(default_factory=dict, hash=False)

    @property
    def read(self) -> frozenset[str] | None:
        """The columns at the top of a file that are read; None: all of them."""
        return None if self.wanted is None else self.fields.columns({SAMPLE_ID, *self.wanted})
