// @ts-check
/* Steps through the rows of a table and shows the sample of each: records, drawing, what matched what. */
"use strict";

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

/** The column of the sample_id: a button that opens the row by keyboard too. */
const idColumn = () => ({
  ...heading("sample_id"), field: "id", width: 170, frozen: window.innerWidth > 640, sorter: "string",
  formatter: (/** @type {any} */ cell) => element("button", { type: "button", class: "open", title: cell.getValue() }, cell.getValue()),
});

/** @param {string} id */
const sampleTitle = (id) => element("h3", {}, element("bdi", {}, id));

/** @param {string} text */
const tag = (text) => element("li", { class: "tag" }, element("bdi", {}, text));

/** @param {string | null} drawing @param {string} problem @param {string[]} said what matched what */
function drawingView(drawing, problem, said) {
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
