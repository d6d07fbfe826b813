"""What the converters make of files that are damaged at random places is what they made in the last release."""

import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beamscore.metrics.converter import Part, UnreadableSource
from tests.attacks.corpora import VALUES, change_at, places
from tests.metrics.samples import assert_pinned
from tests.metrics.test_converters import BOX_PLOT, BUS, CATEGORY, CORNERS, PIE, PNG, converter, parts

POINT = {"x": CATEGORY, "y": 1.5, "y2": None}
SERIES = [
    {"name": "[unnamed data series #0]", "data": [BOX_PLOT, POINT]},
    {"name": "b", "data": [{**BOX_PLOT, "x": 7}]},
]
CHART = {
    **PIE, "task2": {"output": {"text_blocks": [{"id": 0, "polygon": CORNERS, "text": "a"}]}},
    "task6": {"output": {"data series": SERIES}}, "task7": {"output": {"visual elements": {"bars": []}}},
}  # fmt: skip
CLIP = {"0": BUS, "5": {"attr_info": {"A": 1}, "matches": 0}}
FORMULAS = [{"img_id": "a", "gt": "x^2", "pred": "x"}, {"img_id": 7, "gt": "", "pred": "é"}, {"gt": "y", "pred": "z"}]
MOLECULE = {"ssml_normed": r"\chemfig { C }", "chemfig": r"\chemfig{C}", "ssml_sd": "C -[1] O"}
BOXES = '\ufeff1,2,3,4,one, two\n5,6,7,8,"###"\n9,10,11,12,x\n'
POINTS = "1,2,3,4,5,6,7,8,Latin,one\r\n1,2,3,4,5,6,7,8,None,###\n"
DETEXT = "1,2,3,4,5,6,7,8 0\tDNA,short\n1,2,3,4,5,6,7,8,1,a b,small,color\n"
SOURCE = (
    "\\newcommand{\\R}{r}\n$$ x $$ text % $$\n\\begin{equation}\\label{a} y \\R \\end{equation}\r\\[ z \\]\n\\verb|$$|"
)
MARKDOWN = "# Title\n$$ a $$\n\f\\[ b \\]\n```latex\n$$ c $$\n```\n"
SOURCES: dict[str, list[tuple[str, str, Any]]] = {
    "chart": [("json", "gt/a.json", CHART)] * 4 + [("images", "png/a.png", PNG)],
    "chemistry": [
        ("lines", "a.txt", f"a.png\t{MOLECULE['chemfig']}\n\nb/c.png\tH_2O \t\n"),
        *((role, "gt/a.json", MOLECULE) for role in ("json", "json_chemfig", "json_ssml_sd")),
    ],
    "figure_text": [
        *((role, "gt_1.txt", text) for role in ("ground_truth", "spotting") for text in (BOXES, POINTS)),
        *(("detections", "res_1.txt", "1,2,3,4,0.5\n5,6,7,8\n"), ("detext", "gt_1.txt", DETEXT)),
    ],
    "formula": [
        *((f"cdm_{side}", "a.json", FORMULAS) for side in ("ground_truth", "predictions")),
        *(("lines", "spe.txt", "x^2\n\n y \n"), ("source", "a.tex", SOURCE), ("markdown", "a.md", MARKDOWN)),
    ],
    "traffic_rules": [(role, "c/label.json", CLIP) for role in ("labels", "predictions", "matched_predictions")],
}
MADE = {
    "chart": "d6d2ad8980e06fd5",
    "chemistry": "f731e0755f96b319",
    "figure_text": "2e888eb76ef6fedf",
    "formula": "34d068e4c6f8d643",
    "traffic_rules": "9ec9aee039f1496d",
}
ODD = (b"", b"\n", b"\t", b",", b"\xff", b'"', b"\\", b"{", b"[", b"1", b"-", b"e", b"$", b"%", b"\0", "é".encode())


def damaged(content: Any, rng: random.Random) -> str | bytes:
    """Returns the content with another value at a place of its JSON, or with other bytes at up to two places."""
    if not isinstance(content, (str, bytes)):
        document = json.loads(json.dumps(content))
        if rng.random() < 0.7:
            with contextlib.suppress(LookupError, TypeError):
                change_at(document, rng.choice(places(document)), lambda value: rng.choice([*VALUES, [value, value]]))
            return json.dumps(document)
        content = json.dumps(document)
    found = content.encode() if isinstance(content, str) else content
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(found) + 1)
        until = min(len(found), at + rng.choice([0, 0, 1, 1, 8]))
        found = found[:at] + rng.choice([*ODD, found[at:until] * 2]) + found[until:]
    return found


def made(name: str, rng: random.Random) -> Iterator[Any]:
    """Yields the parts and the records of a damaged file, or why there are none."""
    role, path, content = rng.choice(SOURCES[name])
    try:
        for part in parts(name, role, path, damaged(content, rng)):
            if isinstance(part, UnreadableSource):
                yield str(part)
            else:
                key, text = part
                yield [key, text, *converter(name).records(key, [Part(role, path, text)])]
    except UnreadableSource as error:
        yield str(error)


@pytest.mark.parametrize("name", MADE)
def test_what_is_made(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    assert_pinned([repr(each) for _ in range(500) for each in made(name, rng)], MADE[name], tmp_path)
