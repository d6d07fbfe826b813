"""How large a record may be, and the steps that are counted for each comparison before it is made."""

from typing import Any

import pytest

from beamscore.metrics.chart.limits import reading_steps
from beamscore.metrics.chart.records import ALL_TASKS
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, data, elements, output, points, series

POINT = points((1, 1))
# Of each thing there are three.
TOO_MUCH = [
    ({"task2": blocks(*[block(1, "a", 0, 0, 10, 10)] * 3)}, "task2 text_blocks", "max_text_blocks"),
    ({"task3": make.roles(*[(1, "x")] * 3)}, "task3 text_roles", "max_text_blocks"),
    ({"task3": output(text_blocks=[{}] * 3)}, "task3 text_blocks", "max_text_blocks"),
    ({"task4": make.axes([make.tick(1, 0, 0)] * 3, [])}, "task4 x-axis ticks", "max_text_blocks"),
    ({"task4": make.axes([], [make.tick(1, 0, 0)] * 3)}, "task4 y-axis ticks", "max_text_blocks"),
    ({"task5": output(legend_pairs=[{"bb": box(0, 0, 1, 1)}] * 3)}, "task5 legend_pairs", "max_text_blocks"),
    ({"task6": elements(lines=[[]] * 3)}, "task6 lines", "max_series"),
    ({"task6": elements(bars=[box(0, 0, 1, 1)] * 3)}, "task6 bars", "max_points"),
    ({"task6": elements(boxplots=[{}] * 3)}, "task6 boxplots", "max_points"),
    ({"task6": elements(lines=[POINT * 2, POINT])}, "task6 points of lines", "max_points"),
    ({"task6": elements(scatter_points=[POINT * 2, *POINT])}, "task6 scatter points", "max_points"),
    ({"task6": data(series("s", ("a", 1)), series("t", (1, 1), (2, 1)))}, "task6 points of data series", "max_points"),
    ({"task7": data(*[series("s")] * 3)}, "task7 data series", "max_series"),
    # A name, a label and a number that is written with as many characters.
    ({"task7": data(series("s", ("b", 1), (2.0, 1), (None, 1)))}, "task7 characters of series names and labels",
     "max_characters"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "what", "option"), TOO_MUCH)
def test_a_record_that_is_too_large_is_rejected_with_what_to_change(record: Json, what: str, option: str) -> None:
    truth, message = {"task1": chart_type("Line")}, f"{what}: 3 are more than {option} allows (2)"
    assert make.rejection("prediction", truth, record, **{option: 2}) == message
    make.score(truth, record, **{option: 3})
    # Tasks that are not scored may be larger; task 7 is compared with task 6.
    own = {"task6": ["task6a", "task6b", "task7"]}.get(what[:5], [what[:5]])
    assert {make.rejection("prediction", truth, record, tasks=[task], **{option: 2}) for task in own} == {message}
    make.score(truth, record, tasks=[task for task in ALL_TASKS if task not in own], **{option: 2})
    make.score({"task1": chart_type("Pie")}, record, **{option: 2})
    # Task 7 and the text blocks of task 3 are read from predictions alone.
    if not what.startswith(("task7", "task3 text_blocks")):
        assert make.rejection("ground_truth", {**truth, **record}, None, **{option: 2}) == message


@pytest.mark.parametrize("protocol", ["published", "released"])
def test_the_work_of_texts(protocol: str) -> None:
    def assert_steps(steps: int, *sizes: tuple[int, int]) -> None:
        """Of so many texts with so many pairs of characters, of the ground truth and of the prediction."""
        truth, prediction = (
            {"task2": blocks(*(block(place, text * size, 100 * place, 0, 90, 10) for place in range(count)))}
            for text, (count, size) in zip(("ab", "ba"), sizes, strict=True)
        )
        make.assert_steps(steps, truth, prediction, tasks=["task2"], protocol=protocol)

    # Reading them, 30 passes over the table of pairs, and the edits, of which 64 in a column are one operation.
    reading, tables = 3 + 6000 // 50 + 4 + 6400 // 50, 30 * (1 + 3 * 4 // 20)
    edits = max((1 + 2000 // 64) * 1600, (1 + 1600 // 64) * 2000)
    for sizes in (((3, 1000), (4, 800)), ((4, 800), (3, 1000))):
        assert_steps(reading + tables + 3 * (1 + edits // 80), *sizes)
    assert_steps(40 + 80 // 50 + 50 + 100 // 50 + 30 * (1 + 40 * 50 // 20) + 40 * 1, (40, 1), (50, 1))
    # A text of twice the length is wrong without comparing them, so that it may have ten million characters.
    assert_steps(1 + 2000 // 50 + 1 + 4000 // 50 + 30 + 1, (1, 1000), (1, 2000))
    assert_steps(1 + 1 + 200_000 + 30 + 1, (1, 2), (1, 5_000_000))
    texts = [{"task2": blocks(block(1, text * 500_000, 0, 0, 90, 10))} for text in ("ab", "ba")]
    assert "max_steps=4000000" in make.rejection("sample", *texts, protocol=protocol)


def test_the_work_of_reading_is_that_of_the_side_which_takes_most_of_it() -> None:
    assert reading_steps([" a" * 50] * 3) == 3 + 300 // 50
    for text, fixed, each in (("_{", 40, 1), ("^{", 40, 1), ("\\a", 400, 15)):
        # A text above 1000 characters keeps its LaTeX, or is stripped to fewer.
        for count, rewritten in ((50, 100), (1000, 1000)):
            assert reading_steps(["a", text * count]) == 2 + (1 + 2 * count) // 50 + fixed + each * rewritten
    many = {"task2": blocks(*(block(place, "\\alpha CO_{2}", 0, 0, 9, 9) for place in range(20)))}
    sides = (("ground_truth", many, None), ("prediction", {"task2": blocks()}, many), ("ground_truth", many, many))
    for side, truth, prediction in sides:
        # Each takes 400 + 15 * 13 steps, one more for the text and one for 50 characters of all.
        message = make.rejection(side, truth, prediction, max_steps=5000)
        assert f"{20 * (400 + 15 * 13) + 20 + 5} " in message


def elements_of(group: str, items: list[Any], few: int) -> list[Json]:
    return [{"task6": elements(**{group: some})} for some in (items[:few], items)]


def series_of(*sizes: tuple[int, int]) -> list[Json]:
    """Returns sides of so many series of so many points."""
    sides = ([series(f"s{row}", *((x, x * x) for x in range(size))) for row in range(count)] for count, size in sizes)
    return [{"task6": data(*side)} for side in sides]


PLACES = [{"x": place, "y": place * place} for place in range(100)]
PLOTS = [dict.fromkeys(("min", "max"), place) for place in PLACES]
LINES = [points((0, place), (9, 1)) for place in range(30)]
# A table of numbers is 20 of them a step, an assignment the product and the smaller side over 1200.
OF_POINTS, OF_ROWS = 1 + 60 * 100 // 20 + 10 + 60 * 100 * 60 // 1200, 10 + 20 * 30 * 20 // 1200
# Labels of 60 and 100 numbers of one or two digits: 110 and 190 characters, and operations on words of 64.
OF_LABELS = 2 * (1 + 60 * 100 // 20) + max((60 + 110 // 64) * 190, (100 + 190 // 64) * 110) // 80
# One name of two characters a side, two passes over their table; 20 and 30 names of 50 and 80 characters.
OF_NAME, OF_NAMES = 2, 2 * (1 + 20 * 30 // 20) + (20 + 50 // 64) * 80 // 80
ONE_SERIES = series_of((1, 60), (1, 100))


@pytest.mark.parametrize(
    ("kind", "sides", "protocol", "expected"),
    [
        ("Scatter", elements_of("scatter_points", PLACES, 60), "published", OF_POINTS),
        # Of five lines of a box plot two are there.
        ("Vertical box", elements_of("boxplots", PLOTS, 60), "published", 2 * OF_POINTS + 3 * (1 + 10)),
        # Each pair of lines costs 100, and its points.
        ("Line", elements_of("lines", LINES, 20), "published", 20 * 30 * (100 + 2 + 2) + OF_ROWS),
        ("Scatter", ONE_SERIES, "published", 100 + OF_POINTS + 10 + OF_NAME),
        # An inverse more.
        ("Scatter", ONE_SERIES, "released", 400 + OF_POINTS + 10 + OF_NAME),
        ("Grouped vertical bar", ONE_SERIES, "published", 100 + OF_POINTS + OF_LABELS + 10 + OF_NAME),
        ("Line", ONE_SERIES, "published", 100 + 60 + 100 + 10 + OF_NAME),
        ("Line", series_of((20, 3), (30, 5)), "published", 20 * 30 * (100 + 3 + 5) + OF_ROWS + OF_NAMES),
    ],
)
def test_the_work_of_data(kind: str, sides: list[Json], protocol: str, expected: int) -> None:
    task = "task6a" if "visual elements" in sides[0]["task6"]["output"] else "task6b"
    for truth, prediction in (sides, sides[::-1]):
        kinds = {"task1": chart_type(kind), **truth}
        make.assert_steps(expected, kinds, prediction, tasks=[task], protocol=protocol)
