"""YAML of unknown origin: each bound is met by work that is counted, and holds at its exact value."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from beamscore.pipelines.config import strict_yaml
from beamscore.pipelines.config.strict_yaml import load_yaml


def refusal(text: str | bytes) -> str:
    with pytest.raises(yaml.YAMLError) as error:
        load_yaml(text)
    return " ".join(str(error.value).split())


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def multiplied(first: str, between: str, levels: int) -> str:
    """Returns text in which each level names the one before nine times."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{i}: &a{i} " + between.format(", ".join([f"*a{i - 1}"] * 9)) for i in range(1, levels)]
    return "\n".join(lines)


def test_ordinary_text_is_read_with_its_aliases_and_merges() -> None:
    text = "a: &a {x: 1, y: 1e-9}\nb: {<<: *a, x: 2}\nc: [*a, *a]\n"
    one = {"x": 1, "y": 1e-9}
    assert load_yaml(text) == {"a": one, "b": {"x": 2, "y": 1e-9}, "c": [one, one]}
    assert load_yaml(text.encode()) == load_yaml(text)


@pytest.mark.parametrize(
    "text",
    [multiplied("[x, x, x]", "[{}]", 9), multiplied("{x: 1}", "{{<<: [{}]}}", 9), multiplied("x", "{{k: [{}]}}", 9)],
)
def test_aliases_that_multiply_are_refused_before_they_are_followed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = []
    original = yaml.SafeLoader.compose_node

    def counted(self: Any, parent: Any, index: Any) -> Any:
        composed.append(index)
        return original(self, parent, index)

    monkeypatch.setattr(yaml.SafeLoader, "compose_node", counted)
    assert len(text) < 600
    assert "more than 20000 values, counted as often as aliases repeat them" in refusal(text)
    assert len(composed) < 200


def test_as_many_values_as_are_allowed_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_yaml, "MAX_NODES", 7)
    assert load_yaml("[1, 2, 3, 4, 5, 6]") == [1, 2, 3, 4, 5, 6]
    assert "more than 7 values" in refusal("[1, 2, 3, 4, 5, 6, 7]")
    assert load_yaml("[&a [x, x], *a]") == [["x", "x"], ["x", "x"]]  # 1 + 3 + 3
    assert "more than 7 values" in refusal("[&a [x, x], *a, y]")


def test_as_many_levels_as_are_allowed_are_read() -> None:
    found = load_yaml(nested(50))
    for _ in range(49):
        (found,) = found
    assert found == []
    assert "nested deeper than 50 levels" in refusal(nested(51))
    assert load_yaml(f"[{', '.join([nested(49)] * 3)}]") is not None


@pytest.mark.parametrize("text", ["[" * 3000, nested(3000), "- " * 3000, "{a: " * 3000, "? " * 3000])
def test_text_without_end_of_nesting_is_refused(text: str) -> None:
    assert "nested deeper than 50 levels" in refusal(text)


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a\n<<: *a", "&a [[[*a]]]"])
def test_an_alias_within_what_it_names_is_refused(text: str) -> None:
    assert "an alias refers to a value that contains it" in refusal(text)


def test_a_text_may_have_its_largest_size_and_no_more() -> None:
    comment = "a #" + "x" * (strict_yaml.MAX_BYTES - 3)
    assert load_yaml(comment) == "a"
    assert refusal(comment + "x") == "it has more than the 1048576 bytes that are allowed"


@pytest.mark.parametrize("text", ["9" * 101, "0x" + "f" * 99, "1" + ":59" * 40, "1." + "0" * 99])
def test_a_number_has_a_bounded_length(text: str) -> None:
    assert "a number of more than 100 characters" in refusal(text)
    assert load_yaml(f"'{text}'") == text


def test_a_number_of_the_largest_length_is_read() -> None:
    assert load_yaml("9" * 100) == 10**100 - 1


@pytest.mark.parametrize(
    "text", ["2001-99-99", "!!bool x", "!!int ''", "!!float x", "!!timestamp x", '"\\ud800"', "!!binary é", "é\x00"]
)
def test_a_value_that_cannot_be_made_is_refused(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize("text", [b"\xff\xff", b"a: caf\xe9", b"\x00", b"a:\t- b\n\t- c"])
def test_bytes_that_are_no_yaml_are_refused(text: bytes) -> None:
    assert refusal(text)
