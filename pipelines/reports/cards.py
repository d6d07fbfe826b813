"""Samples to look at, of one run or of two: records as text, what matched what, what changed, and the drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...metrics.benchmark import Pair, RejectedRecord
from ...metrics.common.errors import ENVIRONMENT_FAULTS, explain
from ...metrics.scoring import draw_pairs
from ...metrics.statistics.measured import AnyBenchmark
from ...transforms.records import MAX_RECORD_BYTES
from .document import Card, CardSide, RecordText
from .samples import rounded
from .text import clipped, drawable, one_line

if TYPE_CHECKING:
    # Beam is imported with them, and the history of runs has no cards.
    from ...transforms.pick import PickedSample
    from ...transforms.sample_changes import ChangedRecords

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


Records = tuple[Beginning, Beginning | None]
"""The ground truth and the prediction of a sample."""


def make_cards(benchmark: AnyBenchmark, picked: Sequence[PickedSample]) -> list[Card]:
    """Returns the cards of samples that were picked; where one cannot be drawn, its card says why."""
    records = [
        (
            Beginning(each.truth, each.truth_size),
            None if each.prediction is None else Beginning(each.prediction, each.prediction_size),
        )
        for each in picked
    ]
    drawings = drawings_of(benchmark, records)
    return [_card(benchmark, *each) for each in zip(picked, records, drawings, strict=True)]


def _card(benchmark: AnyBenchmark, picked: PickedSample, records: Records, drawing: tuple[str | None, str]) -> Card:
    details = msgspec.json.decode(picked.details)
    truth, prediction = records
    shown = details
    if picked.details_size > len(picked.details):
        shown = f"{picked.details_size:,} bytes, too many for this page; samples/*.parquet has them"
    metrics = {name: rounded(value) for name, value in picked.metrics.items()}
    side = CardSide(
        picked.status, metrics, prediction and record_text(prediction), words_of(benchmark, details), *drawing
    )
    main = benchmark.main_sample_metric().name
    before, value = rounded(picked.before), metrics.get(main)
    change: float | None = None
    words: tuple[str, ...] = ()
    if before is not None and value is not None:
        change = rounded(value - before)
        words = (f"{main}: {_number(before)} → {_number(value)}",) if change else ()
    return Card(picked.sample_id, picked.system, picked.whys, (side,), record_text(truth), words, change, _short(shown))


def make_changed(benchmark: AnyBenchmark, changed: Sequence[ChangedRecords], no_records: str = "") -> list[Card]:
    """Returns the cards of samples that changed. no_records: why there are none, where nobody looked."""
    records = [
        (Beginning(*each.truth), prediction and Beginning(*prediction))
        for each in changed
        if each.truth is not None
        for prediction in each.predictions
    ]
    drawings = iter(drawings_of(benchmark, records))
    missing = no_records or "the records of this sample were not found in the inputs of the runs"
    return [
        _changed_card(benchmark, each, [(None, missing) if each.truth is None else next(drawings) for _ in SIDES])
        for each in changed
    ]


def _changed_card(benchmark: AnyBenchmark, changed: ChangedRecords, drawings: Sequence[tuple[str | None, str]]) -> Card:
    row, sides = changed.row, []
    for name, details, prediction, drawing in zip(SIDES, changed.details, changed.predictions, drawings, strict=True):
        record = prediction and Beginning(*prediction)
        metrics = {spec.name: rounded(row[f"{name}.{spec.name}"]) for spec in benchmark.sample_metrics}
        words = () if details is None else words_of(benchmark, msgspec.json.decode(details))
        side = CardSide(row[f"{name}.status"], metrics, record and record_text(record), words, *drawing)
        sides.append(side)
    return Card(
        row["sample_id"],
        0,
        (row["kind"], *([] if not row["change"] else ["lost" if row["change"] < 0 else "won"])),
        tuple(sides),
        changed.truth and record_text(Beginning(*changed.truth)),
        tuple(what_changed(benchmark.main_sample_metric().name, *sides)),
        rounded(row["change"]),
        slices=changed.slices,
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


def drawings_of(benchmark: AnyBenchmark, records: Sequence[Records]) -> list[tuple[str | None, str]]:
    """Returns the drawing of each sample, or None and the reason."""
    if "draw" not in benchmark.abilities():
        return [(None, f"{benchmark.name} has no drawing")] * len(records)
    drawings: list[tuple[str | None, str]] = [(None, "")] * len(records)
    pairs: dict[int, Pair[Any, Any]] = {}
    for place, (truth, prediction) in enumerate(records):
        if not truth.is_whole or (prediction is not None and not prediction.is_whole):
            drawings[place] = None, "the records are too large for this page; beamscore draw writes it"
            continue
        try:
            record = msgspec.json.decode(truth.payload, type=benchmark.truth_type)
            pairs[place] = Pair("", record, _prediction(benchmark, prediction))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            drawings[place] = None, one_line(explain(error), MAX_WORDS_LENGTH)
    for place, drawing in zip(pairs, draw_pairs(benchmark, list(pairs.values())), strict=True):
        drawings[place] = _fitting(drawing)
    return drawings


def _fitting(drawing: str | RejectedRecord) -> tuple[str | None, str]:
    """Returns a drawing that fits the page, or None and the reason."""
    if isinstance(drawing, RejectedRecord):
        return None, one_line(drawing.message, MAX_WORDS_LENGTH)
    drawing = drawable(drawing)
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
