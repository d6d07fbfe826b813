"""What is read of random files in every format, and of random elements, is what the last release read."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beamscore.transforms.blocks import unpack
from beamscore.transforms.io.field_map import FieldMap, SideColumns
from beamscore.transforms.io.readers import RecordLimits, read_part
from beamscore.transforms.read import EncodeBundle, ReadPlan, checked_record
from beamscore.transforms.records import EncodedRecord, InputProblem, RecordEncoder
from tests.attacks.corpora import damaged
from tests.metrics.samples import assert_pinned
from tests.transforms.samples import bundle, parts_of, store

READ = {
    "jsonl": "55680691e220c129",
    "csv": "a760dda3e2967657",
    "tsv.gz": "2e3331c3fbed2e03",
    "parquet": "ed40001aaa51c55e",
    "arrow": "49ec4e0de6a8b2b3",
}
PATHS = ("text", "label", "image.id", "image.label", "out.best", "n", "id", r"a\.b", "out.all.x", "missing")
VALUES: tuple[Any, ...] = ("x", "", "7", '{"x": 1}', "[1, 2]", 'a,b\n"c"', "\u202e", "null", " ", "1e999")
OTHERS: tuple[Any, ...] = (None, 3, -0.0, 2.5, True, [1, None], {"x": "y"}, [{"a": []}])


def random_side(rng: random.Random) -> SideColumns:
    """Returns the columns of a side whose fields may lie elsewhere, within others, or nowhere."""
    places = {name: rng.choice(PATHS) for name in ("sample_id", "text", "boxes", "kind") if rng.random() < 0.3}
    fields = FieldMap.of(places, rng.random() < 0.5, frozenset(rng.choice([["kind"], []])))
    wanted = rng.choice([None, frozenset(["text", "boxes", "kind"])])
    structured = frozenset(rng.choice([["boxes"], ["boxes"], []]))
    return SideColumns(wanted, structured, ("kind",), fields.parsing(structured), {"text": rng.random() < 0.5})


def random_records(rng: random.Random, is_plain: bool) -> Iterator[dict[str, Any]]:
    """Yields records with values of one kind in a column where a table needs that."""
    kinds = {
        name: rng.choice([VALUES, VALUES, *([each] for each in OTHERS)]) for name in ("text", "boxes", "kind", "n")
    }
    for number in range(12):
        image: dict[str, Any] = {"id": f"i{number}", "label": rng.choice(VALUES)}
        record: dict[str, Any] = {
            "sample_id": rng.choice([f"s{number}"] * 9 + ["", "x" * 1025]),
            "id": number,
            "image": image,
        }
        record |= {"a.b": "dotted", "out": rng.choice([{"all": None, "best": "b"}, None])}
        for name, values in kinds.items():
            record[name] = rng.choice([rng.choice(values), None] if is_plain else [*VALUES, *OTHERS])
        yield {name: record[name] for name in record if is_plain or rng.random() < 0.9}


@pytest.mark.parametrize("ending", READ)
def test_what_is_read(tmp_path: Path, ending: str) -> None:
    rng, read = random.Random(ending), list[Any]()
    for number in range(40):
        columns, limits = random_side(rng), RecordLimits(rng.choice([90, 1000, 1000, 1000]), rng.choice([2, 9, 9, 9]))
        records = [*random_records(rng, ending != "jsonl")]
        path = store(tmp_path / f"{number}.{ending}", records)
        if ending == "jsonl":
            path.write_bytes(b"\n".join(damaged(rng, records)))
        try:
            for item in (each for part in parts_of(path) for each in read_part(part, columns, limits)):
                encoded, *found = checked_record(RecordEncoder(0, 0, "f"), item, columns.fields, limits)
                read.append([encoded.origin.place, encoded.text(), *found])
        except InputProblem as problem:
            read.append(problem.message.replace(str(path), "f"))
        outputs = bundle(EncodeBundle(ReadPlan(("ours",), {0: columns}, limits, 1), 0, None), *records)
        kept = [
            (key.decode(), EncodedRecord(each).text()) for _, block in outputs["main"] for key, each in unpack(block)
        ]
        read += [kept, [str(each) for each in outputs["quarantine"]], [sums.units() for _, sums in outputs["outcomes"]]]
    assert_pinned(read, READ[ending], tmp_path)
