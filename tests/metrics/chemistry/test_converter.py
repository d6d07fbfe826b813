"""The competition's files become records."""

from __future__ import annotations

import io
import json

import pytest

from beamscore.metrics.chemistry.converter import ChemistryConverter
from beamscore.metrics.converter import Part, UnreadableSource

CONVERTER = ChemistryConverter()
ANNOTATION = json.dumps({"chemfig": "\\chemfig{A-[2]B}", "ssml_normed": "\\chemfig { A -[:90] B }", "ssml_sd": "s"})


def parts(role: str, path: str, content: str | bytes) -> list[tuple[str, bytes]]:
    """Returns the parts, and raises the first of them that cannot be read."""
    found = []
    for part in CONVERTER.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content)):
        if isinstance(part, UnreadableSource):
            raise part
        found.append(part)
    return found


def test_a_text_file_gives_one_sample_a_line() -> None:
    content = "\ufeffimages/train_1.jpg\tH _ { 2 } O\r\n\ntrain_2.jpg\t浓\ttab\n"
    assert parts("lines", "mini_valid.txt", content) == [
        ("train_1", b"H _ { 2 } O"),
        ("train_2", "浓\ttab".encode()),
    ]


def test_a_bad_line_does_not_take_the_others_with_it() -> None:
    first, bad, last = CONVERTER.parts("lines", "x.txt", io.BytesIO(b"a\tH\nno tab\nb\tO\n"))
    assert (first, last) == (("a", b"H"), ("b", b"O"))
    assert isinstance(bad, UnreadableSource)


@pytest.mark.parametrize(
    ("role", "text"),
    [("json", "\\chemfig { A -[:90] B }"), ("json_chemfig", "\\chemfig{A-[2]B}"), ("json_ssml_sd", "s")],
)
def test_an_annotation_gives_the_field_of_its_role(role: str, text: str) -> None:
    assert parts(role, "train/train_7.json", ANNOTATION) == [("train_7", text.encode())]


def test_the_record_of_a_sample() -> None:
    records = list(CONVERTER.records("train_7", [Part("json", "a/train_7.json", "浓".encode())]))
    assert records == [{"sample_id": "train_7", "text": "浓"}]


@pytest.mark.parametrize(
    ("role", "content", "said"),
    [
        ("lines", "train_1.jpg H\n", "x.txt, line 1: expected image<TAB>string"),
        ("lines", "a\tb\n\tH\n", "x.txt, line 2: expected image<TAB>string"),
        ("lines", b"a\t\xff\n", "x.txt, line 1: not UTF-8"),
        ("json", "{", "x.txt: not JSON"),
        ("json", b"\xff", "x.txt: not JSON"),
        ("json", "[]", "expected an object with the string 'ssml_normed'"),
        ("json_chemfig", '{"chemfig": 1}', "expected an object with the string 'chemfig'"),
        ("json", '{"ssml_normed": "\\ud800"}', "half of a surrogate pair"),
    ],
)
def test_what_cannot_be_converted_says_where(role: str, content: str | bytes, said: str) -> None:
    with pytest.raises(UnreadableSource, match=said.replace("[", "\\[")):
        parts(role, "x.txt", content)


def test_a_sample_that_comes_twice_is_an_error() -> None:
    twice = [Part("lines", "a.txt", b"x"), Part("lines", "b.txt", b"y")]
    with pytest.raises(UnreadableSource, match=r"'s' comes 2 times: a.txt \(lines\), b.txt \(lines\)"):
        list(CONVERTER.records("s", twice))
