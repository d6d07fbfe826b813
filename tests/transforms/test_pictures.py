"""The real pictures of samples: found where the records or the setting say, decoded within limits, or a note."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from beamscore.transforms import pictures
from beamscore.transforms.pictures import find_picture, picture_path, read_picture
from tests.memory_files import ObjectStore
from tests.page.corpora import page_data
from tests.runs import command, evaluate, write_lines


def test_where_a_picture_is() -> None:
    for path, images, expected in (
        ("a.png", None, "data/a.png"),
        ("mem://bucket/a.png", "scans", "mem://bucket/a.png"),
        # A folder takes the place of that of the ground truth, and changes no absolute path.
        ("sub/a.png", "scans", "scans/sub/a.png"),
        ("/else/a.png", "scans", "/else/a.png"),
        (3, "scans", None),
        ("", "scans", None),
    ):
        assert picture_path({"image": {"path": path}}, "s 1", "data/truth.jsonl", images) == expected
    # A pattern needs nothing of the record, which may be cut or broken.
    records: list[Any] = [None, [], {"image": "a.png"}, {"image": {}}]
    for record in records:
        assert picture_path(record, "s 1", "data/truth.jsonl", "scans") is None
        assert picture_path(record, "s 1", "data/truth.jsonl", "scans/{sample_id}.jpg") == "scans/s 1.jpg"


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def decoded(address: str) -> Image.Image:
    start, _, data = address.partition(",")
    assert start == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *(("PNG", mode) for mode in ("RGB", "L", "P", "RGBA", "LA", "1")),
        *(("JPEG", "CMYK"), ("JPEG", "RGB"), ("WEBP", "RGBA"), ("GIF", "P"), ("BMP", "1"), ("TIFF", "CMYK")),
    ],
)
def test_a_picture_of_any_kind_is_webp_with_at_most_1000_pixels(tmp_path: Path, kind: str, mode: str) -> None:
    image = Image.linear_gradient("L").resize((2000, 500)).convert("RGB").convert(mode)
    (tmp_path / "picture").write_bytes(encoded(image, kind))
    found = read_picture(str(tmp_path / "picture"))
    assert (found.problem, found.size) == ("", (2000, 500))
    assert decoded(found.address).size == (1000, 250)


def test_what_is_transparent_is_paper_and_noise_is_shown_smaller(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(Image.new("RGBA", (4, 4), (0, 0, 0, 0))))
    assert decoded(read_picture(str(path)).address).getpixel((1, 1)) == (255, 255, 255)
    for pixels, shown_as in ((200, 200), (1000, 500)):
        path.write_bytes(encoded(Image.effect_noise((pixels, pixels), 200)))
        found = read_picture(str(path))
        assert (found.size, decoded(found.address).size) == ((pixels, pixels), (shown_as, shown_as))
        assert len(found.address) <= 200_000


def test_what_cannot_be_shown_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    png = encoded(Image.effect_noise((100, 100), 200))
    path = tmp_path / "a.png"
    monkeypatch.setattr(pictures, "MAX_FILE_BYTES", 3_000_000)
    for content, problem in (
        # 72,000,000 pixels, and 400,000,000, in some kilobytes.
        (encoded(Image.new("1", (8_000, 9_000))), " has 8,000 x 9,000 pixels, more than 64,000,000"),
        (encoded(Image.new("1", (20_000, 20_000))), ": Image size (400000000 pixels) exceeds limit"),
        (png[: len(png) // 2], ": image file is truncated"),
        # Formats that other programs would decode, or that run.
        (encoded(Image.new("RGB", (50, 50)), "EPS"), ": cannot identify"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", ": cannot identify"),
        (b"", ": cannot identify"),
        (b"x" * 3_000_000, ": cannot identify"),
        (b"x" * 3_000_001, " has more than 3,000,000 bytes"),
    ):
        path.write_bytes(content)
        found = read_picture(str(path))
        assert (found.size, found.address, found.problem.startswith(f"{path}{problem}")) == (None, "", True), problem
    assert "s a directory" in read_picture(str(tmp_path)).problem
    assert read_picture("nowhere://bucket/a.png").problem

    def fail(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(pictures, "read_bytes", fail)
    with pytest.raises(MemoryError):
        read_picture("a.png")


PNG = encoded(Image.radial_gradient("L").resize((40, 30)))


@given(st.integers(0, len(PNG) - 1), st.binary(max_size=8), st.booleans())
def test_damaged_bytes_are_a_picture_or_a_note(place: int, damage: bytes, is_cut: bool) -> None:
    ObjectStore.FILES["mem://bucket/a.png"] = PNG[:place] + damage + (b"" if is_cut else PNG[place + len(damage) :])
    found = find_picture(b'{"image": {"path": "mem://bucket/a.png"}}', "s", "", None)
    assert bool(found.address) != bool(found.problem)


REGIONS = [{"box": [10, 10, 30, 20], "text": "day"}]


def shown(page: Path) -> dict[str, tuple[bool, str, set[bool]]]:
    """Returns by sample whether it has a picture, the note, and whether its drawings have a place for one."""
    return {
        card["sample_id"]: (
            card["picture"].startswith("data:image/webp;"),
            card["picture_problem"].replace(str(page.parents[1]), ""),
            {"cid:picture" in (side["drawing"] or "") for side in card["sides"]},
        )
        for card in page_data(page)["cards"]
    }


def test_pages_and_drawings_show_the_picture_or_say_why_not(tmp_path: Path) -> None:
    """The first picture is there, the second is broken, and the third is missing, which fails no run."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "0.png").write_bytes(encoded(Image.new("RGB", (60, 40), "red")))
    (data / "1.png").write_bytes(b"\x89PNG")
    truths = [{"sample_id": str(number), "regions": REGIONS, "image": {"path": f"{number}.png"}} for number in range(3)]
    truth = write_lines(data / "truth.jsonl", truths)
    for name, regions in (("right", REGIONS), ("wrong", [])):
        write_lines(tmp_path / f"{name}.jsonl", [{"sample_id": str(number), "regions": regions} for number in range(3)])

    def run(name: str, *more: str) -> Path:
        given = {"one": tmp_path / f"{name}.jsonl"}
        found = evaluate(tmp_path / name, truth, given, *more, "--quiet", config="figure_text")
        assert (found.code, found.stderr) == (0, "")
        return found.output / "report.html"

    before, after = run("right"), run("wrong")
    command("compare", before.parent, after.parent, "--output", tmp_path / "compared", "--quiet")
    for page in (after, tmp_path / "compared" / "comparison.html"):
        found = shown(page)
        assert found["0"] == (True, "", {True})
        assert found["1"][1].startswith("/data/1.png: cannot identify")
        assert found["2"][1].startswith("/data/2.png: [Errno 2] No such file")
        assert {(found[name][0], *found[name][2]) for name in ("1", "2")} == {(False, False)}
    # The setting says where pictures are.
    (data / "0.png").rename(tmp_path / "2 of 3.png")
    pattern = ("--set", f"pictures={tmp_path}/{{sample_id}} of 3.png")
    assert shown(run("right", *pattern))["2"][:2] == (True, "")
    inputs = ("--ground-truth", truth, "--predictions", str(tmp_path / "right.jsonl"), *pattern)
    assert command("draw", "figure_text", *inputs, "--sample", "1", "2", "--output", str(tmp_path / "drawn"))[0] == 0
    drawn = [(tmp_path / "drawn" / f"{number}.svg").read_text() for number in (1, 2)]
    assert ["data:image/webp;base64," in each for each in drawn] == [False, True]
