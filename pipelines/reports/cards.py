"""Sample cards of one run or of two: records as text, what matched what, what changed, and the drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ...metrics.benchmark import AnyBenchmark, DrawnPair, RejectedRecord, error_text
from ...metrics.common.svg import ImageSize
from ...metrics.scoring import draw_pairs, explained
from ...transforms.draw import Draw
from ...transforms.pick import PickedSample
from ...transforms.pictures import NO_PICTURE, find_picture
from ...transforms.process import faults_end_the_bundle
from ...transforms.records import MAX_SHOWN_BYTES, decode_record
from ...transforms.sample_changes import RUN_SIDES, ChangedRecords, RecordText
from ..runs.numbers import trimmed
from .document import Card, CardSide
from .samples import rounded
from .text import drawable, one_line

MAX_RECORD_LENGTH = 8_000
MAX_DRAWING_LENGTH = 300_000
MAX_IMAGES_LENGTH = 12_000_000
"""The limit for all drawings and real pictures of a page; beyond it, those of the last cards are left out."""
TOO_MANY = "this page holds enough of them; beamscore draw writes it"
MAX_WORDS = 12
MAX_WORDS_LENGTH = 400
LINE_LENGTH = 88


class DraftSide(NamedTuple):
    """The result of a run for a sample. details: of its score, as JSON; None if they are not known."""

    status: str
    metrics: Mapping[str, float | None]
    prediction: RecordText | None
    details: bytes | None


class Draft(NamedTuple):
    """A sample whose card has no sides yet. source: the file of its ground truth. truth: None if it is unavailable."""

    card: Card
    source: str
    truth: RecordText | None
    sides: Sequence[DraftSide]


def make_cards(benchmark: AnyBenchmark, picked: Sequence[PickedSample], places: str | None) -> list[Card]:
    """Returns the cards of the picked samples. If a sample cannot be drawn, its card says why.

    places: the locations of the real pictures, see `transforms.pictures`.
    """
    main, drafts = benchmark.main_sample_metric().name, []
    for sample in picked:
        prediction = None if sample.prediction is None else (sample.prediction, sample.prediction_size)
        side = DraftSide(sample.status, sample.metrics, prediction, sample.details)
        before, value = rounded(sample.before), rounded(sample.metrics.get(main))
        is_moved = None not in (before, value) and before != value
        words = (f"{main}: {_number(before)} → {_number(value)}",) if is_moved else ()
        card = Card(sample.sample_id, sample.system, sample.whys, (), words=words)
        drafts.append(Draft(card, sample.source, (sample.truth, sample.truth_size), [side]))
    return _with_sides(benchmark, drafts, places)


def make_changed(
    benchmark: AnyBenchmark, changed: Sequence[ChangedRecords], no_records: str, places: str | None
) -> list[Card]:
    """Returns the cards of samples that changed.

    no_records: why records are missing, if they were not read. places: the locations of the real pictures.
    """
    main, drafts = benchmark.main_sample_metric().name, []
    for sample in changed:
        row = sample.row
        sides = [
            DraftSide(
                row[f"{name}.status"],
                {spec.name: row[f"{name}.{spec.name}"] for spec in benchmark.sample_metrics},
                prediction,
                details,
            )
            for name, details, prediction in zip(RUN_SIDES, sample.details, sample.predictions, strict=True)
        ]
        whys = (row["kind"], *([] if not row["change"] else ["lost" if row["change"] < 0 else "won"]))
        card = Card(row["sample_id"], 0, whys, (), change=rounded(row["change"]), slices=sample.slices)
        drafts.append(Draft(card, sample.source, sample.truth, sides))
    no_records = no_records or "the records of this sample were not found in the inputs of the runs"
    cards = _with_sides(benchmark, drafts, places, no_records)
    return [msgspec.structs.replace(card, words=tuple(what_changed(main, *card.sides))) for card in cards]


def _with_sides(benchmark: AnyBenchmark, drafts: Sequence[Draft], places: str | None, no_truth: str = "") -> list[Card]:
    """Returns the cards with their sides, ground truth and picture.

    no_truth: why a sample without ground truth has no drawing.
    """
    pictures = [
        find_picture(draft.truth[0], draft.card.sample_id, draft.source, places) if draft.truth else NO_PICTURE
        for draft in drafts
    ]
    pictured = list(zip(drafts, pictures, strict=True))
    sides = [(draft.truth, side, picture.size) for draft, picture in pictured for side in draft.sides]
    drawings = iter(drawings_of(benchmark, sides, no_truth))
    cards = []
    for draft, picture in pictured:
        card_sides = tuple(
            CardSide(
                side.status,
                {name: rounded(value) for name, value in side.metrics.items()},
                side.prediction and record_text(side.prediction),
                words_of(benchmark, side.details),
                *next(drawings),
            )
            for side in draft.sides
        )
        truth = draft.truth and record_text(draft.truth)
        picture_fields = {"picture": picture.address, "picture_problem": picture.problem}
        cards.append(msgspec.structs.replace(draft.card, sides=card_sides, truth=truth, **picture_fields))
    return cards


def what_changed(main: str, before: CardSide, after: CardSide) -> Iterator[str]:
    """Yields a line for each change: status, metrics, then what matched what on only one side."""
    if before.status != after.status:
        yield f"status was {before.status.replace('_', ' ')}, and is {after.status.replace('_', ' ')}"
    names = sorted(before.metrics, key=lambda name: name != main)
    moved = [name for name in names if before.metrics[name] != after.metrics.get(name)]
    for name in moved[:MAX_WORDS]:
        yield f"{name}: {_number(before.metrics[name])} → {_number(after.metrics.get(name))}"
    if len(moved) > MAX_WORDS:
        yield f"{len(moved) - MAX_WORDS} more metrics changed"
    for name, lines in zip(RUN_SIDES, ((before.words, after.words), (after.words, before.words)), strict=True):
        yield from (f"only in the {name}: {line}" for line in (Counter(lines[0]) - Counter(lines[1])).elements())


def _number(value: float | None) -> str:
    return "no value" if value is None else trimmed(value)


def within_limit(cards: Sequence[Card]) -> tuple[Card, ...]:
    """Returns the cards, the last ones without drawings and real pictures if these are too large for a page.

    If a sample has several cards, only the first holds its picture.
    """
    shown, left = [], MAX_IMAGES_LENGTH
    with_picture: set[str] = set()
    for card in cards:
        picture = "" if card.sample_id in with_picture else card.picture
        left -= len(picture) + sum(len(side.drawing or "") for side in card.sides)
        with_picture |= {card.sample_id} if picture else set()
        if left < 0:
            sides = tuple(
                msgspec.structs.replace(side, drawing=None, problem=TOO_MANY) if side.drawing else side
                for side in card.sides
            )
            problem = TOO_MANY if card.picture else card.picture_problem
            shown.append(msgspec.structs.replace(card, sides=sides, picture="", picture_problem=problem))
        else:
            shown.append(msgspec.structs.replace(card, picture=picture))
    return tuple(shown)


def words_of(benchmark: AnyBenchmark, details: bytes | None) -> tuple[str, ...]:
    """Returns what matched what in words, one line for each match; empty without details."""
    known = None if details is None else msgspec.json.decode(details)
    if known is None:
        return ()
    return tuple(one_line(line, MAX_WORDS_LENGTH) for line in explained(benchmark, known)[:MAX_WORDS])


def drawings_of(
    benchmark: AnyBenchmark, samples: Sequence[tuple[RecordText | None, DraftSide, ImageSize | None]], no_truth: str
) -> list[tuple[str | None, str]]:
    """Returns a drawing, or None and the reason, for each (ground truth, side, size of the picture)."""
    if "draw" not in benchmark.abilities():
        return [(None, f"{benchmark.name} has no drawing")] * len(samples)
    drawings: list[tuple[str | None, str]] = [(None, no_truth)] * len(samples)
    pairs: dict[int, DrawnPair[Any, Any]] = {}
    for place, (truth, (_, _, prediction, details), image) in enumerate(samples):
        if truth is None:
            continue
        if any(record is not None and record[1] > MAX_SHOWN_BYTES for record in (truth, prediction)):
            drawings[place] = None, "the records are too large for this page; beamscore draw writes it"
            continue
        record, problem = _decoded(truth, benchmark.truth_type)
        if problem:
            drawings[place] = None, one_line(problem, MAX_WORDS_LENGTH)
            continue
        # A prediction that cannot be decoded was also scored as missing.
        predicted = None if prediction is None else _decoded(prediction, benchmark.prediction_type)[0]
        known = None if details is None else msgspec.json.decode(details)
        pairs[place] = DrawnPair("", record, predicted, known, image)
    for place, drawing in zip(pairs, draw_pairs(benchmark, list(pairs.values())), strict=True):
        drawings[place] = _fitting(drawing)
    return drawings


def _decoded(text: RecordText, kind: Any) -> tuple[Any, str]:
    """Returns a record, or None and why it cannot be decoded."""
    try:
        return decode_record(text[0], kind), ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return None, error_text(error)


def _fitting(drawing: str | RejectedRecord) -> tuple[str | None, str]:
    """Returns a drawing that fits the page, or None and the reason."""
    if isinstance(drawing, RejectedRecord):
        return None, one_line(drawing.message, MAX_WORDS_LENGTH)
    if len(drawing) > MAX_DRAWING_LENGTH:
        return None, f"it has {len(drawing):,} characters, too many for this page; beamscore draw writes it"
    return drawable(drawing), ""


def record_text(beginning: RecordText) -> str:
    """Returns a record as readable text: a line for each field, long fields wrapped, without its sample_id.

    Fields that are strings are shown as plain text, not as JSON.
    """
    (payload, size), (record, _) = beginning, _decoded(beginning, Any)
    if isinstance(record, Mapping):
        text = "\n".join(f"{name}: {_broken(value, '')}" for name, value in record.items() if name != "sample_id")
    else:
        text = payload.decode("utf-8", "replace")
    left_out = max(0, len(text) - MAX_RECORD_LENGTH) + max(0, size - MAX_SHOWN_BYTES)
    return text[:MAX_RECORD_LENGTH] + (f"\n… ({left_out:,} more characters)" if left_out else "")


def _broken(value: Any, indent: str) -> str:
    """Returns a value as JSON, with a line for each member if it is longer than a line."""
    if isinstance(value, str) and not indent:
        return value
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


class DrawChanged(Draw):
    """Draws changed samples: from lists of ChangedRecords to Cards. no_records, places: see `make_changed`."""

    def __init__(self, benchmark: AnyBenchmark, no_records: str, places: str | None) -> None:
        super().__init__(benchmark, places)
        self._no_records = no_records

    def setup(self) -> None:
        """Sets up the benchmark in this worker. If that fails, the cards say why instead of showing drawings."""
        self._problem = ""
        try:
            self._benchmark.setup()
        except Exception as error:  # noqa: BLE001 - a missing program must not end a comparison
            self._problem = error_text(error)

    def teardown(self) -> None:
        """Tears down the benchmark, if `setup` succeeded."""
        if not self._problem:
            self._benchmark.teardown()

    def process(self, changed: Sequence[ChangedRecords]) -> Sequence[Card]:
        """Returns the cards of a batch of samples."""
        if self._problem:
            changed = [msgspec.structs.replace(each, truth=None) for each in changed]
        with faults_end_the_bundle("drawing"):
            return make_changed(self._benchmark, changed, self._problem or self._no_records, self._places)
