"""`beamscore draw`: a picture that any browser can show, or one line that says why not."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest

from beamscore.metrics.figure_text.benchmark import FigureTextBenchmark
from tests.page.corpora import page_data
from tests.runs import command, evaluate_records, write_lines

MARKUP = '<script>alert(1)</script> & \x01\x1b[31m \ufffe "q" ]]> é'
SAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chemistry": ({"text": "\\chemfig { A -[:90] B } 浓"}, {"text": f"\\chemfig {{ A =[:90] C }} {MARKUP}"}),
    "figure_text": (
        {"regions": [{"box": [1, 1, 50, 20], "text": MARKUP}]},
        {"regions": [{"points": [[1, 1], [50, 1], [50, 20], [1, 20]], "text": MARKUP}]},
    ),
    "formula": ({"latex": "x ^ 2 + \\frac { 1 } { 2 } < y"}, {"latex": "x ^ 3 + \\text{" + "<b>&" + "} < y"}),
}
ABSENT = "not found in the ground truth"


def draw(folder: Path, *flags: str, benchmark: str = "figure_text") -> tuple[int, str, str]:
    truth, prediction = SAMPLES[benchmark]
    write_lines(folder / "t.jsonl", [{"sample_id": "a", **truth}, {"sample_id": "b", **truth}])
    write_lines(folder / "p.jsonl", [{"sample_id": "a", **prediction}])
    inputs = ("--ground-truth", folder / "t.jsonl", "--predictions", folder / "p.jsonl")
    code, stdout, stderr = command("draw", benchmark, *inputs, "--output", folder / "o.svg", *flags)
    return code, stdout.replace(f"{folder}/", ""), stderr.removeprefix("beamscore: ").replace(f"{folder}/", "")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("benchmark", SAMPLES)
def test_a_sample_with_or_without_a_prediction_is_drawn(tmp_path: Path, benchmark: str) -> None:
    many = ("--sample", "b", "a", "--output", str(tmp_path / "many"))
    assert draw(tmp_path, *many, benchmark=benchmark) == (0, "many: 2 pictures\n", "")
    assert names(tmp_path / "many") == ["a.svg", "b.svg"]
    for path in (tmp_path / "many").iterdir():
        text = path.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags & {"polyline", "polygon", "image"}
        assert not tags & {"script", "b"}
        assert not any(each in text for each in ("<script", "\x1b"))
    if benchmark == "figure_text":
        assert "<script>alert(1)</script> & " in "".join(root.itertext())
        # Alone it has the same picture, and an unknown sample leaves it.
        assert draw(tmp_path, "--sample", "b") == (0, "o.svg: 1 picture\n", "")
        for sample in ("A", ""):
            assert draw(tmp_path, "--sample", sample) == (2, "", f"--sample {sample}: {ABSENT}\n")
        assert (tmp_path / "o.svg").read_bytes() == (tmp_path / "many" / "b.svg").read_bytes()
        assert names(tmp_path) == ["many", "o.svg", "p.jsonl", "t.jsonl"]


def test_of_repeats_the_worst_is_drawn_as_in_the_report(tmp_path: Path) -> None:
    boxes = enumerate([1, 1, right, 20] for right in (50, 50, 10, 49))
    truth, *given = ({"sample_id": "a", "repeat": number, "regions": [{"box": box}]} for number, box in boxes)
    report = evaluate_records(tmp_path / "run", [truth], given, "--set=repeats=true", config="figure_text")
    (card,) = page_data(report.output / "report.html")["cards"]
    alone, inputs = write_lines(tmp_path / "p.jsonl", given[1:2]), ("--ground-truth", tmp_path / "run-truth.jsonl")
    for predictions, more in ((tmp_path / "run-predictions.jsonl", ("--set=repeats=true",)), (alone, ())):
        flags = ("--predictions", predictions, "--sample", "a", "--output", tmp_path / "o.svg")
        assert command("draw", "figure_text", *inputs, *flags, *more)[::2] == (0, "")
        assert (tmp_path / "o.svg").read_text() == card["sides"][0]["drawing"]


def test_a_list_is_drawn_and_what_it_lacks_is_told_in_one_line(tmp_path: Path) -> None:
    ids = ["a", "no", "b", "a", *(f"{number}th" for number in range(9))]
    listed = write_lines(tmp_path / "list.jsonl", [{"sample_id": each, "change": 1} for each in ids])
    flags = ("--samples", str(listed), "--output", str(tmp_path / "many"))
    told = "; ".join(f"--samples {each}: {ABSENT}" for each in ("no", "0th", "1th", "2th", "3th"))
    # A name that is taken leaves the others.
    (tmp_path / "many" / "b.svg").mkdir(parents=True)
    assert draw(tmp_path, *flags) == (2, "many: 1 picture\n", f"{told}; 6 more have no picture\n")
    assert names(tmp_path / "many") == ["a.svg", "b.svg"]
    alone = draw(tmp_path, "--sample", "b", "--output", str(tmp_path / "many" / "b.svg"))
    assert (*alone[:2], alone[2][:46]) == (2, "", "--sample b: cannot be written: [Errno 21] Is a")
    one = write_lines(tmp_path / "list.jsonl", [{"sample_id": "a"}])
    assert draw(tmp_path, "--samples", str(one)) == (0, "o.svg: 1 picture\n", "")


def test_what_has_no_picture_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = {"regions": [{"text": "x"}], "image": {"path": "x.png"}}
    monkeypatch.setitem(SAMPLES, "figure_text", (truth, {"regions": 3}))
    told = "--sample a: cannot be drawn: Expected `array | null`, got `int` - at `$.regions`\n"
    assert draw(tmp_path, "--sample", "a") == (2, "", told)

    def fail(*_: object, **__: object) -> str:
        raise IndexError("no luck")

    monkeypatch.setattr(FigureTextBenchmark, "draw", fail)
    code, _, stderr = draw(tmp_path, "--sample", "b")
    assert (code, stderr.count("\n")) == (2, 1)
    assert stderr.startswith("--sample b: cannot be drawn: drawing failed: IndexError: no luck at test_draw.py")
    monkeypatch.setattr("beamscore.transforms.draw.write_file", Mock(side_effect=OSError("the disk is full")))
    told = f"--output {tmp_path}: cannot be written: the disk is full; fix that, or give another --output\n"
    assert draw(tmp_path, "--sample", "b") == (2, "", told)
    assert names(tmp_path) == ["p.jsonl", "t.jsonl"]
