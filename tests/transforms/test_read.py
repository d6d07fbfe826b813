"""What a reader makes of each record, good and bad."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.restriction_trackers import OffsetRange
from apache_beam.pvalue import TaggedOutput
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.sdf_utils import RestrictionTrackerView, ThreadsafeRestrictionTracker
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.utils.windowed_value import WindowedValue
from hypothesis import given as for_any
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms import read as read_module
from beamscore.transforms.blocks import unpack
from beamscore.transforms.io import files
from beamscore.transforms.io.field_map import MAX_SAMPLE_ID_LENGTH, FieldMap, SideColumns, presence
from beamscore.transforms.io.files import Part, match_files, split_file
from beamscore.transforms.io.readers import RecordLimits
from beamscore.transforms.read import (
    PART_END,
    KeptReaders,
    PartRestrictionProvider,
    ReadPart,
    ReadRecords,
    RecordRangeTracker,
)
from beamscore.transforms.records import GROUND_TRUTH, EncodedRecord, Quarantined, side_name, zstd
from tests.runs import write_lines
from tests.tables import write_arrow, write_delimited
from tests.transforms.counted import counted_reads

COLUMNS = {
    GROUND_TRUTH: SideColumns(frozenset({"text"}), frozenset()),
    0: SideColumns(frozenset({"text", "rules"}), frozenset({"rules"})),
}
LIMITS = RecordLimits(record_bytes=2500, depth=6)


Record = tuple[str, EncodedRecord]
Outcome = tuple[int, Sums]


class Bundle(NamedTuple):
    """What a bundle gives."""

    records: list[Record]
    quarantine: list[Quarantined]
    outcomes: list[Outcome]
    blocks: list[tuple[int, bytes]]


def bundle_of(outputs: Iterable[Any]) -> Bundle:
    found = Bundle([], [], [], [])
    for output in outputs:
        tag = output.tag if isinstance(output, TaggedOutput) else None
        value = output.value if isinstance(output, TaggedOutput) else output
        value = value.value if isinstance(value, WindowedValue) else value
        if tag is None:
            found.blocks.append(value)
            found.records.extend((key.decode(), EncodedRecord(record)) for key, record in unpack(value[1]))
        else:
            assert tag in ("quarantine", "outcomes")
            getattr(found, tag).append(value)
    return found


def bundles_of(parts: list[Part], bundle_bytes: int | None = None, buckets: int = 1) -> Iterator[Bundle]:
    """Yields what each bundle gives when a runner that knows no more than to defer reads the parts."""
    do_fn = ReadPart(["ours"], COLUMNS, LIMITS, buckets, bundle_bytes=bundle_bytes)
    waiting = [(part, PartRestrictionProvider().initial_restriction(part)) for part in parts]
    while waiting:
        taken, waiting = waiting, []
        do_fn.start_bundle()
        given: list[Any] = []
        for part, restriction in taken:
            tracker = ThreadsafeRestrictionTracker(PartRestrictionProvider().create_tracker(restriction))
            given += do_fn.process(part, RestrictionTrackerView(tracker))
            tracker.check_done()
            deferred = tracker.deferred_status()
            if deferred is not None:
                waiting.append((part, deferred[0]))
        yield bundle_of([*given, *do_fn.finish_bundle()])


def read(path: Path, side: int = 0) -> tuple[dict[str, EncodedRecord], list[Quarantined], Sums]:
    """Returns the records by sample_id, the quarantine and the outcomes of one file."""
    records: dict[str, EncodedRecord] = {}
    quarantine: list[Quarantined] = []
    counted = Sums()
    for file in match_files(side, [str(path)], "--predictions"):
        for given in bundles_of(list(split_file(file, files.part_size([file])))):
            records.update(given.records)
            quarantine += given.quarantine
            assert {each for each, _ in given.outcomes} <= {side}
            counted = Sums.merged([counted, *(counts for _, counts in given.outcomes)])
    return records, quarantine, counted


GOOD = b'{"sample_id": "good", "text": "t"}'
BAD: dict[str, tuple[bytes, str, str]] = {
    "no json": (b"{oops", "unreadable", "this is not JSON: "),
    "cut off": (GOOD[:-2], "unreadable", "this is not JSON: Input data was truncated"),
    "two records": (GOOD + GOOD, "unreadable", "this is not JSON: JSON is malformed: trailing characters"),
    "NaN": (b'{"sample_id": "a", "x": NaN}', "unreadable", "; NaN and Infinity are not JSON"),
    "Infinity": (b'{"sample_id": "a", "x": -Infinity}', "unreadable", "; NaN and Infinity are not JSON"),
    "id is not UTF-8": (b'{"sample_id": "\xff"}', "unreadable", "'utf-8' codec can't decode byte 0xff"),
    "id is a lone surrogate": (b'{"sample_id": "\\ud800 and more text"}', "unreadable", "this is not JSON: "),
    "raw NUL": (b'{"sample_id": "a", "text": "\x00"}', "unreadable", "this is not JSON: "),
    "UTF-16": ('{"sample_id": "a"}'.encode("utf-16"), "unreadable", "this is not JSON: "),
    "no id": (b'{"text": "t"}', "no_sample_id", "there is no sample_id; every record needs one, a string"),
    "id is a fraction": (
        b'{"sample_id": 7.0}',
        "no_sample_id",
        "sample_id must be a string or an integer: Expected `str`, got `float`",
    ),
    "id is true": (
        b'{"sample_id": true}',
        "no_sample_id",
        "sample_id must be a string or an integer: Expected `str`, got `bool`",
    ),
    "id is null": (
        b'{"sample_id": null}',
        "no_sample_id",
        "sample_id must be a string or an integer: Expected `str`, got `null`",
    ),
    "id is a list": (
        b'{"sample_id": ["a"]}',
        "no_sample_id",
        "sample_id must be a string or an integer: Expected `str`, got `array`",
    ),
    "id is empty": (b'{"sample_id": ""}', "no_sample_id", "sample_id must have 1 to 1024 characters, not 0"),
    "id is too long": (
        json.dumps({"sample_id": "x" * (MAX_SAMPLE_ID_LENGTH + 1)}).encode(),
        "no_sample_id",
        "sample_id must have 1 to 1024 characters, not 1025",
    ),
    "array": (b'[{"sample_id": "a"}]', "no_sample_id", "a record must be an object with a sample_id: "),
    "text": (b'"sample_id"', "no_sample_id", "a record must be an object with a sample_id: "),
    "too large": (
        json.dumps({"sample_id": "a", "text": "x" * 2500}).encode(),
        "too_large",
        "the record has 2531 bytes, more than the 2500 of limits.record_bytes",  # 30 around the text, and the line end
    ),
    "too deep": (
        b'{"sample_id": "a", "x": ' + b"[" * 6 + b"]" * 6 + b"}",
        "too_deep",
        "the record is nested deeper than the 6 levels of limits.depth",
    ),
    "brackets": (b"[" * 1900, "too_deep", "the record is nested deeper than the 6 levels of limits.depth"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_line_is_put_aside_and_its_neighbours_are_read(tmp_path: Path, what: str) -> None:
    line, cause, message = BAD[what]
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD.replace(b"good", b"first") + b"\n" + line + b"\n" + GOOD + b"\n")
    records, quarantine, outcomes = read(path)
    assert list(records) == ["first", "good"]
    assert outcomes == Sums.of({"read": 3, "rejected": 1})
    (entry,) = quarantine
    assert (entry.side, entry.sample_id, entry.source, entry.stage) == ("ours", None, str(path), "read")
    assert (entry.position, entry.line) == (len(GOOD) + 2, 2)  # `first` has one letter more than `good`
    assert entry.cause == cause
    assert message in entry.error
    assert entry.text == line.decode("utf-8", "replace")[:2000]


@pytest.mark.parametrize(
    "sample_id", ["a", "é" * MAX_SAMPLE_ID_LENGTH, "\x00", "\u202e\u200b", " ", "0:1", "\U0001f600"]
)
def test_any_text_of_fitting_length_is_a_sample_id(tmp_path: Path, sample_id: str) -> None:
    path = tmp_path / "a.jsonl"
    text = json.dumps({"sample_id": sample_id}, ensure_ascii=sample_id == "\x00").encode()
    path.write_bytes(text)
    records, quarantine, _ = read(path)
    assert list(records) == [sample_id]
    assert quarantine == []


def test_a_record_is_framed_as_it_stands_with_its_origin(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" + GOOD + b"\r\n")
    records, _, _ = read(path, GROUND_TRUTH)
    encoded = records["good"]
    assert encoded.payload == GOOD
    assert (encoded.origin.side, encoded.origin.position, encoded.origin.line) == (GROUND_TRUTH, 1, 2)
    assert encoded.origin.path == str(path)


def test_records_of_exactly_the_largest_size_and_depth_are_read(tmp_path: Path) -> None:
    large = json.dumps({"sample_id": "large", "text": ""}).encode()
    large = large.replace(b'""', b'"' + b"x" * (LIMITS.record_bytes - len(large)) + b'"')
    deep = b'{"sample_id": "deep", "x": ' + b"[" * 5 + b"]" * 5 + b"}"
    path = tmp_path / "a.jsonl"
    for end in (b"\n", b"\r\n"):
        path.write_bytes(large + end + deep + end + large.replace(b"large", b"larGe"))
        records, quarantine, outcomes = read(path)
        assert list(records) == ["large", "deep", "larGe"]
        assert quarantine == []
        assert outcomes == Sums.of({"read": 3})


def test_bad_rows_of_parquet_are_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    ids = [None, "", "broken", "deep", "large", "good", "x" * 1025]
    rules = ["[]", "[]", "[", "[" * 7 + "]" * 7, json.dumps(["x" * 2500]), '["fine"]', None]
    pq.write_table(pa.table({"sample_id": ids, "rules": rules, "unwanted": ["y" * 3000] * 7}), path)
    records, quarantine, outcomes = read(path)
    assert records["good"].decode(dict[str, Any]) == {"sample_id": "good", "rules": ["fine"]}
    assert outcomes == Sums.of({"read": 7, "rejected": 6})
    assert [(entry.position, entry.line, entry.sample_id, entry.cause, entry.error) for entry in quarantine] == [
        (0, 1, None, "no_sample_id", "sample_id must be a string or an integer, not null"),
        (1, 2, None, "no_sample_id", "sample_id must have 1 to 1024 characters, not 0"),
        (2, 3, "broken", "unreadable", "column rules holds no JSON: Input data was truncated"),
        (3, 4, "deep", "unreadable", "column rules is nested deeper than the 6 levels of limits.depth"),
        (4, 5, "large", "too_large", quarantine[4].error),
        (6, 7, None, "no_sample_id", "sample_id must have 1 to 1024 characters, not 1025"),
    ]
    assert "more than the 2500 of limits.record_bytes" in quarantine[4].error
    assert quarantine[4].text == "null", "nothing of it was made a record"


def test_integers_are_ids_by_their_decimal_text_in_every_format(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.parquet", "a.jsonl", "b.jsonl")]
    pq.write_table(pa.table({"sample_id": pa.array([7, -12])}), paths[0])
    paths[1].write_text('{"sample_id": 7}\n{"sample_id": -12}\n')
    paths[2].write_text('{"sample_id": "7"}\n{"sample_id": -12}\n')
    for path in paths:
        records, quarantine, _ = read(path)
        assert (list(records), quarantine) == (["7", "-12"], [])
        assert [record.decode(dict[str, Any]) for record in records.values()] == [
            {"sample_id": "7"},
            {"sample_id": "-12"},
        ]


def test_integers_are_no_ids_where_the_configuration_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COLUMNS, 0, replace(COLUMNS[0], fields=FieldMap(integer_ids=False)))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": pa.array([7])}), path)
    (tmp_path / "a.jsonl").write_text('{"sample_id": 7}\n')
    messages = {
        path: "sample_id must be a string, not int; set sample_id_type: any to accept integers",
        tmp_path / "a.jsonl": "sample_id must be a string: Expected `str`, got `int` - at `$.sample_id`; "
        "set sample_id_type: any to accept integers",
    }
    for path, message in messages.items():
        _, (entry,), _ = read(path)
        assert (entry.cause, entry.error) == ("no_sample_id", message)


@for_any(st.integers(-(10**30), 10**30) | st.text(min_size=1, max_size=5) | st.integers().map(str))
def test_an_id_of_a_line_is_that_of_a_value(sample_id: int | str) -> None:
    """An integer and its decimal text are one sample; no other text is changed."""
    fields = FieldMap()
    assert fields.sample_id(sample_id) == str(sample_id)
    line = json.dumps({"text": "t", "sample_id": sample_id}).encode()
    assert json.loads(fields.of_json(line)) == {"text": "t", "sample_id": str(sample_id)}
    assert fields.of_values({"sample_id": sample_id}) == {"sample_id": str(sample_id)}


def test_sides_have_names() -> None:
    assert side_name(GROUND_TRUTH, ["a", "b"]) == "ground_truth"
    assert side_name(1, ["a", "b"]) == "b"


def sides_and_ids(bucket: int, block: bytes) -> list[tuple[int, str]]:
    return [(EncodedRecord(record).origin.side, key.decode()) for key, record in unpack(block)]


def test_the_transform_reads_all_files_of_all_sides_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_PER_PART", 40)
    for name, ids in [("t1", "abc"), ("t2", "d"), ("p", "abdx")]:
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps({"sample_id": each}) + "\n" for each in ids) + "bad\n"
        )
    given = match_files(GROUND_TRUTH, [f"{tmp_path}/t*.jsonl"], "") + match_files(0, [f"{tmp_path}/p.jsonl"], "")
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        outputs = pipeline | ReadRecords(given, ["ours"], COLUMNS, LIMITS)
        sides = outputs.records | beam.FlatMapTuple(sides_and_ids)
        causes = outputs.quarantine | beam.Map(lambda entry: (entry.side, entry.cause))
        outcomes = (
            outputs.outcomes | beam.CombinePerKey(Sums.merged) | beam.MapTuple(lambda side, sums: (side, sums.units()))
        )
        expected = [*((-1, each) for each in "abcd"), *((0, each) for each in "abdx")]
        assert_that(sides, equal_to(expected), label="records")
        assert_that(
            causes, equal_to([*[("ground_truth", "unreadable")] * 2, ("ours", "unreadable")]), label="quarantine"
        )
        counts = [(-1, Sums.of({"read": 6, "rejected": 2}).units()), (0, Sums.of({"read": 5, "rejected": 1}).units())]
        assert_that(outcomes, equal_to(counts), label="outcomes")


@for_any(
    sizes=st.lists(st.integers(0, 60), max_size=30),
    per_block=st.integers(1, 7),
    per_bundle=st.integers(1, 300),
    ending=st.sampled_from(["jsonl", "jsonl.gz", "parquet", "arrow", "csv", "tsv.gz"]),
)
def test_bundles_that_defer_the_rest_give_every_record_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], per_block: int, per_bundle: int, ending: str
) -> None:
    records = [{"sample_id": str(number), "text": "x" * size} for number, size in enumerate(sizes)]
    path = tmp_path_factory.mktemp("deferred") / f"records.{ending}"
    if ending == "parquet":
        schema = pa.schema([("sample_id", pa.string()), ("text", pa.string())])
        pq.write_table(pa.Table.from_pylist(records, schema=schema), path, row_group_size=5)
    elif ending == "arrow":
        write_arrow(path, records, 5)
    elif "sv" in ending:
        write_delimited(path, records)
    else:
        write_lines(path, records)
    (file,) = match_files(0, [str(path)], "--predictions")
    parts = list(split_file(file, 200))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(read_module, "RECORDS_PER_BLOCK", per_block)
        bundles = list(bundles_of(parts, per_bundle))
    found = [record for given in bundles for record in given.records]
    assert sorted(int(sample_id) for sample_id, _ in found) == list(range(len(records)))
    first_line = 2 if "sv" in ending else 1
    assert {int(sample_id): record.origin.line for sample_id, record in found} == {
        number: number + first_line for number in range(len(records))
    }
    for given in bundles:
        in_order = sorted(given.records, key=lambda record: record[1].origin)
        sizes_given = [len(record.encoded) for _, record in in_order]
        # A block is given when it has `per_block` records, and up to as many may come together.
        assert sum(sizes_given[: -2 * per_block or None]) < per_bundle, "no more than a block beyond the limit"
    read = [counts["read"] for given in bundles for _, counts in given.outcomes]
    assert sum(read) == len(records)


def test_the_runner_reads_on_what_bundles_deferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_module, "RECORDS_PER_BLOCK", 3)
    ids = [str(number) for number in range(100)]
    write_lines(tmp_path / "t.jsonl.gz", [{"sample_id": each} for each in ids])
    given = match_files(GROUND_TRUTH, [f"{tmp_path}/t.jsonl.gz"], "")
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        outputs = pipeline | ReadRecords(given, ["ours"], COLUMNS, LIMITS, bundle_bytes=200)
        found = outputs.records | beam.FlatMapTuple(sides_and_ids) | beam.Values()
        assert_that(found, equal_to(ids), label="records")
        outcomes = outputs.outcomes | beam.MapTuple(lambda _, sums: sums["read"]) | beam.CombineGlobally(sum)
        assert_that(outcomes, equal_to([100.0]), label="outcomes")


def distinct(count: int) -> list[dict[str, str]]:
    """Returns records that hardly compress."""
    numbers = random.Random(5)
    return [{"sample_id": str(each), "text": numbers.randbytes(600).hex()} for each in range(count)]


def stored(path: Path, records: list[dict[str, str]], members: int) -> Path:
    """Writes records as the name says: compressed as that many members, or as so many row groups."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=len(records) // members, compression="none")
        return path
    lines = [json.dumps(each).encode() + b"\n" for each in records]
    compress: Any = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd.compress}.get(path.suffix, bytes)
    size = len(lines) // members
    path.write_bytes(b"".join(compress(b"".join(lines[at : at + size])) for at in range(0, len(lines), size)))
    return path


@pytest.mark.parametrize(
    ("ending", "members"),
    [
        *((ending, members) for ending in ("jsonl.gz", "jsonl.bz2", "jsonl.zst", "parquet") for members in (1, 20)),
        ("jsonl", 20),
    ],
)
def test_a_file_is_read_about_once_however_often_its_rest_is_deferred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, members: int
) -> None:
    """Forty bundles: reading each from the start of the file would read it twenty times."""
    path = stored(tmp_path / f"a.{ending}", distinct(1600), members)
    monkeypatch.setattr(read_module, "KEPT_READERS", KeptReaders(1))
    monkeypatch.setattr(read_module, "RECORDS_PER_BLOCK", 16)
    (file,) = match_files(0, [str(path)], "--predictions")
    with counted_reads() as sizes:
        (part,) = split_file(file, 1 << 30)
        before = sum(sizes)
        bundles = list(bundles_of([part], 50_000))
    assert len(bundles) >= 30
    given = [sample_id for bundle in bundles for sample_id, _ in bundle.records]
    assert given == [str(number) for number in range(1600)]
    read_module.KEPT_READERS.close()
    assert (sum(sizes) - before) / path.stat().st_size < 1.3


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet", "arrow", "csv"])
def test_what_one_worker_leaves_another_reads(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.transforms.blocks.BYTES_PER_BLOCK", 1)
    monkeypatch.setattr(read_module, "RECORDS_PER_BLOCK", 16)
    path = tmp_path / f"a.{ending}"
    if ending == "arrow":
        write_arrow(path, distinct(400), 7)
    elif ending == "csv":
        write_delimited(path, distinct(400))
    else:
        stored(path, distinct(400), 4)
    (file,) = match_files(0, [str(path)], "--predictions")
    (part,) = split_file(file, 1 << 30)
    provider = PartRestrictionProvider()
    assert provider.restriction_size(part, provider.initial_restriction(part)) == part.size

    def read_range(records: OffsetRange, stop: int | None = None) -> tuple[list[str], Any]:
        """Reads as a worker that has kept no reader, of which the runner wants the rest after `stop` records."""
        tracker = ThreadsafeRestrictionTracker(provider.create_tracker(records))
        do_fn = ReadPart(["ours"], COLUMNS, LIMITS)
        do_fn.start_bundle()
        given, split = [], None
        for output in do_fn.process(part, RestrictionTrackerView(tracker)):
            given.append(output)
            if len(given) == stop:
                split = tracker.try_split(0)
                assert tracker.try_split(0) is None
        tracker.check_done()
        return [sample_id for sample_id, _ in bundle_of(given).records], split

    ids = [str(number) for number in range(400)]
    first, (done, rest) = read_range(provider.initial_restriction(part), 200)
    assert first == ids[: done.stop], "the block that is being given is given"
    assert 200 <= done.stop <= 200 + read_module.RECORDS_PER_BLOCK
    assert (done.start, rest) == (0, OffsetRange(done.stop, PART_END))
    assert read_range(rest)[0] == ids[done.stop :]
    assert read_range(done)[0] == first, "a bundle that failed is run again"


def test_a_part_is_split_only_behind_what_is_claimed_and_done_at_its_end() -> None:
    tracker = RecordRangeTracker(OffsetRange(2, PART_END))
    with pytest.raises(ValueError, match="not been claimed"):
        tracker.check_done()
    assert tracker.try_claim(4)
    assert tracker.try_split(0.5) is None
    with pytest.raises(ValueError, match="not been claimed"):
        tracker.check_done()
    assert tracker.try_split(0) == (OffsetRange(2, 5), OffsetRange(5, PART_END))
    assert tracker.try_split(0) is None
    assert not tracker.try_claim(8)
    assert tracker.is_bounded()
    tracker.check_done()


def test_readers_are_kept_once_and_the_oldest_is_closed() -> None:
    kept, closed = KeptReaders(2), []

    def reader(name: str) -> Any:
        try:
            while True:
                yield [name]
        finally:
            closed.append(name)

    for name in "abc":
        found = reader(name)
        next(found)
        kept.keep(("p", name), found)
    assert closed == ["a"]
    assert kept.take(("p", "a")) is None
    assert kept.take(("q", "b")) is None
    taken: Any = kept.take(("p", "b"))
    assert next(taken) == ["b"]
    assert kept.take(("p", "b")) is None


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_the_outcomes_tell_which_columns_have_a_value(tmp_path: Path, ending: str) -> None:
    records: list[Any] = [{"sample_id": "a", "text": "t", "page": None, 'k"\n': None}] * 40
    path = stored(tmp_path / f"a.{ending}", [*records, {**records[0], 'k"\n': "late"}], 1)
    columns = {GROUND_TRUTH: SideColumns(None, frozenset(), ("page", "text", 'k"\n', "never"))}
    do_fn = ReadPart([], columns, LIMITS)
    (file,) = match_files(GROUND_TRUTH, [str(path)], "")
    (part,) = split_file(file, 1 << 30)
    do_fn.start_bundle()
    tracker = ThreadsafeRestrictionTracker(RecordRangeTracker(PartRestrictionProvider().initial_restriction(part)))
    given = [*do_fn.process(part, RestrictionTrackerView(tracker)), *do_fn.finish_bundle()]
    (outcome,) = bundle_of(given).outcomes
    assert outcome == (-1, Sums.of({"read": 41, "rejected": 0, presence("text"): 1, presence('k"\n'): 1}))


def test_a_row_of_exactly_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    head = len(msgspec.msgpack.encode({"sample_id": "a", "text": "x" * 2000})) - 2000
    for extra in (0, 1):
        pq.write_table(pa.table({"sample_id": ["a"], "text": ["x" * (LIMITS.record_bytes - head + extra)]}), path)
        records, quarantine, _ = read(path)
        assert (len(records), len(quarantine)) == (1 - extra, extra)
        assert [entry.cause for entry in quarantine] == ["too_large"] * extra
