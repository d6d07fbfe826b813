// @ts-check
/* The table of the slices of an evaluation. */
"use strict";

/** @param {EvaluationData} data */
function fillSlices(data) {
  const place = byId("slices-table");
  if (!place) return;
  const many = data.systems.length > 1;
  /** @type {Row[]} */
  const rows = data.slices.map((found) => {
    /** @type {Row} */
    const row = { label: found.label, system: found.system, samples: found.samples, found: found.values, differences: found.differences };
    found.values.forEach((measured, index) => { row[`v${index}`] = measured.value; });
    found.differences.forEach((difference, index) => { row[`d${index}`] = difference.value; });
    return row;
  });
  const used = data.metrics.map((_, index) => index).filter((index) => rows.some((row) => row[`v${index}`] !== null));
  const first = used.length ? [{ column: `v${used[0]}`, dir: data.metrics[used[0]].higher_is_better ? "asc" : "desc" }] : [];
  const table = makeTable(place, "Slices", {
    data: rows,
    maxHeight: "32rem",
    layout: "fitColumns",
    placeholder: "No slice passes the filter",
    initialSort: first,
    columns: [
      { ...heading("slice"), field: "label", minWidth: 150, widthGrow: 2, formatter: textCell((row) => row.label), sorter: "string" },
      ...(many ? [{ ...heading("system"), field: "system", minWidth: 90, formatter: (/** @type {any} */ cell) => systemLabel(data.systems, cell.getValue()) }] : []),
      { ...heading("samples"), field: "samples", hozAlign: "right", width: 105, sorter: "number", formatter: textCell((row) => grouped(row.samples)) },
      ...used.flatMap((index) => [valueColumn(data.metrics[index], index), ...differenceColumns(data, index)]),
    ],
  });
  const form = byId("slices-filters");
  filterBy(table, form, rows.length, () => {
    const wanted = form.elements.label.value.trim().toLowerCase();
    const system = form.elements.system?.value ?? "";
    const least = Number(form.elements.samples.value) || 0;
    const verdict = form.elements.verdict?.value ?? "";
    return (row) =>
      row.samples >= least && (system === "" || row.system === Number(system)) && row.label.toLowerCase().includes(wanted) &&
      (verdict === "" || row.differences.some((/** @type {Difference} */ found) => found.verdict === verdict));
  });
}

/** @param {Metric} metric @param {number} index */
function valueColumn(metric, index) {
  return {
    ...heading(metric.name, metric.meaning), field: `v${index}`, minWidth: widthFor(metric.name, 118), sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
    formatter: (/** @type {any} */ cell) => {
      const row = cell.getData();
      return valueCell(row.found[index], metric, metric.values[row.system], row.system);
    },
  };
}

/** The difference of a metric from the baseline, where there is one. @param {EvaluationData} data @param {number} index */
function differenceColumns(data, index) {
  const column = data.slices.flatMap((found) => found.differences.slice(index, index + 1));
  if (!column.some((found) => found.value !== null)) return [];
  const reach = reachOf(column);
  const { name } = data.metrics[index];
  return [{
    ...heading(`${name} against the baseline`, `the difference of ${name} from the baseline, with its paired interval`), field: `d${index}`, minWidth: widthFor(name, 140), sorter: "number",
    sorterParams: { alignEmptyValues: "bottom" },
    formatter: (/** @type {any} */ cell) => (cell.getData().differences[index] ? differenceCell(cell.getData().differences[index], reach) : document.createTextNode("–")),
  }];
}
