"""Worst cases of traffic rules: values that collide or never agree, long texts, and as many of all as there may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.abuse import Case

# Python's hash of an integer is its remainder by this prime, so that all of its multiples are one bucket.
_MODULUS = 2**61 - 1


def cases() -> Iterator[Case]:
    """Yields the worst cases."""
    colliding = [_MODULUS * k for k in range(1, 33_001)]
    yield _alike("integers with one hash in lists", _listed(colliding, 1000))
    yield _alike("integers with one hash as centerlines", [{"centerlines": colliding[:9_000]}])
    yield Case("integers with one hash in the prediction alone", _truth([{}]), {"rules": _listed(colliding, 1000)})
    yield _alike("floats with one hash", _listed([k * float(2**63) for k in range(1, 33_001)], 1000))
    yield _alike("one rule of 64 x 999 values with 10,000 centerlines", [_wide(0, 999, 10_000)])
    yield _alike("500 equal rules of 64 properties", [_wide(0, 1, 20)] * 500)
    yield _alike("500 rules that differ in one property", [_wide(n, 1, 20) for n in range(500)])
    truth, prediction = ([_wide(n + side, 20, 20) for n in range(500)] for side in (0, 1000))
    yield Case("500 rules that never agree", _truth(truth), {"rules": prediction})
    long = ["x" * 300_000 + str(n) for n in range(50)]
    yield _alike("long texts", [{"properties": {str(n): long[n] for n in range(50)}, "centerlines": ["1"]}])
    name = "x" * 5_000_000
    named = {"properties": {name: 1}, "centerlines": list(range(10_000))}
    yield Case(
        "a long name in 10,000 edges", {"rules": [{**named, "id": name}]}, {"rules": [{**named, "matches": name}]}
    )
    unknown = [{"matches": name, "centerlines": list(range(5_000))}] * 2
    yield Case("a long name of no rule in 10,000 edges", _truth([{}]), {"rules": unknown})
    yield _alike("one long text in 10,000 edges", [{"properties": {"a": name}, "centerlines": list(range(10_000))}])
    yield _alike("integers of 4,300 digits", [{"properties": {str(n): [10**4299 + n] * 60 for n in range(60)}}])
    full = [{"properties": {str(k): [f"{n}{k}{v}" for v in range(999)] for k in range(2)}} for n in range(490)]
    yield _alike("as many values as the budget allows", full)
    yield _alike("16 MB of values", [{"properties": {str(k): _SMALL for k in range(8)}} for n in range(500)])
    yield _alike("16 MB of empty lists", [{"properties": {str(n): [[]] * 100_000 for n in range(55)}}])
    yield _alike("16 MB of empty objects", [{"properties": {str(n): [{}] * 100_000 for n in range(55)}}])
    yield _alike("16 MB of lists nested in lists", [{"properties": {"a": [nested_list(190)] * 42_000}}])
    many = [{"properties": {"a": [nested_list(190)] * 5_000}}]
    yield _alike("as many lists nested in lists as a record may have", many)
    yield Case("a million predicted rules without anything", _truth([]), {"rules": [{}] * 1_000_000})
    yield _alike("many names of properties", [{"properties": {f"{n}-{k}": n for k in range(64)}} for n in range(500)])
    yield Case(
        "the costliest assignment",
        _truth([_shares(range(n), 1) for n in range(500)]),
        {"rules": [_shares(range(500 - n), 2) for n in range(500)]},
    )
    truth, prediction = (
        [{"properties": {f"{side}-{k}": "x" * 200 for k in range(64)}} for _ in range(500)] for side in "tp"
    )
    yield Case("64,000 wrong properties", _truth(truth), {"rules": prediction})
    yield Case("no rule at all against 500", _truth([]), {"rules": [_wide(n, 5, 20) for n in range(500)]})


_SMALL = [1.5] * 999 + [2]


def nested_list(depth: int) -> list[Any]:
    """Returns a list that holds a list, and so on, `depth` in all."""
    found: list[Any] = []
    for _ in range(depth - 1):
        found = [found]
    return found


def _shares(lines: range, own: int) -> dict[str, Any]:
    """Returns a rule that differs from those of another `own` and shares some centerlines and properties with them."""
    properties = {str(n): 1 if n < len(lines) % 64 else own for n in range(64)}
    return {"properties": properties, "centerlines": list(lines)[:20]}


def _alike(name: str, rules: list[dict[str, Any]]) -> Case:
    return Case(name, _truth(rules), {"rules": [{**rule, "matches": n} for n, rule in enumerate(rules)]})


def _truth(rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rules": [{"id": n, **rule} for n, rule in enumerate(rules)]}


def _listed(values: list[Any], length: int) -> list[dict[str, Any]]:
    """Returns a rule with lists of `length` values each."""
    lists = [values[start : start + length] for start in range(0, len(values), length)]
    return [{"properties": {str(n): each for n, each in enumerate(lists)}}]


def _wide(number: int, values: int, lines: int) -> dict[str, Any]:
    """Returns a rule of 64 lists of `values` values; the first list alone is its own."""
    properties = {str(n): [f"{n * bool(n)}-{number * (not n)}-{k}" for k in range(values)] for n in range(64)}
    return {"properties": properties, "centerlines": [f"{number}-{n}" for n in range(lines)]}
