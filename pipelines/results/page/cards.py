"""Samples to look at: both records as text, what matched what, and the drawing of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec

from ....metrics.benchmark import Benchmark, RejectedRecord
from ....metrics.common.errors import ENVIRONMENT_FAULTS, explain
from ....transforms.pick import MAX_RECORD_BYTES, PickedSample, Why
from .document import Card, RecordText
from .rows import DECIMALS
from .text import clipped, one_line, visible

AnyBenchmark = Benchmark[Any, Any, Any]
MAX_RECORD_LENGTH = 8_000
MAX_DRAWING_LENGTH = 300_000
MAX_WORDS = 12
MAX_WORDS_LENGTH = 400
LINE_LENGTH = 88


class Beginning(NamedTuple):
    """The JSON of a record, or its beginning where the whole has more bytes than are kept. size: of the whole."""

    payload: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        """Whether all of the record is here."""
        return self.size <= MAX_RECORD_BYTES


class PickedCard(NamedTuple):
    """The card of a sample that was picked, which has no row yet, with the sample_id as it is."""

    sample_id: str
    card: Card


def make_card(benchmark: AnyBenchmark, picked: PickedSample) -> PickedCard:
    """Returns the card of a sample; where it cannot be drawn, the card says why."""
    details = msgspec.json.decode(picked.details)
    truth, prediction = Beginning(picked.truth, picked.truth_size), None
    if picked.prediction is not None:
        prediction = Beginning(picked.prediction, picked.prediction_size)
    drawing, problem = drawing_of(benchmark, truth, prediction)
    shown = details if picked.details_size <= len(picked.details) else _left_out(picked.details_size)
    card = Card(
        -1,
        picked.system,
        picked.status,
        cast(Why, picked.why),
        {name: None if value is None else round(value, DECIMALS) for name, value in picked.metrics.items()},
        record_text(truth),
        None if prediction is None else record_text(prediction),
        _visible(shown),
        words_of(benchmark, details),
        drawing,
        problem,
        None if picked.before is None else round(picked.before, DECIMALS) + 0.0,
    )
    return PickedCard(picked.sample_id, card)


def words_of(benchmark: AnyBenchmark, details: Any) -> tuple[str, ...]:
    """Returns what matched what in words, a line each; of no details, none."""
    if details is None:
        return ()
    try:
        words = benchmark.explain(details)[:MAX_WORDS]
    except ENVIRONMENT_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a sample does to these words must not end the run
        words = [f"{type(error).__name__}: {explain(error)}"]
    return tuple(one_line(line, MAX_WORDS_LENGTH) for line in words)


def _left_out(length: int) -> str:
    return f"{length:,} bytes, too many for this page; samples/*.parquet has them"


def drawing_of(benchmark: AnyBenchmark, truth: Beginning, prediction: Beginning | None) -> tuple[str | None, str]:
    """Returns the drawing of a sample, or None and the reason."""
    drawing, problem = _drawing(benchmark, truth, prediction)
    return drawing, one_line(problem, MAX_WORDS_LENGTH)


def _drawing(benchmark: AnyBenchmark, truth: Beginning, prediction: Beginning | None) -> tuple[str | None, str]:
    if "draw" not in benchmark.abilities():
        return None, f"{benchmark.name} has no drawing"
    if not truth.is_whole or (prediction is not None and not prediction.is_whole):
        return None, "the records are too large for this page; beamscore draw writes it"
    try:
        record = msgspec.json.decode(truth.payload, type=benchmark.truth_type)
        drawing = benchmark.draw(record, _prediction(benchmark, prediction))
    except RejectedRecord as rejected:
        return None, rejected.message
    except ENVIRONMENT_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - nor may what it does to a drawing
        return None, f"{type(error).__name__}: {explain(error)}"
    if len(drawing) > MAX_DRAWING_LENGTH:
        return None, f"it has {len(drawing):,} characters, too many for this page; beamscore draw writes it"
    return drawing, ""


def _prediction(benchmark: AnyBenchmark, prediction: Beginning | None) -> Any:
    """Returns the prediction, None where there is none that can be decoded: it was scored as missing, too."""
    if prediction is None:
        return None
    try:
        return msgspec.json.decode(prediction.payload, type=benchmark.prediction_type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def record_text(found: Beginning) -> RecordText:
    """Returns a record for a person: a line for each field, long ones broken, without its sample_id.

    Text of a field is shown as it is, not as JSON writes it.
    """
    try:
        record = msgspec.json.decode(found.payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        record = None
    if isinstance(record, Mapping):
        text = "\n".join(f"{name}: {_field(value)}" for name, value in record.items() if name != "sample_id")
    else:
        text = found.payload.decode("utf-8", "replace")
    left_out = max(0, len(text) - MAX_RECORD_LENGTH) + max(0, found.size - MAX_RECORD_BYTES)
    return RecordText(visible(text[:MAX_RECORD_LENGTH]), left_out)


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
