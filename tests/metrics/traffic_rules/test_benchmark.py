"""Equal values, the tasks and the pairs of rules by plain definitions; values, details, limits and pictures."""

import functools
import itertools
import json
import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.traffic_rules.metrics import MAX_NAME_LENGTH
from tests.laws import tries
from tests.metrics import samples
from tests.metrics.samples import drawn, texts
from tests.plain_loop import make_benchmark, total

TASKS = ("rule_extraction", "correspondence", "overall")
TASK_METRICS = [f"{task}.{kind}" for task in TASKS for kind in ("precision", "recall", "f1")]
BUS = {"LaneType": "Bus", "Limit": 40}
NO_RULE = "edges of predicted rules that match no rule begin here"
Rules = list[dict[str, Any]]


def score(truth: Rules, predicted: Rules | None, **options: Any) -> SampleScore:
    prediction = None if predicted is None else {"rules": predicted}
    return samples.score("traffic_rules", {"rules": truth}, prediction, **options)


def rejection(side: str, truth: Rules, predicted: Rules, **options: Any) -> str:
    return samples.rejection("traffic_rules", side, {"rules": truth}, {"rules": predicted}, **options)


def values(*scores: SampleScore) -> dict[str, float | None]:
    return make_benchmark("traffic_rules").values(total(scores))


LEAVES = st.sampled_from([None, True, False, 0, 1, -0.0, 1.0, 1.5, "", "1", "a", "A", 10**30, 10**400])
PLAIN = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


def same(left: Any, right: Any) -> bool:
    """Returns whether two JSON values are equal: lists as sets, null members as absent, true apart from 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return all(any(same(a, b) for b in right) for a in left) and all(any(same(a, b) for a in left) for b in right)
    if isinstance(left, dict) and isinstance(right, dict):
        names = {name for side in (left, right) for name in side if side[name] is not None}
        return all(same(left.get(name), right.get(name)) for name in names)
    return bool(left == right)


def are_equal(left: Any, right: Any) -> bool:
    found = score([{"id": 0, "properties": {"a": left}}], [{"properties": {"a": right}}])
    return found.metrics["rule_extraction.f1"] == 1


def test_equality() -> None:
    for left, right, equal in (
        (float("nan"), float("nan"), True),
        ({"é": ["é"]}, {"e\u0301": ["e\u0301"]}, True),
        ([10**17 + 1, 2**70], [2.0**70, 10**17 + 1], True),
        (10**17 + 1, 1e17, False),
        ({"a": 1}, [["a", 1]], False),
        # No two values run together to the text of another one.
        *((each, ["1", "a"], False) for each in (["1:a"], ["1sa"])),
        (1.5, "0x1.8000000000000p+0;", False),
        (0.1, 0.1 + 2**-55, False),
    ):
        assert are_equal(left, right) is equal, (left, right)


@given(st.lists(PLAIN, max_size=3), st.lists(PLAIN, max_size=3))
def test_values_are_equal_as_in_the_plain_definition(left: list[Any], right: list[Any]) -> None:
    """In a list, and in objects, whose names tell where they are."""
    assert are_equal(left, right) is same(left, right)
    objects = [{str(n): each for n, each in enumerate(side)} for side in (left, right)]
    assert are_equal(*objects) is same(*objects)


SIDE = st.lists(
    st.fixed_dictionaries(
        {
            "properties": st.dictionaries(
                st.sampled_from(["Type", "Limit"]), st.sampled_from([1, 1.0, True, "1", [1, 2], [2, 1, 1], None])
            ),
            # Names are text, whatever their JSON type.
            "centerlines": st.lists(st.sampled_from([1, "1", "2", 3]), max_size=3),
            "matches": st.sampled_from(["0", 1, "9", None]),
        }
    ),
    max_size=4,
)


def scored_pairs(true: Rules, predicted: Rules) -> tuple[SampleScore, list[tuple[int, int]]]:
    """Scores the rules, and returns which predicted one is paired with which true one."""
    result = score([{**rule, "id": n} for n, rule in enumerate(true)], predicted)
    paired = [(n, rule["prediction"]) for n, rule in enumerate(result.details["rules"])]
    return result, [(n, prediction) for n, prediction in paired if prediction is not None]


def counted(true: list[Any], found: list[Any]) -> tuple[int, int, int]:
    """How many are right, one found for each true one, how many are found, and how many are true."""
    left = list(found)
    for value in true:
        at = next((place for place, other in enumerate(left) if same(value, other)), None)
        if at is not None:
            del left[at]
    return len(found) - len(left), len(found), len(true)


@given(SIDE, SIDE)
def test_counts_and_pairs_are_those_of_the_plain_definitions(true: Rules, predicted: Rules) -> None:
    """A line that is named twice is one of a true rule, and two of a predicted one."""
    result, pairs = scored_pairs(true, predicted)
    truth = [{**each, "matches": n, "centerlines": {*map(str, each["centerlines"])}} for n, each in enumerate(true)]
    edges, found = ([(rule, str(line)) for rule in side for line in rule["centerlines"]] for side in (truth, predicted))
    kinds = "right", "predicted", "true"
    assert [tuple(result.statistics.get(f"{task}.{kind}", 0) for kind in kinds) for task in TASKS] == [
        counted([rule["properties"] for rule in truth], [rule["properties"] for rule in predicted]),
        counted(*([(str(rule["matches"]), line) for rule, line in side] for side in (edges, found))),
        counted(*([{"line": line, "of": rule["properties"]} for rule, line in side] for side in (edges, found))),
    ]
    equal = {(i, j) for i, j in pairs if same(true[i]["properties"], predicted[j]["properties"])}
    rows = [i for i in range(len(true)) if i not in dict(equal)]
    columns = [j for j in range(len(predicted)) if j not in dict(equal).values()]
    assert not any(same(true[i]["properties"], predicted[j]["properties"]) for i in rows for j in columns)

    def quality(chosen: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """How many properties agree, then how many centerlines are shared, which tell equally good pairs apart."""
        both = [(true[i], predicted[j]) for i, j in chosen]
        sides = [(one["properties"], other["properties"]) for one, other in both]
        agree = sum(one[name] is not None and same(one[name], other.get(name)) for one, other in sides for name in one)
        lines = [[{*map(str, rule["centerlines"])} for rule in pair] for pair in both]
        return agree, sum(len(one & other) for one, other in lines)

    count = min(len(rows), len(columns))
    every = itertools.product(itertools.permutations(rows, count), itertools.permutations(columns, count))
    assert len(pairs) == len(equal) + count
    assert quality({*pairs} - equal) == max(quality(zip(*both, strict=True)) for both in every)


def made(lines: str = "", **properties: str) -> dict[str, Any]:
    return {"properties": properties, "centerlines": list(lines)}


def test_equal_rules_pair_in_order_and_one_agreeing_property_outweighs_all_shared_centerlines() -> None:
    one, two = made(a="1"), made(a="2")
    assert scored_pairs([one, two, one], [one, two, one, one])[1] == [(0, 0), (1, 1), (2, 2)]
    assert scored_pairs([made("12345", a="1", b="1")], [made("12345", a="9"), made(a="1", b="9")])[1] == [(0, 1)]


def test_values_are_ratios_of_sums_over_the_samples() -> None:
    found = values(
        score([{"id": "a", "properties": BUS, "centerlines": ["1"]}], [{"properties": BUS, "centerlines": ["1"]}]),
        score(
            [{"id": "a", "properties": BUS, "centerlines": ["1", "2", "3"]}],
            [{"properties": {}, "centerlines": ["1", "2"], "matches": "a"}, {"properties": {"LaneType": "Bus"}}],
        ),
    )
    assert [found[name] for name in TASK_METRICS] == [
        *(1 / 3, 1 / 2, 0.4),  # 1 of 1 + 0 of 2 predicted; 1 of 1 + 0 of 1 true; 2 * 1/3 * 1/2 / (1/3 + 1/2)
        *(2 / 3, 2 / 4, pytest.approx(4 / 7)),  # 0 of 1 + 2 of 2, as the first rule matches none; 0 of 1 + 2 of 3
        *(1 / 3, 1 / 4, pytest.approx(2 / 7)),  # 1 of 1 + 0 of 2 predicted; 1 of 1 + 0 of 3 true
    ]


def test_nothing_on_one_side_is_wrong_and_on_both_is_not_measured() -> None:
    some = [{"id": "a", "properties": BUS, "centerlines": ["1"], "matches": "a"}]
    assert dict.fromkeys(TASK_METRICS) == values() == values(score([], []), score([], None))
    assert score([], None).metrics == {**dict.fromkeys(TASK_METRICS), "wrong_properties": 0, "unpaired_rules": 0}
    wrong = dict.fromkeys(TASK_METRICS, 0)
    assert values(score(some, None)) == wrong | {f"property_accuracy[{name}]": 0 for name in BUS}
    assert values(score(some, [])) == values(score(some, None))
    assert values(score([], some)) == wrong


def test_properties_that_are_ignored_or_null_are_left_out_whatever_they_hold_and_hide_no_others() -> None:
    truth = [{"id": "a", "properties": {**BUS, "RuleIndex": 1}}]
    predicted = [{"properties": {**BUS, "é": nested(17), "e\u0301": 1}}]
    found = values(score(truth, predicted, ignore_properties=["RuleIndex", "e\u0301"]))
    assert found["rule_extraction.f1"] == 1
    assert "property_accuracy[RuleIndex]" not in found
    # Of one name in two forms of Unicode, one is null.
    for properties in ({"é": 1, "e\u0301": None}, {"é": None, "e\u0301": 1}):
        for name in properties:
            found = values(score([{"id": "a", "properties": properties}], [{"properties": {name: 1}}]))
            assert found["rule_extraction.f1"] == 1


def test_what_was_paired_and_what_was_wrong() -> None:
    scored = score(
        [
            {"id": "a", "properties": {"Time": None, **BUS, "Date": "Workday"}, "centerlines": ["2", "1"]},
            {"id": "b", "properties": {"LaneType": "Tidal"}, "centerlines": ["0"]},
        ],
        [
            {"properties": {}, "centerlines": ["7"]},
            {"properties": {"x": 1, "a": 2, **BUS, "Limit": 60}, "centerlines": ["1", "1", "3"], "matches": "a"},
            {"properties": {}, "matches": "gone"},
        ],
    )
    # The properties of both sides come in order of their names.
    assert make_benchmark("traffic_rules").explain(msgspec.to_builtins(scored.details)) == [
        *("0 of 2 rules have all properties right", "1 edges right, 2 edges missed, 3 edges wrong"),
        *("rule a: Date (absent), Limit (different), a (extra), x (extra)", "rule b: LaneType (absent)"),
    ]
    assert (scored.details["unpaired_predictions"], scored.coverage) == ([2], {"matches_unknown_rule": 1})
    assert (scored.metrics["wrong_properties"], scored.metrics["unpaired_rules"]) == (5, 0)
    unpaired = score([{"id": "c", "properties": {"LaneType": "Bus"}}], [])
    found = values(scored, unpaired)
    assert [found[f"property_accuracy[{name}]"] for name in ("LaneType", "Limit", "Date")] == [1 / 3, 0, 0]
    assert make_benchmark("traffic_rules").tables(total([])) == []


def test_long_names_are_cut_in_details_and_statistics() -> None:
    name, shown = "x" * 100_000, "x" * 200 + "…"
    scored = score(
        [{"id": name, "properties": {name: "v" * 200, "a]b[": 2}, "centerlines": ["r", "l" * 201]}],
        [{"matches": name, "centerlines": ["r"]}, {"matches": name + "y", "centerlines": ["y" * 200]}],
    )
    edges = {"right": [(shown, "r")], "missed": [(shown, "l" * 200 + "…")], "wrong": [(shown, "y" * 200)]}
    assert (scored.details["edges"], scored.coverage) == (edges, {"matches_unknown_rule": 1})
    (rule,) = msgspec.to_builtins(scored.details["rules"])
    assert rule["id"] == shown
    assert '"' + "v" * 199 + "…" in rule["wrong"][1].values()
    assert max(map(len, scored.statistics)) < MAX_NAME_LENGTH + 30
    assert values(scored)["property_accuracy[a]b[]"] == 0.0


def nested(depth: int) -> list[Any]:
    return functools.reduce(lambda inner, _: [inner], range(depth - 1), [])


@pytest.mark.parametrize(
    ("truth", "rule", "said"),
    [
        ([{"id": each, "properties": {}} for each in (1, "1", 2, 2)], {},
         "rules: the id '1' is duplicated; give every rule an id of its own"),
        ([{"id": 1, "properties": {}}, {"id": 2, "centerlines": ["1"]}], {}, "rules[1] has no `properties`"),
        ([], {"centerlines": ["1"] * 10_001}, "rules: they name 10001 centerlines, and at most 10000 are scored"),
        *(([], {"properties": properties}, f"rules[1].properties: {said}") for properties, said in (
            ({str(n): n for n in range(65)}, "there are 65, and at most 64 are scored"),
            ({"x" * 999: [0] * 1001}, f"'{'x' * 60}…' cannot be compared: it holds more than 1000 values"),
            ({"a": {"b": [0] * 999, "c": []}}, "'a' cannot be compared: it holds more than 1000 values"),
            ({"a": nested(17)}, "'a' cannot be compared: it nests more than 16 deep"),
            ({"a": nested(100_000)}, "'a' cannot be compared: it nests more than 16 deep"),
            ({"é": 1, "e\u0301": 1}, "'é' occurs twice, in two forms of Unicode"),
            ({"a": b"x"}, "'a' cannot be compared: bytes is not a type of JSON"),
        )),
    ],
)  # fmt: skip
def test_more_than_can_be_scored_is_refused(truth: Rules, rule: Any, said: str) -> None:
    assert rejection("ground_truth" if truth else "prediction", truth, [{}, rule]) == said


def test_names_of_the_data_set_are_refused() -> None:
    rule: dict[str, Any] = {"id": 1, "attr_info": BUS, "centerline": [1]}
    said = "^it has attr_info, centerline, not `properties` or `centerlines`; `beamscore convert traffic_rules` reads"
    for truth, predicted in ([rule], []), ([], [rule]):
        with pytest.raises(msgspec.ValidationError, match=said):
            score(truth, predicted)


def test_500_rules_a_side_are_scored_and_no_more() -> None:
    score([], [{"properties": {"a": nested(16), "b": [0] * 1000, "c": {"d": [0] * 999}}}])
    sides = [
        [{"id": n, "properties": {str(k): n * k % 7 for k in range(64)}, "centerlines": ["1"] * 20} for n in numbers]
        for numbers in (range(500), range(1, 501))
    ]
    scored = score(*sides)
    assert scored.statistics["rule_extraction.true"] == scored.statistics["rule_extraction.predicted"] == 500
    assert (scored.statistics["correspondence.predicted"], scored.metrics["unpaired_rules"]) == (10_000, 0)
    assert rejection("prediction", [], [{}] * 501) == "rules: there are 501, and at most 500 are scored"


def test_work_is_what_there_is_to_read_and_the_pairs_of_unequal_rules() -> None:
    truth = [{"id": n, "properties": {"a": n}, "centerlines": [1, 2]} for n in range(3)]
    predicted = [{"properties": {"a": n, "b": {"c": "x" * 2000}}, "centerlines": [3]} for n in range(4)]
    # 3 x 2 + 4 x 1 edges, 3 x 1 + 4 x (1 + 1 + 1 + 3) values, names and thousands of characters, 3 x 4 pairs of rules
    samples.assert_steps(10 + 27 + 12, "traffic_rules", {"rules": truth}, {"rules": predicted})
    # 28 steps to read the prediction are more than twice the 9 of the ground truth.
    assert "(at least 49 steps)" in rejection("prediction", truth, predicted, max_steps=48)


def encoded(value: Any, form: Any) -> Any:
    """The same record with all texts in one form of Unicode."""
    return json.loads(unicodedata.normalize(form, json.dumps(value, ensure_ascii=False)))


FORMS = st.sampled_from(("NFC", "NFD"))
TEXTS = st.text(max_size=4) | st.text(st.sampled_from("aÅé각\u0301\u0323\u0f73"), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)
NAMES = TEXTS | st.integers(0, 5)
PROPERTY_NAMES = TEXTS.map(lambda name: unicodedata.normalize("NFC", name))
RULES = st.lists(
    st.fixed_dictionaries(
        {
            "properties": st.none() | st.dictionaries(PROPERTY_NAMES, JSON, max_size=4),
            # A centerline that is named twice is two predicted edges, and one true one: see docs.
            "centerlines": st.none() | st.lists(NAMES, max_size=3, unique_by=lambda name: encoded(str(name), "NFC")),
            "matches": st.none() | NAMES,
        }
    ),
    max_size=4,
)


@tries(60)
@given(RULES, RULES | st.none(), FORMS, FORMS)
def test_any_rules_are_scored_and_a_copy_scores_1(drawn: Rules, predicted: Any, form: str, other: str) -> None:
    """In either form of Unicode."""
    stated = [rule for rule in drawn if rule["properties"] is not None]
    true = [{**rule, "id": f"É{number}"} for number, rule in enumerate(stated)]
    scored = score(true, predicted)
    found = values(scored)
    assert {name: found[name] for name in TASK_METRICS} == {name: scored.metrics[name] for name in TASK_METRICS}
    assert all(0.0 <= (found[name] or 0.0) <= 1.0 for name in TASK_METRICS)
    assert all(scored.statistics.values())
    msgspec.json.encode(scored.details)
    copied = score(encoded(true, form), encoded([{**rule, "matches": rule["id"]} for rule in true], other))
    assert {value for value in values(copied).values() if value is not None} <= {1}
    assert copied.metrics["wrong_properties"] == copied.metrics["unpaired_rules"] == 0


def test_a_picture_shows_so_much_of_each_kind() -> None:
    """All else is in the kept drawings."""
    properties = {str(k): 1 for k in range(7)}
    truth = [{"id": n, "properties": properties, "centerlines": [2 * n, 2 * n + 1]} for n in range(42)]
    predicted = [{"properties": {}, "matches": "gone", "centerlines": [0]}] * 84
    found = texts(drawn("traffic_rules", {"rules": truth}, {"rules": predicted}))
    counts = [sum(text.startswith(word) for text in found) for word in ("rule ", "predicted rule ", "lane ", "0: 1 is")]
    assert counts == [40, 40, 60, 40]
    said = ("more wrong properties: 1", "more lanes: 24", "more rules, not drawn: 2")
    more = "more predicted rules, paired with none: 2"
    assert [found.count(each) for each in (*said, more)] == [40, 1, 1, 1]
    assert NO_RULE in found


def test_edges_that_are_not_shown_are_counted_and_those_of_rules_that_are_not_drawn_match_a_rule() -> None:
    lines = [list(range(300)), *([n] for n in range(44))]
    truth = [{"id": f"{n}{'r' * 300}", "properties": BUS, "centerlines": some} for n, some in enumerate(lines)]
    predicted = [{**rule, "matches": rule["id"]} for rule in truth]
    details = msgspec.to_builtins(score(truth, predicted).details)
    assert len(details["edges"]["right"]) == 200
    said = make_benchmark("traffic_rules").explain(details)
    assert said == ["45 of 45 rules have all properties right", "344 edges right, 0 edges missed, 0 edges wrong"]
    found = texts(drawn("traffic_rules", {"rules": truth}, {"rules": predicted}))
    assert {"more rules, not drawn: 5", "more lanes: 240"} < {*found}  # 300 of which 60 are drawn
    assert NO_RULE not in found
