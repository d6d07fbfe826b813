"""The competition's files become records."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from beamscore.metrics.chemistry.converter import ChemistryConverter
from beamscore.metrics.converter import Part, UnreadableSource

ANNOTATION = json.dumps({"chemfig": "\\chemfig{A-[2]B}", "ssml_normed": "\\chemfig { A -[:90] B }", "ssml_sd": "浓"})
LINES = "\ufeffimages/train_1.jpg\tH _ { 2 } O\r\n\nno tab\ntrain_2.jpg\t浓\ttab\n"


@pytest.mark.parametrize(
    ("role", "path", "content", "expected"),
    [
        ("lines", "a.txt", LINES, [("train_1", "H _ { 2 } O"), "a.txt, line 3: expected", ("train_2", "浓\ttab")]),
        ("lines", "a.txt", "\tH\n", ["a.txt, line 1: expected image<TAB>string"]),
        ("lines", "a.txt", b"a\t\xff\nb\tO", ["a.txt, line 1: not UTF-8", ("b", "O")]),
        ("json", "train/train_7.json", ANNOTATION, [("train_7", "\\chemfig { A -[:90] B }")]),
        ("json_chemfig", "train\\train_7.json", ANNOTATION, [("train_7", "\\chemfig{A-[2]B}")]),
        ("json_ssml_sd", "train_7.json", ANNOTATION, [("train_7", "浓")]),
        ("json", "a.json", "{", ["a.json: not JSON"]),
        ("json", "a.json", b"\xff", ["a.json: not JSON"]),
        ("json", "a.json", "[]", ["expected an object with the string 'ssml_normed'"]),
        ("json_chemfig", "a.json", '{"chemfig": 1}', ["expected an object with the string 'chemfig'"]),
        ("json", "a.json", '{"ssml_normed": "\\ud800"}', ["half of a surrogate pair"]),
    ],
)
def test_files_become_records_and_what_cannot_be_read_says_where(
    role: str, path: str, content: str | bytes, expected: list[Any]
) -> None:
    converter = ChemistryConverter()
    parts: Iterator[Any] = iter(
        converter.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content))
    )
    for wanted in expected:
        if isinstance(wanted, tuple):
            key, text = next(parts)
            assert [*converter.records(key, [Part(role, path, text)])] == [{"sample_id": wanted[0], "text": wanted[1]}]
        else:
            with pytest.raises(UnreadableSource, match=re.escape(wanted)):
                raise next(parts)
    assert not [*parts]


def test_a_sample_that_comes_twice_is_an_error() -> None:
    twice = [Part("lines", "a.txt", b"x"), Part("lines", "b.txt", b"y")]
    with pytest.raises(UnreadableSource, match=r"'s' comes 2 times: a.txt \(lines\), b.txt \(lines\)"):
        list(ChemistryConverter().records("s", twice))
