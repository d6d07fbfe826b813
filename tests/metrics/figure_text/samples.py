"""Figures of a few regions: made, drawn at random, and scored."""

from typing import Any

from hypothesis import strategies as st

from beamscore.metrics.benchmark import SampleScore
from tests.metrics import samples
from tests.plain_loop import make_benchmark, total

Box = tuple[int, int, int, int]
Regions = list[dict[str, Any]]
Words = list[tuple[Box, str | None]]


def score(truth: Regions, prediction: Regions | None, **options: Any) -> SampleScore:
    predicted = None if prediction is None else {"regions": prediction}
    return samples.score("figure_text", {"regions": truth}, predicted, **options)


def values(*scores: SampleScore, **options: Any) -> dict[str, float | None]:
    return make_benchmark("figure_text", **options).values(total(scores))


def rejection(side: str, truth: Regions, prediction: Regions, **options: Any) -> str:
    return samples.rejection("figure_text", side, {"regions": truth}, {"regions": prediction}, **options)


def at(left: float, **region: Any) -> dict[str, Any]:
    """A region of 10 by 10 pixels."""
    return {"box": [left, 0, left + 10, 10], **region}


sides = st.tuples(st.integers(0, 8), st.integers(1, 6)).map(lambda side: (side[0], side[0] + side[1]))
boxes = st.builds(lambda x, y: (x[0], y[0], x[1], y[1]), sides, sides)
# Boxes of one line overlap far more often, and give the scattered matches.
line_boxes = sides.map(lambda x: (x[0], 0, x[1], 5))
texts = st.sampled_from(["DNA", "DNA.", "dna", None])
words = st.one_of([st.lists(st.tuples(some, texts), max_size=6) for some in (boxes, line_boxes)])
