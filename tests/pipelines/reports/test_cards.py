"""Cards of samples: both records, the drawing or why there is none, and what changed."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.chemistry.benchmark import ChemistryBenchmark
from beamscore.metrics.chemistry.records import ChemistryOptions
from beamscore.pipelines.reports import cards
from beamscore.pipelines.reports.document import Card, CardSide
from beamscore.transforms.pick import PickedSample
from beamscore.transforms.records import MAX_SHOWN_BYTES
from beamscore.transforms.sample_changes import ChangedRecords, RecordText

CHEMISTRY = ChemistryBenchmark(ChemistryOptions())
MAIN = CHEMISTRY.main_sample_metric().name
NAMES = [spec.name for spec in CHEMISTRY.sample_metrics]


def text(value: Any) -> RecordText:
    encoded = json.dumps({"sample_id": "s", "text": value, "source": "web"}).encode()
    return encoded, len(encoded)


@pytest.mark.parametrize(
    ("prediction", "size", "problem"),
    [
        (text("\\chemfig{A=B}")[0], 9, None),
        (text("\\chemfig{A=B}")[0], MAX_SHOWN_BYTES + 1, "too large"),
        # A prediction that cannot be decoded was scored as missing, and is drawn so.
        (b'{"text": 3}', 11, None),
        (b"{", 1, None),
        (None, 0, None),
    ],
)
def test_a_picked_sample_is_drawn_or_says_why_not(prediction: bytes | None, size: int, problem: str | None) -> None:
    picked = PickedSample(
        (0.0, 0), "s", 0, "scored", "worst", ("worst",), {MAIN: 1 / 3}, b"null", *text("\\chemfig{A-B}"),
        prediction, size, before=0.5,
    )  # fmt: skip
    (card,) = cards.make_cards(CHEMISTRY, [picked], None)
    (side,) = card.sides
    assert (card.truth, side.metrics) == ("text: \\chemfig{A-B}\nsource: web", {MAIN: 0.3333})
    assert (side.prediction is None) == (prediction is None)
    assert (card.words, side.words) == ((f"{MAIN}: 0.5 → 0.3333",), ())
    # Details that the benchmark cannot explain cost their words alone.
    (word,) = cards.words_of(CHEMISTRY, b"3")
    assert "Error: " in word
    assert (side.drawing or "").startswith("<svg") == (problem is None)
    assert (problem or "") in side.problem


DEEP = [{"id": number, "points": [[0, 1]] * 6} for number in range(2)]
ROWS = "\n".join(f" {json.dumps(each)}{',' * (each is DEEP[0])}" for each in DEEP)
RECORDS = [
    # The whole is `text: `, 8,010 characters, and `\nsource: web` with 12.
    (text("x" * (cards.MAX_RECORD_LENGTH + 10))[0], 1,
     "text: " + "x" * (cards.MAX_RECORD_LENGTH - 6) + "\n… (28 more characters)"),
    (b'{"a": "\\u202e', MAX_SHOWN_BYTES + 5, '{"a": "\\u202e\n… (5 more characters)'),
    (msgspec.json.encode({"regions": DEEP}), 1, f"regions: [\n{ROWS}\n]"),
]  # fmt: skip


@pytest.mark.parametrize(("payload", "size", "shown"), RECORDS)
def test_a_record_is_text_that_says_what_is_left_out(payload: bytes, size: int, shown: str) -> None:
    assert cards.record_text((payload, size)) == shown


def side(score: float | None, *words: str, status: str = "scored") -> CardSide:
    return CardSide(status, {"score": score, "other": 1.0}, None, words)


@given(st.lists(st.sampled_from("abc")))
def test_what_changed_tells_status_metrics_and_matches_of_one_side(words: list[str]) -> None:
    before, after = side(1.0, "a", "b", "b", "b"), side(None, "b", "c", status="missing_prediction")
    lines = ["status was scored, and is missing prediction", "score: 1 → no value", "only in the baseline: a"]
    lines += [*["only in the baseline: b"] * 2, "only in the candidate: c"]
    assert list(cards.what_changed("score", before, after)) == lines
    many = {f"m{number}": 0.25 for number in range(13)}
    before, after = (msgspec.structs.replace(each, metrics={**many, **each.metrics}) for each in (before, after))
    after.metrics.update(dict.fromkeys(many, 0.99996))
    lines[2:2] = [f"m{number}: 0.25 → 0.99996" for number in range(11)] + ["2 more metrics changed"]
    assert list(cards.what_changed("score", before, after)) == lines
    assert list(cards.what_changed("score", side(0.5, *words), side(0.5, *words))) == []


def records(change: float | None, truth: RecordText | None, *predictions: RecordText | None) -> ChangedRecords:
    row: dict[str, Any] = {"sample_id": "s", "change": change, "kind": "worse"}
    for name in ("baseline", "candidate"):
        row |= {f"{name}.status": "scored"} | {f"{name}.{metric}": 0.25 for metric in NAMES}
    return ChangedRecords(row, (None, b"null"), truth, (predictions[0], predictions[1]))


def test_each_changed_sample_has_its_own_records_and_drawings() -> None:
    """One whose ground truth cannot be drawn or read, is too large or was not found takes nothing from the others."""
    broken, missing = records(0.0, text("none"), None, None), records(None, None, None, None)
    good = [records(-0.5, text(f"\\chemfig{{A-{atom}}}"), text("\\chemfig{A=B}"), None) for atom in "BC"]
    unread, large = (records(None, each, None, None) for each in ((b"{", 1), (b"{}", MAX_SHOWN_BYTES + 1)))
    batch = [good[0], broken, missing, unread, large, good[1]]
    found = cards.make_changed(CHEMISTRY, batch, "the inputs are gone", None)
    assert found == [cards.make_changed(CHEMISTRY, [each], "the inputs are gone", None)[0] for each in batch]
    first, unknown = found[0], found[2]
    assert (first.truth or "").startswith("text: \\chemfig{A-B}")
    assert (first.whys, unknown.whys) == (("worse", "lost"), ("worse",))
    assert (first.sides[0].prediction is None, first.sides[1].prediction is None) == (False, True)
    assert all((each.drawing or "").startswith("<svg") for each in first.sides)
    assert (unknown.truth, [each.problem for each in unknown.sides]) == (None, ["the inputs are gone"] * 2)


def test_the_first_cards_of_a_page_have_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a limit of 10 characters, each picture of a sample once; what had none keeps its reason."""
    monkeypatch.setattr(cards, "MAX_IMAGES_LENGTH", 10)

    def card(name: str, picture: str, drawing: str | None, problem: str, picture_problem: str) -> Card:
        sides = (CardSide("scored", {}, None, (), drawing, problem),)
        return Card(name, 0, (), sides, picture=picture, picture_problem=picture_problem)

    given = [card("a", "1234", "123", "", ""), card("a", "1234", "123", "", ""), card("b", "1", "", "", ""),
             card("c", "", None, "none", "gone")]  # fmt: skip
    left = cards.TOO_MANY
    assert list(cards.within_limit(given)) == [
        card("a", "1234", "123", "", ""), card("a", "", "123", "", ""), card("b", "", "", "", left), given[3],
    ]  # fmt: skip
    given[2] = card("b", "", "1", "", "")
    assert cards.within_limit(given)[2:] == (card("b", "", None, left, ""), given[3])
