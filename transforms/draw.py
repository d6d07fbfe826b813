"""Draws samples, each to a file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import apache_beam as beam

from ..metrics.benchmark import Benchmark, RejectedRecord
from ..metrics.common.errors import ENVIRONMENT_FAULTS, explain
from ..metrics.record_fields import record_fields
from .faults import faults_end_the_bundle
from .io.storage import write_file
from .scored_batch import PairedSample
from .scored_sample import has_no_field

PICTURE, PROBLEM = ".svg", ".problem"
MAX_NAME_LENGTH = 200


class DrawSamples(beam.DoFn):
    """Draws samples with the prediction of the first system, each to a file of its own; see `staged_name`.

    A sample that cannot be drawn has a file that says why.
    """

    def __init__(self, benchmark: Benchmark[Any, Any, Any], prefix: str) -> None:
        self._benchmark = benchmark
        self._prefix = prefix

    def setup(self) -> None:
        """Makes what the benchmark needs."""
        with faults_end_the_bundle("the start of drawing"):
            self._benchmark.setup()

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._benchmark.teardown()

    def process(self, samples: Sequence[PairedSample]) -> None:
        """Writes a file for each sample."""
        for sample in samples:
            with faults_end_the_bundle("drawing"):
                ending, text = self._draw(sample)
            write_file(staged_name(self._prefix, sample.sample_id, ending), _NOT_XML.sub("\ufffd", text).encode())

    def _draw(self, sample: PairedSample) -> tuple[str, str]:
        frame = sample.predictions[0]
        try:
            truth = sample.truth.decode(self._benchmark.truth_type)
            prediction = None if frame is None else frame.decode(self._benchmark.prediction_type)
            if has_no_field(truth) and (prediction is None or has_no_field(prediction)):
                field = next(iter(record_fields(self._benchmark.truth_type)))
                return PROBLEM, f"its records have no field that {self._benchmark.name} reads, such as {field}"
            return PICTURE, self._benchmark.draw(truth, prediction)
        except RejectedRecord as error:
            return PROBLEM, error.message
        except ENVIRONMENT_FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a sample does to its drawing, others are drawn
            return PROBLEM, explain(error)


def staged_name(prefix: str, sample_id: str, ending: str) -> str:
    """Returns the name of the file that a sample has until all are drawn."""
    return f"{prefix}-{_digest(sample_id)}{ending}"


def file_name(sample_id: str) -> str:
    """Returns the name of a picture: the sample_id, with all but letters, digits and `-_.~` percent-encoded.

    It is a name on any filesystem, below the folder that it is put in; where it is too long or begins with a dot, it
    has a hash in it.
    """
    name = quote(sample_id.encode("utf-8", "surrogatepass"), safe="")
    if len(name) > MAX_NAME_LENGTH or not name or name.startswith("."):
        name = f"{_digest(sample_id)}-{name[:MAX_NAME_LENGTH].lstrip('.')}"
    return name + PICTURE


def _digest(sample_id: str) -> str:
    return hashlib.blake2b(sample_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, such as control characters in the text of a prediction."""
