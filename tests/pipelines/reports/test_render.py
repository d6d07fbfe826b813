from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.reports import render as rendering
from beamscore.pipelines.reports.document import Document
from beamscore.pipelines.reports.figures import breakable
from beamscore.pipelines.reports.text import visible
from beamscore.pipelines.runs.numbers import fixed, typeset
from tests import toy
from tests.runs import command, evaluate, write_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("end_to_end.f1", ["end_", "to_", "end.", "f1"]),
        ("difficulty=", ["difficulty="]),
        ("", [""]),
    ],
)
def test_a_name_may_be_broken_behind_its_marks(text: str, shown: list[str]) -> None:
    assert str(breakable(text)).split("<wbr>") == shown


@given(st.text())
def test_a_broken_name_reads_as_before(text: str) -> None:
    assert breakable(text).replace("<wbr>", "").unescape() == visible(text)


@pytest.mark.parametrize(
    ("value", "difference"),
    [(None, "–"), (-1e-17, "0.0000"), (-0.00001, "−0.00001"), (0.25, "+0.2500"), (-0.25, "−0.2500")],
)
def test_a_difference_has_its_decimals_and_zero_has_no_sign(value: float | None, difference: str) -> None:
    assert typeset(value) == difference


NUMBER = re.compile(r"\d+\.\d{4,}")


def numbers_of(value: Any) -> Iterator[str]:
    """Yields all numbers with four decimals at least that a document holds, in its texts too."""
    if isinstance(value, str):
        yield from NUMBER.findall(value)
    elif isinstance(value, float):
        yield from NUMBER.findall(fixed(value))
    elif isinstance(value, dict):
        yield from (number for each in value.values() for number in numbers_of(each))
    elif isinstance(value, (list, tuple)):
        yield from (number for each in value for number in numbers_of(each))


def test_every_number_of_a_page_and_of_markdown_comes_from_the_same_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.register()
    made: list[tuple[Sequence[Document], str]] = []
    markdown, page = rendering.render_markdown, rendering.render

    def keep_markdown(documents: Sequence[Document]) -> str:
        made.append((documents, markdown(documents)))
        return made[-1][1]

    def keep_page(documents: Sequence[Document]) -> bytes:
        written = page(documents)
        text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", written.decode())
        made.append((documents, html.unescape(text)))
        return written

    monkeypatch.setattr(rendering, "render_markdown", keep_markdown)
    monkeypatch.setattr(rendering, "render", keep_page)
    pairs = [toy.sample(index, 0) for index in range(60)]
    truth = write_lines(tmp_path / "t.jsonl", [pair[0] for pair in pairs])
    worse = [{**pair[0], "text": "?" * (number % 3)} for number, pair in enumerate(pairs[:25])]
    files = [truth, write_lines(tmp_path / "p.jsonl", [*worse, *(pair[0] for pair in pairs[25:])])]
    one, other = tmp_path / "runs" / "1", tmp_path / "runs" / "2"
    for output, predictions, more in ((one, files[0], ()), (other, files[1], ("--baseline", str(one)))):
        assert evaluate(output, truth, predictions, "--quiet", "--slice", "kind", *more).code == 0
    assert command("compare", one, other, "--output", tmp_path / "c", "--quiet")[0] == 0
    assert command("history", tmp_path / "runs")[0] == 0
    assert [documents[0].kind for documents, _ in made] == ["evaluation"] * 4 + ["comparison"] * 2 + ["history"] * 2
    for documents, text in made:
        known = {number for each in documents for number in numbers_of(msgspec.to_builtins(each))}
        shown = set(NUMBER.findall(text))
        assert len(shown) > 2
        assert shown <= known | {f"{float(number):,.4f}" for number in known}
    for reports in ((0, 1), (2, 3), (4, 5), (6, 7)):
        first, second = (made[place][0][0] for place in reports)
        assert first.verdict == second.verdict
        assert (first.metrics, first.differences, first.slices) == (second.metrics, second.differences, second.slices)
