"""Files with worst-case records for the readers, and files that cannot be read, each beside an ordinary record."""

import base64
import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.pvalue import TaggedOutput
from apache_beam.runners.sdf_utils import RestrictionTrackerView, ThreadsafeRestrictionTracker
from pyarrow.parquet.encryption import CryptoFactory, EncryptionConfiguration, KmsClient, KmsConnectionConfig

from beamscore.transforms.blocks import unpack
from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.readers import RecordLimits
from beamscore.transforms.read import PartRestrictionProvider, ReadPart, ReadPlan
from beamscore.transforms.records import EncodedRecord, InputProblem, zstd
from tests.abuse.run import FAILED, Outcome, isolated
from tests.bench.measure import peak_bytes, processor_seconds

BASE = {"sample_id": "base", "text": "base"}
TABLE = pa.table({"sample_id": ["s"], "text": ["x"]})
COLUMNS = SideColumns(frozenset({"text", "words"}), frozenset({"words"}))


def _brackets_in_a_row(path: Path) -> None:
    columns = {"sample_id": ["before", "deep", "behind"], "words": ["[]", "[" * (15 << 20), "[]"]}
    pq.write_table(pa.table(columns), path, compression="zstd")


def _almost_nan(path: Path) -> None:
    pq.write_table(pa.table({"sample_id": ["s"], "text": [b"\xcb\x7f" * (7 << 20)]}), path)


def _other_codec(code: int, path: Path) -> None:
    # In the metadata of each column chunk, the field before the number of its values.
    pq.write_table(TABLE, path, compression="zstd")
    path.write_bytes(path.read_bytes().replace(b"\x15\x0c\x16\x02", bytes([0x15, 2 * code, 0x16, 2])))


class _Keys(KmsClient):
    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)


def _encrypted(plaintext_footer: bool, path: Path) -> None:
    keys = {"text": ["text"]}
    configuration = EncryptionConfiguration(footer_key="footer", column_keys=keys, plaintext_footer=plaintext_footer)
    properties = CryptoFactory(lambda _: _Keys()).file_encryption_properties(KmsConnectionConfig(), configuration)
    pq.write_table(TABLE, path, encryption_properties=properties)


def _text(make: Callable[[], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(make())


def _record(**fields: Any) -> bytes:
    return json.dumps({"sample_id": "s", **fields}).encode() + b"\n"


FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a codec that nobody has built in": ("parquet", partial(_other_codec, 3)),
    "a codec that does not exist": ("parquet", partial(_other_codec, 31)),
    "an encrypted file": ("parquet", partial(_encrypted, False)),
    "an encrypted column": ("parquet", partial(_encrypted, True)),
    "a line of 1 GB in .zst": ("jsonl.zst", _text(lambda: zstd.compress(b"x" * (1 << 24)) * 64)),
    "a line of 1 GB of spaces in .gz": ("jsonl.gz", _text(lambda: gzip.compress(b" " * (1 << 24)) * 64)),
    "a record of 16 MB of brackets": ("jsonl", _text(lambda: (b"[" * ((16 << 20) - 1) + b"\n") * 4)),
    "a record of 16 MB of empty arrays": ("jsonl", _text(lambda: _record(words=[[]] * 4_000_000))),
    "a record of 16 MB of quotes": ("jsonl", _text(lambda: b"[" * 300 + b'"' * (15 << 20) + b"\n")),
    "a record of 16 MB of backslashes": ("jsonl", _text(lambda: b"[" * 300 + b"\\" * (15 << 20))),
    "a record of 15 MB of emojis that is cut": ("jsonl", _text(lambda: b'{"a":"' + rb"\ud83d\ude00" * 1_300_000)),
    "a record of 16 MB of keys": ("jsonl", _text(lambda: _record(**dict.fromkeys(map(str, range(10**6)), 1)))),
    "a text of 16 MB of brackets in a row": ("parquet", _brackets_in_a_row),
    "14 MB of the beginnings of NaN in a row": ("parquet", _almost_nan),
}


def check() -> Iterator[tuple[str, Outcome]]:
    """Reads each file in a process of its own; another one makes the files, which takes memory too."""
    with tempfile.TemporaryDirectory(prefix="beamscore-abuse-") as folder:
        neighbour = Path(folder) / "z.jsonl"
        neighbour.write_bytes(_record(**BASE))
        for name, (ending, _) in FILES.items():
            path = Path(folder) / f"a.{ending}"
            made = isolated(_write, name, path)
            yield name, made if made.failed else isolated(_read, path, neighbour)
            path.unlink(missing_ok=True)


def _write(name: str, path: Path) -> Outcome:
    FILES[name][1](path)
    return Outcome(0.0, 0, "")


def read(path: str) -> Iterator[Any]:
    (file,) = match_files(0, [path], "--predictions")
    do_fn = ReadPart(ReadPlan(("ours",), {0: COLUMNS}, RecordLimits()))
    do_fn.start_bundle()
    for part in split_file(file, 1 << 30):
        provider = PartRestrictionProvider()
        tracker = ThreadsafeRestrictionTracker(provider.create_tracker(provider.initial_restriction(part)))
        yield from do_fn.process(part, RestrictionTrackerView(tracker))
    for windowed in do_fn.finish_bundle():
        yield windowed if isinstance(windowed, TaggedOutput) else windowed.value


def _read(path: Path, neighbour: Path) -> Outcome:
    """Reads a file and the ordinary one after it; the verdict tells what came of the records."""
    started, counts = processor_seconds(), Counter[str]()
    for each in (path, neighbour):
        held = []
        try:
            for output in read(str(each)):
                if not isinstance(output, TaggedOutput):
                    # A local runner holds what is read until it has all of it.
                    held.append(output)
                elif output.tag == "quarantine":
                    counts[output.value.cause] += 1
        except InputProblem as problem:
            counts[problem.message.partition(": ")[2][:80]] = 1
        records = [record for _, block in held for record in unpack(block)]
        counts["read"] += len(records)
    verdict = ", ".join(f"{count} {what}" for what, count in (counts - Counter(read=1)).items())
    if [(key, EncodedRecord(record).payload) for key, record in records] != [(b"base", _record(**BASE).strip())]:
        verdict = f"{FAILED}the neighbour is not as it should be"
    return Outcome(processor_seconds() - started, peak_bytes(), verdict)
