"""The real pictures of samples: found where the records or the setting say, decoded within limits, or a note."""

import base64
import io
import os
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import ExifTags, Image

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
        *(("PNG", "I;16"), ("TIFF", "I"), ("TIFF", "F"), ("TIFF", "I;16B")),
        *(("JPEG", "CMYK"), ("JPEG", "RGB"), ("WEBP", "RGBA"), ("GIF", "P"), ("BMP", "1"), ("TIFF", "CMYK")),
    ],
)
def test_a_picture_of_any_kind_is_webp_with_at_most_1000_pixels(tmp_path: Path, kind: str, mode: str) -> None:
    image = Image.linear_gradient("L").resize((2000, 500))
    if mode[0] in "IF":
        # As of 12 bits, with no value near 0.
        image = image.convert("I").point(lambda value: value * 12 + 1000).convert(mode)
    else:
        image = image.convert("RGB").convert(mode)
    (tmp_path / "picture").write_bytes(encoded(image, kind))
    found = read_picture(str(tmp_path / "picture"))
    assert (found.problem, found.size) == ("", (2000, 500))
    shown = decoded(found.address).convert("L")
    assert shown.size == (1000, 250)
    assert [shown.getpixel((500, height)) for height in (5, 125, 245)] == pytest.approx([5, 128, 250], abs=16), mode


def test_values_that_are_not_finite_and_a_picture_of_one_value_are_shown_as_they_are(tmp_path: Path) -> None:
    values = np.tile(np.linspace(1000, 2000, 8, dtype=np.float32), (8, 1))
    values[0, :3] = np.nan, np.inf, -np.inf
    for array, expected in (
        (values, np.linspace(0, 255, 8)),
        (np.full((8, 8), 65535, np.uint16), [255] * 8),
        (np.full((8, 8), np.nan, np.float32), [0] * 8),
    ):
        (tmp_path / "a.tif").write_bytes(encoded(Image.fromarray(array), "TIFF"))
        shown = decoded(read_picture(str(tmp_path / "a.tif")).address).convert("L")
        assert np.asarray(shown)[6].tolist() == pytest.approx(expected, abs=16)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_a_picture_is_upright_as_its_exif_data_say(tmp_path: Path, kind: str) -> None:
    """The corner that each of the eight orientations stores first, by the standard, is black."""
    at = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0), (1, 0), (1, 1), (0, 1)]
    for orientation, (right, down) in enumerate(at, 1):
        image = Image.new("L", (80, 48), 255)
        image.paste(0, (0, 0, 16, 16))
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        image.save(tmp_path / "a", kind, exif=exif)
        found = read_picture(str(tmp_path / "a"))
        width, height = size = (80, 48) if orientation < 5 else (48, 80)
        shown = decoded(found.address).convert("L")
        assert (found.size, shown.size) == (size, size)
        corners = np.asarray(shown)[4 :: height - 8, 4 :: width - 8]
        assert np.argwhere(corners < 99).tolist() == [[down, right]], orientation
    if kind in ("JPEG", "WEBP"):
        (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes().replace(b"MM\0*", b"M?\0*"))
        assert read_picture(str(tmp_path / "a")).size == (80, 48)


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
        # 90,250,000 pixels, of which Pillow would warn, and 400,000,000, in some kilobytes.
        (encoded(Image.new("1", (9_500, 9_400))), " has 9,500 x 9,400 pixels, more than 64,000,000"),
        (encoded(Image.new("1", (20_000, 20_000))), " has more than 64,000,000 pixels"),
        (png[: len(png) // 2], ": image file is truncated"),
        # Formats that other programs would decode, or that run.
        (encoded(Image.new("RGB", (50, 50)), "EPS"), ": not an image of the kinds BMP,"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", ": not an image of the kinds BMP,"),
        (b"", ": not an image of the kinds BMP,"),
        (b"x" * 3_000_000, ": not an image of the kinds BMP,"),
        (b"x" * 3_000_001, " has more than 3,000,000 bytes"),
    ):
        path.write_bytes(content)
        found = read_picture(str(path))
        assert (found.size, found.address, found.problem.startswith(f"{path}{problem}")) == (None, "", True), problem
    os.mkfifo(tmp_path / "pipe")
    assert [read_picture(f"{tmp_path}{each}").problem[-12:] for each in ("", "/pipe")] == [": not a file"] * 2
    assert read_picture("nowhere://bucket/a.png").problem

    monkeypatch.setattr(pictures, "read_bytes", Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        read_picture("a.png")


PNG = encoded(Image.radial_gradient("L").resize((40, 30)))


@given(st.integers(0, len(PNG) - 1), st.binary(max_size=8), st.booleans())
def test_damaged_bytes_are_a_picture_or_a_note(place: int, damage: bytes, is_cut: bool) -> None:
    ObjectStore.FILES["mem://bucket/a.png"] = PNG[:place] + damage + (b"" if is_cut else PNG[place + len(damage) :])
    found = find_picture(b'{"n": 1e999, "image": {"path": "mem://bucket/a.png"}}', "s", "", None)
    assert bool(found.address) != bool(found.problem)


def test_pages_and_drawings_show_the_picture_or_say_why_not(tmp_path: Path) -> None:
    """The first is there, the second is broken, the third is missing, or the only one where the setting says."""
    regions = [{"box": [10, 10, 30, 20], "text": "day"}]
    truths = [{"sample_id": str(number), "regions": regions, "image": {"path": f"{number}.png"}} for number in range(3)]
    truth = write_lines(tmp_path / "truth.jsonl", truths)
    for name, content in (("0", encoded(Image.new("RGB", (60, 40)))), ("1", b"\x89PNG"), ("2 of 3", PNG)):
        (tmp_path / f"{name}.png").write_bytes(content)
    pattern = ("--set", f"pictures={tmp_path}/{{sample_id}} of 3.png")

    def run(name: str, regions: list[Any], *more: str) -> Path:
        records = [{"sample_id": str(number), "regions": regions} for number in range(3)]
        given = {"one": write_lines(tmp_path / f"{name}.jsonl", records)}
        found = evaluate(tmp_path / name, truth, given, *more, "--quiet", config="figure_text")
        assert (found.code, found.stderr) == (0, "")
        return found.output

    before, after = run("right", regions, *pattern), run("wrong", [])
    command("compare", before, after, "--output", tmp_path / "compared", "--quiet")
    no_others = [*(f"{tmp_path}/{number} of 3.png: [Errno 2] No such" for number in (0, 1)), ""]
    problems = ["", f"{tmp_path}/1.png: not an image of the kinds", f"{tmp_path}/2.png: [Errno 2] No such"]
    # For a comparison, the baseline says where they are.
    for page, expected in {
        before / "report.html": no_others,
        after / "report.html": problems,
        tmp_path / "compared" / "comparison.html": no_others,
    }.items():
        cards = sorted(page_data(page)["cards"], key=itemgetter("sample_id"))
        for card, problem in zip(cards, expected, strict=True):
            assert card["picture"].startswith("data:image/webp;") == (not problem)
            assert card["picture_problem"].startswith(problem)
            assert bool(card["picture_problem"]) == bool(problem)
            # The drawings have a place for a picture if there is one.
            assert {"cid:picture" in (side["drawing"] or "") for side in card["sides"]} == {not problem}
    # The whole record says where the image is, and the command why it is not shown.
    truth = write_lines(tmp_path / "long" / "truth.jsonl", [{"note": "x" * 40_000, **each} for each in truths])
    inputs = ("--ground-truth", truth, "--predictions", str(tmp_path / "right.jsonl"), "--set", f"pictures={tmp_path}")
    code, _, stderr = command("draw", "figure_text", *inputs, "--sample", "0", "1", "--output", str(tmp_path / "drawn"))
    told = f"beamscore: warning: --sample 1 is drawn without its image: {problems[1]}"
    assert (code, stderr.startswith(told), stderr.count("\n")) == (0, True, 1)
    drawn = [(tmp_path / "drawn" / f"{number}.svg").read_text() for number in (0, 1)]
    assert ["data:image/webp;base64," in each for each in drawn] == [True, False]
