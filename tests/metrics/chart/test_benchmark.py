"""The chart benchmark as a whole: which tasks are scored, what is rejected, what comes out, and what else is drawn."""

import copy
import functools
import json
import math
import operator
import random
import re
import unicodedata
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.draw import MAX_HEIGHT, MAX_PARTS
from beamscore.metrics.chart.records import ALL_TASKS, ChartOptions, ChartPrediction, ChartTruth, PredictedTextRoles
from beamscore.metrics.common.svg import MATCHED, WRONG, judged
from beamscore.metrics.common.wrong_names import wrong_names
from beamscore.metrics.statistics.ratios import f_measure
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.settings import load
from tests.generate.chart import CLASSES, SUMMARY, sample
from tests.laws import tries
from tests.metrics import samples
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, data, elements, output, series, tick
from tests.metrics.samples import SVG, shapes, texts, weighted, whole_and_part

NAMES = ChartBenchmark.sample_metric_names()
BARS, SERIES = elements(bars=[box(0, 0, 5, 5)])["output"], data(series("s", ("a", 1)))["output"]
WHOLE: Json = {
    "task1": chart_type("Grouped vertical bar"),
    "task2": blocks(block(1, "a", 0, 0, 10, 10)),
    "task3": make.roles((1, "tick_label")),
    "task4": make.axes([make.tick(1, 0, 0)], []),
    "task5": make.legend(_1=box(0, 0, 5, 5)),
    "task6": {"output": {**BARS, **SERIES}},
}
PREDICTION = {**WHOLE, "task7": WHOLE["task6"]}


def test_a_perfect_prediction_scores_1_in_every_task_and_a_missing_one_0() -> None:
    for protocol in ("published", "released"):
        assert make.metrics(WHOLE, PREDICTION, protocol=protocol) == dict.fromkeys(NAMES, 1)
    assert make.metrics(WHOLE, None) == dict.fromkeys(NAMES, 0)
    # Released, a missing one is left out of some tasks, but its ground truth is read.
    scored = set(NAMES) - {"task5.score", "task6b.score", "task7.score"}
    assert make.metrics(WHOLE, None, protocol="released") == dict.fromkeys(scored, 0)
    bad = {**WHOLE, "task6": data({"name": "s", "data": {}})}
    assert "must be a list" in make.rejection("ground_truth", bad, None, protocol="released")
    some = ["task1", "task6b"]
    assert set(make.metrics(WHOLE, None, tasks=some)) == {"task1.correct", "task6b.score", "score"}
    assert make.benchmark().explain({}) == []


@pytest.mark.parametrize("name", ["Pie", "donut", " PIE ", "3D  pie chart"])
@pytest.mark.parametrize("protocol", ["published", "released"])
def test_pie_and_donut_charts_have_task_1_alone(name: str, protocol: str) -> None:
    truth = {**WHOLE, "task1": chart_type(name), "image": None}
    for said, correct in ((truth["task1"], 1), (WHOLE["task1"], 0)):
        score = make.score(truth, {**WHOLE, "task1": said}, protocol=protocol)
        assert score.metrics == {"task1.correct": correct, "score": correct}
        # It does not say either whether another task is attempted.
        assert len(score.statistics) == 2
        assert score.statistics["task1.attempted"] == 1
    score = make.score(truth, WHOLE, protocol=protocol, tasks=["task6b"])
    assert (score.metrics, score.statistics) == ({"score": None}, {})
    # What a prediction calls the chart does not change its tasks.
    found = make.metrics(WHOLE, {**PREDICTION, "task1": chart_type(name)}, protocol=protocol)
    assert found == {**dict.fromkeys(NAMES, 1), "task1.correct": 0, "score": 7 / 8}


SIX_TASKS = ["task1", "task2", "task3", "task4", "task5", "task6"]
NO_AXES: list[Json] = [{"_plot_bb": box(0, 0, 9, 9)}, {"axes": {}}, {"axes": {"x-axis": None, "y-axis": None}}]
NOTHING: list[Any] = [None, {}, {"output": None}, {"input": {"task1_output": {"chart_type": "Pie"}}}, output()]
EMPTY_OUTPUTS: list[tuple[str, Any]] = [
    *((task, each) for task in SIX_TASKS for each in NOTHING),
    *(("task1", {"output": each}) for each in ("", {"chart_type": None}, {"chart_type": "  "})),
    *(("task2", output(text_blocks=None)), ("task3", output(text_roles=None)), ("task5", output(legend_pairs=None))),
    *(("task4", {"output": each}) for each in NO_AXES),
    ("task6", output(**{"visual elements": None, "data series": None})),
]


@pytest.mark.parametrize(("task", "empty"), EMPTY_OUTPUTS)
@pytest.mark.parametrize("protocol", ["published", "released"])
def test_an_empty_output_is_no_task(task: str, empty: Any, protocol: str) -> None:
    # Without the class of the chart nothing says how data compare.
    tasks = [name for name in ALL_TASKS if task != "task1" or name < "task6"]
    options: Json = {"tasks": tasks, "protocol": protocol}
    # In the ground truth it is not scored, and neither is task 7, which is compared with task 6.
    lacking = (task, "task7") if task == "task6" else (task,)
    scored = {name for name in NAMES if name.startswith((*tasks, "score")) and not name.startswith(lacking)}
    assert make.metrics({**WHOLE, task: empty}, PREDICTION, **options) == dict.fromkeys(scored, 1)
    # As a prediction it is a missing one: 0 in its own tasks, and not attempted.
    given = make.score(WHOLE, {**PREDICTION, task: empty}, **options)
    assert given == make.score(WHOLE, {name: each for name, each in PREDICTION.items() if name != task}, **options)
    others = {name: float(not name.startswith(task)) for name in given.metrics}
    assert given.metrics == {**others, "score": sum(not name.startswith(task) for name in tasks) / len(tasks)}
    said = {f"{name}.{'left_out' if name.startswith(task) else 'attempted'}" for name in tasks}
    assert {name for name in given.statistics if name.endswith((".left_out", ".attempted"))} == said


def test_an_output_outside_of_output_is_refused() -> None:
    for task in (*SIX_TASKS, "task7"):
        outside = PREDICTION[task]["output"]
        beside = {**PREDICTION, task: {**PREDICTION[task], **outside, "data series": None}}
        # Beside an output it has no part in the hash of the record.
        assert msgspec.convert(beside, ChartPrediction) == msgspec.convert(PREDICTION, ChartPrediction)
        said = re.escape(f"it has {', '.join(sorted(outside, reverse=True))}, not `output` - at `$.{task}`")
        empty = {**outside, "output": {}}
        for truth, prediction in ((WHOLE, {**PREDICTION, task: empty}), ({**WHOLE, task: outside}, PREDICTION)):
            if task != "task7" or truth is WHOLE:
                with pytest.raises(msgspec.ValidationError, match=said):
                    make.score(truth, prediction)


WRONG_NAMES = [
    *(("task1.output", "chart_type", wrong) for wrong in ("type", "chartType")),
    ("task2.output", "text_blocks", "text blocks"),
    ("task3.output", "text_roles", "roles"),
    *(("task4.output", "axes", "x-axis"), ("task4.output.axes", "x-axis", "x")),
    *(("task4.output.axes", "y-axis", "y_axis"), ("task5.output", "legend_pairs", "legend")),
    *(("task6.output", name, name.replace(" ", "_")) for name in ("visual elements", "data series")),
    *(("task6.output.visual elements", name, name[:-1]) for name in ("bars", "lines", "boxplots")),
    *(("task6.output.visual elements", "scatter points", wrong) for wrong in ("scatter_points", "scatter", "points")),
    *(("task6.output.data series.0", "name", "label"), ("task6.output.data series.0.data.0", "x", "label")),
]


@pytest.mark.parametrize(("place", "right", "wrong"), WRONG_NAMES)
def test_a_wrong_name_is_refused_unless_the_right_one_is_there(place: str, right: str, wrong: str) -> None:
    given: Any = copy.deepcopy(PREDICTION)
    path: list[Any] = [int(name) if name.isdigit() else name for name in place.split(".")]
    named = functools.reduce(operator.getitem, path, given)
    named[right] = named.get(right, [])
    record = msgspec.convert(given, ChartPrediction)
    named[wrong] = named[right]
    assert msgspec.convert(given, ChartPrediction) == record
    # An empty object is absent, too.
    named[right], named[wrong] = {} if isinstance(named[right], dict) else None, [0]
    shown = re.sub(r"\.(\d)", r"[\1]", place)
    with pytest.raises(msgspec.ValidationError, match=re.escape(f"it has {wrong}, not `{right}` - at `$.{shown}`")):
        msgspec.convert(given, ChartPrediction)
    # A series without a name may have its index.
    named[wrong], named["series"] = None, 0
    msgspec.convert(given, ChartPrediction)


def test_a_type_refuses_the_wrong_names_of_its_base_too() -> None:
    both = wrong_names({"text_roles": ("Roles",)})(PredictedTextRoles)
    for wrong in ("Roles", "roles"):
        with pytest.raises(msgspec.ValidationError, match=f"it has {wrong}, not `text_roles`"):
            msgspec.convert({wrong: []}, both)


def test_task_6_may_have_elements_alone_or_series_alone() -> None:
    for half, scored in ((BARS, {"task6a.score"}), (SERIES, {"task6b.score", "task7.score"})):
        found = make.metrics({**WHOLE, "task6": {"output": half}}, PREDICTION)
        assert found == {name: 1 for name in NAMES if name in scored or not name.startswith(("task6", "task7"))}
        found = make.metrics(WHOLE, {**PREDICTION, "task6": {"output": half}})
        others = {name: float(name not in {"task6a.score", "task6b.score"} - scored) for name in NAMES}
        assert found == {**others, "score": 7 / 8}


@pytest.mark.parametrize("protocol", ["published", "released"])
def test_an_empty_list_is_an_answer(protocol: str) -> None:
    nothing = {"output": {**elements(bars=[])["output"], **data()["output"]}}
    empty: Json = {"task5": make.legend(), "task2": blocks(), "task4": make.axes([], []), "task6": nothing}
    truth, right = {**WHOLE, **empty}, {**PREDICTION, **empty, "task7": nothing}
    assert make.metrics(truth, right, protocol=protocol) == dict.fromkeys(NAMES, 1)
    for task in (*empty, "task7"):
        found = make.metrics(truth, {**right, task: output()}, protocol=protocol)
        others = {name: float(not name.startswith(task)) for name in NAMES}
        assert found == {**others, "score": (6 if task == "task6" else 7) / 8}
    assert make.metrics(truth, None) == dict.fromkeys(NAMES, 0)


MEANS = ("task2.detection", "task2.recognition", "task5.score", "task6a.score", "task6b.score", "task7.score")
PARTS: tuple[list[str], ...] = ([], ["task2"], ["task5"], ["task6"], ["task2", "task5", "task6"])
CHARTS = [{**make.IMAGE, "task1": WHOLE["task1"], **{name: WHOLE[name] for name in some}} for some in PARTS]
MOVED = {"task2": blocks(block(1, "b", 2, 0, 10, 10)), "task5": make.legend(_1=box(90, 0, 5, 5))}
ANSWERS = [None, *({name: PREDICTION[name] for name in some} for some in (*PARTS[:4], ["task7"]))]
ANSWERS += [MOVED, {**MOVED, "task6": WHOLE["task6"]}]


@given(weighted(CHARTS, ANSWERS), st.sampled_from(["published", "released"]))
def test_a_task_of_some_charts_has_their_mean_and_is_null_where_none_is_attempted(drawn: Any, protocol: str) -> None:
    """Released, a chart without a prediction has no tasks 5, 6b and 7; what nobody attempts, the corpus decides."""
    options: Json = {"tasks": ["task2", "task5", "task6a", "task6b", "task7"], "protocol": protocol}
    whole, part = whole_and_part("chart", drawn, **options)
    scored = [(make.metrics(truth, said, **options), said, weight) for truth, said, weight in drawn]
    for metric in MEANS:
        there = [(found[metric], said, weight) for found, said, weight in scored if metric in found]
        attempted = any(metric[:5] in (said or ()) for _, said, _ in there)
        idle = not attempted and any(said is not None for _, said, _ in there)
        for values, counts in ((whole, [1] * len(there)), (part, [weight for _, _, weight in there])):
            total = sum(count * (score or 0) for count, (score, _, _) in zip(counts, there, strict=True))
            assert values[metric] == (None if idle or not sum(counts) else pytest.approx(total / sum(counts))), metric
    for values in (whole, part):
        assert values["task2.hmean"] == f_measure(values["task2.detection"], values["task2.recognition"])


def test_the_score_is_the_mean_of_what_is_measured_of_what_the_ground_truth_has() -> None:
    truth = {"task1": chart_type("Line"), "task5": make.legend(_1=box(0, 0, 10, 10)), "task3": make.roles((1, "other"))}
    # The class is right, the legend has IoU 1/4, and task 3 has nothing to score.
    found = make.metrics(truth, {"task1": chart_type("line"), "task5": make.legend(_1=box(0, 0, 5, 5))})
    assert (found["task3.accuracy"], found["score"]) == (None, (1 + 0.25) / 2)
    # An image may have a path alone, for the drawings, where no task needs its size.
    assert make.metrics({**truth, "image": {"path": "a.png"}}, None)["score"] == 0
    for lost, needed in (
        ({"image": None}, "task4 needs image.width"),
        ({"image": {"path": "a.png", "width": 300}}, "task4 needs image.width and image.height"),
        ({"image": {"path": "a.png"}, "task4": None}, "task6a needs image.width and image.height"),
        ({"task1": None}, "task1.output.chart_type"),
        ({"task2": output(text_blocks=[{"id": 1, "bb": box(0, 0, 5, 5)}])}, "text_blocks[0] has no `text`"),
        ({"task3": make.roles((1, "other"), (None, "other"))}, "text_roles[1] has no `id`"),
        ({"task5": output(legend_pairs=[{"bb": box(0, 0, 5, 5), "block": 1}])}, "legend_pairs[0] has no `id`"),
    ):
        assert needed in make.rejection("ground_truth", {**WHOLE, **lost}, None)


def test_distances_that_leave_no_room_and_released_scripts_of_a_later_edition_are_refused_in_words() -> None:
    """The bounds of single options and fields are in the digests of what is declared."""
    with pytest.raises(msgspec.ValidationError, match=r"tick_close \(0.02\) must be smaller than tick_far"):
        make.benchmark(tick_close=0.02)
    said = r"^chart: protocol: released does not go with edition: 2022: the released scripts are those of 2019, with"
    with pytest.raises(UsageError, match=said):
        load("chart", ["protocol=released", "edition=2022"], {"ground_truth": ["a"], "predictions": {"s": ["b"]}})
    assert make.benchmark(protocol="released", edition=2019).options == make.benchmark(protocol="released").options
    options = make.benchmark(protocol="released", text_roles=["other"], classes=["area"]).options
    assert (options.scored_roles, options.classes) == (("other",), ("area",))


def test_the_configuration_of_the_first_edition_is_that_of_runs_from_before_there_were_others() -> None:
    """It names neither an edition nor roles."""
    first, later = (msgspec.to_builtins(make.benchmark(**options).options) for options in ({}, {"edition": 2022}))
    assert [*first] == [name for name in ChartOptions.__struct_fields__ if name not in ("edition", "text_roles")]
    assert (first["classes"], first["element_distance"]) == (tuple(name.lower() for name in CLASSES), 0.05)
    assert len(later["classes"]) == 15
    assert later == {**first, "edition": 2022, "element_distance": 0.01, "classes": later["classes"]}
    for written in (first, later, {"classes": ("radar",), "text_roles": ("other",), "element_distance": 0.2}):
        assert msgspec.to_builtins(msgspec.convert(written, ChartOptions)) == {**first, **written}


def test_records_keep_the_order_of_their_fields_by_which_the_hashes_of_stored_runs_go() -> None:
    truth, prediction = (msgspec.json.decode(msgspec.json.encode(kind())) for kind in (ChartTruth, ChartPrediction))
    assert (list(truth), list(prediction)) == (["image", "ambiguous", *SIX_TASKS], [*SIX_TASKS, "task7"])


def drawn(truth: Json, prediction: Json | None) -> Any:
    return samples.drawn("chart", {"image": {"width": 640, "height": 480}, **truth}, prediction)


def words(*found: tuple[float, str]) -> Json:
    return {"task2": blocks(*(block(None, text, x, 10, 40, 14) for x, text in found))}


def test_parts_are_drawn_by_id_or_position_and_what_is_not_scored_does_not_count() -> None:
    """Of several ticks with one id the first has the match; texts may be repeated."""
    truth = words((20, "speed"), (120, "time"), (220, "mass"), (320, "a__b"))
    prediction = words((520, "speed"), (20, "speed"), (122, "tyme"), (420, "heat"))
    prediction["task5"] = make.legend(_b=box(9, 9, 5, 5))
    truth["task4"] = make.axes([tick("a", x, 400) for x in (100, 150)], [])
    # The diagonal is 800 pixels: a tick that is 15 away scores 0.125.
    prediction["task4"] = make.axes([tick("a", 115, 400), tick("c", 1, 1)], [])
    assert shapes(drawn(truth, prediction)) == [
        *(("ground truth: tick of a", "wrong"), ("ground truth: tick of a", "missed")),
        *(("ground truth: speed", "matched"), ("ground truth: time", "wrong")),
        *(("ground truth: mass", "missed"), ("ground truth: a__b", "does not count")),
        *(("prediction: tick of a", "wrong"), ("prediction: tick of c", "extra")),
        ("prediction: legend of b", "does not count"),
        *(("prediction: speed", "extra"), ("prediction: speed", "matched")),
        *(("prediction: tyme", "wrong"), ("prediction: heat", "extra")),
    ]
    found = drawn({"task5": make.legend(_b=box(9, 9, 5, 5))}, words((20, "speed")))
    assert shapes(found) == [("ground truth: legend of b", "missed"), ("prediction: speed", "does not count")]


def test_the_picture_holds_the_texts_of_both_sides_but_none_far_away() -> None:
    """Without the size of the image they are all in it, and without texts it is a square; any is 640 pixels wide."""
    sides = words((20, "speed")), words((900, "speed"))
    for truth, prediction in (sides, sides[::-1]):
        svg = samples.drawn("chart", truth, prediction)
        assert [title for title, _ in shapes(svg)] == ["ground truth: speed", "prediction: speed"]
        assert not [text for text in svg.itertext() if "far outside" in text]
    svg = drawn(words((20, "near"), (1e8, "far")), None)
    assert float(svg.get("height") or 0) < MAX_HEIGHT
    assert "far" not in texts(svg)
    assert "1 part lies far outside, not drawn" in texts(svg)
    charts: list[Json] = [{}, *({"image": {"width": size, "height": size}} for size in (0.25, 64))]
    svgs = [samples.drawn("chart", truth, None) for truth in charts]
    frames = [[each.attrib for each in svg.iter(f"{SVG}polygon")] for svg in svgs]
    assert frames[0] == frames[1] == frames[2] != []


def test_a_class_that_is_accepted_for_another_is_drawn_and_told_as_that() -> None:
    for said, style, told in (("stacked bar", MATCHED, ", accepted"), ("grouped bar", MATCHED, ""), ("bar", WRONG, "")):
        sides = {"ambiguous": True, "task1": chart_type("grouped bar")}, {"task1": chart_type(said)}
        details = make.score(*sides).details
        assert make.benchmark().explain(details) == [f"class: grouped bar, predicted {said}{told}"]
        # Details of earlier versions have the classes alone.
        old = {"task1": {"truth": "grouped bar", "predicted": said}}
        for each in (details, old)[: 1 if told else 2]:
            svg = make.benchmark().draw(*samples.records("chart", *sides), each)
            assert f'fill="{style.color}"' in svg.partition(">class: ")[0].rpartition("<text")[2]


def test_there_may_be_any_number_of_texts_that_are_not_scored() -> None:
    truth = {"task1": chart_type("Pie"), **words(*((x, "a") for x in range(2500)))}
    assert shapes(drawn(truth, truth)).count(("prediction: a", "does not count")) == MAX_PARTS


def test_the_series_of_each_task_that_is_scored_are_drawn_and_matched_from_a_score_of_a_half_on() -> None:
    for tasks in (["task6b"], ["task7"], ["task6b", "task7"]):
        drawing = make.benchmark(tasks=tasks).draw(*samples.records("chart", WHOLE, PREDICTION))
        drawn_tasks = re.findall(r">data series of task (\w+), scored 1<", drawing)
        assert drawn_tasks == [task.removeprefix("task") for task in tasks]
    truth, prediction = (
        {
            "task1": chart_type("Line"),
            "task6": data(*(series("s", *enumerate(ys)) for ys in side)),
            **words((300, "a"), (side[0][0], "b")),
        }
        for side in (([1, 2, 3, 4], [40, 30, 20, 10]), ([100, 2, 80, 10], [1, 2, 3, 4]))
    )
    styles = ["matched", "missed", "matched", "extra", "matched", "wrong", "wrong", "matched"]
    assert [style for _, style in shapes(drawn(truth, prediction))] == styles
    # Details of earlier versions do not say which series of a name, or text block, a pair has.
    details = msgspec.to_builtins(make.score(truth, prediction).details)
    for pair in (*details["task6b"]["pairs"], *details["task2"]["matched"]):
        del pair["positions"]
    for each in (*details["task2"]["missed"], *details["task2"]["extra"]):
        del each["position"]
    svg = make.benchmark().draw(*samples.records("chart", truth, prediction), details)
    assert [style for _, style in shapes(ElementTree.fromstring(svg))] == [""] * 8
    assert [judged(score) for score in (1.0, 0.5, 0.499, 0.0)] == [MATCHED, MATCHED, WRONG, WRONG]


def as_prediction(truth: Json) -> Json:
    """Returns what a perfect system says of a chart; other fields of a prediction are ignored."""
    return {**truth, "task7": truth.get("task6")}


def all_values(score: SampleScore, **options: Any) -> set[float | None]:
    """Returns the metrics of the sample and of a corpus of it; None where nothing is measured."""
    return {*score.metrics.values(), *make.benchmark(**options).values(Sums.of(score.statistics)).values()}


# Few values, so that ids, labels and places are repeated.
LABELS = (None, "", "a", "ab", "e\u0301", "\u00e9", "1", 1, 1.0, 2, -3, -0.0, 0, 1e22, 2**53, math.nan)
VALUES = (0, -0.0, 0.0, 1, 2, "2", 3.5, 1e-300, -7, 1e99)
PLACES, SIDES = (-1, 0, -0.0, 1, 1.5, 2, 7, 1e-200, 1e9), (-2, -0.0, 0, 1e-200, 0.1, 1, 3)
ROLES = (None, "", "chart_title", "axis_title", "tick_label", "legend_title", "other", "mark_label", "(none)")
IN_IMAGE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("x0", "y0", "x", "y"), PLACES),
    "width": SIDES,
    "height": SIDES,
    "id": LABELS[1:],
    "role": ROLES,
    "name": LABELS,
    "ambiguous": (True, False, None),
    "text": ("", " ", "a", "A b", "a__b", "\\alpha", "\\hat{e}", "x^{2}", "\u00ea", "e\u0302", "\\"),
    "chart_type": (*CLASSES, "a|b][", "(other)", " stacked radar bar"),
}


def varied(node: Any, chance: random.Random, pools: dict[str, tuple[Any, ...]]) -> Any:
    """Returns a part of a record with up to four entries of each list, and values of the pools."""
    if isinstance(node, list):
        return [varied(each, chance, pools) for each in chance.choices(node, k=chance.randrange(5) if node else 0)]
    if not isinstance(node, dict):
        return node
    of_series = {**IN_IMAGE, **dict.fromkeys((*SUMMARY, "y"), VALUES), "x": chance.choice((LABELS[1:], VALUES))}
    found = {name: varied(value, chance, of_series if name == "data series" else pools) for name, value in node.items()}
    chosen = {name for name in found if name in pools and not isinstance(found[name], (dict, list))}
    return {**found, **{name: chance.choice(pools[name]) for name in sorted(chosen)}}


def record(index: int, seed: int) -> Json:
    """Returns a chart of the generator with the values of the pools, and without some of its tasks."""
    chance = random.Random(seed)
    truth = {name: value for name, value in sample(index, 5)[0].items() if name == "task1" or chance.random() < 0.8}
    found = {**varied({**truth, "ambiguous": None}, chance, IN_IMAGE), "image": {"width": 7, "height": 0.01}}
    # What data there are goes by the class.
    return {**found, "task1": truth["task1"]} if chance.random() < 0.7 else {**found, "task6": None}


OPTIONS: list[Json] = [{}, {"edition": 2020}, {"edition": 2022}, {"protocol": "released"}]
RECORDS = st.builds(record, st.integers(0, 39), st.integers(0, 10**9))


@tries(300)
@given(RECORDS, st.sampled_from(OPTIONS[:3]))
def test_a_perfect_prediction_of_repeated_values_scores_1(truth: Json, options: Json) -> None:
    assert all_values(make.score(truth, as_prediction(truth), **options), **options) <= {1, None}


def as_doubles(record: Json) -> Any:
    """Returns a record as a table of doubles has it: each integer as a float."""
    return json.loads(json.dumps(record), parse_int=float)


@given(RECORDS, RECORDS, st.sampled_from(OPTIONS))
def test_any_pair_scores_from_0_to_1_and_the_same_as_doubles(truth: Json, other: Json, options: Json) -> None:
    prediction = as_prediction(other)
    plain = make.score(truth, prediction, **options)
    same = make.score(as_doubles(truth), as_doubles(prediction), **options)
    assert msgspec.to_builtins(same) == msgspec.to_builtins(plain)
    assert make.metrics(truth, as_doubles(prediction), **options) == plain.metrics
    assert all(value is None or 0 <= value <= 1 for value in all_values(plain, **options))


ACCENTED = st.text(alphabet="ae\u0301\u0302\u00e9\u1100\u1161\u212b\u0323\\{}^_ ", max_size=6)
LATEX = st.sampled_from(["\\hat{\u00ea}", "\\acute{e}", "\u00e9_{2}", "\u00c9", "\u0130"])


def named(text: str) -> Json:
    """Returns a chart with the text in its class, in a text block, and as a name and a label."""
    texts = blocks(block(1, text, 0, 0, 9, 9), block(2, "x", 50, 0, 9, 9))
    return {"task1": chart_type(f"{text} bar"), "task2": texts, "task6": data(series(text, (text, 1), ("x", 2)))}


@given(ACCENTED | LATEX, ACCENTED | LATEX)
def test_texts_are_compared_in_one_unicode_form(first: str, second: str) -> None:
    truth, prediction = (unicodedata.normalize("NFC", text) for text in (first, second))
    plain = make.metrics(named(truth), named(prediction))
    assert make.metrics(named(unicodedata.normalize("NFD", truth)), named(prediction)) == plain
    assert make.metrics(named(truth), named(unicodedata.normalize("NFD", prediction))) == plain


def test_the_released_scripts_compare_texts_in_the_form_they_have() -> None:
    # Three code points against four, of text, name and label: one of four characters is replaced, and one added.
    found = make.metrics(named("caf\u00e9"), named("cafe\u0301"), protocol="released")
    assert found["task2.recognition"] == (1 - 2 / 4 + 1) / 2
    assert found["task6b.score"] == pytest.approx((1 - 2 / 5) * (1 - 2 / 5 + 1) / 2)
    assert found["task1.correct"] == 0
    # LaTeX accents are combining characters.
    assert make.metrics(named("\u00ea"), named("\\hat{e}"))["task2.recognition"] == 1
