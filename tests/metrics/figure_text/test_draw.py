"""Pictures of figures: each region by how it was matched."""

from __future__ import annotations

from typing import Any

from tests.metrics import samples
from tests.metrics.figure_text.helpers import Regions, at
from tests.metrics.samples import STYLES, SVG, shapes, texts

ROW = [at(100 * n, text="word") for n in range(3)]
FAR = at(1e6, text="far")


def drawn(truth: Regions, found: Regions, image: tuple[int, int] | None = None) -> Any:
    return samples.drawn("figure_text", {"regions": truth}, {"regions": found}, image)


def places(svg: Any) -> list[Any]:
    return [each.get("points") for each in svg.iter(f"{SVG}polygon")]


def test_regions_are_drawn_by_their_match_with_the_texts_that_the_picture_does_not_show() -> None:
    long = {"points": [[300, 0], [310, 0], [305, 9]], "text": "<&\x00\u202e" + "D" * 1000}
    truth = [*ROW, long, at(400, ignore=True, text="none"), {"id": "b"}]
    found = [at(0, text="word"), at(100, text="ward"), at(500, text="more")]
    for image, count in ((None, 8), ((800, 600), 5)):
        svg = drawn(truth, found, image)
        assert shapes(svg) == [
            ("ground truth: one to one: word", "matched"),
            ("ground truth: one to one: word", "wrong"),
            ("ground truth: missed: word", "missed"),
            (f"ground truth: missed: <&\ufffd\ufffd{'D' * 174}…", "missed"),
            ("ground truth: dont care: none", "does not count"),
            ("prediction: one to one: word", "matched"),
            ("prediction: one to one: ward", "wrong"),
            ("prediction: false: more", "extra"),
        ]
        assert texts(svg)[:5] == list(STYLES.values())
        assert len(texts(svg)) == 5 + count


def test_a_far_region_does_not_blow_up_the_picture() -> None:
    near, far = drawn(ROW, []), drawn(ROW, [FAR])
    assert places(near) == places(far)
    assert "1 part lies far outside, not drawn" in far.itertext()
    # Over the real picture, what lies outside of that is not drawn, and regions lie where they are.
    svg = drawn([{"box": [400, 300, 800, 600]}], [at(900), at(910)], (800, 600))
    assert "2 parts lie far outside, not drawn" in svg.itertext()
    x, y, width, height = (float(next(svg.iter(f"{SVG}image")).get(name, 0)) for name in ("x", "y", "width", "height"))
    assert places(svg)[0].startswith(f"{x + width / 2:.1f},{y + height / 2:.1f}")
    assert float(drawn([], []).get("width") or 0) < 1000
