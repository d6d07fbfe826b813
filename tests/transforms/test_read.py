"""What a reader makes of each record of a file or a collection, good and bad, however its bundles are cut."""

import dataclasses
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.restriction_trackers import OffsetRange
from apache_beam.runners.sdf_utils import RestrictionTrackerView, ThreadsafeRestrictionTracker
from hypothesis import given, strategies as st

from beamscore.metrics.statistics.sums import Sums
from beamscore.transforms import read as read_module
from beamscore.transforms.blocks import unpack
from beamscore.transforms.hashes import bucket_of
from beamscore.transforms.io import readers
from beamscore.transforms.io.field_map import WITH_FIELDS, FieldMap, SideColumns, column_counter, record_json
from beamscore.transforms.io.files import FilePart
from beamscore.transforms.io.readers import RecordLimits
from beamscore.transforms.read import EncodeBundle, PartRestrictionProvider, ReadPart, ReadPlan
from beamscore.transforms.records import GROUND_TRUTH, Cause, EncodedRecord, InputProblem, Origin, Quarantined
from tests.laws import tries
from tests.transforms.samples import bundle, by_tag, counted_reads, parts_of, store

COLUMNS = {
    GROUND_TRUTH: SideColumns(frozenset({"text"}), frozenset()),
    0: SideColumns(frozenset({"text", "rules"}), frozenset({"rules"})),
}
WORDS = SideColumns(None, frozenset({"words"}), ("kind",), texts={"text": True})
LIMITS = RecordLimits(record_bytes=2500, depth=6)


class Bundle(NamedTuple):
    records: list[tuple[str, EncodedRecord]]
    quarantine: list[Quarantined]
    outcomes: list[tuple[int, Sums]]


def bundles_of(
    parts: Sequence[FilePart], bundle_bytes: int | None = None, columns: Any = COLUMNS, forgets: bool = False
) -> Iterator[Bundle]:
    """Yields what each bundle gives when a runner defers all else; forgets: to a worker without the last reader."""
    do_fn = ReadPart(ReadPlan(("ours",), columns, LIMITS, bundle_bytes=bundle_bytes))
    provider = PartRestrictionProvider()
    waiting = [(part, provider.initial_restriction(part)) for part in parts]
    while waiting:
        taken, waiting = waiting, []
        do_fn.start_bundle()
        outputs: list[Any] = []
        for part, restriction in taken:
            tracker = ThreadsafeRestrictionTracker(provider.create_tracker(restriction))
            outputs += do_fn.process(part, RestrictionTrackerView(tracker))
            tracker.check_done()
            deferred = tracker.deferred_status()
            waiting += [] if deferred is None else [(part, deferred[0])]
        found = by_tag([*outputs, *do_fn.finish_bundle()])
        records = [(key.decode(), EncodedRecord(each)) for _, block in found["main"] for key, each in unpack(block)]
        yield Bundle(records, found["quarantine"], found["outcomes"])
        assert len(read_module.KEPT_READERS) <= read_module.MAX_KEPT_READERS
        if forgets:
            read_module.KEPT_READERS.clear()


def read(path: Path, side: int = 0, columns: Any = COLUMNS) -> tuple[dict[str, EncodedRecord], list[Quarantined], Sums]:
    """Returns the records by sample_id, the quarantine and the outcomes of one file."""
    (found,) = bundles_of(parts_of(path, side), None, columns)
    ((counted_side, counts),) = found.outcomes
    assert counted_side == side
    return dict(found.records), found.quarantine, counts


GOOD = b'{"sample_id": "good", "text": "t"}'
NOT_JSON, KIND = "this is not JSON: ", "sample_id must be a string or an integer: Expected `str`, got "
DEEP = "the record is nested deeper than the 6 levels of limits.depth"
BAD: list[tuple[bytes, Cause, str]] = [
    (b"{oops", "unreadable", NOT_JSON),
    *((b'{"sample_id": "' + cut, "unreadable", NOT_JSON + "Input data was truncated") for cut in [
        b"a", b"\\ud83d", b"\\ud83d\\ude0", b'\\\\ud83d"'
    ]),
    *((b'{"sample_id": "%s"}' % text, "unreadable", NOT_JSON + f"a text has half of a character ({half})")
      for text, half in [(b"x \\uD83d", r"\uD83d"), (b"\\ud800 and more text", r"\ud800"), (b"x \\ude00", r"\ude00")]),
    (GOOD + GOOD, "unreadable", NOT_JSON + "JSON is malformed: trailing characters"),
    (b'{"sample_id": "a", "x": NaN}', "unreadable", "; NaN and Infinity are not JSON"),
    (b'{"sample_id": "\xff"}', "unreadable", "this is not JSON: a text is not UTF-8"),
    (b'{"sample_id": "a", "text": "\x00"}', "unreadable", NOT_JSON),
    ('{"sample_id": "a"}'.encode("utf-16"), "unreadable", NOT_JSON),
    (b'{"text": "t"}', "no_sample_id", "sample_id must be a string or an integer: Object missing"),
    *((b'{"sample_id": %s}' % value, "no_sample_id", KIND + f"`{name}`") for value, name in [
        (b"7.0", "float"), (b"true", "bool"), (b"null", "null"), (b'["a"]', "array")
    ]),
    (b'{"sample_id": ""}', "no_sample_id", "sample_id must have 1 to 1024 characters, not 0"),
    (b'{"sample_id": "%s"}' % (b"x" * 1025), "no_sample_id", "sample_id must have 1 to 1024 characters, not 1025"),
    *((line, "unreadable", f"a record must be a JSON object on one line, not `{name}`") for line, name in [
        (b'[{"sample_id": "a"}]', "array"), (b'"a"', "str"), (b"7", "int"), (b"null", "null")
    ]),
    # 17 bytes around the text, and the line end.
    (b'{"sample_id": "%s"}' % (b"x" * 2500), "too_large", "has 2518 bytes, more than the 2500 of limits.record_bytes"),
    (b'{"sample_id": "a", "x": ' + b"[" * 6 + b"]" * 6 + b"}", "too_deep", DEEP),
    (b"[" * 1900, "too_deep", DEEP),
]  # fmt: skip


def test_a_bad_line_is_quarantined_and_its_neighbours_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for line, cause, message in BAD:
        path.write_bytes(GOOD.replace(b"good", b"first") + b"\n" + line + b"\n" + GOOD + b"\n")
        records, (entry,), outcomes = read(path)
        assert (list(records), outcomes) == (["first", "good"], Sums.of({"read": 3, "rejected": 1}))
        # `first` has one letter more than `good`.
        text = line.decode("utf-8", "replace")[:2000]
        assert entry == Quarantined("ours", None, str(path), len(GOOD) + 2, 2, "read", cause, entry.error, text)
        assert message in entry.error


def test_a_record_stands_as_it_is_with_its_origin_whatever_its_id(tmp_path: Path) -> None:
    ids = ["a", "é" * 1024, "\x00", "\u202e\u200b", " ", "0:1", "\U0001f600"]
    lines = [json.dumps({"sample_id": each}, ensure_ascii=each == "\x00").encode() for each in ids]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([b"", GOOD + b"\r", *lines]))
    records, quarantine, _ = read(path, GROUND_TRUTH)
    assert (list(records), quarantine) == (["good", *ids], [])
    assert (records["good"].payload, records["good"].origin) == (GOOD, Origin(1, 2, str(path)))


def test_records_of_exactly_the_largest_size_and_depth_are_read(tmp_path: Path) -> None:
    large = json.dumps({"sample_id": "large", "text": ""}).encode()
    large = large.replace(b'""', b'"' + b"x" * (LIMITS.record_bytes - len(large)) + b'"')
    deep = b'{"sample_id": "deep", "x": ' + b"[" * 5 + b"]" * 5 + b"}"
    for end in (b"\n", b"\r\n"):
        (tmp_path / "a.jsonl").write_bytes(large + end + deep + end + large.replace(b"large", b"larGe"))
        records, quarantine, outcomes = read(tmp_path / "a.jsonl")
        assert (list(records), quarantine, outcomes) == (["large", "deep", "larGe"], [], Sums.of({"read": 3}))
    head = len(msgspec.msgpack.encode({"sample_id": "a", "text": "x" * 2000})) - 2000
    for extra, causes in ((0, []), (1, ["too_large"])):
        store(tmp_path / "a.parquet", [{"sample_id": "a", "text": "x" * (LIMITS.record_bytes - head + extra)}])
        assert [entry.cause for entry in read(tmp_path / "a.parquet")[1]] == causes


def test_bad_rows_of_parquet_are_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    ids = [None, "", "broken", "deep", "large", "good", "x" * 1025, "nan", "brackets"]
    rules = ["[]", "[]", r'["\ud83d"]', "[" * 7 + "]" * 7, json.dumps(["x" * 2500]), '["fine"]', None, "[NaN]"]
    rules.append("[" * 100_000)
    pq.write_table(pa.table({"sample_id": ids, "rules": rules, "unwanted": ["y" * 3000] * 9}), path)
    records, quarantine, outcomes = read(path)
    assert records["good"].decode(dict[str, Any]) == {"sample_id": "good", "rules": ["fine"]}
    assert outcomes == Sums.of({"read": 9, "rejected": 8, WITH_FIELDS: 1})
    assert [(each.position, each.line, each.sample_id, each.cause, each.error) for each in quarantine] == [
        (0, 1, None, "no_sample_id", "sample_id must be a string or an integer: it is null"),
        (1, 2, None, "no_sample_id", "sample_id must have 1 to 1024 characters, not 0"),
        (2, 3, "broken", "unreadable", r"column rules holds no JSON: a text has half of a character (\ud83d)"),
        (3, 4, "deep", "unreadable", "column rules is nested deeper than the 6 levels of limits.depth"),
        (4, 5, "large", "too_large", "the record has 2527 bytes, more than the 2500 of limits.record_bytes"),
        (6, 7, None, "no_sample_id", "sample_id must have 1 to 1024 characters, not 1025"),
        (7, 8, "nan", "unreadable", "column rules holds no JSON: JSON is malformed: invalid character (byte 1)"),
        (8, 9, "brackets", "unreadable", "column rules is nested deeper than the 6 levels of limits.depth"),
    ]
    assert quarantine[2].text == r"""{'rules': '["\\ud83d"]', 'sample_id': 'broken'}""", "its beginning"
    store(path, [{"sample_id": 7}, {"sample_id": None}])
    strings_only = {0: dataclasses.replace(COLUMNS[0], fields=FieldMap(integer_ids=False))}
    assert list(read(path)[0]) == ["7"]
    assert [entry.error for entry in read(path, columns=strings_only)[1]] == [
        "sample_id must be a string; set sample_id_type: any to accept integers: it is int",
        "sample_id must be a string: it is null",
    ]


@tries(60)
@given(
    sizes=st.lists(st.integers(0, 60), max_size=30),
    per_bundle=st.integers(1, 300),
    forgets=st.booleans(),
    ending=st.sampled_from(["jsonl", "jsonl.gz", "parquet", "arrow", "csv", "tsv.gz"]),
)
def test_bundles_that_defer_the_rest_give_every_record_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], per_bundle: int, forgets: bool, ending: str
) -> None:
    records = [{"sample_id": str(number), "text": "x" * size} for number, size in enumerate(sizes)]
    path = store(tmp_path_factory.mktemp("deferred") / f"records.{ending}", records, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "ROWS_PER_BATCH", 3)
        patch.setattr(readers, "BYTES_AT_ONCE", 10)
        bundles = list(bundles_of(parts_of(path, size=200), per_bundle, forgets=forgets))
    found = [record for each in bundles for record in each.records]
    first_line = 2 if "sv" in ending else 1
    lines = sorted((int(sample_id), record.origin.line - first_line) for sample_id, record in found)
    assert lines == [(number, number) for number in range(len(records))]
    for each in bundles:
        in_order = sorted(each.records, key=lambda record: record[1].encoded)
        assert sum(len(record.encoded) for _, record in in_order[:-1]) < per_bundle
    assert sum(counts["read"] for each in bundles for _, counts in each.outcomes) == len(records)


def distinct(count: int) -> list[dict[str, str]]:
    """Returns records that hardly compress."""
    numbers = random.Random(5)
    return [{"sample_id": str(each), "text": numbers.randbytes(600).hex()} for each in range(count)]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_a_file_is_read_about_once_however_often_its_rest_waits(tmp_path: Path, ending: str) -> None:
    """Twenty bundles: reading each from the start of the file would read it ten times."""
    path = store(tmp_path / f"a.{ending}", distinct(800), 800)
    with counted_reads() as sizes:
        (part,) = parts_of(path, size=1 << 30)
        before = sum(sizes)
        bundles = list(bundles_of([part], 50_000))
    assert len(bundles) >= 15
    assert [name for each in bundles for name, _ in each.records] == [str(number) for number in range(800)]
    assert (sum(sizes) - before) / path.stat().st_size < 1.3
    assert not read_module.KEPT_READERS


def test_the_latest_few_readers_wait_for_the_bundle_that_reads_on(tmp_path: Path) -> None:
    paths = [store(tmp_path / f"{number}.jsonl", distinct(2)) for number in range(10)]
    for path in paths:
        next(bundles_of(parts_of(path), 1))
    kept = [part.file.path for _, part, *_ in read_module.KEPT_READERS]  # type: ignore[has-type, misc]
    read_module.KEPT_READERS.clear()
    assert kept == [str(path) for path in paths[-read_module.MAX_KEPT_READERS :]]


def test_what_is_no_list_of_samples_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.transforms.io.files.BYTES_PER_PART", 8)
    path = store(tmp_path / "a.jsonl", [{"sample_id": "a"}, {}])
    with pytest.raises(InputProblem, match=r"/a\.jsonl at byte 19: this is no list of samples: sample_id must be"):
        list(read_module.sample_ids(str(path)))


def test_a_part_is_split_only_behind_what_is_claimed_and_done_at_its_end() -> None:
    tracker = read_module.RecordRangeTracker(OffsetRange(2, read_module.PART_END))
    assert tracker.try_claim(4)
    assert tracker.try_split(0.5) is None
    with pytest.raises(ValueError, match="not been claimed"):
        tracker.check_done()
    assert tracker.try_split(0) == (OffsetRange(2, 5), OffsetRange(5, read_module.PART_END))
    assert tracker.try_split(0) is None
    assert not tracker.try_claim(8)
    tracker.check_done()


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_the_outcomes_tell_which_columns_have_a_value(tmp_path: Path, ending: str) -> None:
    records: list[Any] = [{"sample_id": "a", "text": "t", "page": None, 'k"\n': None}] * 40
    path = store(tmp_path / f"a.{ending}", [*records, {**records[0], 'k"\n': "late"}])
    columns = {GROUND_TRUTH: SideColumns(None, frozenset(), ("page", "text", 'k"\n', "never"))}
    (given,) = bundles_of(parts_of(path, GROUND_TRUTH), None, columns)
    assert given.outcomes == [(-1, Sums.of({"read": 41, column_counter("text"): 1, column_counter('k"\n'): 1}))]


@pytest.mark.parametrize(
    ("records", "path", "count"),
    [
        ([{"text": "t", "rules": []}, {"text": "t"}], "rules", 1),
        # A null is one, too.
        ([{"text": "t", "rules": None}, {"text": "t", "rules": None}], "rules", 1),
        ([{"text": "t"}, {"text": "t"}], "rules", 0),
        # A column does not tell that a value within it is there.
        ([{"out": {"rules": []}}, {"out": None}], "out.rules", 1),
        ([{"out": {"rules": []}}, {"out": None}], "out.ruls", 0),
    ],
)
def test_the_outcomes_tell_whether_a_record_has_a_field_of_the_benchmark(
    tmp_path: Path, records: list[Any], path: str, count: int
) -> None:
    records = [{"sample_id": str(number), **each} for number, each in enumerate(records)]
    columns = SideColumns(None, frozenset({"rules"}), fields=FieldMap.of({"rules": path}))
    for ending in ("jsonl", "parquet", "csv"):
        assert read(store(tmp_path / f"a.{ending}", records), 0, {0: columns})[2][WITH_FIELDS] == count
    ((_, counts),) = bundle(EncodeBundle(ReadPlan(("ours",), {0: columns}, LIMITS), 0, None), *records)["outcomes"]
    assert counts[WITH_FIELDS] == count


# Elements of collections.


def encode(
    elements: Sequence[Any], side: int = 0, buckets: int = 4, columns: SideColumns = WORDS, unpacked: Any = None
) -> tuple[list[tuple[int, str, EncodedRecord]], list[Quarantined]]:
    """Encodes one bundle; returns its records with their buckets and ids, and its quarantine."""
    do_fn = EncodeBundle(ReadPlan(("ours",), {side: columns}, RecordLimits(200, depth=5), buckets), side, unpacked)
    found = bundle(do_fn, *elements)
    assert {each for each, _ in found["outcomes"]} <= {side}
    records = [(bucket, *record) for bucket, block in found["main"] for record in unpack(block)]
    return [(bucket, key.decode(), EncodedRecord(record)) for bucket, key, record in records], found["quarantine"]


def content_hash(record: Any) -> int:
    """63 bits of the 64-bit BLAKE2b of the record as JSON with its keys in order."""
    return int(hashlib.blake2b(record_json(record, is_sorted=True), digest_size=8).hexdigest(), 16) // 2


@given(st.lists(st.tuples(st.text(min_size=1, max_size=3), st.text(max_size=3)), max_size=8), st.integers(1, 9))
def test_the_position_of_an_element_is_the_hash_of_its_content(texts: list[tuple[str, str]], buckets: int) -> None:
    """Whatever the order of its keys. So of duplicates the one with the smallest hash counts; see test_pair."""
    records = [{"sample_id": sample_id, "text": text} for sample_id, text in texts]
    expected = [
        (bucket_of(each["sample_id"].encode(), buckets), each["sample_id"], content_hash(each), each["text"])
        for each in records
    ]
    reordered = [dict(reversed(each.items())) for each in records]
    kept, quarantine = encode([*records, *reordered], GROUND_TRUTH, buckets)
    found = [(bucket, key, each.origin.position, each.decode(dict)["text"]) for bucket, key, each in kept]
    assert (sorted(found), quarantine) == (sorted(expected * 2), [])


def test_an_element_that_cannot_be_read_is_quarantined() -> None:
    for record, cause, error in (
        (3, "unreadable", "a record must be a mapping, not int"),
        ({"sample_id": "a", "text": object}, "unreadable", "text: type cannot be written as JSON"),
        ({"sample_id": "a", (): 1}, "unreadable", "(): Only dicts with str-like"),
        ({"text": "x"}, "no_sample_id", "sample_id must be"),
        ({"sample_id": "a", "text": "x" * 200}, "too_large", "limits.record_bytes"),
        ({"sample_id": "a", "text": [[[[[[1]]]]]]}, "too_deep", "limits.depth"),
        ({"sample_id": "a", "text": "\ud800"}, "unreadable", "JSON"),
        ({"sample_id": "a", "text": 10**5000}, "unreadable", "Exceeds the limit (4300"),
        ({"sample_id": "a", "text": [float("nan")]}, "unreadable", "text: NaN and Infinity are not JSON"),
        ({"sample_id": b"a"}, "unreadable", "sample_id: must be a string, not bytes"),
    ):
        # A NaN within a field that nobody scores is a null.
        found, (entry,) = encode([{"sample_id": "good", "kind": [float("nan")], "more": [float("nan")]}, record])
        assert [sample_id for _, sample_id, _ in found] == ["good"]
        assert (entry.side, entry.stage, entry.cause, entry.line, entry.source) == ("ours", "read", cause, None, "")
        assert error in entry.error
        assert entry.sample_id == ("a" if entry.error.startswith(("text: ", "(): ")) else None)
        assert entry.text


def test_a_field_of_an_element_that_is_not_needed_may_hold_anything_of_any_size() -> None:
    columns = dataclasses.replace(WORDS, wanted=frozenset({"text", "words"}))
    for value in (object(), "x" * 300, float("inf"), [[[[[[1]]]]]]):
        ((_, _, record),), quarantine = encode([{"sample_id": "a", "text": "x", "image": value}], columns=columns)
        assert (record.decode(dict), quarantine) == ({"sample_id": "a", "text": "x"}, [])
    # One that is rejected is shown with the names of its fields.
    _, (entry,) = encode([{"image_id": "a", "text": "x", "tags": ["b"], "image": object()}], columns=columns)
    assert entry.text == '{"image_id":"a","text":"x","tags":"<list>","image":"<object>"}'
    assert entry.position == content_hash({"text": "x"})


def test_what_unpack_raises_rejects_the_element_and_a_fault_of_the_machine_ends_the_bundle() -> None:
    def unpacked(element: Any) -> Any:
        if element == 2:
            raise MemoryError
        if element == 4:
            raise FileNotFoundError("weights.bin")
        return {"sample_id": {0: "a"}[element]} if element < 3 else element

    found, (entry,) = encode([0, 1], unpacked=unpacked)
    assert (len(found), entry.cause, entry.error, entry.text) == (1, "unreadable", "unpack: KeyError: 1", "1")
    assert encode([4], unpacked=unpacked)[1][0].error == "unpack: FileNotFoundError: weights.bin"
    assert encode([3], unpacked=unpacked)[1][0].error == "a record must be a mapping, not int"
    with pytest.raises(InputProblem, match="encoding failed because of this machine"):
        encode([2], unpacked=unpacked)


def test_fields_of_elements_have_other_names_and_hold_json_as_text() -> None:
    columns = dataclasses.replace(WORDS, fields=FieldMap.of({"words": "labels", "sample_id": "key.id"}))
    element = {"key": {"id": 7}, "labels": '["x"]', "words": 3, "page": None}
    ((_, key, record),), quarantine = encode([element], columns=columns)
    assert (key, quarantine) == ("7", [])
    assert json.loads(record.payload) == {"key": {"id": 7}, "labels": ["x"], "words": ["x"], "sample_id": "7"}
    columns = dataclasses.replace(WORDS, fields=FieldMap.of({"words": "x.labels", "note": "x.labels"}))
    for text, words in (('["x"]', ["x"]), ("[", "[")):
        ((_, _, record),), _ = encode([{"sample_id": "a", "x": {"labels": text}}], columns=columns)
        found = record.decode(dict)
        assert (found["words"], found["note"]) == (words, text)


def test_the_columns_of_parquet_are_read_by_path(tmp_path: Path) -> None:
    out = [{"text": "x", "words": '["a"]'}, {"text": None, "words": "no json"}, {"text": "z", "words": None}]
    images = [{"id": 1}, {"id": 2}, None]
    rows = [{"image": image, "out": each, "other": 1} for image, each in zip(images, out, strict=True)]
    fields = FieldMap.of({"sample_id": "image.id", "text": "out.text", "words": "out.words"})
    columns = {0: SideColumns(frozenset({"text", "words"}), frozenset({"words"}), fields=fields)}
    records, rejected, _ = read(store(tmp_path / "a.parquet", rows), columns=columns)
    expected = {"image": {"id": 1}, "out": out[0], "sample_id": "1", "text": "x", "words": ["a"]}
    assert {name: record.decode(dict) for name, record in records.items()} == {"1": expected}
    assert [(entry.sample_id, entry.cause) for entry in rejected] == [("2", "unreadable"), (None, "no_sample_id")]
    assert rejected[0].error.startswith("column words holds no JSON")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_the_depth_is_limited_also_where_a_field_is_within_text(tmp_path: Path, ending: str) -> None:
    deep = [{"sample_id": str(n), "x": json.dumps({"n": json.loads("[" * n + "]" * n)})} for n in (5, 7)]
    columns = SideColumns(None, fields=FieldMap.of({"note": "x.n"}))
    records, (entry,), _ = read(store(tmp_path / f"a.{ending}", deep), columns={0: columns})
    assert (list(records), entry.sample_id) == (["5"], "7")
    assert "is nested deeper than the 6 levels of limits.depth" in entry.error
