"""One formula of a sample with what was predicted for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FormulaPair:
    """A ground-truth formula and the prediction that answers it, as LaTeX to typeset.

    truth: None for a redundant prediction.
    prediction: None for a ground truth that no prediction answers.

    Of formulas that were matched within documents, further:

    distance: the edit distance over the longer length; 1 where one is None.
    round: 1 for a match below the first threshold, 2 for one below the second; None where one is None.
    truth_offset, prediction_offset: where each opens in its document, in characters.
    """

    truth: str | None
    prediction: str | None
    distance: float | None = None
    round: int | None = None
    truth_offset: int | None = None
    prediction_offset: int | None = None
