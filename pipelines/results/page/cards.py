"""Samples to look at: both records as text, what matched what, and the drawing of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from metrics.benchmark import Benchmark, RejectedRecord
from metrics.common.errors import explain
from pipelines.results.page.document import Card, RecordText
from pipelines.results.page.rows import DECIMALS, MAX_ID_LENGTH
from pipelines.results.page.text import clipped, one_line, visible
from transforms.pick import MAX_RECORD_BYTES, PickedSample

AnyBenchmark = Benchmark[Any, Any, Any]
MAX_RECORD_LENGTH = 8_000
MAX_DRAWING_LENGTH = 300_000
MAX_WORDS = 12
MAX_WORDS_LENGTH = 400
LINE_LENGTH = 88


def make_card(benchmark: AnyBenchmark, picked: PickedSample) -> Card:
    """Returns the card of a sample; where it cannot be drawn, the card says why."""
    details = msgspec.json.decode(picked.details)
    drawing, problem = _drawing(benchmark, picked)
    words = _words(benchmark, details)
    shown = details if picked.details_size <= len(picked.details) else _left_out(picked.details_size)
    return Card(
        one_line(picked.sample_id, MAX_ID_LENGTH),
        picked.system,
        picked.status,
        picked.why,
        {name: None if value is None else round(value, DECIMALS) for name, value in picked.metrics.items()},
        record_text(picked.truth, picked.truth_size),
        record_text(picked.prediction, picked.prediction_size) if picked.prediction is not None else None,
        _visible(shown),
        tuple(one_line(line, MAX_WORDS_LENGTH) for line in words),
        drawing,
        one_line(problem, MAX_WORDS_LENGTH),
    )


def _words(benchmark: AnyBenchmark, details: Any) -> list[str]:
    if details is None:
        return []
    try:
        return benchmark.explain(details)[:MAX_WORDS]
    except Exception as error:  # noqa: BLE001 - nor may what it does to these words
        return [f"{type(error).__name__}: {explain(error)}"]


def _left_out(length: int) -> str:
    return f"{length:,} bytes, too many for this page; samples/*.parquet has them"


def _drawing(benchmark: AnyBenchmark, picked: PickedSample) -> tuple[str | None, str]:
    """Returns the drawing of a sample, or None and the reason."""
    if "draw" not in benchmark.abilities():
        return None, f"{benchmark.name} has no drawing"
    if picked.truth_size > MAX_RECORD_BYTES or picked.prediction_size > MAX_RECORD_BYTES:
        return None, "the records are too large for this page; beamscore draw writes it"
    try:
        truth = msgspec.json.decode(picked.truth, type=benchmark.truth_type)
        drawing = benchmark.draw(truth, _prediction(benchmark, picked))
    except RejectedRecord as rejected:
        return None, rejected.message
    except Exception as error:  # noqa: BLE001 - whatever a sample does to a drawing must not end the run
        return None, f"{type(error).__name__}: {explain(error)}"
    if len(drawing) > MAX_DRAWING_LENGTH:
        return None, f"it has {len(drawing):,} characters, too many for this page; beamscore draw writes it"
    return drawing, ""


def _prediction(benchmark: AnyBenchmark, picked: PickedSample) -> Any:
    """Returns the prediction, None where there is none that can be decoded: it was scored as missing, too."""
    if picked.prediction is None:
        return None
    try:
        return msgspec.json.decode(picked.prediction, type=benchmark.prediction_type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def record_text(payload: bytes, size: int) -> RecordText:
    """Returns a record for a person: a line for each field, long ones broken, without its sample_id.

    Text of a field is shown as it is, not as JSON writes it. size: the bytes of the whole record, of which `payload`
    may be the beginning.
    """
    try:
        record = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        record = None
    if isinstance(record, Mapping):
        text = "\n".join(f"{name}: {_field(value)}" for name, value in record.items() if name != "sample_id")
    else:
        text = payload.decode("utf-8", "replace")
    return RecordText(
        visible(text[:MAX_RECORD_LENGTH]), max(0, len(text) - MAX_RECORD_LENGTH) + max(0, size - MAX_RECORD_BYTES)
    )


def _field(value: Any) -> str:
    return value if isinstance(value, str) else _broken(value, "")


def _broken(value: Any, indent: str) -> str:
    """Returns a value as JSON; what is longer than a line is broken into a line for each member."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    if len(indent) + len(text) <= LINE_LENGTH or not isinstance(value, (dict, list)) or len(indent) > 16:
        return text
    inner = indent + " "
    if isinstance(value, dict):
        members = [f"{msgspec.json.encode(name).decode()}: {_broken(each, inner)}" for name, each in value.items()]
    else:
        members = [_broken(each, inner) for each in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{inner}".join(members)
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"


def _visible(value: Any) -> Any:
    """Returns a JSON value whose texts are visible and not too long."""
    if isinstance(value, str):
        return clipped(value, MAX_WORDS_LENGTH)
    if isinstance(value, list):
        return [_visible(each) for each in value]
    if isinstance(value, dict):
        return {clipped(str(name), MAX_WORDS_LENGTH): _visible(each) for name, each in value.items()}
    return value
