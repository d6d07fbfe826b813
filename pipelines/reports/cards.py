"""Samples to look at, of one run or of two: records as text, what matched what, what changed, and the drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...metrics.benchmark import RejectedRecord
from ...metrics.common.errors import ENVIRONMENT_FAULTS, explain
from ...metrics.statistics.measured import AnyBenchmark
from ...transforms.records import MAX_RECORD_BYTES
from .document import Card, CardSide, RecordText
from .samples import rounded
from .text import clipped, drawable, one_line

if TYPE_CHECKING:
    # Beam is imported with them, and the history of runs has no cards.
    from ...transforms.changed_records import ChangedRecords
    from ...transforms.pick import PickedSample

MAX_RECORD_LENGTH = 8_000
MAX_DRAWING_LENGTH = 300_000
MAX_DRAWINGS_LENGTH = 6_000_000
"""Of all drawings of a page; those of the last cards are left out beyond it."""
MAX_WORDS = 12
MAX_WORDS_LENGTH = 400
LINE_LENGTH = 88
SIDES = ("baseline", "candidate")


class Beginning(NamedTuple):
    """The JSON of a record, or its beginning where the whole has more bytes than are kept. size: of the whole."""

    payload: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        """Whether all of the record is here."""
        return self.size <= MAX_RECORD_BYTES


def make_card(benchmark: AnyBenchmark, picked: PickedSample) -> Card:
    """Returns the card of a sample that was picked; where it cannot be drawn, the card says why."""
    details = msgspec.json.decode(picked.details)
    truth, prediction = Beginning(picked.truth, picked.truth_size), None
    if picked.prediction is not None:
        prediction = Beginning(picked.prediction, picked.prediction_size)
    shown = details
    if picked.details_size > len(picked.details):
        shown = f"{picked.details_size:,} bytes, too many for this page; samples/*.parquet has them"
    metrics = {name: rounded(value) for name, value in picked.metrics.items()}
    side = CardSide(picked.status, metrics, prediction and record_text(prediction), words_of(benchmark, details),
                    *drawing_of(benchmark, truth, prediction))  # fmt: skip
    main = benchmark.main_sample_metric().name
    before, value = rounded(picked.before), metrics.get(main)
    change: float | None = None
    words: tuple[str, ...] = ()
    if before is not None and value is not None:
        change = rounded(value - before)
        words = (f"{main}: {_number(before)} → {_number(value)}",) if change else ()
    return Card(picked.sample_id, picked.system, picked.why, (side,), record_text(truth), words, change, _short(shown))


def make_changed(benchmark: AnyBenchmark, found: ChangedRecords, no_records: str = "") -> Card:
    """Returns the card of a sample that changed. no_records: why there are none, where nobody looked."""
    row, sides = found.row, []
    for name, details, prediction in zip(SIDES, found.details, found.predictions, strict=True):
        record = prediction and Beginning(*prediction)
        drawing, problem = None, no_records or "the records of this sample were not found in the inputs of the runs"
        if found.truth is not None:
            drawing, problem = drawing_of(benchmark, Beginning(*found.truth), record)
        metrics = {spec.name: rounded(row[f"{name}.{spec.name}"]) for spec in benchmark.sample_metrics}
        words = () if details is None else words_of(benchmark, msgspec.json.decode(details))
        side = CardSide(row[f"{name}.status"], metrics, record and record_text(record), words, drawing, problem)
        sides.append(side)
    return Card(
        row["sample_id"],
        0,
        row["kind"],
        tuple(sides),
        found.truth and record_text(Beginning(*found.truth)),
        tuple(what_changed(benchmark.main_sample_metric().name, *sides)),
        rounded(row["change"]),
        slices=found.slices,
    )


def what_changed(main: str, before: CardSide, after: CardSide) -> Iterator[str]:
    """Yields what changed, a line each: status, metrics, then what matched what on one side alone."""
    if before.status != after.status:
        yield f"status was {before.status.replace('_', ' ')}, and is {after.status.replace('_', ' ')}"
    names = sorted(before.metrics, key=lambda name: name != main)
    moved = [name for name in names if before.metrics[name] != after.metrics.get(name)]
    for name in moved[:MAX_WORDS]:
        yield f"{name}: {_number(before.metrics[name])} → {_number(after.metrics.get(name))}"
    if len(moved) > MAX_WORDS:
        yield f"{len(moved) - MAX_WORDS} more metrics changed"
    for name, lines in zip(SIDES, ((before.words, after.words), (after.words, before.words)), strict=True):
        yield from (f"only in the {name}: {line}" for line in (Counter(lines[0]) - Counter(lines[1])).elements())


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def within_limit(cards: Sequence[Card]) -> tuple[Card, ...]:
    """Returns the cards, the last of them without their drawings where these are too many for a page."""
    kept, left = [], MAX_DRAWINGS_LENGTH
    for card in cards:
        left -= sum(len(side.drawing or "") for side in card.sides)
        if left < 0:
            problem = "this page holds drawings enough; beamscore draw writes it"
            sides = (
                side if side.drawing is None else msgspec.structs.replace(side, drawing=None, problem=problem)
                for side in card.sides
            )
            card = msgspec.structs.replace(card, sides=tuple(sides))
        kept.append(card)
    return tuple(kept)


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


def drawing_of(benchmark: AnyBenchmark, truth: Beginning, prediction: Beginning | None) -> tuple[str | None, str]:
    """Returns the drawing of a sample, or None and the reason."""
    if "draw" not in benchmark.abilities():
        return None, f"{benchmark.name} has no drawing"
    if not truth.is_whole or (prediction is not None and not prediction.is_whole):
        return None, "the records are too large for this page; beamscore draw writes it"
    try:
        record = msgspec.json.decode(truth.payload, type=benchmark.truth_type)
        drawing = drawable(benchmark.draw(record, _prediction(benchmark, prediction)))
    except RejectedRecord as rejected:
        return None, one_line(rejected.message, MAX_WORDS_LENGTH)
    except ENVIRONMENT_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - nor may what it does to a drawing
        return None, one_line(f"{type(error).__name__}: {explain(error)}", MAX_WORDS_LENGTH)
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
    return RecordText(text[:MAX_RECORD_LENGTH], left_out)


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


def _short(value: Any) -> Any:
    """Returns a JSON value whose texts are not too long."""
    if isinstance(value, str):
        return clipped(value, MAX_WORDS_LENGTH)
    if isinstance(value, list):
        return [_short(each) for each in value]
    if isinstance(value, dict):
        return {clipped(str(name), MAX_WORDS_LENGTH): _short(each) for name, each in value.items()}
    return value
