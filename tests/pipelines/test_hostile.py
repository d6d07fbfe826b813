"""Every kind of bad record among good ones: the good ones' figures stay, the books balance, each bad one is found."""

from __future__ import annotations

import html
import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from markdown_it import MarkdownIt

from beamscore.pipelines.runs.causes import REMEDIES
from tests import toy
from tests.runs import RESULT_NAMES, Record, Run, evaluate, write_lines

RECORD_BYTES = 6_000_000
TRUTH, PREDICTION = "ground_truth", "ours"
REJECTED_TRUTH = "the ground truth of this sample was rejected"
MARKUP = "<script>alert(1)</script> | `code` [link](javascript:x) ![i](http://x/y.png) *b* \x1b[31mred\nline"


@dataclass(frozen=True)
class Bad:
    """A bad record, and what its entry in the quarantine must say. `late`: it stands after all others."""

    side: str
    line: bytes
    sample_id: str | None
    stage: str
    cause: str
    message: str
    late: bool = False


def line(sample_id: Any, **fields: Any) -> bytes:
    return json.dumps({"sample_id": sample_id, **fields}).encode()


def unreadable(side: str) -> list[Bad]:
    """What cannot be read, on either side; more is in transforms/test_read.py."""
    own = f"of {side}"

    def bad(content: bytes, cause: str, message: str) -> Bad:
        return Bad(side, content, None, "read", cause, message)

    return [
        bad(b"{broken", "unreadable", "this is not JSON: "),
        bad(b'{"sample_id": "nan", "text": "", "x": NaN}', "unreadable", "; NaN and Infinity are not JSON"),
        bad(b'{"sample_id": "cut off ' + own.encode(), "unreadable", "this is not JSON: Input data was truncated"),
        bad(b'{"sample_id": "\xff\xfe"}', "unreadable", "'utf-8' codec can't decode byte 0xff"),
        bad(b"\x00" * 100, "unreadable", "this is not JSON: "),
        bad(b'{"text": "t"}', "no_sample_id", "sample_id must be a string or an integer: Object missing"),
        bad(line("x" * 1025), "no_sample_id", "sample_id must have 1 to 1024 characters, not 1025"),
        bad(line("huge", text="x" * RECORD_BYTES), "too_large", f"more than the {RECORD_BYTES} of limits.record_bytes"),
        bad(line("deep", x=[[[[[[[[[[]]]]]]]]]]), "too_deep", "nested deeper than the 9 levels of limits.depth"),
        bad(b'{"a":' * 100_000, "too_deep", "nested deeper than the 9 levels of limits.depth"),
    ]


NOT_UTF8 = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"

# Truths without fault whose prediction is bad: they count as missing predictions.
VICTIMS = ("victim1", "victim2", "victim3", "victim4", "victim5")

BAD = [
    *unreadable(TRUTH),
    *unreadable(PREDICTION),
    # Pairing.
    Bad(TRUTH, line("s0", text="late"), "s0", "pair", "duplicate", "truth-a.jsonl:", late=True),
    Bad(PREDICTION, line("s1", text="late"), "s1", "pair", "duplicate", "ours-a.jsonl:", late=True),
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


def lines_of(side: str) -> tuple[list[bytes], list[bytes]]:
    """The lines of the two files of a side: good and bad ones mixed, and those that come late."""
    good = [json.dumps(record, ensure_ascii=False).encode() for record in (TRUTHS if side == TRUTH else PREDICTIONS)]
    early = [each.line for each in BAD if each.side == side and not each.late]
    late = [each.line for each in BAD if each.side == side and each.late]
    mixed = [*good, *early]
    random.Random(side).shuffle(mixed)
    return mixed, late


LIMITS = f"limits={{record_bytes: {RECORD_BYTES}, depth: 9}}"
SETTINGS = ("--slice", "group", "--set", LIMITS, "--set", "worst_samples=100", "--no-html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("hostile")
    for side, name in [(TRUTH, "truth"), (PREDICTION, "ours")]:
        for number, lines in zip("ab", lines_of(side), strict=True):
            write_lines(folder / f"{name}-{number}.jsonl", lines)
    return evaluate(folder / "out", folder / "truth-*.jsonl", {"ours": folder / "ours-*.jsonl"}, *SETTINGS)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("clean")
    write_lines(folder / "truth.jsonl", [{**truth, "group": "good"} for truth, _ in GOOD])
    write_lines(folder / "ours.jsonl", [prediction for _, prediction in GOOD if prediction is not None])
    return evaluate(folder / "out", folder / "truth.jsonl", {"ours": folder / "ours.jsonl"}, *SETTINGS)


def test_the_run_fails_because_of_what_was_rejected_and_has_written_everything(hostile: Run, clean: Run) -> None:
    assert clean.code == 0
    assert hostile.code == 1
    assert {path.name for path in hostile.output.iterdir()} == RESULT_NAMES - {"report.html"}
    counts = hostile.summary["systems"]["ours"]["coverage"]
    warnings, lines = hostile.stderr.splitlines()[:2], hostile.stderr.splitlines()[2:]
    assert all("with a duplicate sample_id: " in line for line in warnings)
    sides = ("ground_truth", "ground_truth", "ground-truth records"), ("predictions", "ours", "predictions")
    for line, (side, name, label) in zip(lines, sides, strict=True):
        assert line.startswith(
            f"beamscore: ours: {counts[side]['rejected']} of {counts[side]['read']} {label} were rejected, "
            "more than max_rejected_fraction 0 allows; most often: "
        )
        rejected = Counter((bad.stage, bad.cause) for bad in BAD if bad.side == name)
        most = max((each for each in rejected if each[1] not in ("duplicate", "unmatched")), key=rejected.__getitem__)
        remedy = next(text for cause, text in REMEDIES.items() if cause == most[1])
        assert line.endswith(f"; {remedy}; see quarantine/")


def test_figures_sums_and_rows_of_the_good_ones_are_as_without_the_bad_ones(hostile: Run, clean: Run) -> None:
    label = "group=good"
    assert hostile.summary["systems"]["ours"]["slices"][label] == clean.summary["systems"]["ours"]["slices"][label]
    assert hostile.sums["systems"]["ours"]["slices"][label] == clean.sums["systems"]["ours"]["slices"][label]
    good = {truth["sample_id"] for truth, _ in GOOD}
    assert [row for row in hostile.samples if row["sample_id"] in good] == clean.samples


def test_the_record_counts_add_up_and_every_sample_has_one_row(hostile: Run) -> None:
    coverage, found = hostile.summary["systems"]["ours"]["coverage"], Counter((bad.side, bad.cause) for bad in BAD)
    assert coverage["balanced"] is True
    for side, name, good in ((TRUTH, "ground_truth", TRUTHS), (PREDICTION, "predictions", PREDICTIONS)):
        counts, bad = coverage[name], sum(each.side == side for each in BAD)
        own = ("duplicate", *(["unmatched"] if side == PREDICTION else []))
        left = {
            **{cause: found[side, cause] for cause in own},
            "rejected": bad - sum(found[side, each] for each in own),
        }
        assert {status: counts[status] for status in left} == left
        assert counts["read"] == len(good) + bad == sum(counts.values()) - counts["read"]
    assert coverage["predictions"]["scored"] == coverage["ground_truth"]["scored"] == len(PREDICTIONS)
    by_id = {row["sample_id"]: row["status"] for row in hostile.samples}
    assert len(by_id) == len(hostile.samples)
    counts = dict(hostile.summary["systems"]["ours"]["coverage"]["ground_truth"])
    # Truths that could not even be read have no row.
    counts["rejected"] -= len(unreadable(TRUTH))
    assert Counter(by_id.values()) == {name: counts[name] for name in ("scored", "missing_prediction", "rejected")}
    assert {by_id[sample_id] for sample_id in VICTIMS} == {"missing_prediction"}
    assert {by_id[sample_id] for sample_id in ODD_TEXTS} == {"scored"}
    assert {by_id[sample_id] for sample_id in ("truth1", "truth2", "sample1")} == {"rejected"}


def test_each_bad_record_is_in_the_quarantine_once_with_its_place_and_reason(hostile: Run) -> None:
    entries = hostile.quarantine
    assert len(entries) == len(BAD)
    by_place = {(entry["side"], entry["source"].rpartition("-")[2], entry["line"]): entry for entry in entries}
    for bad in BAD:
        mixed, late = lines_of(bad.side)
        number = late.index(bad.line) if bad.late else mixed.index(bad.line)
        entry = by_place.pop((bad.side, "b.jsonl" if bad.late else "a.jsonl", number + 1))
        assert (entry["sample_id"], entry["stage"], entry["cause"]) == (bad.sample_id, bad.stage, bad.cause)
        assert bad.message in entry["error"]
        assert "\n" not in entry["error"]
        assert len(entry["error"]) < 300
        assert entry["position"] == sum(len(each) + 1 for each in (late if bad.late else mixed)[:number])
        assert entry["text"] == bad.line.decode("utf-8", "replace")[:2000]
    assert by_place == {}


def test_the_report_has_the_causes_and_shows_hostile_text_as_text(hostile: Run) -> None:
    section = hostile.report.partition("## Quarantine")[2].partition("\n## ")[0]
    counts = Counter((bad.side, bad.stage, bad.cause) for bad in BAD)
    rows = [
        [cell.strip() for cell in row.strip("|").split(" | ")] for row in section.splitlines() if row.startswith("|")
    ]
    found = {tuple(row[1:4]): int(row[0]) for row in rows[2:]}
    assert found == counts
    report = hostile.report
    assert not [each for each in ("<script>", "\x1b", "\u202e", "\x00") if each in report]
    rendered = MarkdownIt().enable("table").render(report)
    assert not [each for each in ("<script", "<a ", "<img") if each in rendered]
    text = html.unescape(re.sub(r"</?code>", "", rendered))
    assert "<script>alert(1)</script> | `code` [link](javascript:x) ![i](http://x/y.png) *b*" in text
    tables = [row for row in report.splitlines() if row.startswith("|")]
    widths = Counter(row.count("|") - row.count("\\|") for row in tables if "script" in row)
    assert set(widths) == {4, 5}  # the worst samples have three columns, the slices four
    # Long text is cut, and control characters are shown as numbers.
    assert max(len(row) for row in hostile.report.splitlines()) < 2000
    assert sum(path.stat().st_size for path in hostile.output.glob("quarantine/*")) < 200_000
    assert all(character.isprintable() or character == "\n" for character in hostile.stdout)
