// @ts-check
/* What a history has: metrics over time, slices as small multiples, all runs. */
"use strict";

/** @typedef {{night: number, time: Date, value: number, low: number | null, high: number | null, system: number, part: number}} NightPoint */

/** When a run started; of one that does not say, the day of its place. @param {Night} night @param {number} place */
function timeOf(night, place) {
  const time = new Date(night.started);
  return Number.isNaN(time.getTime()) ? new Date(place * 86400000) : time;
}

/**
 * The points of some series, each with the number that nights share whose scores can be compared.
 * @param {Nights} history
 * @param {Series[]} series
 * @returns {NightPoint[]}
 */
function pointsOf(history, series) {
  return series.flatMap((each) => each.values.flatMap((value, night) => value === null ? [] : [{
    night, value, time: timeOf(history.nights[night], night), low: each.lows[night] ?? null, high: each.highs[night] ?? null,
    system: each.system, part: history.nights[night].part,
  }]));
}

/** What a dot says of its night. @param {Nights} history @param {string[]} systems @param {NightPoint} point */
function saidOf(history, systems, point) {
  const night = history.nights[point.night];
  const interval = point.low === null ? "" : ` (${shown(point.low)} to ${shown(point.high)})`;
  const system = systems.length > 1 ? `${systems[point.system]}: ` : "";
  return `${system}${shown(point.value)}${interval}\n${night.run}, ${night.started.slice(0, 16).replace("T", " ")}${night.verdict ? `, gates ${night.verdict}` : ""}`;
}

/** The marks of breaks and of nights that are missing. @param {Nights} history */
function marksOfTime(history) {
  const of = (/** @type {string} */ what) => history.events.filter((event) => event.what === what);
  const at = (/** @type {number} */ night) => timeOf(history.nights[night], night);
  // A break lies between two runs, and so does the line of it.
  const between = (/** @type {HistoryEvent} */ mark) => new Date((at(Math.max(0, mark.night - 1)).getTime() + at(mark.night).getTime()) / 2);
  return [
    Plot.rectX(of("missing before"), { x1: (/** @type {HistoryEvent} */ mark) => at(mark.night - 1), x2: (/** @type {HistoryEvent} */ mark) => at(mark.night), fill: "var(--soft)", fillOpacity: 0.18, insetLeft: 4, insetRight: 4 }),
    Plot.ruleX(of("break"), { x: between, stroke: "var(--bad)", strokeWidth: 1.5, strokeDasharray: "5 4", title: (/** @type {HistoryEvent} */ mark) => `break: ${mark.text}` }),
  ];
}

/** When points were, a day of a single one. @param {NightPoint[]} points @returns {[Date, Date]} */
function timesOf(points) {
  const [first, last] = d3.extent(points, (/** @type {NightPoint} */ point) => point.time);
  return [first, first.getTime() === last.getTime() ? new Date(last.getTime() + 86400000) : last];
}

/** The lines and dots of points. @param {HistoryDocument} doc @param {NightPoint[]} points @param {number} radius */
function marksOfPoints(doc, points, radius) {
  const ink = (/** @type {NightPoint} */ point) => color(point.system);
  return [
    Plot.lineY(points, { x: "time", y: "value", z: (/** @type {NightPoint} */ point) => `${point.system} ${point.part}`, stroke: ink, strokeWidth: 1.5 }),
    Plot.dot(points, { x: "time", y: "value", r: radius, fill: ink, symbol: (/** @type {NightPoint} */ point) => symbolOf(point.system), title: (/** @type {NightPoint} */ point) => saidOf(doc.history, doc.systems, point) }),
  ];
}

/**
 * One metric over time.
 * @param {HistoryDocument} doc
 * @param {number} metric
 * @param {Element} place
 */
function metricOverTime(doc, metric, place) {
  const { history } = doc;
  const points = pointsOf(history, history.series.filter((each) => each.label === "" && each.metric === metric));
  if (!points.length) return;
  const declared = doc.metrics[metric];
  const gates = history.gates.filter((gate) => gate.metric === metric);
  const changes = history.events.filter((event) => event.what === "change point" && event.metric === metric);
  const changed = points.filter((point) => changes.some((event) => event.night === point.night && event.system === point.system));
  const values = [...points.flatMap((point) => [point.value, point.low ?? point.value, point.high ?? point.value]), ...gates.map((gate) => gate.value)];
  const better = `${declared.meaning}${declared.meaning ? "; " : ""}${declared.higher_is_better ? "higher" : "lower"} is better`;
  const made = element("div", {}, element("h3", { title: better }, declared.name, " ", element("span", { class: "caption" }, `${declared.higher_is_better ? "higher" : "lower"} is better`)));
  place.append(made);
  const width = widthOf(made, 1240);
  const extent = d3.extent(values);
  const pad = Math.max(0.0005, 0.06 * (extent[1] - extent[0]));
  const ink = (/** @type {NightPoint} */ point) => color(point.system);
  const figure = Plot.plot({
    width, height: 230, marginLeft: 56, marginRight: 24, marginTop: 18, style: { fontSize: "12px" },
    x: { type: "utc", label: null, ticks: Math.min(width < 600 ? 3 : 8, new Set(points.map((point) => point.night)).size), domain: timesOf(points), inset: 14 },
    y: { label: null, grid: true, ticks: 5, domain: [extent[0] - pad, extent[1] + pad] },
    ariaLabel: `${declared.name} over time; the table of runs below holds the same numbers`,
    marks: [
      ...marksOfTime(history),
      Plot.ruleY(gates, { y: "value", stroke: "currentColor", strokeDasharray: "1 4", strokeWidth: 1.5 }),
      Plot.ruleX(points.filter((point) => point.low !== null), { x: "time", y1: "low", y2: "high", stroke: ink, strokeWidth: 1.5, strokeOpacity: 0.6 }),
      Plot.dot(changed, { x: "time", y: "value", r: 9, stroke: "currentColor", strokeWidth: 2, fill: "none" }),
      ...marksOfPoints(doc, points, points.length > 300 ? 2.5 : 4),
      Plot.text(gates, { y: "value", text: "text", frameAnchor: "right", textAnchor: "end", dy: -8, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 5, fontSize: 11 }),
    ],
  });
  openOnClick(figure, history, points);
  makeImage(figure);
  made.append(figure);
}

/** A click on a dot opens the page of its night. @param {Element} figure @param {Nights} history @param {NightPoint[]} points */
function openOnClick(figure, history, points) {
  // The rings of change points are dots too, and stand before those of the runs.
  const dots = [...figure.querySelectorAll("g[aria-label=dot]")].pop()?.children ?? [];
  points.forEach((point, index) => {
    const { link } = history.nights[point.night];
    const dot = dots[index];
    if (link === null || !dot) return;
    dot.classList.add("link");
    dot.addEventListener("click", () => { window.location.href = link; });
  });
}

/** @param {HistoryDocument} doc @param {number} number */
function plotSlices(doc, number) {
  const place = byId(`slices-plots-${number}`);
  const slices = doc.history.series.filter((each) => each.label !== "");
  const form = byId(`slices-filters-${number}`);
  const measured = [...new Set(slices.map((each) => each.metric))].sort((a, b) => a - b);
  const choices = /** @type {[string, string][]} */ (measured.map((metric) => [String(metric), doc.metrics[metric].name]));
  form.append(
    choice("metric", "Metric", choices),
    field("Slice contains", { type: "search", name: "label" }),
    choice("order", "Order", [["fall", "largest fall of the last run"], ["samples", "most samples"], ["label", "name"]]),
    countOfRows(),
  );
  const draw = () => {
    const metric = Number(form.elements.metric.value);
    const wanted = form.elements.label.value.trim().toLowerCase();
    /** @type {[string, Series[]][]} */
    const of = d3.groups(slices.filter((each) => each.metric === metric), (/** @type {Series} */ each) => each.label);
    const found = of.filter(([label]) => label.toLowerCase().includes(wanted));
    found.sort(orderOf(form.elements.order.value, doc.metrics[metric]));
    form.querySelector("output").textContent = `${grouped(found.length)} of ${grouped(of.length)} slices`;
    place.replaceChildren(...found.slice(0, MAX_MULTIPLES).map(([label, series], index) => {
      const made = element("div", { class: "multiple" }, element("h3", {}, element("bdi", {}, label)), element("p", {}, `${grouped(Math.max(...series.map((each) => each.samples)))} samples`));
      whenSeen(made, () => made.append(smallPlot(doc, metric, series)), index >= 12);
      return made;
    }));
    if (found.length > MAX_MULTIPLES) place.append(element("p", { class: "caption" }, `${grouped(found.length - MAX_MULTIPLES)} more slices pass the filter.`));
  };
  form.addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  form.addEventListener("input", draw);
  draw();
}

const MAX_MULTIPLES = 300;

/** @param {string} order @param {Metric} metric @returns {(a: [string, Series[]], b: [string, Series[]]) => number} */
function orderOf(order, metric) {
  if (order === "label") return (a, b) => d3.ascending(a[0], b[0]);
  const samples = (/** @type {[string, Series[]]} */ group) => Math.max(...group[1].map((each) => each.samples));
  if (order === "samples") return (a, b) => samples(b) - samples(a);
  const sign = metric.higher_is_better ? 1 : -1;
  const moved = (/** @type {[string, Series[]]} */ group) => Math.min(...group[1].map((each) => {
    const [last, before] = each.values.filter((value) => value !== null).slice(-2).reverse();
    return before === undefined ? 0 : sign * (/** @type {number} */ (last) - /** @type {number} */ (before));
  }));
  return (a, b) => moved(a) - moved(b) || samples(b) - samples(a);
}

/** @param {HistoryDocument} doc @param {number} metric @param {Series[]} series */
function smallPlot(doc, metric, series) {
  const points = pointsOf(doc.history, series);
  const values = points.map((point) => point.value);
  const [low, high] = /** @type {[number, number]} */ (d3.extent(values));
  const pad = Math.max(0.005, 0.1 * (high - low));
  const plot = Plot.plot({
    width: 300, height: 110, marginLeft: 44, marginBottom: 22, marginRight: 14, marginTop: 8, style: { fontSize: "11px" },
    x: { type: "utc", label: null, ticks: Math.min(3, new Set(points.map((point) => point.night)).size), domain: timesOf(points), inset: 6 },
    y: { label: null, ticks: 3, grid: true, domain: [low - pad, high + pad] },
    ariaLabel: `${doc.metrics[metric].name} of a slice over time, last ${shown(values[values.length - 1])}`,
    marks: [
      ...marksOfTime(doc.history),
      ...marksOfPoints(doc, points, points.length > 60 ? 1.5 : 3),
    ],
  });
  openOnClick(plot, doc.history, points);
  makeImage(plot);
  return plot;
}

/** @param {HistoryDocument} doc @param {number} number */
function fillNights(doc, number) {
  const { history, systems } = doc;
  const form = byId(`nights-filters-${number}`);
  const verdicts = [...new Set(history.nights.map((night) => night.verdict).filter(Boolean))];
  form.append(
    field("Run contains", { type: "search", name: "run" }),
    ...(verdicts.length ? [choice("verdict", "Gates", [["", "all"], .../** @type {[string, string][]} */ (verdicts.map((word) => [word, word]))])] : []),
    clearButton(),
    countOfRows(),
  );
  const used = history.series.filter((each) => each.label === "" && each.values.some((value) => value !== null));
  /** @type {Row[]} */
  const rows = history.nights.map((night, place) => {
    /** @type {Row} */
    const row = { place, run: night.run, started: night.started, version: night.version, verdict: night.verdict, link: night.link };
    used.forEach((each, index) => { row[`v${index}`] = each.values[place]; });
    systems.forEach((_, index) => { row[`scored${index}`] = night.scored[index]; });
    return row;
  }).reverse();
  const table = makeTable(byId(`nights-table-${number}`), "Runs", {
    data: rows,
    maxHeight: "32rem",
    layout: "fitDataFill",
    placeholder: "No run passes the filter",
    columns: [
      { ...heading("run"), field: "run", minWidth: 140, frozen: window.innerWidth > 640, sorter: "string", formatter: (/** @type {any} */ cell) => runLink(cell.getData()) },
      { ...heading("started"), field: "started", minWidth: 150, sorter: "string", formatter: textCell((row) => row.started.slice(0, 16).replace("T", " ")) },
      ...(verdicts.length ? [{ ...heading("gates"), field: "verdict", minWidth: 110, formatter: (/** @type {any} */ cell) => element("b", { class: `said ${cell.getValue()}` }, cell.getValue() || "–") }] : []),
      ...used.map((each, index) => ({
        ...numberColumn(`v${index}`, doc.metrics[each.metric].name + (systems.length > 1 ? ` of ${systems[each.system]}` : ""), doc.metrics[each.metric].meaning, 112),
        hozAlign: "right", formatter: textCell((row) => shown(row[`v${index}`])),
      })),
      ...systems.map((system, index) => ({
        ...heading("scored" + (systems.length > 1 ? ` of ${system}` : ""), "samples that were scored; red where fewer than usual were"),
        field: `scored${index}`, hozAlign: "right", minWidth: 112, headerSort: false, formatter: (/** @type {any} */ cell) => scoredCell(history, index, cell),
      })),
      { ...heading("version"), field: "version", minWidth: 90, formatter: textCell((row) => row.version || "–") },
    ],
  });
  filterBy(table, form, rows.length, () => {
    const wanted = form.elements.run.value.trim().toLowerCase();
    const verdict = form.elements.verdict?.value ?? "";
    return (row) => row.run.toLowerCase().includes(wanted) && (verdict === "" || row.verdict === verdict);
  });
}

/** How many samples of a system were scored, marked on a night with fewer than usual. @param {Nights} history @param {number} system @param {any} cell */
function scoredCell(history, system, cell) {
  const dropped = history.events.some((event) => event.what === "coverage" && event.night === cell.getData().place && event.system === system);
  return element(dropped ? "b" : "span", { class: dropped ? "said fail" : "" }, cell.getValue() || "–");
}

/** @param {Row} row */
const runLink = (row) => (row.link === null ? element("span", { title: "this run has no page" }, row.run) : element("a", { href: row.link }, row.run));

/** @param {HistoryDocument} doc @param {number} number @returns {[string, () => void][]} */
const partsOfHistory = (doc, number) => [
  [`series-${number}`, () => {
    const place = byId(`series-${number}`);
    if (doc.systems.length > 1) place.append(legend(doc.systems));
    doc.metrics.forEach((_, metric) => metricOverTime(doc, metric, place));
  }],
  [`slices-plots-${number}`, () => plotSlices(doc, number)],
  [`nights-table-${number}`, () => fillNights(doc, number)],
];
