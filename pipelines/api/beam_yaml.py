"""`Evaluate` as a transform of Beam YAML; see configs/beam_yaml."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
from apache_beam.typehints.row_type import RowTypeConstraint

from .transform import Evaluate, Evaluation

SUMS_ROW = RowTypeConstraint.from_fields([("document", str)])


class EvaluateRows(beam.PTransform):
    """`Evaluate` with the outputs of Evaluation as a mapping, all of them rows; `sums` is Row(document).

    Beam YAML names the outputs of a transform by the keys of a mapping.
    """

    def __init__(self, benchmark: str, **arguments: Any) -> None:
        super().__init__()
        self._evaluate = Evaluate(benchmark, **arguments)

    def expand(self, sides: Any) -> dict[str, beam.PCollection]:
        """Returns the outputs by name."""
        evaluation: Evaluation = sides | self._evaluate
        sums = evaluation.sums | "SumsRow" >> beam.Map(_row).with_output_types(SUMS_ROW)
        return {**evaluation._asdict(), "sums": sums}


def _row(document: bytes) -> beam.Row:
    return beam.Row(document=document.decode())
