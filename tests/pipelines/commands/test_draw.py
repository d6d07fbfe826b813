"""`beamscore draw`: a picture that any browser can show, or one line that says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from beamscore.metrics.figure_text.benchmark import FigureTextBenchmark
from tests.runs import command, write_lines

MARKUP = '<script>alert(1)</script> & \x01\x1b[31m \ufffe "q" ]]> é'
SAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chemistry": ({"text": "\\chemfig { A -[:90] B } 浓"}, {"text": f"\\chemfig {{ A =[:90] C }} {MARKUP}"}),
    "figure_text": (
        {"regions": [{"box": [1, 1, 50, 20], "text": MARKUP}]},
        {"regions": [{"points": [[1, 1], [50, 1], [50, 20], [1, 20]], "text": MARKUP}]},
    ),
    "formula": ({"latex": "x ^ 2 + \\frac { 1 } { 2 } < y"}, {"latex": "x ^ 3 + \\text{" + "<b>&" + "} < y"}),
}


def draw(folder: Path, benchmark: str, *flags: str) -> tuple[int, str, str]:
    truth, prediction = SAMPLES[benchmark]
    write_lines(folder / "t.jsonl", [{"sample_id": "a", **truth}, {"sample_id": "b", **truth}])
    write_lines(folder / "p.jsonl", [{"sample_id": "a", **prediction}])
    inputs = ("--ground-truth", folder / "t.jsonl", "--predictions", folder / "p.jsonl")
    return command("draw", benchmark, *inputs, "--output", folder / "o.svg", *flags)


@pytest.mark.parametrize("benchmark", SAMPLES)
def test_a_sample_with_or_without_a_prediction_is_drawn(tmp_path: Path, benchmark: str) -> None:
    flags = ("--sample", "b", "a", "--output", str(tmp_path / "many"))
    assert draw(tmp_path, benchmark, *flags) == (0, f"{tmp_path}/many: 2 pictures\n", "")
    assert sorted(path.name for path in (tmp_path / "many").iterdir()) == ["a.svg", "b.svg"]
    for name in "ab":
        text = (tmp_path / "many" / f"{name}.svg").read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags & {"polyline", "polygon", "image"}
        assert not tags & {"script", "b"}
        assert "<script" not in text
        assert "\x1b" not in text
        if benchmark == "figure_text":
            assert "<script>alert(1)</script> & " in "".join(root.itertext())


def test_a_sample_alone_has_the_same_picture_and_an_unknown_one_leaves_it(tmp_path: Path) -> None:
    assert draw(tmp_path, "figure_text", "--sample", "b", "a", "--output", str(tmp_path / "many"))[0] == 0
    assert draw(tmp_path, "figure_text", "--sample", "b") == (0, f"{tmp_path}/o.svg: 1 picture\n", "")
    assert (tmp_path / "many" / "b.svg").read_bytes() == (tmp_path / "o.svg").read_bytes()
    for sample in ("A", ""):
        reason = f"beamscore: --sample {sample}: no readable ground-truth record has this sample_id\n"
        assert draw(tmp_path, "figure_text", "--sample", sample) == (2, "", reason)
    assert (tmp_path / "many" / "b.svg").read_bytes() == (tmp_path / "o.svg").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "o.svg", "p.jsonl", "t.jsonl"]
    code, _, stderr = draw(tmp_path, "figure_text", "--sample", "b", "a")
    assert (code, stderr) == (
        2,
        f"beamscore: --output {tmp_path}/o.svg: several samples are drawn; give the folder for their pictures\n",
    )


def test_a_list_is_drawn_and_what_it_lacks_is_told_in_one_line(tmp_path: Path) -> None:
    ids = ["a", "no", "b", "a", *(f"{number}th" for number in range(9))]
    listed = write_lines(tmp_path / "list.jsonl", [{"sample_id": each, "change": 1} for each in ids])
    flags = ("--samples", str(listed), "--output", str(tmp_path / "many"))
    code, stdout, stderr = draw(tmp_path, "figure_text", *flags)
    assert (code, stdout) == (2, f"{tmp_path}/many: 2 pictures\n")
    assert stderr == (
        "beamscore: --samples no, 0th, 1th, 2th, 3th and 5 more: no readable ground-truth record has these sample_ids\n"
    )
    assert sorted(path.name for path in (tmp_path / "many").iterdir()) == ["a.svg", "b.svg"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "there is no sample to draw"),
        ("nonsense", "this is no list of samples: line 1: "),
        ('{"sample_id": "a"}\n' * 3, ""),
        ("".join(f'{{"sample_id": "{number}"}}\n' for number in range(10_001)), "more than 10,000 samples"),
    ],
)
def test_a_list_that_is_none_is_told(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "list.jsonl").write_text(content)
    flags = ("--samples", str(tmp_path / "list.jsonl"), "--output", str(tmp_path / "many"))
    code, _, stderr = draw(tmp_path, "figure_text", *flags)
    assert (code, stderr.count("\n")) == ((2, 1) if expected else (0, 0))
    assert expected in stderr


def test_a_benchmark_without_a_picture_is_told() -> None:
    flags = ("--ground-truth", "t.jsonl", "--predictions", "p.jsonl", "--sample", "a", "--output", "o.svg")
    code, stdout, stderr = command("draw", "toy", *flags)
    assert (code, stdout) == (2, "")
    assert stderr.startswith("beamscore: draw does not support the benchmark toy, only chart, chemistry, figure_text, ")


def test_a_record_that_cannot_be_drawn_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SAMPLES, "figure_text", ({"regions": [{"text": "nowhere"}]}, {"regions": 3}))
    code, _, stderr = draw(tmp_path, "figure_text", "--sample", "a")
    assert (code, stderr) == (
        2,
        "beamscore: --sample a: cannot be drawn: Expected `array | null`, got `int` - at `$.regions`\n",
    )
    code, _, stderr = draw(tmp_path, "figure_text", "--sample", "b")
    assert (code, stderr.count("\n")) == (2, 1)
    assert stderr.startswith("beamscore: --sample b: cannot be drawn: ")

    def fail(*_: object, **__: object) -> str:
        raise IndexError("no luck")

    monkeypatch.setattr(FigureTextBenchmark, "draw", fail)
    code, _, stderr = draw(tmp_path, "figure_text", "--sample", "b")
    assert code == 2
    assert stderr.startswith(
        "beamscore: --sample b: cannot be drawn: drawing failed: IndexError: no luck at test_draw.py"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.jsonl", "t.jsonl"]


def test_a_picture_is_an_svg_file(tmp_path: Path) -> None:
    code, _, stderr = draw(tmp_path, "figure_text", "--sample", "a", "--output", str(tmp_path / "t.jsonl"))
    assert (code, stderr) == (2, f"beamscore: --output {tmp_path}/t.jsonl: must end with .svg\n")
