"""What the first records of a side hold, wherever they come from; without Beam, for records in memory too."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...transforms.records import EncodedRecord

RECORDS_LOOKED_AT = 1000


@dataclass
class FirstRecords:
    """What the first records of a side hold.

    fields: how many of the records have a value in each field, in order of appearance. Of a file that says itself what
    fields it has, those without a value are there too. records: how many of them are objects. rejected: how many the
    reader would reject; problem: why the first of these. by_id: the records with a sample_id. stored_bytes: what the
    records take in their files. whole: whether no record of the side was left out.
    """

    fields: dict[str, int] = field(default_factory=dict)
    records: int = 0
    rejected: int = 0
    problem: str = ""
    by_id: dict[str, EncodedRecord] = field(default_factory=dict)
    stored_bytes: int = 0
    whole: bool = True

    @property
    def sample_id(self) -> str | None:
        """The first sample_id."""
        return next(iter(self.by_id), None)
