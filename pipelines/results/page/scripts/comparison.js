// @ts-check
/* The page of a comparison: both runs, their difference, slices, and the samples that changed. */
"use strict";

const SIDES = ["baseline", "candidate"];

/** @param {ComparisonData} data */
function plotBothRuns(data) {
  const place = byId("metrics-plot");
  const points = data.metrics.flatMap((found) =>
    [found.baseline, found.candidate].map((measured, system) => ({ metric: plotName(found), system, ...measured })));
  dotPlot(place, points, { systems: SIDES, label: "Main metrics of both runs; the table below holds the same numbers" });
  plotDifferences(byId("differences-plot"), data.metrics, ["candidate"]);
}

/** @param {ComparisonData} data */
function fillComparedSlices(data) {
  /** @type {Row[]} */
  const rows = data.slices.map((found) => {
    /** @type {Row} */
    const row = { label: found.label, samples: found.samples, cells: found.values };
    found.values.forEach((cell, index) => { row[`d${index}`] = cell.difference.value; });
    return row;
  });
  const used = data.metrics.map((_, index) => index).filter((index) => rows.some((row) => row[`d${index}`] !== null));
  const form = byId("slices-filters");
  form.append(
    field("Slice contains", { type: "search", name: "label" }),
    choice("verdict", "Verdict", [["", "all"], ["worse", "worse"], ["better", "better"], ["no difference shown", "no difference shown"]]),
    field("At least so many samples", { type: "number", name: "samples", min: 0, step: 1, value: 0, inputmode: "numeric" }),
    clearButton(),
    countOfRows(),
  );
  const table = makeTable(byId("slices-table"), "Slices", {
    data: rows,
    maxHeight: "32rem",
    layout: "fitColumns",
    placeholder: "No slice passes the filter",
    columns: [
      { ...heading("slice"), field: "label", minWidth: 150, widthGrow: 2, formatter: textCell((row) => row.label), sorter: "string" },
      { ...heading("samples"), field: "samples", hozAlign: "right", width: 105, sorter: "number", formatter: textCell((row) => (row.samples === null ? "–" : grouped(row.samples))) },
      ...used.map((index) => comparedColumn(data, index)),
    ],
  });
  filterBy(table, form, rows.length, () => {
    const wanted = form.elements.label.value.trim().toLowerCase();
    const verdict = form.elements.verdict.value;
    const least = Number(form.elements.samples.value) || 0;
    return (row) =>
      (row.samples ?? 0) >= least && row.label.toLowerCase().includes(wanted) &&
      (verdict === "" || row.cells.some((/** @type {CellOfSlice} */ cell) => cell.difference.verdict === verdict));
  });
}

/** @param {ComparisonData} data @param {number} index */
function comparedColumn(data, index) {
  const metric = data.metrics[index];
  const reach = reachOf(data.slices.map((found) => found.values[index].difference));
  return {
    ...heading(metric.name, metric.meaning), field: `d${index}`, minWidth: widthFor(metric.name, 140), sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
    formatter: (/** @type {any} */ cell) => {
      const found = /** @type {CellOfSlice} */ (cell.getData().cells[index]);
      const made = differenceCell(found.difference, reach);
      if (found.baseline !== null) made.title += `\n${shown(found.baseline)} → ${shown(found.candidate)}`;
      return made;
    },
  };
}

/** @param {ComparisonData} data */
function fillChanged(data) {
  const main = data.sample_metrics.find((metric) => metric.main)?.name ?? "";
  /** @type {Row[]} */
  const rows = data.changed.map((sample, position) => ({
    position, sample, id: sample.sample_id, kind: sample.kind, change: sample.change,
    before: sample.sides[0].metrics[main] ?? null, after: sample.sides[1].metrics[main] ?? null,
  }));
  const form = byId("samples-filters");
  const kinds = [...new Set(data.changed.map((sample) => sample.kind))];
  form.append(
    field("sample_id contains", { type: "search", name: "id" }),
    choice("kind", "Change", [["", "all"], .../** @type {[string, string][]} */ (kinds.map((kind) => [kind, words(kind)]))]),
    clearButton(),
    countOfRows(),
  );
  const number = (/** @type {string} */ name, /** @type {string} */ title, /** @type {(value: any) => string} */ write) => ({
    ...heading(title, `${main}, ${title}`), field: name, hozAlign: "right", width: widthFor(title, 105), sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
    formatter: textCell((row) => write(row[name])),
  });
  const table = makeTable(byId("samples-table"), "Samples that changed", {
    data: rows,
    index: "position",
    maxHeight: "20rem",
    layout: "fitColumns",
    placeholder: "No sample passes the filter",
    selectableRows: 1,
    columns: [
      { ...idColumn(), widthGrow: 2, width: undefined, minWidth: 120, frozen: false },
      number("change", "change", signed), number("before", "baseline", shown), number("after", "candidate", shown),
      { ...heading("kind"), field: "kind", minWidth: 120, formatter: textCell((row) => words(row.kind)) },
    ],
  });
  filterBy(table, form, rows.length, () => {
    const wanted = form.elements.id.value.trim().toLowerCase();
    const kind = form.elements.kind.value;
    return (row) => (kind === "" || row.kind === kind) && row.id.toLowerCase().includes(wanted);
  });
  startViewer(table, rows, changedView);
}

/** @param {Row} row @returns {Node[]} */
function changedView(row) {
  /** @type {Changed} */
  const sample = row.sample;
  const sides = sample.sides.map((side, number) => {
    const drawn = drawingView(side.drawing, side.problem, side.words);
    return element("div", {}, element("h4", {}, words(SIDES[number]), " ", element("span", { class: "tag" }, words(side.status))), ...drawn, ...listView("What matched what", side.words));
  });
  const records = sample.truth === null ? [] : [
    element("div", { class: "records three" },
      recordView("Ground truth", sample.truth), ...sample.sides.map((side, number) => recordView(`Prediction of the ${SIDES[number]}`, side.prediction))),
  ];
  return [
    sampleTitle(sample.sample_id),
    element("ul", { class: "chips" }, tag(words(sample.kind)), ...(sample.change === null ? [] : [element("li", {}, "change ", element("b", {}, signed(sample.change)))])),
    ...listView("What changed", sample.words),
    element("div", { class: "records" }, ...sides),
    ...records,
  ];
}

start((/** @type {ComparisonData} */ data) => {
  plotBothRuns(data);
  const parts = /** @type {[string, () => void][]} */ ([
    ["slices-table", () => fillComparedSlices(data)],
    ["samples-table", () => fillChanged(data)],
  ]);
  for (const [id, make] of parts) if (byId(id)) whenSeen(byId(id), make);
});
