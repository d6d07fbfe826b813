"""The id of a sample, by which its records are paired."""

from __future__ import annotations

import re

import msgspec

MAX_SAMPLE_ID_LENGTH = 1024


class _KeyOnly(msgspec.Struct):
    sample_id: str


KEY_ONLY = msgspec.json.Decoder(_KeyOnly)
"""Decodes the sample_id of a record under the names of the benchmark alone; see `FieldMap.of_json`."""


def wrong_length(sample_id: str) -> str | None:
    """Returns what is wrong with the length of a sample_id in words; None where nothing is."""
    if 0 < len(sample_id) <= MAX_SAMPLE_ID_LENGTH:
        return None
    return f"sample_id must have 1 to {MAX_SAMPLE_ID_LENGTH} characters, not {len(sample_id)}"


def about_sample_id(error: str, integers: bool) -> str:
    """Returns in words why a record has no sample_id; error: of `KEY_ONLY`; integers: whether one may be that."""
    if "missing required field `sample_id`" in error:
        return f"there is no sample_id; every record needs one, {_kind(integers)}"
    if "$" not in error:
        return f"a record must be an object with a sample_id: {error}"
    return f"sample_id must be {_kind(integers)}: {error}{_hint(error, integers)}"


def not_a_sample_id(found: str, integers: bool) -> str:
    """Returns in words that a value of the type `found` is no sample_id."""
    return f"sample_id must be {_kind(integers)}, not {found}{_hint(found, integers)}"


def _kind(integers: bool) -> str:
    return "a string or an integer" if integers else "a string"


def _hint(error: str, integers: bool) -> str:
    return "; set sample_id_type: any to accept integers" if not integers and re.search(r"\bint\b", error) else ""
