"""Takes a picture of a page for the README: `python -m tests.page.picture PAGE.html PICTURE.png`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from tests.page.browser import browser

WIDTH, HEIGHT = 1180, 1000
MAX_BYTES = 200_000
SAMPLE = 3
"""How many steps from the worst sample the one is that the picture shows."""


def main(page: Path, picture: Path) -> None:
    """Writes a PNG of at most 200 kB: the head of the page, and a sample below it."""
    with browser() as chromium:
        chromium.prefer("light")
        chromium.resize(WIDTH, HEIGHT)
        chromium.open(page)
        for _ in range(SAMPLE):
            chromium.run("document.querySelectorAll('.stepper button')[1].click()")
        # A person who steps with the mouse sees no ring around what has the focus.
        chromium.run("document.activeElement.blur()")
        table = "document.querySelector('#metrics > .scroll')"
        bottom = chromium.run(f"return {table}.getBoundingClientRect().bottom + scrollY")
        parts = []
        for section, height in (("verdict", int(bottom)), ("samples", HEIGHT)):
            chromium.resize(WIDTH, height)
            chromium.run(
                "document.querySelector('nav').style.position = 'static'; window.scrollTo(0, arguments[0] === 'verdict'"
                " ? 0 : document.getElementById(arguments[0]).offsetTop)",
                section,
            )
            path = picture.with_suffix(f".{section}.png")
            chromium.picture(path, whole=False)
            parts.append(Image.open(path).convert("RGB"))
            path.unlink()
    whole = Image.new("RGB", (WIDTH, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    for colors in (256, 128, 64, 32):
        whole.quantize(colors).save(picture, optimize=True)
        if picture.stat().st_size <= MAX_BYTES:
            print(f"{picture}: {picture.stat().st_size:,} bytes")
            return
    raise SystemExit(f"{picture}: {picture.stat().st_size:,} bytes are more than {MAX_BYTES:,}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
