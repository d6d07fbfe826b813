// @ts-check
/* The table of the slices: their values, and their differences from the baseline. */
"use strict";

/** @param {ReportDocument} doc */
function fillSlices(doc) {
  const many = doc.systems.length > 1 && doc.kind === "evaluation";
  const compared = doc.kind === "comparison";
  const names = compared ? doc.differences : doc.metrics;
  /** @type {Row[]} */
  const rows = doc.slices.map((found) => {
    /** @type {Row} */
    const row = { label: found.label, system: found.system, samples: found.samples, found };
    found.values.forEach((measured, index) => { row[`v${index}`] = measured.value; });
    found.differences.forEach((difference, index) => { row[`d${index}`] = difference.value; });
    return row;
  });
  const used = names.map((_, index) => index).filter((index) => rows.some((row) => row[`v${index}`] !== null));
  const columns = used.flatMap((index) => [...(compared ? [] : [valueColumn(doc.metrics[index], index)]), ...differenceColumns(doc, names[index], index)]);
  const form = byId("slices-filters");
  form.append(
    field("Slice contains", { type: "search", name: "label" }),
    ...(many ? [choice("system", "System", numbered(doc.systems))] : []),
    ...(doc.differences.length ? [choice("verdict", "Verdict", [["", "all"], ["worse", "worse"], ["better", "better"], ["no difference shown", "no difference shown"]])] : []),
    field("At least so many samples", { type: "number", name: "samples", min: 0, step: 1, value: 0, inputmode: "numeric" }),
    clearButton(),
    countOfRows(),
  );
  const table = makeTable(byId("slices-table"), "Slices", {
    data: rows,
    maxHeight: "32rem",
    layout: "fitColumns",
    placeholder: "No slice passes the filter",
    initialSort: used.length && !compared ? [{ column: `v${used[0]}`, dir: names[used[0]].higher_is_better ? "asc" : "desc" }] : [],
    columns: [
      { ...heading("slice"), field: "label", minWidth: 150, widthGrow: 2, formatter: textCell((row) => row.label), sorter: "string" },
      ...(many ? [systemColumn(doc)] : []),
      { ...heading("samples"), field: "samples", hozAlign: "right", width: 105, sorter: "number", formatter: textCell((row) => (row.samples === null ? "–" : grouped(row.samples))) },
      ...columns,
    ],
  });
  filterBy(table, form, rows.length, () => {
    const given = givenBy(form);
    const wanted = given("label").trim().toLowerCase();
    const system = given("system");
    const least = Number(given("samples")) || 0;
    const verdict = given("verdict");
    return (row) =>
      (row.samples ?? 0) >= least && (system === "" || row.system === Number(system)) && row.label.toLowerCase().includes(wanted) &&
      (verdict === "" || row.found.differences.some((/** @type {Difference} */ found) => found.verdict === verdict));
  });
}

/** @param {Metric} metric @param {number} index */
const valueColumn = (metric, index) => ({
  ...numberColumn(`v${index}`, metric.name, metric.meaning, 118),
  formatter: (/** @type {any} */ cell) => {
    const { found } = cell.getData();
    return valueCell(found.values[index], metric, metric.values[found.system], found.system);
  },
});

/** The difference of a metric from the baseline, where there is one. @param {ReportDocument} doc @param {{name: string, meaning: string}} metric @param {number} index */
function differenceColumns(doc, metric, index) {
  const column = doc.slices.flatMap((found) => found.differences.slice(index, index + 1));
  if (!column.some((found) => found.value !== null)) return [];
  const reach = reachOf(column);
  const compared = doc.kind === "comparison";
  const title = compared ? metric.name : `${metric.name} against the baseline`;
  return [{
    ...numberColumn(`d${index}`, title, compared ? metric.meaning : `the difference of ${metric.name} from the baseline, with its paired interval`, 140, metric.name),
    formatter: (/** @type {any} */ cell) => {
      /** @type {Slice} */
      const found = cell.getData().found;
      const difference = found.differences[index];
      return difference ? differenceCell(difference, reach, `${shown(found.before[index])} → ${shown(found.values[index].value)}`) : document.createTextNode("–");
    },
  }];
}
