"""Beam learns the size of a batch without encoding it, and encodes it where it has to."""

from __future__ import annotations

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.coders import registry
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

import beamscore.transforms.publish
import beamscore.transforms.score  # noqa: F401 - both register coders
from beamscore.transforms.pair import PairedSample
from beamscore.transforms.records import GROUND_TRUTH, JSON, EncodedRecord, Origin
from beamscore.transforms.scored_sample import ScoredSample
from beamscore.transforms.sized_coder import SizedCoder

PAIRED = PairedSample("a", EncodedRecord.of(Origin(GROUND_TRUTH, 0, 0, 1, "f"), JSON, b"{}" * 500), (None,))
SCORED = ScoredSample("a", 0, "scored", None, "a", {}, details=b"1" * 5000)


@pytest.mark.parametrize("value", [PAIRED, SCORED, pa.table({"a": [1, 2]})])
def test_what_travels_in_batches_survives_coding(value: object) -> None:
    coder = registry.get_coder(type(value))
    assert isinstance(coder, SizedCoder)
    assert coder.decode(coder.encode(value)) == value


def test_the_size_of_a_batch_is_known_without_encoding_it(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []

    def encode(_: SizedCoder, value: object) -> bytes:
        encoded.append(value)
        return b""

    monkeypatch.setattr(SizedCoder, "encode", encode)
    size = registry.get_coder(list[PairedSample]).estimate_size([PAIRED] * 3)
    assert 3000 <= size < 4000
    assert registry.get_coder(list[ScoredSample]).estimate_size([SCORED]) >= 5000
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        batches = pipeline | beam.Create(range(50)) | beam.Map(lambda _: [PAIRED]).with_output_types(list[PairedSample])
        assert_that(batches | beam.Map(len) | beam.combiners.Count.Globally(), equal_to([50]))
    assert encoded == []
