"""Every kind of bad record among good ones: the figures of those stay, the counts add up, each bad one is found."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from beamscore.pipelines.runs.causes import REMEDIES
from tests import toy
from tests.runs import RESULT_NAMES, Record, Run, evaluate, write_lines

RECORD_BYTES = 6_000_000
TRUTH, PREDICTION = "ground_truth", "ours"
FILES = {TRUTH: "truth.jsonl", PREDICTION: "ours.jsonl"}
REJECTED_TRUTH = "the ground truth of this sample was rejected"
MARKUP = "<script>alert(1)</script> | `code` [link](javascript:x) ![i](http://x/y.png) *b* \x1b[31mred\nline"


@dataclass(frozen=True)
class Bad:
    """A bad record, and what its entry in the quarantine must say. A duplicate stands after all others."""

    side: str
    line: bytes
    sample_id: str | None
    stage: str
    cause: str
    message: str


def line(sample_id: Any, **fields: Any) -> bytes:
    return json.dumps({"sample_id": sample_id, **fields}).encode()


# What cannot be read, on either side; more is in transforms/test_read.py.
UNREADABLE = [
    (b"{broken", "unreadable", "this is not JSON: "),
    (b'{"sample_id": "cut off', "unreadable", "this is not JSON: Input data was truncated"),
    (b'{"sample_id": "nan", "text": "", "x": NaN}', "unreadable", "; NaN and Infinity are not JSON"),
    (b'{"sample_id": "\xff\xfe"}', "unreadable", "this is not JSON: a text is not UTF-8"),
    (b"\x00" * 100, "unreadable", "this is not JSON: "),
    (b'{"text": "t"}', "no_sample_id", "sample_id must be a string or an integer: Object missing"),
    (line("huge", text="x" * RECORD_BYTES), "too_large", f"more than the {RECORD_BYTES} of limits.record_bytes"),
    (b'{"a":' * 100_000, "too_deep", "nested deeper than the 9 levels of limits.depth"),
]
NOT_UTF8 = "a text is not UTF-8"

# Truths without fault whose prediction is bad: they count as missing predictions.
VICTIMS = ("victim1", "victim2", "victim3", "victim4")

BAD = [
    *(Bad(side, text, None, "read", cause, told) for side in (TRUTH, PREDICTION) for text, cause, told in UNREADABLE),
    # Pairing.
    Bad(TRUTH, line("s0", text="late"), "s0", "pair", "duplicate", "truth.jsonl:"),
    Bad(PREDICTION, line("s1", text="late"), "s1", "pair", "duplicate", "ours.jsonl:"),
    Bad(PREDICTION, line("ghost", text="t"), "ghost", "pair", "unmatched", "no readable ground-truth record has this"),
    Bad(PREDICTION, line("huge", text="t"), "huge", "pair", "unmatched", "no readable ground-truth record has this"),
    # Bad predictions.
    Bad(PREDICTION, line("victim1", text=1), "victim1", "score", "invalid", "Expected `str`, got `int` - at `$.text`"),
    Bad(PREDICTION, line("victim2"), "victim2", "score", "invalid", "Object missing required field `text`"),
    Bad(PREDICTION, b'{"sample_id": "victim3", "text": "\xff"}', "victim3", "score", "invalid", NOT_UTF8),
    Bad(PREDICTION, line("victim4", text="prediction is bad"), "victim4", "score", "invalid", "the prediction is bad"),
    # Bad truths, with and without a prediction.
    Bad(TRUTH, line("truth1", text=None), "truth1", "score", "invalid", "Expected `str`, got `null` - at `$.text`"),
    Bad(PREDICTION, line("truth1", text="t"), "truth1", "score", "unmatched", REJECTED_TRUTH),
    Bad(TRUTH, b'{"sample_id": "truth2", "text": "\xff"}', "truth2", "score", "invalid", NOT_UTF8),
    Bad(TRUTH, line("truth3", text="truth is bad"), "truth3", "score", "invalid", "the truth is bad"),
    Bad(PREDICTION, line("truth3", text="t"), "truth3", "score", "unmatched", REJECTED_TRUTH),
    # Samples that cannot be scored.
    *(
        Bad(side, line(sample_id, text=text if side == PREDICTION else "t"), sample_id, "score", "failed", message)
        for side in (TRUTH, PREDICTION)
        for sample_id, text, message in [
            ("sample1", "score fails", "scoring failed: ZeroDivisionError: no luck"),
            ("sample2", "score is infinite", "statistic similarity: a statistic must be finite"),
        ]
    ),
]

# Records that look bad and are good.
ODD_TEXTS = {
    "right to left": "\u202e\u05d0\u05d1 abc",
    "zero\u200bwidth\u2060": "a\u200bb\ufeff",
    "ansi \x1b[2J": "\x1b[31mred\x1b[0m",
    "nul \x00 escaped": "a\x00b",
    MARKUP: MARKUP,
    "five megabytes": "m" * 5_000_000,
    "line\u2028separator": "a\u2028b\x85c",
    "astral \U0001f600": "\U0001f600" * 3,
}

GOOD = [toy.sample(index, 0) for index in range(30)]
TRUTHS: list[Record] = [
    *({**truth, "group": "good"} for truth, _ in GOOD),
    *({"sample_id": sample_id, "text": "t", "group": "victim"} for sample_id in VICTIMS),
    *({"sample_id": sample_id, "text": text, "group": MARKUP} for sample_id, text in ODD_TEXTS.items()),
]
PREDICTIONS: list[Record] = [
    *(prediction for _, prediction in GOOD if prediction is not None),
    *({"sample_id": sample_id, "text": text} for sample_id, text in ODD_TEXTS.items()),
]


def lines_of(side: str) -> list[bytes]:
    """The lines of a side: good and bad ones mixed, and then those that come late."""
    good = [json.dumps(record, ensure_ascii=False).encode() for record in (TRUTHS if side == TRUTH else PREDICTIONS)]
    own = [each for each in BAD if each.side == side]
    early, late = ([each.line for each in own if (each.cause == "duplicate") == is_late] for is_late in (False, True))
    return [*random.Random(side).sample([*good, *early], len(good) + len(early)), *late]


def run(folder: Path, truths: list[Any], predictions: list[Any]) -> Run:
    given = write_lines(folder / FILES[TRUTH], truths), {"ours": write_lines(folder / FILES[PREDICTION], predictions)}
    limits = f"limits={{record_bytes: {RECORD_BYTES}, depth: 9}}"
    flags = ("--slice", "group", "--set", limits, "--set", "worst_samples=100", "--no-html")
    return evaluate(folder / "out", *given, *flags)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("hostile"), lines_of(TRUTH), lines_of(PREDICTION))


def test_the_run_fails_because_of_what_was_rejected_and_has_written_everything(hostile: Run) -> None:
    assert hostile.code == 1
    assert {path.name for path in hostile.output.iterdir()} == RESULT_NAMES - {"report.html"}
    lines = hostile.stderr.splitlines()
    assert ["with a duplicate sample_id: " in line for line in lines] == [True, True, False, False]
    coverage = hostile.summary["systems"]["ours"]["coverage"]
    for line, counts, label in zip(lines[2:], coverage.values(), ("ground-truth records", "predictions"), strict=False):
        told = f"ours: {counts['rejected']} of {counts['read']} {label} were rejected, more than max_rejected_fraction"
        assert line.startswith(f"beamscore: {told} 0 allows; most often: ")
        assert line.endswith(f"; {REMEDIES['unreadable']}; see quarantine/")


def test_figures_sums_and_rows_of_the_good_ones_are_as_without_the_bad_ones(hostile: Run, tmp_path: Path) -> None:
    clean = run(tmp_path, TRUTHS[: len(GOOD)], PREDICTIONS[: -len(ODD_TEXTS)])
    assert clean.code == 0
    for found, expected in ((hostile.summary, clean.summary), (hostile.sums, clean.sums)):
        assert found["systems"]["ours"]["slices"]["group=good"] == expected["systems"]["ours"]["slices"]["group=good"]
    good = {truth["sample_id"] for truth, _ in GOOD}
    assert [row for row in hostile.samples if row["sample_id"] in good] == clean.samples


def test_the_record_counts_add_up_and_every_sample_has_one_row(hostile: Run) -> None:
    coverage, scored = hostile.summary["systems"]["ours"]["coverage"], len(PREDICTIONS)
    # Three truths are bad when they are scored, and two samples cannot be.
    missing, unreadable, of_scores = len(TRUTHS) - scored, len(UNREADABLE), 5
    truths = {"read": len(TRUTHS) + unreadable + of_scores + 1, "scored": scored, "missing_prediction": missing}
    truths |= {"rejected": unreadable + of_scores, "duplicate": 1}
    given = {"read": scored + sum(bad.side == PREDICTION for bad in BAD), "scored": scored, "duplicate": 1}
    # Those of the victims and of the two samples that cannot be scored; two without a ground truth, two of a bad one.
    given |= {"rejected": unreadable + len(VICTIMS) + 2, "unmatched": 4}
    assert coverage == {"ground_truth": truths, "predictions": given, "balanced": True}
    by_id = {row["sample_id"]: row["status"] for row in hostile.samples}
    assert len(by_id) == len(hostile.samples)
    # Truths that could not even be read have no row.
    assert Counter(by_id.values()) == {"scored": scored, "missing_prediction": missing, "rejected": of_scores}
    assert {by_id[sample_id] for sample_id in VICTIMS} == {"missing_prediction"}
    assert {by_id[sample_id] for sample_id in ODD_TEXTS} == {"scored"}


def test_each_bad_record_is_in_the_quarantine_once_with_its_place_and_reason(hostile: Run) -> None:
    assert len(hostile.quarantine) == len(BAD)
    by_place = {(entry["side"], entry["line"]): entry for entry in hostile.quarantine}
    lines_by_side = {side: lines_of(side) for side in FILES}
    for bad in BAD:
        lines = lines_by_side[bad.side]
        number = lines.index(bad.line)
        entry = by_place.pop((bad.side, number + 1))
        assert entry["source"].endswith(FILES[bad.side])
        assert (entry["sample_id"], entry["stage"], entry["cause"]) == (bad.sample_id, bad.stage, bad.cause)
        assert bad.message in entry["error"]
        assert ("\n" in entry["error"], len(entry["error"]) < 300) == (False, True)
        assert entry["position"] == sum(len(each) + 1 for each in lines[:number])
        assert entry["text"] == bad.line.decode("utf-8", "replace")[:2000]
    assert by_place == {}


def test_the_report_has_the_causes_and_shows_hostile_text_as_text(hostile: Run) -> None:
    section = hostile.report.partition("## Quarantine")[2].partition("\n## ")[0]
    tables = [row for row in section.splitlines() if row.startswith("|")]
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in tables[2:]]
    counts = Counter((bad.side, bad.stage, bad.cause) for bad in BAD)
    assert {tuple(row[1:4]): int(row[0]) for row in rows} == counts
    report = hostile.report
    assert not [each for each in ("<script>", "\x1b", "\u202e", "\x00") if each in report]
    # Long text is cut, and control characters are shown as numbers.
    assert max(len(row) for row in report.splitlines()) < 2000
    assert sum(path.stat().st_size for path in hostile.output.glob("quarantine/*")) < 200_000
    assert all(character.isprintable() or character == "\n" for character in hostile.stdout)
