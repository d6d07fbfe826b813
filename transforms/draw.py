"""Draws one sample to a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from metrics.benchmark import Benchmark, RejectedRecord
from metrics.common.errors import explain
from transforms.io.storage import write_file
from transforms.pair import PairedSample
from transforms.records import InputProblem


class DrawSample(beam.DoFn):
    """Draws the only sample of a batch, with the prediction of the first system, and writes the picture to `output`.

    Raises InputProblem where it cannot be drawn.
    """

    def __init__(self, benchmark: Benchmark[Any, Any, Any], output: str) -> None:
        self._benchmark = benchmark
        self._output = output

    def setup(self) -> None:
        """Makes what the benchmark needs."""
        self._benchmark.setup()

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._benchmark.teardown()

    def process(self, samples: Sequence[PairedSample]) -> None:
        """Writes the picture of the one sample there is."""
        (sample,) = samples
        frame = sample.predictions[0]
        try:
            truth = sample.truth.decode(self._benchmark.truth_type)
            prediction = None if frame is None else frame.decode(self._benchmark.prediction_type)
            picture = self._benchmark.draw(truth, prediction)
        except Exception as error:
            message = error.message if isinstance(error, RejectedRecord) else explain(error)
            raise InputProblem(f"--sample {sample.sample_id}: cannot be drawn: {message}") from error
        write_file(self._output, _NOT_XML.sub("\ufffd", picture).encode())


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, such as control characters in the text of a prediction."""
