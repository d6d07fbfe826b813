"""Worst cases of traffic rules: values that collide or never agree, long texts, and as many of all as there may be."""

import json
from collections.abc import Iterator
from typing import Any

from tests.abuse.run import Case

Rules = list[dict[str, Any]]


def cases() -> Iterator[Case]:
    # Python's hash of an integer is its remainder by this prime, so that all of its multiples are one bucket.
    colliding = [(2**61 - 1) * k for k in range(1, 33_001)]
    name = "x" * 5_000_000
    alike: list[tuple[str, Rules]] = [
        ("integers with one hash in lists", _listed(colliding, 1000)),
        ("integers with one hash as centerlines", [{"centerlines": colliding[:9_000]}]),
        ("one rule of 64 x 999 values with 10,000 centerlines", [_wide(0, 999, 10_000)]),
        ("500 rules that differ in one property", [_wide(n, 1, 20) for n in range(500)]),
        ("long texts", [{"properties": {str(n): "x" * 300_000 + str(n) for n in range(50)}, "centerlines": ["1"]}]),
        ("one long text in 10,000 edges", [{"properties": {"a": name}, "centerlines": list(range(10_000))}]),
        ("integers of 4,300 digits", [{"properties": {str(n): [10**4299 + n] * 60 for n in range(60)}}]),
        ("16 MB of empty objects", [{"properties": {str(n): [{}] * 100_000 for n in range(55)}}]),
        ("16 MB of lists nested in lists", [{"properties": {"a": [json.loads("[" * 190 + "]" * 190)] * 42_000}}]),
        ("many names of properties", [{"properties": {f"{n}-{k}": n for k in range(64)}} for n in range(500)]),
    ]
    never, again = ([_wide(n + side, 20, 20) for n in range(500)] for side in (0, 1000))
    plain: Rules = [{"properties": {"a": 1}, "centerlines": ["1"]}]
    few, many = ([_shares(n, side) for n in range(500)[::step]] for side, step in ((1, 1), (2, -1)))
    pairs: list[tuple[str, Rules, Rules]] = [
        ("integers with one hash in the prediction alone", plain, _listed(colliding, 1000)),
        ("500 rules that never agree", never, again),
        ("a long name of no rule in 10,000 edges", plain, [{"matches": name, "centerlines": list(range(5_000))}] * 2),
        ("a million predicted rules without anything", [], [{}] * 1_000_000),
        ("the costliest assignment", few, many),
    ]
    pairs[:0] = [(what, rules, [{**rule, "matches": n} for n, rule in enumerate(rules)]) for what, rules in alike]
    for what, truth, prediction in pairs:
        yield Case(what, {"rules": [{"id": n, **rule} for n, rule in enumerate(truth)]}, {"rules": prediction})


def _shares(count: int, own: int) -> dict[str, Any]:
    """Returns a rule that differs from those of another `own` and shares some centerlines and properties with them."""
    properties = {str(n): 1 if n < count % 64 else own for n in range(64)}
    return {"properties": properties, "centerlines": list(range(min(count, 20)))}


def _listed(values: list[Any], length: int) -> Rules:
    return [{"properties": {str(n): values[n : n + length] for n in range(0, len(values), length)}}]


def _wide(number: int, values: int, lines: int) -> dict[str, Any]:
    """Returns a rule of 64 lists of `values` values; the first list alone is its own."""
    properties = {str(n): [f"{n * bool(n)}-{number * (not n)}-{k}" for k in range(values)] for n in range(64)}
    return {"properties": properties, "centerlines": [f"{number}-{n}" for n in range(lines)]}
