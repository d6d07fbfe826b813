"""The page of a run in a real browser: nothing goes wrong, nothing is asked of a network, everything can be used."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.reports.against import NOTHING
from beamscore.pipelines.reports.document import Card, CardSide, SampleTable
from beamscore.pipelines.reports.evaluation import build_run, samples_shown
from beamscore.pipelines.reports.render import render
from beamscore.pipelines.reports.samples import MAX_ROWS
from beamscore.pipelines.runs.gates import RecordFailure
from tests.page.browser import Browser
from tests.page.corpora import CORPORA, DATA, HOSTILE, corpus_page, evaluated, page_data, worse
from tests.runs import write_lines

pytestmark = pytest.mark.page

BENCHMARKS = [name for name in benchmark_names() if (CORPORA / name).is_dir()]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_page_of_a_sample_corpus(chromium: Browser, folder: Path, name: str) -> None:
    path = corpus_page(name, folder)
    if name == "figure_text":
        chromium.check_in_every_state(path, "report")
    chromium.resize(390, 844, scale=2, mobile=True)
    chromium.open(path)
    # A drawing of which the text would have less than 11 of its 12 pixels is scrolled.
    natural = "const image = document.querySelector('.frame .drawing'); return image.naturalWidth"
    chromium.wait(natural)
    assert chromium.run(f"{natural} * 11 / 12 <= image.width + 1")
    chromium.check_printed(name)
    chromium.resize(1280, 900)
    chromium.open(path)
    chromium.prefer("dark")
    chromium.check(name)
    data = page_data(path)
    samples, bare = data["samples"], gzip.compress(json.dumps({**data, "cards": []}).encode())
    assert len(DATA.sub(b"", path.read_bytes())) + len(bare) * 4 // 3 <= 200_000
    # The first sample with its records is open: the worst may have no prediction.
    first = min(card["row"] for card in data["cards"])
    assert (chromium.ids()[0], chromium.viewed()) == (samples["ids"][0], samples["ids"][first])
    assert len(chromium.texts("#metrics > .scroll .whisker")) == len(data["metrics"])
    measured = sum(any(value is not None for value in values) for values in samples["metrics"].values())
    assert len(chromium.texts("#distributions .figure")) == measured
    assert chromium.text("#slices-filters output").endswith(f" of {len(data['slices'])} rows")
    # A meaning opens without a script, by keyboard too.
    chromium.click(".meaning summary")
    assert "is better" in chromium.run("return document.querySelector('.meaning[open]').innerText")


def test_samples_are_filtered_and_stepped_through(chromium: Browser, folder: Path) -> None:
    """How they are sorted is said by the copied table below."""
    path = corpus_page("chart", folder)
    data = page_data(path)
    samples, first = data["samples"], min(card["row"] for card in data["cards"])
    ids, scores = samples["ids"], samples["metrics"]["score"]
    chromium.open(path)
    chromium.press("ArrowRight", "ArrowRight")
    assert chromium.viewed() == ids[first + 2]
    chromium.press("ArrowLeft")
    assert chromium.viewed() == ids[first + 1]
    wanted = [each for each in ids if "00001" in each]
    assert chromium.choose("samples", id="00001") == f"{len(wanted)} of {len(ids)} rows"
    assert chromium.ids() == wanted
    assert "not among the rows shown" in chromium.text(".stepper")
    chromium.press("ArrowRight", "ArrowRight")
    assert chromium.viewed() == wanted[1]
    # A step keeps the keyboard in the sample.
    chromium.run("document.querySelector('#viewer h3 button').focus()")
    chromium.press("ArrowLeft")
    assert (chromium.viewed(), chromium.run("return document.activeElement.id")) == (wanted[0], "viewer")
    low = sum(value is not None and value <= 0.5 for value in scores)
    assert chromium.choose("samples", id="", metric="score", to="0.5") == f"{low} of {len(ids)} rows"


def test_slices_are_filtered_and_sorted_by_evidence(chromium: Browser, folder: Path) -> None:
    path = corpus_page("traffic_rules", folder)
    slices, labels = page_data(path)["slices"], "#slices-table [data-line]:first-child"
    chromium.open(path)
    assert chromium.texts(labels) == [found["label"] for found in slices]
    # The farthest below all samples at least.
    highs = [found["values"][0]["high"] for found in slices]
    assert highs == sorted(highs)
    chromium.choose("slices", label=slices[1]["label"][-4:])
    assert chromium.texts(labels) == [slices[1]["label"]]
    assert chromium.choose("slices", samples="1000000").startswith("0 of ")


def test_two_systems_stand_side_by_side(chromium: Browser, folder: Path) -> None:
    corpus = CORPORA / "chemistry"
    predictions = {"careful": corpus / "predictions.jsonl", "hasty": worse("chemistry", folder)}
    truth, more = folder / "two.jsonl", ["--set=max_rejected_fraction=1"]
    # What is rejected has a row only with an id.
    bad = b'{"text": "a"}\n{"sample_id": "bad", "text": 5}\n'
    truth.write_bytes((corpus / "ground_truth.jsonl").read_bytes() + bad)
    before = evaluated("chemistry", truth, {"predictions": predictions["careful"]}, folder / "before", *more)
    more += ["--set=derived={ratio: token_accuracy / exact_match}", f"--baseline={before.parent}"]
    path = evaluated("chemistry", truth, predictions, folder / "two", *more)
    data = page_data(path)
    systems = data["samples"]["systems"]
    assert {card["system"] for card in data["cards"] if "flip" in card["whys"]} == {0, 1}
    chromium.open(path)
    chromium.check("two_systems")
    # Also without bounds, a column has one range, on which the line of all samples is at one place, and so has a row.
    places = "return [...document.querySelectorAll(`${arguments[0]} .whisker`)]"
    places += ".map((each) => Number(each.style.getPropertyValue(arguments[1])))"
    lines = chromium.run(places, "#slices-table td:last-child", "--line-at")
    careful, hasty = chromium.run(places, "#metrics > .scroll:first-of-type tr:last-child", "--at")
    values = [each["value"] for each in data["metrics"][-1]["values"]]
    assert (len(lines), len(set(lines))) == (4, 2)
    assert careful / hasty == pytest.approx(values[0] / values[1], rel=1e-3)
    assert chromium.choose("samples", system="hasty") == f"{systems.count(1)} of {len(systems)} rows"
    # Each system has a command of its own for what it lost, and is counted alone.
    for name, rows in (("", 2), ("careful", 1), ("hasty", 1)):
        chromium.choose("samples", system=name, why="", status="rejected")
        assert chromium.text("#samples-more") == f"{rows} of {2 * rows} shown; all are in quarantine/."
        chromium.choose("samples", why="lost", status="")
        listing = f"before:predictions {path.parent}:{name} "
        told = listing if name else "; choose a system for the command that lists all."
        assert [told in each for each in chromium.texts("#samples-more p")] == [True]
    chromium.choose("samples", system="", why="flip")
    assert len(chromium.texts("#viewer .records .drawing")) == 2


def test_the_real_picture_lies_behind_the_drawing(chromium: Browser, folder: Path) -> None:
    """The page asks nothing of anybody, and its policy allows what a drawing holds; a missing picture is a note."""
    Image.new("RGB", (640, 480), (255, 0, 0)).save(folder / "red.png")
    regions = [{"box": [20, 20, 90, 40], "text": "a"}]
    lines = [{"sample_id": name, "regions": regions, "image": {"path": f"{name}.png"}} for name in ("red", "bored")]
    truth = write_lines(folder / "pictures.jsonl", lines)
    chromium.open(evaluated("figure_text", truth, {"predictions": truth}, folder / "pictures", "--set=slices=[]"))
    seen = set()
    for key in ("ArrowRight", "ArrowLeft"):
        chromium.wait("return document.querySelector('.frame .drawing')?.naturalWidth")
        # The middle of the picture, as the browser paints it.
        red, green, *_ = chromium.run(
            "const image = document.querySelector('.frame .drawing'), canvas = document.createElement('canvas');"
            "[canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];"
            "const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);"
            "return [...context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data]"
        )
        seen.add((chromium.viewed(), red > 200 and green < 60, "No real picture: " in chromium.text("#viewer")))
        chromium.press(key if chromium.viewed() == chromium.ids()[0] else "ArrowLeft")
    assert (seen, chromium.problems()) == ({("red", True, False), ("bored", False, True)}, [])
    # The address of an id opens its sample, not the first one whose id contains it.
    assert chromium.viewed() == "bored"
    chromium.run("location.hash = '#samples?id=red'")
    chromium.wait("return document.querySelector('#samples-filters').elements.id.value")
    assert chromium.viewed() == "red"


def test_an_empty_run(chromium: Browser, folder: Path) -> None:
    empty = write_lines(folder / "empty.jsonl", [])
    chromium.open(evaluated("traffic_rules", empty, {"predictions": empty}, folder / "empty"))
    chromium.check("empty")
    assert chromium.text(".sentence") == "Nothing was scored."
    assert "No sample is in a slice." in chromium.text("#slices")


def rendered(path: Path, summary: Any, table: SampleTable, cards: list[Card], run: Any, failures: Any) -> Path:
    """Writes the page of a run from its parts."""
    kind = benchmark_class(summary["benchmark"])
    document = build_run(summary, kind(kind.options_type()), run, failures, NOTHING, NOTHING, (), {}, "out")
    path.write_bytes(render([samples_shown(document, kind.sample_metrics, table, cards, None)]))
    return path


def test_hostile_text_runs_nothing_and_is_shown_as_it_is(chromium: Browser, folder: Path) -> None:
    properties: dict[str, Any] = {f"Property{number}": text for number, text in enumerate(HOSTILE)}
    rules = [{"id": text[:3000], "properties": properties, "centerlines": [text[:100]]} for text in HOSTILE]
    others = [{**rule, "properties": {**properties, text: text}} for rule, text in zip(rules, HOSTILE, strict=True)]
    lines = [{"sample_id": f"{number}{text[:2000]}", "source": text} for number, text in enumerate(HOSTILE)]
    truth = write_lines(folder / "hostile-truth.jsonl", [{**line, "rules": rules} for line in lines])
    predictions = write_lines(folder / "hostile.jsonl", [{**line, "rules": others} for line in lines])
    path = evaluated("traffic_rules", truth, {"predictions": predictions}, folder / "hostile")
    # The names of systems that a configuration refuses come from a summary that somebody else has written.
    summary, run = (json.loads((path.parent / f"{name}.json").read_bytes()) for name in ("summary", "run"))
    summary["systems"] = {HOSTILE[0] + HOSTILE[5]: summary["systems"]["predictions"]}
    summary |= {"ranking": list(summary["systems"]), "warnings": list(HOSTILE)}
    data = page_data(path)
    failures = [RecordFailure(next(iter(summary["systems"])), text) for text in HOSTILE]
    run |= {"command": list(HOSTILE), "host": HOSTILE[1]}
    table, cards = msgspec.convert(data["samples"], SampleTable), msgspec.convert(data["cards"], list[Card])
    chromium.open(rendered(path, summary, table, cards, run, failures))
    chromium.check("hostile")
    for _ in table.ids:
        chromium.press("ArrowRight")
        assert chromium.run("return [document.documentElement.scrollWidth, window.harmed]") == [1280, None]
    chromium.choose("samples", id="<IMG SRC")
    assert chromium.ids() == [sample_id for sample_id in table.ids if "<img" in sample_id]
    chromium.check("hostile")


def test_a_page_of_100_000_samples(chromium: Browser, folder: Path) -> None:
    """Only what can be seen is in the document, however many rows and cards there are."""
    summary = json.loads((corpus_page("chart", folder).parent / "summary.json").read_bytes())
    numbers, rng, path = range(MAX_ROWS), random.Random(15), folder / "large.html"
    (system,) = summary["systems"].values()
    system["coverage"]["ground_truth"] |= {"read": MAX_ROWS + 1, "rejected": 2}
    columns: Any = {name: [f"{name} {n % count}" for n in numbers] for name, count in (("source", 3), ("kind", 500))}
    table = SampleTable(
        MAX_ROWS + 1, [f"corpus/part-{n // 1000:03d}/chart-{n:09d}" for n in numbers], [0] * MAX_ROWS,
        ["rejected"] + ["scored"] * (MAX_ROWS - 1), columns,
        {name: [round(rng.random(), 4) for _ in numbers] for name in benchmark_class("chart").sample_metric_names()},
    )  # fmt: skip
    records = [rng.randbytes(4000).hex() for _ in range(200)]
    cards = [Card(table.ids[row], 0, ("worst",), (CardSide("scored", {}, each),), each, row=row)
             for row, each in enumerate(records)]  # fmt: skip
    chromium.open(rendered(path, summary, table, cards, {}, ()))
    assert path.stat().st_size < 15_000_000
    assert len(chromium.texts("#samples-table tbody tr")) < 100
    assert chromium.choose("samples", id="part-042/") == "1,000 of 100,000 rows"
    chromium.press("ArrowRight")
    assert "part-042/" in chromium.viewed()
    part = "The page holds only 100,000 rows, and more may pass; all are in samples/*.parquet."
    assert chromium.text("#samples-more") == part
    chromium.choose("samples", id="", status="rejected")
    assert chromium.text("#samples-more") == "1 of 2 shown; all are in quarantine/."
    # No printer is sent more than 1,000 rows, and the paper says so.
    chromium.choose("samples", status="")
    scroller = "document.querySelector('#samples-table .scroller')"
    chromium.run(f"{scroller}.scrollTop = 9000")
    chromium.wait("return document.querySelector('#samples-table tbody tr').ariaHidden")
    chromium.run("window.dispatchEvent(new Event('beforeprint'))")
    printed = chromium.texts("#samples-table tbody tr:not([aria-hidden]) > :first-child")
    assert (printed[:-1], printed[-1]) == (table.ids[:1000], "Only the first 1,000 are printed")
    # Who goes on with the page finds the rows in sight that were.
    chromium.prefer("light", "print")
    assert chromium.run(f"return {scroller}.scrollTop") == 0
    chromium.prefer("light")
    assert chromium.run(f"window.dispatchEvent(new Event('afterprint')); return {scroller}.scrollTop") == 9000


def test_the_address_keeps_what_is_shown(chromium: Browser, folder: Path) -> None:
    """A reload, a step back and a link show the same filters, order and sample."""
    path = corpus_page("chart", folder)
    samples = page_data(path)["samples"]
    missing = samples["ids"][samples["statuses"].index("missing_prediction")]
    chromium.open(path)
    # A slice may be called as another column. The first step back is to the page as it was opened.
    opened, heading = chromium.ids(), "#samples-table th:nth-last-child(2) button"
    chromium.click(heading)
    chromium.run("history.back()")
    chromium.wait("return location.hash === ''")
    assert chromium.ids() == opened
    chromium.click(heading)
    chromium.choose("samples", **{"slice.source": "scan"})
    chromium.press("ArrowRight")

    def shown() -> tuple[str, list[str], str]:
        return chromium.viewed(), chromium.ids(), chromium.run("return decodeURIComponent(location.hash)")

    before = shown()
    assert before[2] == f"#?sort=slice.source&slice.source=scan&sample={before[0]}"
    chromium.driver.refresh()
    chromium.wait("return document.documentElement.dataset.ready")
    assert shown() == before
    # A link replaces the filters, and a step back restores them.
    for _ in range(2):
        chromium.run("window.scrollTo(0, 0)")
        chromium.click("#coverage a[href*=missing]")
        chromium.wait("return location.hash.includes('missing')")
        assert chromium.ids() == [missing] == [chromium.viewed()]
        assert 0 <= chromium.run("return document.getElementById('samples').getBoundingClientRect().top") < 100
    chromium.run("history.back()")
    chromium.wait("return location.hash.includes('scan')")
    assert shown() == before
    # A section that is named alone keeps them too.
    chromium.click("nav a[href='#slices']")
    chromium.wait("return location.hash.startsWith('#slices?')")
    assert chromium.viewed() == before[0]
    # What no row has is in no row: this run has no baseline.
    chromium.run("location.hash = '#samples?why=lost'")
    chromium.wait("return document.querySelector('#samples-filters').elements.why.value === 'lost'")
    assert chromium.text("#samples-filters output") == f"0 of {len(samples['ids'])} rows"
    # A cell of a confusion matrix, a bin, and a slice of the table lead to their samples.
    for link, field, count in (
        (".matrix td:not(.diagonal) a", "cell", "return document.querySelector(arguments[0]).textContent"),
        ("#distributions a[href]", "metric", "return document.querySelector(arguments[0]).title.split(' ').at(-2)"),
        ("#slices-table td a", "slice.source",
         "return document.querySelector(arguments[0]).closest('tr').cells[1].textContent"),
    ):  # fmt: skip
        chromium.choose("slices", label="source")
        expected = chromium.run(count, link)
        chromium.click(link)
        chromium.wait("return document.querySelector('#samples-filters').elements[arguments[0]].value", field)
        assert chromium.text("#samples-filters output").split(" ")[0] == expected
    # The link of a slice keeps the filter of the slices.
    assert chromium.run("return document.querySelector('#slices-filters').elements.label.value") == "source"


def test_a_table_is_walked_through_by_keyboard_and_copied(chromium: Browser, folder: Path) -> None:
    path = corpus_page("chart", folder)
    ids = page_data(path)["samples"]["ids"]
    chromium.open(path)
    chromium.run("document.querySelector('#samples-table [role=grid]').focus()")
    assert chromium.text("#samples-table-at") == "sample_id"
    # One stop for the tab key: nothing in the table can be focused but the table.
    assert chromium.texts("[role=grid] :is(a, button):not([tabindex='-1'])") == []
    chromium.press(*["ArrowDown"] * 45, "Enter")
    assert chromium.text("#samples-table-at") == ids[44] == chromium.viewed()
    chromium.press("End", "Home")
    assert chromium.text("#samples-table-at") == ids[44]
    # Enter on a heading sorts.
    chromium.press(*["PageUp"] * 5, "Enter")
    assert chromium.ids()[0] == min(ids)
    chromium.press("Escape")
    assert chromium.run("return document.activeElement.name") == "id"
    # Only a person may copy: a click by a script does nothing.
    keep = "(event) => { window.kept = event.clipboardData.getData('text/plain'); }"
    chromium.run(f"window.addEventListener('copy', {keep})")
    chromium.driver.find_element("css selector", "#samples-table > button").click()
    head, *lines = [line.split("\t") for line in str(chromium.run("return window.kept")).split("\n")]
    assert (head[0], {len(line) for line in lines}) == ("sample_id", {len(head)})
    assert [line[0] for line in lines] == sorted(ids)
    copied = chromium.run("return ['=1+1', '-a', 'a\\tb', 'say \"x\"\\n', -0.5, null].map(copied)")
    assert copied == ["'=1+1", "'-a", '"a\tb"', '"say ""x""\n"', "-0.5", ""]
    assert chromium.run("return [-9 / 32, null].map(shown)") == ["−0.2813", "–"]
    # The command that draws has an id that is shown as it is, and stands where the benchmark has drawings.
    views = "return [['x', []], ['-n', ['draw']], ['<U+202E>', ['draw']], ['x… (1,000 more characters)', ['draw']]]"
    views += ".map(([id, draw]) => sampleView({draw, systems: ['a'], kind: 'evaluation'}, {ids: [id], systems: [0],"
    views += "statuses: ['scored'], slices: {}}, 0, new Map(), [])"
    views += ".flatMap((each) => [...each.querySelectorAll('button, code')].map((each) => each.textContent)))"
    draw = "draw --sample='-n' --output sample.svg"
    assert chromium.run(views) == [["Copy id"], ["Copy id", draw, "Copy"], [], []]
