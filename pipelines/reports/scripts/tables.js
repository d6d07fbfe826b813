// @ts-check
/* What the tables of a page share: headings, cells, filters, and what screen readers need. */
"use strict";

/** A name that may be broken after its dots and underscores. @param {string} name */
const breakable = (name) => name.split(/(?<=[._])/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));

/**
 * The heading of a column: text that is no HTML, with its meaning on hover.
 * @param {string} title
 * @param {string} [meaning]
 */
const heading = (title, meaning) => ({
  title: words(title),
  titleFormatter: () => element("span", { title: meaning || title }, ...breakable(title)),
  headerWordWrap: true,
  headerSortTristate: false,
});

/**
 * How wide a column must be so that its heading breaks only where a name may be broken.
 * @param {string} title
 * @param {number} least
 */
const widthFor = (title, least) => Math.max(least, 42 + 8.3 * Math.max(...title.split(/(?<=[._])|[ _]/).map((part) => part.length)));

/** A column of numbers, those without a value last. @param {string} field @param {string} title @param {string} meaning @param {number} least @param {string} [widest] */
const numberColumn = (field, title, meaning, least, widest) => ({
  ...heading(title, meaning), field, minWidth: widthFor(widest ?? title, least), sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
});

/** @param {ReportDocument} doc */
const systemColumn = (doc) => ({ ...heading("system"), field: "system", minWidth: 90, formatter: (/** @type {any} */ cell) => systemLabel(doc.systems, cell.getValue()) });

/** A cell whose text is made of the row. @param {(row: Row) => string} text */
const textCell = (text) => (/** @type {any} */ cell) => document.createTextNode(text(cell.getData()));

/**
 * Makes a table that is searched, sorted and scrolled on its own; what is not in sight is not in the document.
 * @param {HTMLElement} place
 * @param {string} name what a screen reader calls it
 * @param {Record<string, any>} options of Tabulator
 * @returns {any}
 */
function makeTable(place, name, options) {
  const table = new Tabulator(place, { nestedFieldSeparator: false, printAsHtml: false, ...options });
  building.push(new Promise((resolve) => { table.on("tableBuilt", resolve); }));
  table.on("tableBuilt", () => {
    place.setAttribute("aria-label", name);
    // What scrolls can be focused, and a grid holds nothing that can be focused but groups of rows.
    place.querySelector(".tabulator-tableholder")?.setAttribute("role", "rowgroup");
    place.querySelector(".tabulator-table")?.setAttribute("role", "none");
  });
  printOf(place, table, options.columns);
  return table;
}

const MAX_PRINTED_ROWS = 60;
const MAX_PRINTED_COLUMNS = 9;

/**
 * Puts the first rows and columns of a table on paper, as many as can be read there, in place of what can be scrolled.
 * @param {HTMLElement} place
 * @param {any} table
 * @param {any[]} columns
 */
function printOf(place, table, columns) {
  /** @type {Element[]} */
  let printed = [];
  const remove = () => { for (const part of printed) part.remove(); printed = []; };
  window.addEventListener("afterprint", remove);
  window.addEventListener("beforeprint", () => {
    remove();
    const rows = table.getRows("active").map((/** @type {any} */ row) => row.getData());
    const cellOf = (/** @type {any} */ column, /** @type {Row} */ row) => {
      const value = row[column.field];
      const made = column.formatter ? column.formatter({ getValue: () => value, getData: () => row }) : String(value ?? "–");
      return element("td", { class: column.hozAlign === "right" ? "number" : null }, made);
    };
    const wide = columns.slice(0, MAX_PRINTED_COLUMNS);
    const head = element("tr", {}, ...wide.map((column) => element("th", { scope: "col", class: column.hozAlign === "right" ? "number" : null }, column.titleFormatter())));
    const body = rows.slice(0, MAX_PRINTED_ROWS).map((/** @type {Row} */ row) => element("tr", {}, ...wide.map((column) => cellOf(column, row))));
    printed = [element("table", { class: "printed" }, element("thead", {}, head), element("tbody", {}, ...body))];
    const left = [more(rows.length - MAX_PRINTED_ROWS, "row"), more(columns.length - MAX_PRINTED_COLUMNS, "column")].filter(Boolean);
    if (left.length) printed.push(element("p", { class: "caption printed" }, `Not printed: ${left.join(" and ")}.`));
    place.after(...printed);
  });
}

/** @param {number} count @param {string} thing */
const more = (count, thing) => (count > 0 ? `${grouped(count)} more ${thing}${count > 1 ? "s" : ""}` : "");

/**
 * Filters a table by the fields of a form, at each change, and tells how many rows are left.
 * @param {any} table
 * @param {any} form
 * @param {number} total
 * @param {() => (row: Row) => boolean} filter what the form asks for now
 */
function filterBy(table, form, total, filter) {
  const count = form.querySelector("output");
  table.on("dataFiltered", (/** @type {any} */ _, /** @type {any[]} */ left) => {
    count.textContent = `${grouped(left.length)} of ${grouped(total)} rows`;
  });
  const refilter = () => table.setFilter(filter());
  form.addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  form.addEventListener("input", refilter);
  form.addEventListener("reset", () => setTimeout(refilter));
}

/** What a form says, by the name of a field; nothing of one that it lacks. @param {any} form @returns {(name: string) => string} */
const givenBy = (form) => (name) => form.elements[name]?.value ?? "";

/** @param {string} name @param {string} label @param {[string, string][]} choices */
function choice(name, label, choices) {
  const options = choices.map(([value, text]) => element("option", { value }, text));
  return element("label", {}, label, element("select", { name }, ...options));
}

/** "all", then each text as it is under its number. @param {string[]} texts @returns {[string, string][]} */
const numbered = (texts) => [["", "all"], ...texts.map((text, index) => /** @type {[string, string]} */ ([String(index), text]))];

/** @param {string} label @param {Record<string, any>} attributes */
const field = (label, attributes) => element("label", {}, label, element("input", { autocomplete: "off", spellcheck: "false", ...attributes }));

const clearButton = () => element("button", { type: "reset", class: "action" }, "Clear");
const countOfRows = () => element("output", { class: "count", "aria-live": "polite" });

/** @param {number} x1 @param {number} x2 @param {Record<string, string | number>} attributes */
const stroke = (x1, x2, attributes) => shape("line", { x1, x2, y1: 5, y2: 5, "vector-effect": "non-scaling-stroke", ...attributes });

/**
 * A bar from `low` to `high` of a range, with a dot at the value; `line` is a thin line across.
 * @param {Measured} found
 * @param {[number, number]} range
 * @param {number | null} line
 * @param {string} ink
 */
function whisker(found, range, line, ink) {
  const [low, high] = range;
  const at = (/** @type {number} */ value) => (100 * (value - low)) / (high - low || 1);
  const bar = shape("svg", { class: "whisker", viewBox: "0 0 100 10", height: 10, preserveAspectRatio: "none", "aria-hidden": "true" },
    stroke(0, 100, { stroke: "var(--line)", "stroke-width": 1 }));
  if (line !== null) bar.append(stroke(at(line), at(line), { y1: 0, y2: 10, stroke: "var(--soft)", "stroke-width": 1 }));
  if (found.low !== null && found.high !== null) bar.append(stroke(at(found.low), at(found.high), { stroke: ink, "stroke-width": 3 }));
  if (found.value !== null) bar.append(stroke(at(found.value), at(found.value), { stroke: ink, "stroke-width": 8, "stroke-linecap": "round" }));
  return bar;
}

/**
 * A value, its interval as a bar below on the range of the metric, and the value of all samples as a thin line across.
 * @param {Measured} found
 * @param {Metric} metric
 * @param {Measured | undefined} overall
 * @param {number} system
 */
function valueCell(found, metric, overall, system) {
  if (found.value === null) return document.createTextNode("–");
  const low = Math.min(metric.low ?? 0, found.low ?? found.value);
  const high = Math.max(metric.high ?? 1, found.high ?? found.value);
  const interval = found.low === null ? "" : ` (${shown(found.low)} to ${shown(found.high)})`;
  return element("span", { title: `${shown(found.value)}${interval}` }, shown(found.value), element("span", { class: "hidden" }, interval),
    whisker(found, [low, high], overall?.value ?? null, color(system)));
}

const DECIDED = /** @type {Record<string, string>} */ ({ better: "▲ better", worse: "▼ worse" });

/**
 * A difference with its verdict and its interval, on a range around zero that all cells of the column share.
 * @param {Difference} found
 * @param {number} reach
 * @param {string} values on both sides
 */
function differenceCell(found, reach, values) {
  if (found.value === null) return document.createTextNode("–");
  const interval = found.low === null ? "" : ` (${signed(found.low)} to ${signed(found.high)})`;
  const verdict = DECIDED[found.verdict];
  const ink = found.verdict === "better" ? "var(--good)" : found.verdict === "worse" ? "var(--bad)" : "var(--soft)";
  return element("span", { title: `${signed(found.value)}${interval}: ${found.verdict}\n${values}` }, signed(found.value),
    element("span", { class: "hidden" }, interval),
    ...(verdict ? [" ", element("b", { class: found.verdict }, verdict)] : []),
    whisker(found, [-reach, reach], 0, ink));
}

/** How far from zero the differences of a column and their intervals reach. @param {Difference[]} column */
const reachOf = (column) => Math.max(1e-9, ...column.flatMap((found) => [found.value, found.low, found.high].map((value) => Math.abs(value ?? 0))));
