"""Draws samples, each to a file."""

from __future__ import annotations

import hashlib
import posixpath
import re
import time
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import apache_beam as beam
import msgspec

from ..metrics.benchmark import Benchmark, DrawnPair, RejectedRecord, error_text, record_fields
from ..metrics.common.svg import ImageSize, with_picture
from ..metrics.scoring import draw_pairs, score_pairs
from .io.storage import output_problems, write_file
from .pictures import find_picture
from .process import faults_end_the_bundle
from .records import writable
from .repeats import label_of, score_batch
from .scored import BatchDecoder, PairedSample, ScoringPlan

PICTURE, PROBLEM = ".svg", ".problem"
MAX_NAME_LENGTH = 200
DRAWN_TOGETHER = 200
"""Samples per batch: their records and drawings are in memory together."""


def draw_together(draw: beam.DoFn) -> beam.PTransform:
    """Draws the samples of a bundle in batches, which may share the cost; `draw` processes a list of them at a time."""
    return beam.BatchElements(DRAWN_TOGETHER, DRAWN_TOGETHER, clock=time.perf_counter) | beam.ParDo(draw)


class Draw(beam.DoFn):
    """Draws samples of a benchmark. places: the paths of their real pictures, see `pictures`."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any], places: str | None) -> None:
        self._benchmark = benchmark
        self._places = places

    def setup(self) -> None:
        """Sets up the benchmark."""
        with faults_end_the_bundle("the start of drawing"):
            self._benchmark.setup()

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._benchmark.teardown()


class DrawSamples(Draw):
    """Draws samples with the prediction of the first system, each to a file of its own; see `staged_name`.

    One that cannot be drawn has a file that says why; one that is drawn without its real picture has both files.
    repeats: whether samples may have several predictions; the worst is drawn.
    """

    def __init__(self, benchmark: Benchmark[Any, Any, Any], prefix: str, places: str | None, repeats: bool) -> None:
        super().__init__(benchmark, places)
        self._prefix = prefix
        self._repeats = repeats

    def process(self, samples: Sequence[PairedSample]) -> None:
        """Writes a file for each sample of a batch."""
        if self._repeats:
            samples = self._of_worst(samples)
        pictures = {
            each.sample_id: find_picture(each.truth.json(), each.sample_id, each.truth.origin.path, self._places)
            for each in samples
        }
        decoded = {sample.sample_id: self._decoded(sample, pictures[sample.sample_id].size) for sample in samples}
        pairs = [each for each in decoded.values() if isinstance(each, DrawnPair)]
        with faults_end_the_bundle("drawing"):
            drawn = dict(zip((pair.sample_id for pair in pairs), draw_pairs(self._benchmark, pairs), strict=True))
        rejected = {name: each for name, each in decoded.items() if isinstance(each, RejectedRecord)}
        for sample_id, result in (drawn | rejected).items():
            ending, text = (PICTURE, result) if isinstance(result, str) else (PROBLEM, result.message)
            picture = pictures[sample_id]
            text = with_picture(_NOT_XML.sub("\ufffd", text), picture.address)
            with output_problems(posixpath.dirname(self._prefix)):
                write_file(staged_name(self._prefix, sample_id, ending), text.encode())
                if ending == PICTURE and picture.problem:
                    write_file(staged_name(self._prefix, sample_id, PROBLEM), writable(picture.problem).encode())

    def _of_worst(self, samples: Sequence[PairedSample]) -> Sequence[PairedSample]:
        """Returns the samples, each with the prediction of its worst repeat."""
        plan = ScoringPlan(self._benchmark, "wrong", ("",), repeats=True)
        of_first = [each for sample in samples for each in sample.predictions if each is not None and each.side == 0]
        labels = [(0, label_of(each)) for each in of_first]
        with faults_end_the_bundle("scoring"):
            return score_batch(BatchDecoder(plan), samples, labels, partial(score_pairs, self._benchmark))[0]

    def _decoded(self, sample: PairedSample, size: ImageSize | None) -> DrawnPair[Any, Any] | RejectedRecord:
        frame = sample.predictions[0]
        try:
            truth = sample.truth.decode(self._benchmark.truth_type)
            prediction = None if frame is None else frame.decode(self._benchmark.prediction_type)
        except (msgspec.DecodeError, RecursionError) as error:
            return RejectedRecord("sample", error_text(error))
        if _has_no_field(truth) and (prediction is None or _has_no_field(prediction)):
            field = next(iter(record_fields(self._benchmark.truth_type)))
            problem = f"its records have no field that {self._benchmark.name} reads, such as {field}"
            return RejectedRecord("sample", problem)
        return DrawnPair(sample.sample_id, truth, prediction, image=size)


def _has_no_field(record: msgspec.Struct) -> bool:
    """Returns whether all fields of a record are null."""
    return all(getattr(record, name) is None for name in record.__struct_fields__)


def staged_name(prefix: str, sample_id: str, ending: str) -> str:
    """Returns the name of the file of a sample until all are drawn."""
    return f"{prefix}-{_digest(sample_id)}{ending}"


def file_name(sample_id: str) -> str:
    """Returns the name of a picture: the sample_id, with all but letters, digits and `-_.~` percent-encoded.

    It is valid on any filesystem, and stays below its folder; if it is too long or begins with a dot, it contains
    a hash.
    """
    name = quote(sample_id.encode("utf-8", "surrogatepass"), safe="")
    if len(name) > MAX_NAME_LENGTH or not name or name.startswith("."):
        name = f"{_digest(sample_id)}-{name[:MAX_NAME_LENGTH].lstrip('.')}"
    return name + PICTURE


def _digest(sample_id: str) -> str:
    return hashlib.blake2b(sample_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, such as control characters in the text of a prediction."""
