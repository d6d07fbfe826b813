// @ts-check
/* The script of report.html: unpacks the data of the page, draws its plots, fills its tables, steps through samples.
   Text of the data reaches the page as text alone, never as HTML. */
"use strict";
(() => {
  /** @typedef {{value: number | null, low: number | null, high: number | null}} Measured */
  /** @typedef {{name: string, meaning: string, higher_is_better: boolean, low: number | null, high: number | null, main: boolean, values: Measured[]}} Metric */
  /** @typedef {{label: string, system: number, samples: number, values: Measured[]}} Slice */
  /** @typedef {{texts: string[], codes: number[]}} Coded */
  /** @typedef {{total: number, ids: string[], systems: number[], statuses: Coded, slices: Record<string, Coded>, metrics: Record<string, (number | null)[]>}} Samples */
  /** @typedef {{text: string, left_out: number}} RecordText */
  /** @typedef {{sample_id: string, system: number, status: string, why: string, metrics: Record<string, number | null>, truth: RecordText, prediction: RecordText | null, details: any, words: string[], drawing: string | null, problem: string}} Card */
  /** @typedef {{name: string, meaning: string, higher_is_better: boolean, edges: number[], counts: number[][], quartiles: number[][]}} Distribution */
  /** @typedef {{systems: string[], metrics: Metric[], sample_metrics: Metric[], slices: Slice[], distributions: Distribution[], samples: Samples | null, cards: Card[]}} Data */
  /** @typedef {Record<string, any>} Row */

  const SYMBOLS = ["circle", "square", "triangle", "diamond2", "star", "cross"];
  const SVG = "http://www.w3.org/2000/svg";
  const STEP_KEYS = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1 });

  /** @param {number | null | undefined} value */
  const shown = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
  /** Whole numbers alone, such as counts and verdicts, are shown as such. @param {(number | null)[]} values */
  const shownLike = (values) => (values.every((value) => value === null || Number.isInteger(value)) ? (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? "–" : grouped(value)) : shown);
  /** @param {number} value */
  const grouped = (value) => value.toLocaleString("en");
  /** @param {number} system */
  const color = (system) => `var(--system-${system % SYMBOLS.length})`;
  /** @param {string} name */
  const words = (name) => name.replaceAll("_", " ");

  /** The tables that are being built. @type {Promise<void>[]} */
  const building = [];

  /**
   * @param {string} tag
   * @param {Record<string, any>} [attributes]
   * @param {...(Node | string)} children
   * @returns {any}
   */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
    }
    made.append(...children);
    return made;
  }

  /**
   * @param {string} tag
   * @param {Record<string, string | number>} attributes
   * @param {...Node} children
   */
  function shape(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    made.append(...children);
    return made;
  }

  /** @param {string} id @returns {any} */
  const byId = (id) => document.getElementById(id);

  /** @param {string} base64 @returns {Uint8Array} */
  function decoded(base64) {
    // Not every browser has the fast way yet.
    const fromBase64 = /** @type {any} */ (Uint8Array).fromBase64;
    if (fromBase64) return fromBase64.call(Uint8Array, base64);
    const packed = atob(base64);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
    return bytes;
  }

  /** @returns {Promise<Data>} */
  async function unpack() {
    const bytes = decoded(byId("data").textContent);
    const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  /** @param {number} system */
  function marker(system) {
    const path = d3.symbol(symbolOf(system), 90)() ?? "";
    return shape("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, shape("path", { d: path, fill: color(system) }));
  }

  /** @param {number} system */
  const symbolOf = (system) => [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond2, d3.symbolStar, d3.symbolCross][system % SYMBOLS.length];

  /** A plot is one picture to a screen reader; what the library calls its parts says nothing. @param {Element} plot */
  function makeImage(plot) {
    plot.setAttribute("role", "img");
    for (const part of plot.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  }

  /** @param {string[]} systems */
  function legend(systems) {
    return element("ul", { class: "legend" }, ...systems.map((name, system) => element("li", {}, marker(system), name)));
  }

  /** @param {Data} data */
  function plotMetrics(data) {
    const points = data.metrics.flatMap((metric) =>
      metric.values.map((found, system) => ({ metric: metric.name + (metric.higher_is_better ? "" : " ↓"), system, ...found })),
    );
    const measured = points.filter((point) => point.value !== null);
    if (!measured.length) return;
    const many = data.systems.length > 1;
    const numbers = measured.flatMap((point) => [point.value ?? 0, point.low ?? 0, point.high ?? 0]);
    const names = [...new Set(measured.map((point) => point.metric))];
    const width = Math.max(320, Math.min(860, byId("metrics-plot").clientWidth));
    const figure = Plot.plot({
      width,
      marginLeft: Math.min(320, width * 0.55, 24 + 8 * Math.max(...names.map((name) => name.length))),
      marginRight: 30,
      height: 46 + names.length * (many ? 14 + data.systems.length * 16 : 30),
      style: { fontSize: "13px" },
      x: { domain: [Math.min(0, ...numbers), Math.max(1, ...numbers)], label: null, grid: true, nice: true, ticks: width < 600 ? 3 : 10 },
      y: many ? { axis: null, domain: d3.range(data.systems.length) } : { domain: names, label: null, tickSize: 0 },
      fy: many ? { domain: names, label: null } : undefined,
      ariaLabel: "Main metrics with intervals; the table below holds the same numbers",
      marks: [
        Plot.ruleY(measured.filter((point) => point.low !== null), {
          x1: "low", x2: "high", y: many ? "system" : "metric", fy: many ? "metric" : undefined,
          stroke: (/** @type {any} */ point) => color(point.system), strokeWidth: 2, marker: "tick",
        }),
        Plot.dot(measured, {
          x: "value", y: many ? "system" : "metric", fy: many ? "metric" : undefined, r: 5,
          fill: (/** @type {any} */ point) => color(point.system), symbol: (/** @type {any} */ point) => symbolOf(point.system),
          title: (/** @type {any} */ point) => `${data.systems[point.system]}: ${shown(point.value)} (${shown(point.low)} to ${shown(point.high)})`,
        }),
        many ? Plot.axisFy({ anchor: "left", label: null, dx: -4, textAnchor: "end" }) : null,
      ],
    });
    makeImage(figure);
    const lower = names.some((name) => name.endsWith("↓")) ? [element("p", { class: "caption" }, "↓ lower is better")] : [];
    byId("metrics-plot").append(...(many ? [legend(data.systems)] : []), figure, ...lower);
  }

  /** @param {Data} data */
  function plotDistributions(data) {
    const place = byId("distribution-plots");
    if (!place) return;
    const many = data.systems.length > 1;
    if (many) place.before(legend(data.systems));
    for (const found of data.distributions) {
      const counted = found.edges[1] - found.edges[0] === 1;
      const bins = found.counts.flatMap((counts, system) =>
        counts.map((count, index) => ({ count, system, from: found.edges[index], to: found.edges[index + 1] })),
      );
      const marks = many
        ? found.counts.map((_, system) => Plot.lineY(bins.filter((bin) => bin.system === system).flatMap((bin) => [{ x: bin.from, y: bin.count }, { x: bin.to, y: bin.count }]),
          { x: "x", y: "y", stroke: color(system), strokeWidth: 2, strokeDasharray: ["none", "6 3", "2 3", "8 3 2 3"][system % 4] }))
        : [Plot.rectY(bins, { x1: "from", x2: "to", y: "count", fill: color(0), inset: 0.5, title: (/** @type {any} */ bin) => `${shown(bin.from)} to ${shown(bin.to)}: ${grouped(bin.count)}` })];
      const summary = found.quartiles
        .map((quartiles, system) => (quartiles.length ? `${many ? `${data.systems[system]}: ` : ""}median ${shown(quartiles[2])}, half between ${shown(quartiles[1])} and ${shown(quartiles[3])}` : ""))
        .filter(Boolean);
      const plot = Plot.plot({
        width: 300, height: 130, marginLeft: 44, marginBottom: 24, style: { fontSize: "11px" },
        x: { label: null, domain: d3.extent(found.edges), ticks: counted ? d3.range(Math.ceil(found.edges[0]), found.edges[found.edges.length - 1]) : 5, tickFormat: counted ? "d" : undefined }, y: { label: null, ticks: 3, grid: true, tickFormat: "~s" },
        ariaLabel: `Distribution of ${found.name}: ${summary.join("; ")}`,
        marks: [...marks, Plot.ruleY([0])],
      });
      makeImage(plot);
      place.append(
        element("div", {}, element("h3", { title: `${found.meaning}; ${found.higher_is_better ? "higher" : "lower"} is better` }, found.name), plot, ...summary.map((line) => element("p", {}, line))),
      );
    }
  }

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

  /** @param {string} field */
  const textCell = (field) => (/** @type {any} */ cell) => document.createTextNode(cell.getData()[field] ?? "–");

  /** @param {any} table @param {HTMLElement} place @param {string} name */
  function makeAccessible(table, place, name) {
    building.push(new Promise((resolve) => { table.on("tableBuilt", resolve); }));
    table.on("tableBuilt", () => {
      place.setAttribute("aria-label", name);
      // What scrolls can be focused, and a grid holds nothing that can be focused but groups of rows.
      place.querySelector(".tabulator-tableholder")?.setAttribute("role", "rowgroup");
      place.querySelector(".tabulator-table")?.setAttribute("role", "none");
    });
  }

  /** @param {Data} data */
  function fillSlices(data) {
    const place = byId("slices-table");
    if (!place) return;
    const many = data.systems.length > 1;
    /** @type {Row[]} */
    const rows = data.slices.map((found) => {
      /** @type {Row} */
      const row = { label: found.label, system: found.system, samples: found.samples, found: found.values };
      found.values.forEach((measured, index) => { row[`v${index}`] = measured.value; });
      return row;
    });
    const used = data.metrics.map((_, index) => index).filter((index) => rows.some((row) => row[`v${index}`] !== null));
    const table = new Tabulator(place, {
      data: rows,
      maxHeight: "32rem",
      layout: "fitColumns",
      nestedFieldSeparator: false,
      placeholder: "No slice passes the filter",
      printAsHtml: false,
      initialSort: used.length ? [{ column: `v${used[0]}`, dir: data.metrics[used[0]].higher_is_better ? "asc" : "desc" }] : [],
      columns: [
        { ...heading("slice"), field: "label", minWidth: 150, widthGrow: 2, formatter: textCell("label"), sorter: "string" },
        ...(many ? [{ ...heading("system"), field: "system", minWidth: 90, formatter: (/** @type {any} */ cell) => systemLabel(data, cell.getValue()) }] : []),
        { ...heading("samples"), field: "samples", hozAlign: "right", width: 105, sorter: "number", formatter: (/** @type {any} */ cell) => document.createTextNode(grouped(cell.getValue())) },
        ...used.map((index) => {
          const metric = data.metrics[index];
          return {
            ...heading(metric.name, metric.meaning), field: `v${index}`, minWidth: 118, sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
            formatter: (/** @type {any} */ cell) => whiskerCell(cell.getData().found[index], metric, metric.values[cell.getData().system], cell.getData().system),
          };
        }),
      ],
    });
    makeAccessible(table, place, "Slices");
    const form = byId("slices-filters");
    const count = form.querySelector("output");
    table.on("dataFiltered", (/** @type {any} */ _, /** @type {any[]} */ left) => { count.textContent = `${grouped(left.length)} of ${grouped(rows.length)} rows`; });
    form.addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
    form.addEventListener("input", () => {
      const wanted = form.elements.label.value.trim().toLowerCase();
      const system = form.elements.system?.value ?? "";
      const least = Number(form.elements.samples.value) || 0;
      table.setFilter((/** @type {Row} */ row) => row.samples >= least && (system === "" || row.system === Number(system)) && row.label.toLowerCase().includes(wanted));
    });
  }

  /** @param {Data} data @param {number} system */
  function systemLabel(data, system) {
    const made = element("span", {}, marker(system), ` ${data.systems[system]}`);
    made.firstChild.setAttribute("style", "width: .8rem; height: .8rem; vertical-align: -.1rem");
    return made;
  }

  /**
   * A value, its interval as a bar below, and the value of all samples as a thin line across.
   * @param {Measured} found
   * @param {Metric} metric
   * @param {Measured | undefined} overall
   * @param {number} system
   */
  function whiskerCell(found, metric, overall, system) {
    if (found.value === null) return document.createTextNode("–");
    const low = Math.min(metric.low ?? 0, found.low ?? found.value);
    const high = Math.max(metric.high ?? 1, found.high ?? found.value);
    const at = (/** @type {number} */ value) => (100 * (value - low)) / (high - low || 1);
    const bar = shape("svg", { class: "whisker", viewBox: "0 0 100 10", height: 10, preserveAspectRatio: "none", "aria-hidden": "true" },
      shape("line", { x1: 0, x2: 100, y1: 5, y2: 5, stroke: "var(--line)", "stroke-width": 1, "vector-effect": "non-scaling-stroke" }));
    if (overall && overall.value !== null) {
      const place = at(overall.value);
      bar.append(shape("line", { x1: place, x2: place, y1: 0, y2: 10, stroke: "var(--soft)", "stroke-width": 1, "vector-effect": "non-scaling-stroke" }));
    }
    if (found.low !== null && found.high !== null) {
      bar.append(shape("line", { x1: at(found.low), x2: at(found.high), y1: 5, y2: 5, stroke: color(system), "stroke-width": 3, "vector-effect": "non-scaling-stroke" }));
    }
    bar.append(shape("line", { x1: at(found.value), x2: at(found.value), y1: 5, y2: 5, stroke: color(system), "stroke-width": 8, "stroke-linecap": "round", "vector-effect": "non-scaling-stroke" }));
    const interval = found.low === null ? "" : ` (${shown(found.low)} to ${shown(found.high)})`;
    return element("span", { title: `${shown(found.value)}${interval}` }, shown(found.value), element("span", { class: "hidden" }, interval), bar);
  }

  /**
   * The rows of the table: each knows its position, and looks its cells up in the columns, so that 100,000 are cheap.
   * @param {Data} data @param {Samples} samples @returns {Row[]}
   */
  function sampleRows(data, samples) {
    const cards = new Map(data.cards.map((card) => [`${card.system} ${card.sample_id}`, card]));
    const looked = new Set(data.cards.map((card) => card.sample_id));
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
    return samples.ids.map((id, position) => {
      const row = new SampleRow(position);
      if (looked.has(id)) row.card = cards.get(`${samples.systems[position]} ${id}`) ?? null;
      return row;
    });
  }

  /** @param {string} name @param {string} label @param {[string, string][]} choices */
  function choice(name, label, choices) {
    const options = choices.map(([value, text]) => element("option", { value }, text));
    return element("label", {}, label, element("select", { name }, ...options));
  }

  /** @param {Data} data @param {Samples} samples */
  function fillFilters(data, samples) {
    const numbered = (/** @type {string[]} */ texts) => /** @type {[string, string][]} */ ([["", "all"], ...texts.map((text, index) => [String(index), words(text)])]);
    const whys = [...new Set(data.cards.map((card) => card.why))];
    const measured = data.sample_metrics.map((metric, index) => /** @type {[string, string]} */ ([String(index), metric.name])).filter(([index]) => samples.metrics[data.sample_metrics[Number(index)].name].some((value) => value !== null));
    byId("samples-filters").append(
      element("label", {}, "sample_id contains", element("input", { type: "search", name: "id", autocomplete: "off", spellcheck: "false" })),
      choice("why", "Show", [["", "all"], ...(data.cards.length ? [/** @type {[string, string]} */ (["any", "with records"])] : []), ...whys.map((why) => /** @type {[string, string]} */ ([why, `${why === "flip" ? "flips" : why}, with records`]))]),
      choice("status", "Status", numbered(samples.statuses.texts)),
      ...(data.systems.length > 1 ? [choice("system", "System", numbered(data.systems))] : []),
      ...Object.entries(samples.slices).map(([name, coded], index) => choice(`slice${index}`, name, numbered(coded.texts))),
      choice("metric", "Metric", [["", "any"], ...measured]),
      element("label", {}, "from", element("input", { type: "number", name: "least", step: "any", "aria-label": "lowest value of the metric" })),
      element("label", {}, "to", element("input", { type: "number", name: "most", step: "any", "aria-label": "highest value of the metric" })),
      element("button", { type: "reset", class: "action" }, "Clear"),
      element("output", { class: "count", "aria-live": "polite" }),
    );
  }

  /** @param {any} form @param {number} slices @returns {(row: Row) => boolean} */
  function filterOf(form, slices) {
    const field = (/** @type {string} */ name) => form.elements[name]?.value ?? "";
    const wanted = field("id").trim().toLowerCase();
    /** @type {[string, number][]} */
    const equal = [["status", field("status")], ["system", field("system")]].filter(([, value]) => value !== "").map(([name, value]) => [name, Number(value)]);
    for (let i = 0; i < slices; i++) if (field(`slice${i}`) !== "") equal.push([`s${i}`, Number(field(`slice${i}`))]);
    const why = field("why");
    const metric = field("metric");
    const least = field("least") === "" ? -Infinity : Number(field("least"));
    const most = field("most") === "" ? Infinity : Number(field("most"));
    return (row) =>
      equal.every(([name, value]) => row[name] === value) &&
      (why === "" || (row.card !== null && (why === "any" || row.card.why === why))) &&
      (metric === "" || (row[`m${metric}`] !== null && row[`m${metric}`] >= least && row[`m${metric}`] <= most)) &&
      (wanted === "" || row.id.toLowerCase().includes(wanted));
  }

  /** @param {Data} data */
  function fillSamples(data) {
    const samples = data.samples;
    const place = byId("samples-table");
    if (!samples || !place) return;
    const rows = sampleRows(data, samples);
    const main = data.sample_metrics.findIndex((metric) => metric.main);
    const order = [main, ...data.sample_metrics.keys()].filter((index, position, all) => all.indexOf(index) === position);
    const used = order.filter((index) => samples.metrics[data.sample_metrics[index].name].some((value) => value !== null));
    fillFilters(data, samples);
    /** @type {any} */
    const table = new Tabulator(place, {
      data: rows,
      index: "position",
      height: "40rem",
      layout: "fitDataFill",
      nestedFieldSeparator: false,
      placeholder: "No sample passes the filter",
      selectableRows: 1,
      printAsHtml: false,
      columns: [
        { ...heading("sample_id"), field: "id", width: 170, frozen: window.innerWidth > 640, sorter: "string", formatter: (/** @type {any} */ cell) => element("button", { type: "button", class: "open", title: cell.getValue() }, cell.getValue()) },
        ...(data.systems.length > 1 ? [{ ...heading("system"), field: "system", minWidth: 90, formatter: (/** @type {any} */ cell) => systemLabel(data, cell.getValue()) }] : []),
        ...used.map((index) => {
          const metric = data.sample_metrics[index];
          const write = shownLike(samples.metrics[metric.name]);
          return {
            ...heading(metric.name, metric.meaning), field: `m${index}`, hozAlign: "right", width: 112, sorter: "number", sorterParams: { alignEmptyValues: "bottom" },
            formatter: (/** @type {any} */ cell) => document.createTextNode(write(cell.getValue())),
          };
        }),
        { ...heading("status"), field: "status", minWidth: 90, formatter: (/** @type {any} */ cell) => document.createTextNode(words(samples.statuses.texts[cell.getValue()])) },
        ...Object.entries(samples.slices).map(([name, coded], index) => ({
          ...heading(name), field: `s${index}`, minWidth: 90, formatter: (/** @type {any} */ cell) => document.createTextNode(coded.texts[cell.getValue()] ?? "–"),
        })),
        { ...heading("records"), field: "why", minWidth: 80, headerSort: false, formatter: (/** @type {any} */ cell) => document.createTextNode(cell.getData().card?.why ?? "") },
      ],
    });
    makeAccessible(table, place, "Samples");
    startViewer(data, samples, table, rows);
  }

  /** @param {Data} data @param {Samples} samples @param {any} table @param {Row[]} rows */
  function startViewer(data, samples, table, rows) {
    const form = byId("samples-filters");
    const viewer = byId("viewer");
    /** @type {Row | null} */
    let current = null;
    /** @type {any[] | null} */
    let order = null;
    const ordered = () => (order ??= table.getRows("active").map((/** @type {any} */ row) => row.getData()));

    /** @param {Row | undefined} row @param {boolean} [scroll] */
    function open(row, scroll = true) {
      if (!row) return;
      current = row;
      const at = ordered().indexOf(row);
      viewer.replaceChildren(stepper(at), ...sampleView(data, samples, row));
      table.deselectRow();
      table.selectRow(row.position);
      if (scroll) table.scrollToRow(row.position, "nearest", false).catch(() => {});
    }

    /** @param {number} by */
    function step(by) {
      const all = ordered();
      const at = current ? all.indexOf(current) : -1;
      open(all[Math.min(all.length - 1, Math.max(0, at + by))]);
    }

    /** @param {number} at */
    function stepper(at) {
      const last = ordered().length - 1;
      const button = (/** @type {string} */ text, /** @type {number} */ by, /** @type {boolean} */ disabled) =>
        element("button", { type: "button", class: "action", disabled, onclick: () => { step(by); viewer.focus({ preventScroll: true }); } }, text);
      return element("div", { class: "stepper" }, button("← Previous", -1, at <= 0), button("Next →", 1, at >= last), element("span", { class: "count", role: "status" }, at < 0 ? "not among the rows shown" : `${grouped(at + 1)} of ${grouped(last + 1)}`));
    }

    table.on("rowClick", (/** @type {any} */ _, /** @type {any} */ row) => { open(row.getData(), false); if (window.innerWidth <= 960) viewer.scrollIntoView({ block: "start" }); });
    table.on("dataSorted", () => { order = null; });
    table.on("dataFiltered", (/** @type {any} */ _, /** @type {any[]} */ left) => {
      order = null;
      form.querySelector("output").textContent = `${grouped(left.length)} of ${grouped(rows.length)} rows`;
    });
    table.on("tableBuilt", () => open(rows[0], false));
    const refilter = () => table.setFilter(filterOf(form, Object.keys(samples.slices).length));
    form.addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
    form.addEventListener("input", refilter);
    form.addEventListener("reset", () => setTimeout(refilter));
    document.addEventListener("keydown", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      const by = STEP_KEYS[event.key];
      if (!by || event.altKey || event.ctrlKey || event.metaKey || target.closest("input, select, textarea, pre, .scroll")) return;
      event.preventDefault();
      step(by);
    });
  }

  /** @param {Data} data @param {Samples} samples @param {Row} row @returns {Node[]} */
  function sampleView(data, samples, row) {
    /** @type {Card | null} */
    const card = row.card;
    const values = data.sample_metrics.map((metric, index) => ({ metric, value: row[`m${index}`] })).filter(({ value }) => value !== null && value !== undefined);
    const write = (/** @type {Metric} */ metric) => shownLike(samples.metrics[metric.name]);
    const slices = Object.entries(samples.slices).map(([name, coded], index) => `${name}: ${coded.texts[row[`s${index}`]] ?? "–"}`);
    const view = [
      element("h3", {}, element("bdi", {}, row.id)),
      element("ul", { class: "chips" },
        ...(data.systems.length > 1 ? [element("li", {}, systemLabel(data, row.system))] : []),
        element("li", { class: "tag" }, words(samples.statuses.texts[row.status])),
        ...(card ? [element("li", { class: "tag" }, card.why)] : []),
        ...slices.map((text) => element("li", { class: "tag" }, element("bdi", {}, text)))),
      element("ul", { class: "chips" }, ...values.map(({ metric, value }) => element("li", { title: metric.meaning }, `${metric.name} `, element("b", {}, write(metric)(value))))),
    ];
    if (!card) {
      view.push(element("p", { class: "caption" }, "The records of this sample are not in this page. beamscore draw --sample draws it; samples/*.parquet has its details."));
      return view;
    }
    if (card.drawing !== null) {
      const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(card.drawing)}`;
      view.push(element("h4", {}, "Drawing"), element("img", { class: "drawing", src: source, alt: card.words.join(" ") || "ground truth and prediction of this sample, drawn" }));
    } else if (card.problem) view.push(element("p", { class: "caption" }, `No drawing: ${card.problem}`));
    if (card.words.length) view.push(element("h4", {}, "What matched what"), element("ul", { class: "words" }, ...card.words.map((line) => element("li", {}, line))));
    view.push(element("div", { class: "records" }, recordView("Ground truth", card.truth), recordView("Prediction", card.prediction)));
    if (card.details !== null) {
      view.push(element("details", {}, element("summary", {}, "All details of the match"), element("pre", { tabindex: 0 }, JSON.stringify(card.details, null, 1))));
    }
    return view;
  }

  /** @param {string} title @param {RecordText | null} record */
  function recordView(title, record) {
    if (!record) return element("div", {}, element("h4", {}, title), element("p", { class: "caption" }, "There is no record that could be read."));
    const left = record.left_out ? [element("p", { class: "caption" }, `${grouped(record.left_out)} more characters are not in this page.`)] : [];
    return element("div", {}, element("h4", {}, title), element("pre", { tabindex: 0, dir: "auto" }, record.text), ...left);
  }

  /** @param {Data} data */
  async function show(data) {
    plotMetrics(data);
    fillSlices(data);
    plotDistributions(data);
    fillSamples(data);
    await Promise.all(building);
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }

  unpack().then(show).catch((error) => {
    const problem = byId("problem");
    problem.textContent = `The plots and tables of this page could not be shown: ${error}. report.md has the numbers.`;
    problem.hidden = false;
    throw error;
  });
})();
