"""Takes a picture of a page for the README: `python -m tests.page.picture PAGE.html PICTURE.png`."""

import sys
from pathlib import Path

from PIL import Image

from tests.page.browser import browser

WIDTH, HEIGHT, COLORS = 1180, 1000, 64
SAMPLE = 3
"""How many steps from the worst sample the one is that the picture shows."""


def main(page: Path, picture: Path) -> None:
    """Writes a PNG: the head of the page, and a sample below it."""
    with browser() as chromium:
        chromium.prefer("light")
        chromium.resize(WIDTH, HEIGHT)
        chromium.open(page)
        for _ in range(SAMPLE):
            chromium.click(".stepper button:nth-child(2)")
        # A person who steps with the mouse sees no ring around what has the focus.
        chromium.run("document.activeElement.blur(); document.querySelector('nav').style.position = 'static'")
        bottom = "return document.querySelector('#metrics > .scroll').getBoundingClientRect().bottom + scrollY"
        whole = Image.new("RGB", (WIDTH, int(chromium.run(bottom)) + HEIGHT), "white")
        head = whole.height - HEIGHT
        for top, height, start in ((0, head, "0"), (head, HEIGHT, "samples.offsetTop")):
            chromium.resize(WIDTH, height)
            chromium.run(f"const samples = document.getElementById('samples'); window.scrollTo(0, {start})")
            chromium.picture(picture, whole=False)
            whole.paste(Image.open(picture).convert("RGB"), (0, top))
    whole.quantize(COLORS).save(picture, optimize=True)
    print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
