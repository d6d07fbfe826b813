"""The real pictures of samples: found where the records or the setting say, decoded within limits, or a note."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from beamscore.pipelines.reports import cards
from beamscore.transforms import pictures
from beamscore.transforms.pictures import MAX_PICTURE_LENGTH, MAX_SIDE, find_picture, picture_path, read_picture
from tests.memory_files import ObjectStore
from tests.page.corpora import page_data
from tests.runs import command, write_lines


@pytest.mark.parametrize(
    ("record", "images", "path"),
    [
        ({"image": {"path": "a.png"}}, None, "data/a.png"),
        ({"image": {"path": "/else/a.png"}}, None, "/else/a.png"),
        ({"image": {"path": "mem://bucket/a.png"}}, None, "mem://bucket/a.png"),
        # A folder takes the place of that of the ground truth, and changes no absolute path.
        ({"image": {"path": "sub/a.png"}}, "scans", "scans/sub/a.png"),
        ({"image": {"path": "a.png"}}, "mem://bucket/scans", "mem://bucket/scans/a.png"),
        ({"image": {"path": "/else/a.png"}}, "scans", "/else/a.png"),
        # A pattern needs nothing of the record, which may be cut or broken.
        ({"image": {"path": "a.png"}}, "scans/{sample_id}.jpg", "scans/s 1.jpg"),
        (None, "scans/{sample_id}.jpg", "scans/s 1.jpg"),
        (None, "scans", None),
        ({"image": {"width": 3}}, None, None),
        ({"image": {"path": 3}}, None, None),
        ({"image": "a.png"}, None, None),
        ([], None, None),
    ],
)
def test_where_a_picture_is(record: Any, images: str | None, path: str | None) -> None:
    assert picture_path(record, "s 1", "data/truth.jsonl", images) == path


def encoded(image: Image.Image, kind: str) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1", "CMYK"])
def test_a_picture_of_any_kind_is_webp_with_at_most_1000_pixels(tmp_path: Path, kind: str, mode: str) -> None:
    try:
        content = encoded(Image.linear_gradient("L").resize((2000, 500)).convert("RGB").convert(mode), kind)
    except (OSError, ValueError):
        pytest.skip(f"{kind} has no {mode}")
    (tmp_path / "picture").write_bytes(content)
    found = read_picture(str(tmp_path / "picture"))
    assert (found.problem, found.size) == ("", (2000, 500))
    start, _, data = found.address.partition(",")
    assert start == "data:image/webp;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as small:
        assert small.size == (MAX_SIDE, MAX_SIDE // 4)


def test_what_is_transparent_is_paper(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(Image.new("RGBA", (4, 4), (0, 0, 0, 0)), "PNG"))
    data = read_picture(str(tmp_path / "a.png")).address.partition(",")[2]
    with Image.open(io.BytesIO(base64.b64decode(data))) as small:
        assert small.getpixel((1, 1)) == (255, 255, 255)


def test_what_cannot_be_shown_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Image.effect_noise((1000, 1000), 200)
    png = encoded(noise, "PNG")
    cases = {
        # 72,000,000 pixels, and 400,000,000, in some kilobytes.
        "large.png": (encoded(Image.new("1", (8_000, 9_000)), "PNG"), "8,000 x 9,000 pixels"),
        "bomb.png": (encoded(Image.new("1", (20_000, 20_000)), "PNG"), "exceeds limit"),
        "cut.png": (png[: len(png) // 2], "truncated"),
        "text.png": (b"no picture", "cannot identify"),
        # Formats that other programs would decode, or that run.
        "a.eps": (encoded(noise.resize((50, 50)).convert("RGB"), "EPS"), "cannot identify"),
        "a.svg": (b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", "cannot identify"),
        "empty.png": (b"", "cannot identify"),
        "heavy.png": (b"x" * 3_000_001, "more than 3,000,000 bytes"),
    }
    monkeypatch.setattr(pictures, "MAX_FILE_BYTES", 3_000_000)
    for name, (content, problem) in cases.items():
        (tmp_path / name).write_bytes(content)
        found = read_picture(str(tmp_path / name))
        assert (found.size, found.address) == (None, "")
        assert problem in found.problem, name
        assert name in found.problem
    assert "No such file" in read_picture(str(tmp_path / "none.png")).problem
    assert "s a directory" in read_picture(str(tmp_path)).problem
    assert read_picture("nowhere://bucket/a.png").problem
    # Noise is shown smaller, before it is too much for a page.
    (tmp_path / "noise.png").write_bytes(png)
    found = read_picture(str(tmp_path / "noise.png"))
    assert found.size == (1000, 1000)
    assert 0 < len(found.address) <= MAX_PICTURE_LENGTH


PNG = encoded(Image.radial_gradient("L").resize((40, 30)), "PNG")


@given(st.integers(0, len(PNG) - 1), st.binary(max_size=8), st.booleans())
def test_damaged_bytes_are_a_picture_or_a_note(place: int, damage: bytes, is_cut: bool) -> None:
    ObjectStore.FILES["mem://bucket/a.png"] = PNG[:place] + damage + (b"" if is_cut else PNG[place + len(damage) :])
    found = find_picture(b'{"image": {"path": "mem://bucket/a.png"}}', "s", "", None)
    assert bool(found.address) != bool(found.problem)


def test_memory_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(pictures, "read_bytes", fail)
    with pytest.raises(MemoryError):
        read_picture("a.png")


REGIONS = [{"box": [10, 10, 30, 20], "text": "day"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus whose first picture is there, the second is broken, and the third is missing."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "0.png").write_bytes(encoded(Image.new("RGB", (60, 40), "red"), "PNG"))
    (tmp_path / "data" / "1.png").write_bytes(b"\x89PNG")
    truths = [{"sample_id": str(number), "regions": REGIONS, "image": {"path": f"{number}.png"}} for number in range(3)]
    write_lines(tmp_path / "data" / "truth.jsonl", truths)
    write_lines(tmp_path / "right.jsonl", [{"sample_id": str(number), "regions": REGIONS} for number in range(3)])
    write_lines(tmp_path / "wrong.jsonl", [{"sample_id": str(number), "regions": []} for number in range(3)])
    return tmp_path


def run(folder: Path, name: str, *more: str) -> Path:
    inputs = ("--ground-truth", str(folder / "data" / "truth.jsonl"), "--predictions", str(folder / f"{name}.jsonl"))
    code, _, stderr = command("evaluate", "figure_text", *inputs, "--output", str(folder / name), "--quiet", *more)
    assert (code, stderr) == (0, "")
    return folder / name


def shown(page: Path) -> dict[str, tuple[bool, str, set[bool]]]:
    """Returns by sample whether it has a picture, the note, and whether its drawings have a place for one."""
    return {
        card["sample_id"]: (
            card["picture"].startswith("data:image/webp;"),
            card["picture_problem"].replace(str(page.parents[1]), ""),
            {"cid:picture" in side["drawing"] for side in card["sides"]},
        )
        for card in page_data(page)["cards"]
    }


def test_pages_show_the_picture_or_say_why_not(folder: Path) -> None:
    """A report and a comparison; a missing picture fails no run, and summary.json says nothing of any."""
    before, after = run(folder, "right"), run(folder, "wrong")
    assert "image" not in (before / "summary.json").read_text()
    command("compare", str(before), str(after), "--output", str(folder / "compared"), "--quiet")
    for page in (before / "report.html", folder / "compared" / "comparison.html"):
        found = shown(page)
        assert found["0"] == (True, "", {True})
        assert found["1"][0] is found["2"][0] is False
        assert found["1"][1].startswith("/data/1.png: cannot identify")
        assert found["2"][1].startswith("/data/2.png: [Errno 2] No such file")
        assert found["1"][2] == found["2"][2] == {False}


def test_the_setting_says_where_pictures_are(folder: Path) -> None:
    (folder / "data" / "0.png").rename(folder / "2 of 3.png")
    pattern = f"pictures={folder}/{{sample_id}} of 3.png"
    page = run(folder, "right", "--set", pattern) / "report.html"
    assert {name: found for name, (found, *_) in shown(page).items()} == {"0": False, "1": False, "2": True}
    config = json.loads((folder / "right" / "summary.json").read_text())["config"]
    assert config["pictures"] == pattern.partition("=")[2]
    inputs = ("--ground-truth", str(folder / "data" / "truth.jsonl"), "--predictions", str(folder / "right.jsonl"))
    code, *_ = command(
        "draw", "figure_text", *inputs, "--set", pattern, "--sample", "1", "2", "--output", str(folder / "drawn")
    )
    assert code == 0
    drawn = [(folder / "drawn" / f"{number}.svg").read_text() for number in (1, 2)]
    assert ["data:image/webp;base64," in each for each in drawn] == [False, True]


def test_a_page_holds_so_many_pictures_and_each_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "MAX_PICTURES_LENGTH", 0)
    found = shown(run(folder, "right") / "report.html")
    assert found["0"][:2] == (False, cards.TOO_MANY)
    monkeypatch.undo()
    other = f"--predictions=other={folder / 'wrong.jsonl'}"
    page = run(folder, "right", f"--predictions=one={folder / 'right.jsonl'}", other) / "report.html"
    of_first = [card["picture"] for card in page_data(page)["cards"] if card["sample_id"] == "0"]
    assert sorted(map(bool, of_first)) == [False, False, True]
