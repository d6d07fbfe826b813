// @ts-check
/* The table of the samples, and a viewer that steps through its rows: records, drawings, what matched what. */
"use strict";

/** Why samples of a run can be looked at, in words. */
const WHY = /** @type {Record<string, string>} */ ({
  lost: "lost since the baseline", won: "won since the baseline", flip: "systems differ", worst: "worst", random: "random",
});

/**
 * The rows of the table: each knows its position, and looks its cells up in the columns, so that 100,000 are cheap.
 * @param {ReportDocument} doc @param {Samples} samples @returns {Row[]}
 */
function sampleRows(doc, samples) {
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
  doc.sample_metrics.forEach((metric, index) => { columns[`m${index}`] = samples.metrics[metric.name]; });
  Object.values(samples.slices).forEach((coded, index) => { columns[`s${index}`] = coded.codes; });
  for (const [name, values] of Object.entries(columns)) {
    // The table writes cells back as they are.
    Object.defineProperty(SampleRow.prototype, name, { get() { return values[this.position]; }, set() {} });
  }
  const rows = samples.ids.map((_, position) => new SampleRow(position));
  for (const card of doc.cards) rows[card.row].card = card;
  return rows;
}

/** Whether any sample has a value. @param {Samples} samples @param {Metric} metric */
const isMeasured = (samples, metric) => samples.metrics[metric.name].some((value) => value !== null);

/** @param {Samples} samples @param {Metric} metric */
const writerOf = (samples, metric) => (metric.is_change ? signed : shownLike(samples.metrics[metric.name]));

/** What the second text of a row is called: of samples that changed, how. @param {ReportDocument} doc */
const statusName = (doc) => (doc.kind === "comparison" ? "kind" : "status");

/** @param {ReportDocument} doc @param {Samples} samples */
function fillFilters(doc, samples) {
  const whys = doc.kind === "comparison" ? [] : [...new Set(doc.cards.map((card) => card.why))];
  const picked = /** @type {[string, string][]} */ (whys.map((why) => [why, WHY[why] + (why === "worst" || why === "random" ? ", with records" : "")]));
  const measured = /** @type {[string, string][]} */ (
    doc.sample_metrics.flatMap((metric, index) => (isMeasured(samples, metric) ? [[String(index), metric.name]] : []))
  );
  byId("samples-filters").append(
    field("sample_id contains", { type: "search", name: "id" }),
    ...(whys.length ? [choice("why", "Show", [["", "all"], ["any", "with records"], ...picked])] : []),
    choice("status", doc.kind === "comparison" ? "Change" : "Status", numbered(samples.statuses.texts.map(words))),
    ...(doc.systems.length > 1 && doc.kind === "evaluation" ? [choice("system", "System", numbered(doc.systems))] : []),
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
  const given = givenBy(form);
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

/** @param {ReportDocument} doc */
function fillSamples(doc) {
  const samples = /** @type {Samples} */ (doc.samples);
  const rows = sampleRows(doc, samples);
  const main = doc.sample_metrics.findIndex((metric) => metric.main);
  const change = doc.sample_metrics.findIndex((metric) => metric.is_change);
  const order = [...new Set([change, main, ...doc.sample_metrics.keys()])].filter((index) => index >= 0);
  fillFilters(doc, samples);
  const wide = doc.kind === "comparison";
  const table = makeTable(byId("samples-table"), wide ? "Samples that changed" : "Samples", {
    data: rows,
    index: "position",
    ...(wide ? { maxHeight: "20rem", layout: "fitColumns" } : { height: "40rem", layout: "fitDataFill" }),
    placeholder: "No sample passes the filter",
    selectableRows: 1,
    columns: sampleColumns(doc, samples, order.filter((index) => isMeasured(samples, doc.sample_metrics[index]))),
  });
  const form = byId("samples-filters");
  filterBy(table, form, rows.length, () => sampleFilter(form, Object.keys(samples.slices).length));
  form.elements.why?.addEventListener("input", () => {
    const why = form.elements.why.value;
    const rises = doc.sample_metrics[main]?.higher_is_better === (why === "lost");
    if (change >= 0 && (why === "lost" || why === "won")) table.setSort(`m${change}`, rises ? "asc" : "desc");
  });
  startViewer(table, rows, (row) => sampleView(doc, samples, row));
}

/** @param {ReportDocument} doc @param {Samples} samples @param {number[]} used */
function sampleColumns(doc, samples, used) {
  const wide = doc.kind === "comparison";
  const open = (/** @type {any} */ cell) => element("button", { type: "button", class: "open", title: cell.getValue() }, cell.getValue());
  return [
    // A button opens the row by keyboard too.
    { ...heading("sample_id"), field: "id", sorter: "string", formatter: open, ...(wide ? { widthGrow: 2, minWidth: 120 } : { width: 170, frozen: window.innerWidth > 640 }) },
    ...(doc.systems.length > 1 && !wide ? [systemColumn(doc)] : []),
    ...used.map((index) => {
      const metric = doc.sample_metrics[index];
      const write = writerOf(samples, metric);
      return { ...numberColumn(`m${index}`, metric.name, metric.meaning, 105), width: widthFor(metric.name, 105), hozAlign: "right", formatter: textCell((row) => write(row[`m${index}`])) };
    }),
    { ...heading(statusName(doc)), field: "status", minWidth: wide ? 120 : 90, formatter: textCell((row) => words(samples.statuses.texts[row.status])) },
    ...Object.entries(samples.slices).map(([name, coded], index) => ({
      ...heading(name), field: `s${index}`, minWidth: 90, formatter: textCell((row) => coded.texts[row[`s${index}`]] ?? "–"),
    })),
    ...(wide ? [] : [{ ...heading("records"), field: "why", minWidth: 80, headerSort: false, formatter: textCell((row) => WHY[row.card?.why] ?? "") }]),
  ];
}

/** @param {string} text */
const tag = (text) => element("li", { class: "tag" }, element("bdi", {}, text));

/** @param {ReportDocument} doc @param {Samples} samples @param {Row} row @returns {Node[]} */
function sampleView(doc, samples, row) {
  /** @type {Card | null} */
  const card = row.card;
  const values = doc.sample_metrics.map((metric, index) => ({ metric, value: row[`m${index}`] })).filter(({ value }) => value !== null && value !== undefined);
  const slices = Object.entries(samples.slices).map(([name, coded], index) => `${name}: ${coded.texts[row[`s${index}`]] ?? "–"}`);
  const head = [
    element("h3", {}, element("bdi", {}, row.id)),
    element("ul", { class: "chips" },
      ...(doc.systems.length > 1 && doc.kind === "evaluation" ? [element("li", {}, systemLabel(doc.systems, row.system))] : []),
      tag(words(samples.statuses.texts[row.status])),
      ...(card && WHY[card.why] ? [tag(WHY[card.why])] : []),
      ...slices.map(tag)),
    element("ul", { class: "chips" },
      ...values.map(({ metric, value }) => element("li", { title: metric.meaning }, `${metric.name} `, element("b", {}, writerOf(samples, metric)(value))))),
  ];
  if (!card) {
    return [...head, element("p", { class: "caption" }, "The records of this sample are not in this page. beamscore draw --sample draws it; samples/*.parquet has its details.")];
  }
  const many = card.sides.length > 1;
  const sides = card.sides.map((side, number) => element("div", {},
    ...(many ? [element("h4", {}, words(doc.systems[number]), " ", element("span", { class: "tag" }, words(side.status)))] : []),
    ...drawingView(side), ...listView("What matched what", side.words)));
  const predictions = card.sides.map((side, number) => recordView(many ? `Prediction of the ${doc.systems[number]}` : "Prediction", side.prediction));
  return [
    ...head,
    ...listView("What changed", card.words),
    ...(many ? [element("div", { class: "records" }, ...sides)] : sides),
    ...(card.truth === null ? [] : [element("div", { class: many ? "records three" : "records" }, recordView("Ground truth", card.truth), ...predictions)]),
    ...(card.details === null ? [] : [
      element("details", {}, element("summary", {}, "All details of the match"), element("pre", { tabindex: 0 }, JSON.stringify(card.details, null, 1))),
    ]),
  ];
}

/** @param {CardSide} side */
function drawingView({ drawing, problem, words: said }) {
  if (drawing === null) return problem ? [element("p", { class: "caption" }, `No drawing: ${problem}`)] : [];
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  const image = element("img", { class: "drawing", src: source, alt: said.join(" ") || "ground truth and prediction of this sample, drawn" });
  const frame = element("div", { class: "frame scroll", tabindex: 0, role: "group", "aria-label": "Drawing" }, image);
  const toggle = element("button", { type: "button", class: "action small", hidden: true, "aria-pressed": "false", onclick: () => {
    toggle.setAttribute("aria-pressed", String(frame.classList.toggle("full")));
  } }, "Full size");
  // A drawing that was made smaller to fit can be looked at as large as it is.
  image.addEventListener("load", () => { toggle.hidden = image.naturalWidth <= image.clientWidth + 1; });
  return [frame, toggle];
}

/** @param {string} title @param {string[]} lines */
const listView = (title, lines) =>
  lines.length ? [element("h4", {}, title), element("ul", { class: "words" }, ...lines.map((line) => element("li", {}, line)))] : [];

/** @param {string} title @param {RecordText | null} record */
function recordView(title, record) {
  if (!record) return element("div", {}, element("h4", {}, title), element("p", { class: "caption" }, "There is no record that could be read."));
  const left = record.left_out ? [element("p", { class: "caption" }, `${grouped(record.left_out)} more characters are not in this page.`)] : [];
  return element("div", {}, element("h4", {}, title), element("pre", { tabindex: 0, dir: "auto" }, record.text), ...left);
}

const STEP_KEYS = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1 });

/**
 * Opens rows of a table in the viewer: by a click, by its buttons, and by the arrow keys.
 * @param {any} table its rows have an index `position`
 * @param {Row[]} rows
 * @param {(row: Row) => Node[]} view what is shown of a row
 */
function startViewer(table, rows, view) {
  const viewer = byId("viewer");
  /** @type {Row | null} */
  let current = null;
  /** @type {any[] | null} */
  let order = null;
  const ordered = () => (order ??= table.getRows("active").map((/** @type {any} */ row) => row.getData()));

  /** @param {Row | undefined} row @param {boolean} [scroll] */
  function show(row, scroll = true) {
    if (!row) return;
    current = row;
    const at = ordered().indexOf(row);
    viewer.replaceChildren(stepper(at), ...view(row));
    table.deselectRow();
    table.selectRow(row.position);
    if (scroll) table.scrollToRow(row.position, "nearest", false).catch(() => {});
  }

  /** @param {number} by */
  function step(by) {
    const all = ordered();
    const at = current ? all.indexOf(current) : -1;
    show(all[Math.min(all.length - 1, Math.max(0, at + by))]);
  }

  /** @param {number} at */
  function stepper(at) {
    const last = ordered().length - 1;
    const button = (/** @type {string} */ text, /** @type {number} */ by, /** @type {boolean} */ disabled) =>
      element("button", { type: "button", class: "action", disabled, onclick: () => { step(by); viewer.focus({ preventScroll: true }); } }, text);
    const place = at < 0 ? "not among the rows shown" : `${grouped(at + 1)} of ${grouped(last + 1)}`;
    return element("div", { class: "stepper" }, button("← Previous", -1, at <= 0), button("Next →", 1, at >= last), element("span", { class: "count", role: "status" }, place));
  }

  table.on("rowClick", (/** @type {any} */ _, /** @type {any} */ row) => {
    show(row.getData(), false);
    if (window.innerWidth <= 960) viewer.scrollIntoView({ block: "start" });
  });
  /** Tells the place of the sample among the rows that are left, when the table has taken them over. */
  function reorder() {
    order = null;
    if (current) setTimeout(() => { viewer.querySelector(".stepper")?.replaceWith(stepper(ordered().indexOf(/** @type {Row} */ (current)))); });
  }
  table.on("dataSorted", reorder);
  table.on("dataFiltered", reorder);
  table.on("tableBuilt", () => show(rows[0], false));
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const by = STEP_KEYS[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || target.closest("input, select, textarea, pre, .scroll")) return;
    event.preventDefault();
    step(by);
  });
}
