"""Hashes: they show whether two runs have seen the same records, and distribute samples."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ..metrics.benchmark import Benchmark
from ..metrics.registry import code_version
from ..metrics.version import VERSION

HASH_BYTES = 16
FINGERPRINTS = 1 << (8 * HASH_BYTES)
"""Fingerprints are added modulo this."""

_ENCODER = msgspec.json.Encoder(order="deterministic")


def record_hash(record: msgspec.Struct | None) -> str | None:
    """Returns the 128-bit BLAKE2b of a typed record, written as canonical JSON, in hex.

    None without a record, or if it cannot be written as JSON again. It does not depend on the format of the file, the
    order of the keys, or columns that the type does not have. What may be any JSON, or an integer or a float, is made
    alike by the type: see metrics.common.plain.
    """
    with contextlib.suppress(TypeError, ValueError, OverflowError, RecursionError):
        return None if record is None else digest(_ENCODER.encode(record)).hex()
    return None


def scoring_signature(benchmark: Benchmark[Any, Any, Any], missing: str) -> bytes:
    """Returns 16 bytes that differ if the same two records may score differently: versions, benchmark, options.

    missing: what a missing prediction means.
    """
    code = code_version(benchmark).values()
    return digest(_ENCODER.encode((VERSION, benchmark.name, benchmark.options, missing, *code)))


def row_hash(signature: bytes, texts: Sequence[bytes | None], metrics: Sequence[float | None]) -> str:
    """Returns the 128-bit BLAKE2b, in hex, of the cells of a row that hold the result of a sample.

    It reveals whether a row was modified, or scored by different rules. signature: see
    scoring_signature. texts: sample_id, status, prediction_status, truth_hash, prediction_hash, statistics, coverage
    and details, in UTF-8. metrics: the per-sample metrics.
    """
    return digest(msgspec.msgpack.encode((texts, metrics)), signature).hex()


def sample_fingerprint(sample_id: str, truth_hash: str | None) -> int:
    """Returns the fingerprint of a sample: a 128-bit number; their sum, in any order, is the fingerprint of a run.

    truth_hash: None if its ground truth has none.
    """
    return _number((sample_id, truth_hash))


def prediction_fingerprint(sample_id: str, prediction_hash: str | None, prediction_status: str | None) -> int:
    """Returns the fingerprint of the prediction of a sample, to be added up like `sample_fingerprint`.

    prediction_hash: None if the prediction is missing or cannot be decoded. prediction_status: which of the two; None
    without a record.
    """
    return _number((sample_id, prediction_hash, None if prediction_hash else prediction_status))


def _number(content: tuple[str | None, ...]) -> int:
    return int.from_bytes(digest(msgspec.json.encode(content)), "big")


def digest(content: bytes, key: bytes = b"") -> bytes:
    """Returns the BLAKE2b of HASH_BYTES."""
    return hashlib.blake2b(content, key=key, digest_size=HASH_BYTES).digest()


def fingerprint_text(total: int) -> str:
    """Returns the sum of fingerprints in hex."""
    return f"{total % FINGERPRINTS:0{2 * HASH_BYTES}x}"


def bucket_of(sample_id: bytes, buckets: int) -> int:
    """Returns the bucket of a sample: a hash of its sample_id in UTF-8."""
    # The checksums of similar ids differ in few bits; the product spreads the difference over all bits.
    return (zlib.crc32(sample_id) * 0x9E3779B97F4A7C15 >> 32 & 0xFFFFFFFF) % buckets
