// @ts-check
/* The table of the samples of an evaluation, and what the viewer shows of each. */
"use strict";

/** Why samples can be looked at, in words. */
const WHY = /** @type {Record<string, string>} */ ({
  lost: "lost since the baseline", won: "won since the baseline", flip: "systems differ", worst: "worst", random: "random",
});

/** How far a metric has moved since the baseline. @param {Card | null} card @param {number | null} value */
const moved = (card, value) => (card && card.before !== null && value !== null ? value - card.before : null);

/**
 * The rows of the table: each knows its position, and looks its cells up in the columns, so that 100,000 are cheap.
 * @param {EvaluationData} data @param {Samples} samples @returns {Row[]}
 */
function sampleRows(data, samples) {
  class SampleRow {
    /** @param {number} position */
    constructor(position) {
      this.position = position;
      /** @type {Card | null} */
      this.card = null;
    }
  }
  /** @type {Record<string, any[]>} */
  const columns = { id: samples.ids, system: samples.systems, status: samples.statuses.codes };
  data.sample_metrics.forEach((metric, index) => { columns[`m${index}`] = samples.metrics[metric.name]; });
  Object.values(samples.slices).forEach((coded, index) => { columns[`s${index}`] = coded.codes; });
  for (const [name, values] of Object.entries(columns)) {
    // The table writes cells back as they are.
    Object.defineProperty(SampleRow.prototype, name, { get() { return values[this.position]; }, set() {} });
  }
  const main = data.sample_metrics.findIndex((metric) => metric.main);
  Object.defineProperty(SampleRow.prototype, "change", { get() { return moved(this.card, columns[`m${main}`][this.position]); }, set() {} });
  const rows = samples.ids.map((_, position) => new SampleRow(position));
  for (const card of data.cards) rows[card.row].card = card;
  return rows;
}

/** Whether any sample has a value. @param {Samples} samples @param {Metric} metric */
const isMeasured = (samples, metric) => samples.metrics[metric.name].some((value) => value !== null);

/** @param {EvaluationData} data @param {Samples} samples */
function fillFilters(data, samples) {
  const whys = [...new Set(data.cards.map((card) => card.why))];
  const picked = /** @type {[string, string][]} */ (whys.map((why) => [why, WHY[why] + (why === "worst" || why === "random" ? ", with records" : "")]));
  const any = /** @type {[string, string][]} */ (data.cards.length ? [["any", "with records"]] : []);
  const measured = /** @type {[string, string][]} */ (
    data.sample_metrics.map((metric, index) => [String(index), metric.name]).filter(([index]) => isMeasured(samples, data.sample_metrics[Number(index)]))
  );
  byId("samples-filters").append(
    field("sample_id contains", { type: "search", name: "id" }),
    choice("why", "Show", [["", "all"], ...any, ...picked]),
    choice("status", "Status", numbered(samples.statuses.texts.map(words))),
    ...(data.systems.length > 1 ? [choice("system", "System", numbered(data.systems))] : []),
    ...Object.entries(samples.slices).map(([name, coded], index) => choice(`slice${index}`, name, numbered(coded.texts))),
    choice("metric", "Metric", [["", "any"], ...measured]),
    field("from", { type: "number", name: "least", step: "any", "aria-label": "lowest value of the metric" }),
    field("to", { type: "number", name: "most", step: "any", "aria-label": "highest value of the metric" }),
    clearButton(),
    countOfRows(),
  );
}

/** @param {any} form @param {number} slices @returns {(row: Row) => boolean} */
function sampleFilter(form, slices) {
  const given = (/** @type {string} */ name) => form.elements[name]?.value ?? "";
  const wanted = given("id").trim().toLowerCase();
  /** @type {[string, number][]} */
  const equal = [];
  for (const name of ["status", "system"]) if (given(name) !== "") equal.push([name, Number(given(name))]);
  for (let i = 0; i < slices; i++) if (given(`slice${i}`) !== "") equal.push([`s${i}`, Number(given(`slice${i}`))]);
  const why = given("why");
  const metric = given("metric");
  const least = given("least") === "" ? -Infinity : Number(given("least"));
  const most = given("most") === "" ? Infinity : Number(given("most"));
  return (row) =>
    equal.every(([name, value]) => row[name] === value) &&
    (why === "" || (row.card !== null && (why === "any" || row.card.why === why))) &&
    (metric === "" || (row[`m${metric}`] !== null && row[`m${metric}`] >= least && row[`m${metric}`] <= most)) &&
    (wanted === "" || row.id.toLowerCase().includes(wanted));
}

/** @param {EvaluationData} data */
function fillSamples(data) {
  const samples = data.samples;
  const place = byId("samples-table");
  if (!samples || !place) return;
  const rows = sampleRows(data, samples);
  const main = data.sample_metrics.findIndex((metric) => metric.main);
  const order = [main, ...data.sample_metrics.keys()].filter((index, position, all) => all.indexOf(index) === position);
  const used = order.filter((index) => isMeasured(samples, data.sample_metrics[index]));
  fillFilters(data, samples);
  const table = makeTable(place, "Samples", {
    data: rows,
    index: "position",
    height: "40rem",
    layout: "fitDataFill",
    placeholder: "No sample passes the filter",
    selectableRows: 1,
    columns: sampleColumns(data, samples, used),
  });
  const form = byId("samples-filters");
  filterBy(table, form, rows.length, () => sampleFilter(form, Object.keys(samples.slices).length));
  form.elements.why.addEventListener("input", () => {
    const why = form.elements.why.value;
    const rises = data.sample_metrics[main]?.higher_is_better === (why === "lost");
    if (why === "lost" || why === "won") table.setSort("change", rises ? "asc" : "desc");
  });
  startViewer(table, rows, (row) => sampleView(data, samples, row));
}

/** @param {EvaluationData} data @param {Samples} samples @param {number[]} used */
function sampleColumns(data, samples, used) {
  const metricColumn = (/** @type {number} */ index) => {
    const metric = data.sample_metrics[index];
    const write = shownLike(samples.metrics[metric.name]);
    return {
      ...heading(metric.name, metric.meaning), field: `m${index}`, hozAlign: "right", width: widthFor(metric.name, 112), sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
      formatter: textCell((row) => write(row[`m${index}`])),
    };
  };
  return [
    idColumn(),
    ...(data.systems.length > 1 ? [{ ...heading("system"), field: "system", minWidth: 90, formatter: (/** @type {any} */ cell) => systemLabel(data.systems, cell.getValue()) }] : []),
    ...(data.cards.some((card) => card.before !== null) ? [changeColumn(data)] : []),
    ...used.map(metricColumn),
    { ...heading("status"), field: "status", minWidth: 90, formatter: textCell((row) => words(samples.statuses.texts[row.status])) },
    ...Object.entries(samples.slices).map(([name, coded], index) => ({
      ...heading(name), field: `s${index}`, minWidth: 90, formatter: textCell((row) => coded.texts[row[`s${index}`]] ?? "–"),
    })),
    { ...heading("records"), field: "why", minWidth: 80, headerSort: false, formatter: textCell((row) => WHY[row.card?.why] ?? "") },
  ];
}

/** @param {EvaluationData} data */
function changeColumn(data) {
  const main = data.sample_metrics.find((metric) => metric.main)?.name;
  return {
    ...heading("change", `${main} less that of the baseline, of the samples that are here with their records`), field: "change", hozAlign: "right", width: 96,
    sorter: "number", sorterParams: { alignEmptyValues: "bottom" }, formatter: textCell((row) => signed(row.change)),
  };
}

/** @param {EvaluationData} data @param {Samples} samples @param {Row} row @returns {Node[]} */
function sampleView(data, samples, row) {
  /** @type {Card | null} */
  const card = row.card;
  const values = data.sample_metrics.map((metric, index) => ({ metric, value: row[`m${index}`] })).filter(({ value }) => value !== null && value !== undefined);
  const write = (/** @type {Metric} */ metric) => shownLike(samples.metrics[metric.name]);
  const slices = Object.entries(samples.slices).map(([name, coded], index) => `${name}: ${coded.texts[row[`s${index}`]] ?? "–"}`);
  const main = data.sample_metrics.find((metric) => metric.main);
  const head = [
    sampleTitle(row.id),
    element("ul", { class: "chips" },
      ...(data.systems.length > 1 ? [element("li", {}, systemLabel(data.systems, row.system))] : []),
      tag(words(samples.statuses.texts[row.status])),
      ...(card ? [tag(WHY[card.why])] : []),
      ...slices.map(tag)),
    element("ul", { class: "chips" },
      ...values.map(({ metric, value }) => element("li", { title: metric.meaning }, `${metric.name} `, element("b", {}, write(metric)(value)))),
      ...(card && card.before !== null && main ? [element("li", {}, `${main.name} in the baseline `, element("b", {}, write(main)(card.before)))] : [])),
  ];
  if (!card) {
    return [...head, element("p", { class: "caption" }, "The records of this sample are not in this page. beamscore draw --sample draws it; samples/*.parquet has its details.")];
  }
  const details = card.details === null ? [] : [
    element("details", {}, element("summary", {}, "All details of the match"), element("pre", { tabindex: 0 }, JSON.stringify(card.details, null, 1))),
  ];
  const drawing = drawingView(card.drawing, card.problem, card.words);
  return [
    ...head,
    ...(card.drawing === null ? [] : [element("h4", {}, "Drawing")]), ...drawing,
    ...listView("What matched what", card.words),
    element("div", { class: "records" }, recordView("Ground truth", card.truth), recordView("Prediction", card.prediction)),
    ...details,
  ];
}
