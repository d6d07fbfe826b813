"""Pages in a real browser: nothing goes wrong, nothing is asked of a network, everything can be used."""

from __future__ import annotations

import copy
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.reports.document import Card, CardSide, RecordText
from beamscore.pipelines.reports.evaluation import build_run, samples_shown
from beamscore.pipelines.reports.render import render
from beamscore.pipelines.reports.samples import MAX_ROWS, sample_table, sort_worst_first
from tests.page.browser import Browser
from tests.page.corpora import CORPORA, WrittenPage, corpus_page, evaluated, worse
from tests.page.hostile import HOSTILE
from tests.page.screen import (
    PICTURES,
    choose,
    open_in_every_state,
    open_page,
    press,
    put_on_paper,
    serious_faults,
    shown_count,
    shows_all,
    table_ids,
    viewed,
)

pytestmark = pytest.mark.page

BENCHMARKS = [name for name in benchmark_names() if (CORPORA / name).is_dir()]


def test_a_run_without_a_page_removes_that_of_an_earlier_run(folder: Path) -> None:
    corpus = CORPORA / "traffic_rules"
    predictions = {"predictions": corpus / "predictions.jsonl"}
    runs: list[list[str]] = [[], ["--no-html"]]
    for more in runs:
        page = evaluated("traffic_rules", corpus / "ground_truth.jsonl", predictions, folder / "again", *more)
        assert page.path.exists() == (not more)
    assert not page.path.is_symlink()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_page_of_a_sample_corpus(chromium: Browser, folder: Path, name: str) -> None:
    page = corpus_page(name, folder / name)
    samples = page.samples
    chromium.resize(390, 844, scale=2, mobile=True)
    open_page(chromium, page.path)
    # A drawing of which the text would have less than 11 of its 12 pixels is scrolled.
    widths = "const image = document.querySelector('.frame .drawing'); return [image.naturalWidth, image.width]"
    chromium.wait(f"{widths.partition('return')[0]} return image.naturalWidth")
    natural, width = chromium.run(widths)
    assert width >= int(natural * 11 / 12)
    chromium.resize(1280, 900)
    open_page(chromium, page.path)
    for scheme in ("dark", "light"):
        chromium.prefer(color_scheme=scheme)
        assert serious_faults(chromium) == []
        chromium.picture(PICTURES / f"{name}-{scheme}.png")
    assert size_without_drawings(page) <= 300_000
    # The first sample with its records is open: the worst may have no prediction.
    assert (table_ids(chromium)[0], viewed(chromium)) == (samples.ids[0], samples.ids[first_card(page)])
    main = len(page.data["metrics"])
    assert chromium.run("return document.querySelectorAll('#metrics > .scroll .whisker').length") == main
    measured = sum(any(value is not None for value in values) for values in samples.metrics.values())
    assert chromium.run("return document.querySelectorAll('#distributions .figure').length") == measured
    assert shown_count(chromium, "#slices-filters").endswith(f" of {len(page.data['slices'])} rows")


def size_without_drawings(page: WrittenPage) -> int:
    """Returns about how many bytes a page has for all but the drawings."""
    bare = copy.deepcopy(page.data)
    for side in (side for card in bare["cards"] for side in card["sides"]):
        side["drawing"] = None
    packed = [len(gzip.compress(json.dumps(each).encode(), 6)) * 4 // 3 for each in (page.data, bare)]
    return page.path.stat().st_size - packed[0] + packed[1]


def first_card(page: WrittenPage) -> int:
    """The first row that has its records."""
    return min(card.row for card in page.cards)


def test_samples_are_sorted_filtered_and_stepped_through(chromium: Browser, folder: Path) -> None:
    page = corpus_page("chart", folder / "chart")
    samples = page.samples
    open_page(chromium, page.path)
    first = first_card(page)
    press(chromium, "ArrowRight")
    press(chromium, "ArrowRight")
    assert viewed(chromium) == samples.ids[first + 2]
    press(chromium, "ArrowLeft")
    assert viewed(chromium) == samples.ids[first + 1]
    # A click on the heading of sample_id sorts by it, ascending first.
    chromium.run("document.querySelector('#samples-table thead button').click()")
    assert table_ids(chromium)[:3] == sorted(samples.ids)[:3]
    choose(chromium, "#samples-filters", "id", "00001")
    wanted = sorted(sample_id for sample_id in samples.ids if "00001" in sample_id)
    assert table_ids(chromium) == wanted
    assert shown_count(chromium, "#samples-filters") == f"{len(wanted)} of {len(samples.ids)} rows"
    assert samples.ids[first + 1] not in wanted
    chromium.wait("return document.querySelector('.stepper').textContent.includes('not among the rows shown')")
    press(chromium, "ArrowRight")
    press(chromium, "ArrowRight")
    assert viewed(chromium) == wanted[1]
    choose(chromium, "#samples-filters", "id", "")
    choose(chromium, "#samples-filters", "status", "missing_prediction")
    assert table_ids(chromium) == [
        sample_id
        for sample_id, status in sorted(zip(samples.ids, samples.statuses, strict=True))
        if status == "missing_prediction"
    ]
    choose(chromium, "#samples-filters", "status", "")
    choose(chromium, "#samples-filters", "metric", "score")
    choose(chromium, "#samples-filters", "to", "0.5")
    scores = samples.metrics["score"]
    low = sum(value is not None and value <= 0.5 for value in scores)
    assert shown_count(chromium, "#samples-filters") == f"{low} of {len(scores)} rows"


def test_slices_are_filtered_and_sorted_by_evidence(chromium: Browser, folder: Path) -> None:
    page = corpus_page("traffic_rules", folder / "traffic_rules")
    open_page(chromium, page.path)
    labels = "return [...document.querySelectorAll('#slices-table [data-line]:first-child')]"
    labels += ".map((each) => each.textContent)"
    by_value = page.data["slices"]
    assert chromium.run(labels) == [found["label"] for found in by_value]
    # The farthest below all samples at least.
    highs = [found["values"][0]["high"] for found in by_value]
    assert highs == sorted(highs)
    choose(chromium, "#slices-filters", "label", by_value[1]["label"][-4:])
    assert chromium.run(labels) == [by_value[1]["label"]]
    choose(chromium, "#slices-filters", "samples", "1000000")
    assert chromium.run(labels) == []


def test_a_phone_paper_and_keys(chromium: Browser, folder: Path) -> None:
    page = corpus_page("figure_text", folder / "figure_text")
    open_in_every_state(chromium, page.path, "report")
    put_on_paper(chromium, page.path)
    chromium.prefer(color_scheme="light")
    # A meaning opens by keyboard too.
    chromium.run("document.querySelector('.meaning summary').click()")
    assert "is better" in chromium.run("return document.querySelector('.meaning[open]').innerText")


def test_two_systems_stand_side_by_side(chromium: Browser, folder: Path) -> None:
    corpus = CORPORA / "chemistry"
    predictions = {
        "careful": corpus / "predictions.jsonl",
        "hasty": worse(corpus / "predictions.jsonl", folder / "hasty.jsonl"),
    }
    page = evaluated("chemistry", corpus / "ground_truth.jsonl", predictions, folder / "two")
    open_page(chromium, page.path)
    chromium.picture(PICTURES / "two_systems.png")
    assert serious_faults(chromium) == []
    # Their difference is drawn around a line at zero.
    assert "hasty less careful" in chromium.run("return document.querySelector('#metrics').textContent")
    assert len(table_ids(chromium)) > 10
    choose(chromium, "#samples-filters", "system", "hasty")
    samples = page.samples
    assert shown_count(chromium, "#samples-filters") == f"{samples.systems.count(1)} of {len(samples.ids)} rows"
    sentence = str(chromium.run("return document.querySelector('.sentence').textContent"))
    assert sentence.startswith("careful, hasty share the first place of 2 systems: careful has ")
    flips = [card for card in page.cards if "flip" in card.whys]
    assert flips
    assert {card.system for card in flips} == {0, 1}


def test_the_real_picture_lies_behind_the_drawing(chromium: Browser, folder: Path) -> None:
    """The page asks nothing of anybody, and its policy allows what a drawing holds; a missing picture is a note."""
    Image.new("RGB", (640, 480), (255, 0, 0)).save(folder / "red.png")
    truth, output = folder / "pictures.jsonl", folder / "pictures"
    lines = [
        {"sample_id": f"s{number}", "regions": [{"box": [20, 20, 90, 40], "text": "a"}], "image": {"path": name}}
        for number, name in enumerate(("red.png", "gone.png"))
    ]
    truth.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    page = evaluated("figure_text", truth, {"predictions": truth}, output, "--set=slices=[]")
    open_page(chromium, page.path)
    frame = "document.querySelector('.frame .drawing')"
    for _ in range(2):
        chromium.wait(f"return {frame}?.naturalWidth")
        assert chromium.problems() == []
        # The middle of the picture, as the browser paints it.
        color = chromium.driver.execute_async_script(
            f"const done = arguments[0], image = {frame}, canvas = document.createElement('canvas');"
            "[canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];"
            "const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);"
            "done([...context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data])"
        )
        note = chromium.run("return document.querySelector('#viewer').textContent.includes('No real picture: ')")
        is_red = color[0] > 200 and color[1] < 60
        assert is_red != note == ("s1" in viewed(chromium))
        press(chromium, "ArrowRight")
    assert viewed(chromium) == "s1"


def test_an_empty_run(chromium: Browser, folder: Path) -> None:
    empty = folder / "empty.jsonl"
    empty.write_bytes(b"")
    page = evaluated("traffic_rules", empty, {"predictions": empty}, folder / "empty")
    open_page(chromium, page.path)
    chromium.picture(PICTURES / "empty.png")
    assert serious_faults(chromium) == []
    assert chromium.run("return document.querySelector('.sentence').textContent") == "Nothing was scored."


def test_hostile_text_runs_nothing_and_is_shown_as_it_is(chromium: Browser, folder: Path) -> None:
    truth, predictions = folder / "hostile_truth.jsonl", folder / "hostile.jsonl"
    properties: dict[str, Any] = {f"Property{number}": text for number, text in enumerate(HOSTILE)}
    rules = [{"id": text[:3000], "properties": properties, "centerlines": [text[:100]]} for text in HOSTILE]
    lines = [
        {"sample_id": f"{number}{text[:2000]}", "source": text, "rules": rules} for number, text in enumerate(HOSTILE)
    ]
    truth.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for line in lines:
        line["rules"] = [
            {**rule, "properties": {**properties, text: text}} for rule, text in zip(rules, HOSTILE, strict=True)
        ]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    page = evaluated("traffic_rules", truth, {"predictions": predictions}, folder / "hostile")
    # The names of systems that a configuration refuses come from a summary that somebody else has written.
    summary = page.summary
    summary["systems"] = {HOSTILE[0] + HOSTILE[5]: summary["systems"]["predictions"]}
    summary["ranking"] = list(summary["systems"])
    summary["warnings"] = list(HOSTILE)
    run = json.loads((page.path.parent / "run.json").read_bytes())
    run["command"] = list(HOSTILE)
    run["host"] = HOSTILE[1]
    kind = benchmark_class("traffic_rules")
    document = build_run(summary, kind(kind.options_type()), run, HOSTILE)
    shown = samples_shown(document, kind.sample_metrics, page.samples, page.cards)
    page.path.write_bytes(render([shown]))
    open_page(chromium, page.path)
    samples = page.samples
    for _ in samples.ids:
        press(chromium, "ArrowRight")
        assert chromium.run("return document.documentElement.scrollWidth") <= 1280
        shows_all(chromium)
    assert chromium.problems() == []
    assert chromium.run("return window.harmed") is None
    assert chromium.run("return document.querySelectorAll('#samples-table img, #viewer img[onerror]').length") == 0
    wanted = [sample_id for sample_id in samples.ids if "<img" in sample_id]
    choose(chromium, "#samples-filters", "id", "<IMG SRC")
    assert table_ids(chromium) == wanted
    chromium.picture(PICTURES / "hostile.png")
    assert serious_faults(chromium) == []


def write_large_page(page: WrittenPage, count: int, path: Path) -> None:
    """Writes a page of `count` samples of the chart benchmark with metrics of their own, and of 200 cards."""
    kind = benchmark_class("chart")
    rng = random.Random(15)
    columns: dict[str, Any] = {
        "sample_id": [f"corpus/part-{number // 1000:03d}/chart-{number:09d}" for number in range(count)],
        "system": ["predictions"] * count,
        "status": ["scored"] * count,
        "slice.source": [json.dumps(rng.choice(["web", "scan", "print"])) for _ in range(count)],
        "slice.kind": [json.dumps(f"kind {rng.randrange(500)}") for _ in range(count)],
    }
    columns |= {name: [rng.random() for _ in range(count)] for name in kind.sample_metric_names()}
    rows = sort_worst_first(pa.table(columns), kind.sample_metrics)
    table = sample_table(rows, ["predictions"], kind.sample_metrics)
    record = [RecordText(rng.randbytes(4000).hex()) for _ in range(400)]
    cards = [
        Card(
            table.ids[number],
            0,
            ("worst",),
            (CardSide("scored", {name: table.metrics[name][number] for name in table.metrics}, record[number]),),
            record[200 + number],
            row=number,
        )
        for number in range(200)
    ]
    document = build_run(page.summary, kind(kind.options_type()))
    path.write_bytes(render([samples_shown(document, kind.sample_metrics, table, cards)]))


def test_a_page_of_100_000_samples_opens_in_two_seconds(chromium: Browser, folder: Path) -> None:
    path = folder / "large.html"
    write_large_page(corpus_page("chart", folder / "chart"), MAX_ROWS, path)
    took = open_page(chromium, path)
    size = path.stat().st_size
    print(f"100,000 samples: ready after {took:.0f} ms, {size:,} bytes")
    assert size < 15_000_000
    # Only what can be seen is in the document, however many rows there are.
    assert chromium.run("return document.querySelectorAll('#samples-table tbody tr').length") < 100
    choose(chromium, "#samples-filters", "id", "part-042/")
    assert shown_count(chromium, "#samples-filters") == "1,000 of 100,000 rows"
    press(chromium, "ArrowRight")
    assert "part-042/" in viewed(chromium)
    assert took < 10_000


def test_the_address_keeps_what_is_shown(chromium: Browser, folder: Path) -> None:
    """A reload, a step back and a link show the same filters, order and sample."""
    page = corpus_page("chart", folder / "chart")
    open_page(chromium, page.path)
    hash_of = "return decodeURIComponent(location.hash)"
    chromium.run("document.querySelector('#samples-table thead button').click()")
    choose(chromium, "#samples-filters", "slice.source", "scan")
    press(chromium, "ArrowRight")
    sample, ids, address = viewed(chromium), table_ids(chromium), chromium.run(hash_of)
    assert address == f"#?sort=sample_id&slice.source=scan&sample={sample}"
    chromium.driver.refresh()
    chromium.wait("return document.documentElement.dataset.ready")
    assert (viewed(chromium), table_ids(chromium), chromium.run(hash_of)) == (sample, ids, address)
    # A link replaces the filters, and a step back restores them.
    (missing,) = (place for place, status in enumerate(page.samples.statuses) if status == "missing_prediction")
    chromium.run("document.querySelector('#coverage a[href*=missing]').click()")
    chromium.wait("return location.hash.includes('missing')")
    assert table_ids(chromium) == [page.samples.ids[missing]] == [viewed(chromium)]
    assert 0 <= chromium.run("return document.getElementById('samples').getBoundingClientRect().top") < 100
    chromium.run("history.back()")
    chromium.wait("return location.hash.includes('scan')")
    assert (viewed(chromium), table_ids(chromium)) == (sample, ids)
    # A section that is named alone keeps them too.
    chromium.run("document.querySelector('nav a[href=\"#slices\"]').click()")
    chromium.wait("return location.hash.startsWith('#slices?')")
    assert viewed(chromium) == sample
    # A cell of a confusion matrix, a bin, and a slice of the table lead to their samples.
    cell = "document.querySelector('.matrix td:not(.diagonal) a')"
    text = chromium.run(f"const cell = {cell}; cell.click(); return cell.textContent")
    chromium.wait("return document.querySelector('#samples-filters').elements.cell.value.includes('→')")
    assert shown_count(chromium, "#samples-filters").split(" ")[0] == text
    counted = chromium.run("return document.querySelector('#distributions a title').textContent")
    chromium.run("location.hash = document.querySelector('#distributions a').getAttribute('href')")
    chromium.wait("return document.querySelector('#samples-filters').elements.metric.value")
    assert f"{shown_count(chromium, '#samples-filters').split(' ')[0]} samples" in counted
    chromium.run("document.querySelector('#slices-table td a').click()")
    chromium.wait("return document.querySelector('#samples-filters').elements['slice.source'].value")
    slices = page.samples.slices["source"]
    wanted = chromium.run("return document.querySelector('#samples-filters').elements['slice.source'].value")
    assert shown_count(chromium, "#samples-filters").startswith(f"{slices.count(wanted)} of")


def test_a_table_is_walked_through_by_keyboard_and_copied(chromium: Browser, folder: Path) -> None:
    page = corpus_page("chart", folder / "chart")
    ids = page.samples.ids
    open_page(chromium, page.path)
    grid = "#samples-table [role=grid]"
    chromium.run("document.querySelector(arguments[0]).focus()", grid)
    active = (
        "const grid = document.querySelector(arguments[0]);"
        "return document.getElementById(grid.getAttribute('aria-activedescendant'))?.textContent"
    )
    assert chromium.run(active, grid) == "sample_id"
    # One stop for the tab key: nothing in the table can be focused but the table.
    stops = "return [...document.querySelectorAll('[role=grid] :is(a, button)')].filter((each) => each.tabIndex >= 0)"
    assert chromium.run(stops) == []
    for _ in range(45):
        press(chromium, "ArrowDown")
    assert chromium.run(active, grid) == ids[44]
    press(chromium, "Enter")
    assert viewed(chromium) == ids[44]
    press(chromium, "End")
    press(chromium, "Home")
    assert chromium.run(active, grid) == ids[44]
    # Enter on a heading sorts.
    for _ in range(5):
        press(chromium, "PageUp")
    press(chromium, "Enter")
    assert table_ids(chromium)[0] == min(ids)
    press(chromium, "Escape")
    assert chromium.run("return document.activeElement.name") == "id"
    # Only a person may copy: a click by a script does nothing.
    chromium.run(
        "window.addEventListener('copy', (event) => { window.kept = event.clipboardData.getData('text/plain'); })"
    )
    chromium.driver.find_element("css selector", "#samples-table > button").click()
    copied = str(chromium.run("return window.kept"))
    head, *lines = [line.split("\t") for line in copied.split("\n")]
    assert head[0] == "sample_id"
    assert [line[0] for line in lines] == sorted(ids)
    assert {len(line) for line in lines} == {len(head)}
    assert chromium.run("return ['=1+1', '-a', 'a\\tb', 'say \"x\"\\n', -0.5, null].map(copied)") == (
        ["'=1+1", "'-a", '"a\tb"', '"say ""x""\n"', "-0.5", ""]
    )
    assert serious_faults(chromium) == []
