"""How much a small file or record may become: a few bytes can unpack to terabytes, or stand for billions of rows.

What a file may become is in proportion to what is stored of it, so that reading it takes time in proportion, too.
Data do not compress so well: text of which each record differs in its sample_id alone, 10 kB long, comes near.
"""

from __future__ import annotations

MAX_EXPANSION = 1000
"""Bytes for each byte that is stored, beside what any file may become."""

MAX_TEXT_BYTES = {".gz": 1 << 30, ".zst": 1 << 30, ".bz2": 256 << 20}
"""What any compressed text may become: what unpacks in some seconds."""

MAX_RECORD_BYTES = 4 << 30
"""What the records of any Parquet file may become together."""

LEAST_RECORD_BYTES = 256
"""What a record counts at least: also a small one takes time."""

MAX_CONTAINERS = 1 << 20
"""How many arrays and objects a record may have, unless it may have 16 times as many bytes."""

_BYTES_PER_CONTAINER = 16


def containers_allowed(record_bytes: int) -> int:
    """Returns how many arrays and objects a record may have that may have `record_bytes` bytes.

    Decoded, an array takes 100 bytes or an object 250, and in a file two: a record of 16 MiB of them would take 2 GB.
    """
    return max(MAX_CONTAINERS, record_bytes // _BYTES_PER_CONTAINER)


def check_text(ending: str, unpacked: int, stored: int) -> None:
    """Raises ValueError where `stored` bytes of a file with this ending have become too much text."""
    if unpacked > MAX_TEXT_BYTES[ending] + MAX_EXPANSION * stored:
        raise ValueError(
            f"its first {stored} bytes unpack to more than the {MAX_TEXT_BYTES[ending]} bytes and {MAX_EXPANSION} for "
            "each of them that are allowed; uncompress the file yourself if you trust it"
        )


def records_allowed(stored: int, data_bytes: int) -> int:
    """Returns how many bytes the records of a part of a Parquet file may have.

    stored: the bytes of the part. data_bytes: those of the file without its footer; each part has a share of what the
    whole file may have.
    """
    return MAX_RECORD_BYTES * stored // max(1, data_bytes) + MAX_EXPANSION * stored


def check_records(rows: int, unpacked: int, allowed: int) -> None:
    """Raises ValueError where the first `rows` rows have become records of more bytes than are allowed."""
    if unpacked > allowed:
        raise ValueError(
            f"its first {rows} rows become more than the {allowed} bytes allowed, {MAX_EXPANSION} for each byte that "
            "is stored; write the file as JSONL if you trust it"
        )
