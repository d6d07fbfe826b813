"""What of a Markdown text can hold formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.formula.documents.dialects import stretches
from tests.metrics.formula.helpers import contents
from tests.work import executed_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Inline code.
        ("Write `$$ x $$` or ``\\[ ` y \\]``, then $$ z $$", ["z"]),
        ("a `lone tick $$ x $$\n\nb` $$ y $$", ["x", "y"]),  # a blank line ends the paragraph
        ("a `lone tick\n```python\n`x`\n$$ no $$\n```\n$$ y $$", ["y"]),  # and so does a fence
        ("``so'' $$ x $$ and ``on'' $$ y $$", ["x", "y"]),  # quotes of LaTeX
        ("$$ \\text{`so'} $$ and $$ \\text{`on'} $$", ["\\text{`so'}", "\\text{`on'}"]),
        ("\\`$$ x $$ \\`", ["x"]),
        # Quotes.
        ("> We have\n>\n> $$\n> x = 1\n> + y\n> $$\n>\n> > \\[ z\n> > \\]", ["x = 1 + y", "z"]),
        ("> \\[ x\n>\n> so \\[ z \\] and `a\n>\n> $$ y $$ `", ["x", "z", "y"]),  # a blank line of a quote
        ("> $$ x\n> > 0 $$ and $$ z\n> = 1 $$\n\n$$ y\n\n> 1 $$", ["x > 0", "z = 1", "y > 1"]),
        ("$$ x\n> 0 $$ and $$ y\n> 1 $$ so $$ z $$", ["x > 0", "y > 1", "z"]),
        ("As he says:\n> $$ x\n> = 1 $$\n", ["x = 1"]),
        ("$$\nx\n> 0\n$$ and $$ y\n> 1 $$", ["x > 0", "y > 1"]),  # relations, no quotes
        # Fences.
        ("1. One:\n   ```latex\n   x = 1\n   ```\n   - two\n     ```python\n     $$ no $$\n     ```", ["x = 1"]),
        ("- ```math\n  x = 2\n  ```\n$$ y $$", ["x = 2", "y"]),
        ("> ```latex\n> x = 1\n> ```\n> $$ y $$", ["x = 1", "y"]),
        ("````python\n```\n$$ no $$\n````\n$$ y $$", ["y"]),
        ("```python\n- ```\n$$ no $$\n```\n$$ y $$", ["y"]),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    assert contents(text, "gpt4o") == expected


PIECES = [
    "`",
    "``",
    "```",
    "~~~",
    "latex",
    "python",
    "> ",
    "- ",
    "1. ",
    "$$",
    "x",
    "\n",
    " ",
    "\\",
    "''",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_every_stretch_keeps_its_places(pieces: list[str]) -> None:
    """What is kept stands where it stood; all else is blank, and line breaks stay."""
    text = "".join(pieces)
    end = 0
    for stretch in stretches(text):
        assert stretch.start >= end
        end = stretch.start + len(stretch.text)
        for kept, original in zip(stretch.text, text[stretch.start : end], strict=True):
            assert kept == original or (kept == " " and original != "\n")


@pytest.mark.parametrize("piece", ["`", "` `` ", "> ", "> $$\n", "```python\n", "```\n", "- ", "~~~ a `b` "])
def test_twice_the_hostile_text_takes_twice_the_work(piece: str) -> None:
    once = executed_lines(lambda: list(stretches(piece * 500)))
    twice = executed_lines(lambda: list(stretches(piece * 1_000)))
    assert twice < 2.2 * once + 50
