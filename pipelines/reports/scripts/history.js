// @ts-check
/* What a history has: metrics over time, slices as small multiples, all runs; all show the runs that pass the filters. */
"use strict";

const MAX_MULTIPLES = 24;
const [DAY, YEAR] = [86_400_000, 366 * 86_400_000];

/** @param {number} count */
const counted = (count) => `${grouped(count)} sample${count === 1 ? "" : "s"}`;

/** @typedef {{night: number, time: number, value: number, low: number | null, high: number | null, system: number, part: number}} NightPoint */

/** When a run started; of one that does not say, the day of its place. @param {Nights} history @param {number} night */
function timeOf(history, night) {
  const time = new Date(history.nights[night].started).getTime();
  return Number.isNaN(time) ? night * DAY : time;
}

/** The points of some series on some nights. @param {Nights} history @param {Series[]} series @param {number[]} nights @returns {NightPoint[]} */
const pointsOf = (history, series, nights) => series.flatMap((each) => nights.flatMap((night) => {
  const value = each.values[night];
  return value === null ? [] : [{
    night, value, time: timeOf(history, night), low: each.lows[night] ?? null, high: each.highs[night] ?? null, system: each.system, part: history.nights[night].part,
  }];
}));

/** What a point says of its night. @param {HistoryDocument} doc @param {NightPoint} point */
function saidOf(doc, point) {
  const night = doc.history.nights[point.night];
  const interval = point.low === null ? "" : ` (${shown(point.low)} to ${shown(point.high)})`;
  const system = doc.systems.length > 1 ? `${doc.systems[point.system]}: ` : "";
  return `${system}${shown(point.value)}${interval}\n${night.run}, ${night.started.slice(0, 16).replace("T", " ")}${night.verdict ? `, gates ${night.verdict}` : ""}`;
}

/** The range of some values with room around them. @param {NightPoint[]} points @returns {[number, number]} */
function rangeOf(points) {
  const [low, high] = extentOf(points);
  const room = Math.max(0.0005, 0.06 * (high - low));
  return [low - room, high + room];
}

/** Round numbers in a range, about so many. @param {[number, number]} range @param {number} count */
function ticksOf([low, high], count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power < 2 ? 2 : rough / power < 5 ? 5 : 10);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, index) => ({ value: (first + index) * step, text: ((first + index) * step).toFixed(places) }));
}

/**
 * Values over time: lines join the runs that can be compared; a click on a point opens the page of its run.
 * @param {HistoryDocument} doc
 * @param {NightPoint[]} points
 * @param {{width: number, height: number, label: string, range: [number, number], metric: number, isSmall?: boolean}} options
 */
function timeChart(doc, points, { width, height, label, range, metric, isSmall = false }) {
  const { history } = doc;
  const [left, right, top, bottom] = [46, 12, isSmall ? 6 : 16, 22];
  const times = points.map((point) => point.time);
  const from = Math.min(...times), span = Math.max(...times) - from;
  const x = (/** @type {number} */ time) => left + 8 + (span ? (time - from) / span : 0.5) * (width - left - right - 16);
  const y = (/** @type {number} */ value) => top + ((range[1] - value) / (range[1] - range[0])) * (height - top - bottom);
  const line = (/** @type {number} */ x1, /** @type {number} */ y1, /** @type {number} */ x2, /** @type {number} */ y2, /** @type {Record<string, string | number>} */ more) => shape("line", { x1, y1, x2, y2, ...more });
  const text = (/** @type {number} */ at, /** @type {number} */ down, /** @type {string} */ said, /** @type {string} */ anchor) =>
    shape("text", { x: at, y: down, "text-anchor": anchor }, said);
  const figure = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label });
  for (const tick of ticksOf(range, isSmall ? 3 : 5)) figure.append(line(left, y(tick.value), width - right, y(tick.value), { class: "rule" }), text(left - 6, y(tick.value) + 4, tick.text, "end"));
  const dates = span ? Math.max(1, Math.floor(width / 150)) : 0;
  // The time of day, month and day, or year and month of what toISOString returns.
  const written = span < 2 * DAY ? [11, 16] : span < YEAR ? [5, 10] : [0, 7];
  for (let index = 0; index <= dates; index++) {
    const time = from + (dates ? (span * index) / dates : 0);
    figure.append(text(x(time), height - 5, new Date(time).toISOString().slice(...written), "middle"));
  }
  const inside = (/** @type {number} */ night) => night >= 0 && timeOf(history, night) >= from && timeOf(history, night) <= from + span;
  for (const event of history.events) {
    const [before, at] = [event.night - 1, event.night];
    if (!inside(before) || !inside(at)) continue;
    const [start, end] = [x(timeOf(history, before)), x(timeOf(history, at))];
    if (event.what === "missing before") figure.append(shape("rect", { class: "gap", x: start + 4, width: Math.max(0, end - start - 8), y: top, height: height - top - bottom }));
    // A break lies between two runs, and so does the line of it.
    if (event.what === "break") figure.append(line((start + end) / 2, top, (start + end) / 2, height - bottom, { class: "break" }));
  }
  let named = -Infinity;
  for (const gate of isSmall ? [] : history.gates.filter((each) => each.metric === metric).sort((a, b) => b.value - a.value)) {
    // The axis is that of the data; a gate beyond it is named at the edge.
    const beyond = gate.value < range[0] ? "↓ " : gate.value > range[1] ? "↑ " : "";
    const at = y(Math.min(range[1], Math.max(range[0], gate.value)));
    if (!beyond) figure.append(line(left, at, width - right, at, { class: "gate" }));
    // A name stands above its line, or below the name before.
    named = Math.max(at - 5, named + 12);
    figure.append(text(width - right, named, beyond + gate.text, "end"));
  }
  const size = isSmall || points.length > 200 ? 6 : 10;
  for (const series of Object.values(Object.groupBy(points, (point) => `${point.system} ${point.part}`))) {
    const own = /** @type {NightPoint[]} */ (series), ink = color(own[0].system);
    figure.append(shape("path", { class: "line", stroke: ink, d: own.map((point, index) => `${index ? "L" : "M"}${x(point.time).toFixed(1)} ${y(point.value).toFixed(1)}`).join("") }),
      shape("path", { class: "interval", stroke: ink, d: own.flatMap((point) => (point.low === null ? [] : [`M${x(point.time).toFixed(1)} ${y(point.low).toFixed(1)}V${y(/** @type {number} */ (point.high)).toFixed(1)}`])).join("") }));
    figure.append(...own.map((point) => shape("a", { href: history.nights[point.night].link, tabindex: -1 }, shape("title", {}, saidOf(doc, point)),
      shape("text", { class: "mark", x: x(point.time), y: y(point.value), style: `fill: ${ink}; font-size: ${size}px` }, MARKS[point.system % MARKS.length]))));
  }
  for (const event of isSmall ? [] : history.events.filter((each) => each.what === "change point" && each.metric === metric)) {
    const point = points.find((each) => each.night === event.night && each.system === event.system);
    if (point) figure.append(shape("circle", { class: "change", cx: x(point.time), cy: y(point.value), r: 9 }));
  }
  return figure;
}

/** @param {HistoryDocument} doc @param {Element} place @param {number[]} nights */
function plotMetrics(doc, place, nights) {
  const plots = doc.metrics.flatMap((declared, metric) => {
    const points = pointsOf(doc.history, doc.history.series.filter((each) => each.label === "" && each.metric === metric), nights);
    if (!points.length) return [];
    const better = declared.higher_is_better ? "higher is better" : "lower is better";
    return [element("div", {}, element("h3", { title: declared.meaning }, declared.name, " ", element("span", { class: "caption" }, better)),
      timeChart(doc, points, { width: Math.max(320, Math.min(620, place.clientWidth)), height: 220, range: rangeOf(points), metric, label: `${declared.name} over time; the table of runs below holds the same numbers` }))];
  });
  place.replaceChildren(...(doc.systems.length > 1 ? [element("p", { class: "legend" }, ...doc.systems.map((_, system) => systemLabel(doc.systems, system)))] : []), ...plots);
}

/** How much a slice fell in the last run. @param {Series[]} series @param {Metric} metric */
const fallOf = (series, metric) => Math.max(...series.map(({ values }) => {
  const [before, after] = values.slice(-2);
  return before === null || after === null || after === undefined ? -Infinity : (before - after) * (metric.higher_is_better ? 1 : -1);
}));

/** Slices as small multiples, on one scale, those that fell most first. @param {HistoryDocument} doc @param {number} number @param {() => number[]} nights @returns {() => void} */
function plotSlices(doc, number, nights) {
  const place = byId(`slices-plots-${number}`), form = byId(`slices-filters-${number}`);
  if (!form) return () => {};
  const slices = doc.history.series.filter((each) => each.label !== "");
  const measured = leadFirst(doc, [...new Set(slices.map((each) => each.metric))]);
  /** @type {(row: number) => boolean} */
  let passes = () => true;
  const draw = () => {
    const metric = measured.find((each) => doc.metrics[each].name === form.elements.metric.value) ?? measured[0];
    const of = /** @type {[string, Series[]][]} */ (Object.entries(Object.groupBy(slices.filter((each) => each.metric === metric), (each) => each.label)));
    const kept = new Set(slices.flatMap((each, index) => (passes(index) ? [each.label] : [])));
    const ordered = of.filter(([label]) => kept.has(label)).sort((a, b) => fallOf(b[1], doc.metrics[metric]) - fallOf(a[1], doc.metrics[metric]) || (a[0] < b[0] ? -1 : 1));
    const seen = ordered.slice(0, MAX_MULTIPLES).map(([label, series]) => ({ label, series, points: pointsOf(doc.history, series, nights()) })).filter(({ points }) => points.length);
    const range = rangeOf(seen.flatMap(({ points }) => points));
    place.replaceChildren(...seen.map(({ label, series, points }) => element("div", {}, element("h3", {}, element("bdi", {}, label)), element("p", {}, counted(Math.max(...series.map((each) => each.samples)))),
      timeChart(doc, points, { width: 300, height: 110, range, metric, isSmall: true, label: `${doc.metrics[metric].name} of a slice over time, last ${shown(points[points.length - 1].value)}` }))));
    if (ordered.length > MAX_MULTIPLES) place.append(element("p", { class: "caption" }, `${grouped(ordered.length - MAX_MULTIPLES)} more slices pass the filter.`));
    return `${grouped(ordered.length)} of ${grouped(of.length)} slices`;
  };
  filterBy(form, `slices-${number}.`, [
    { control: choice("metric", "Metric", measured.map((metric) => [doc.metrics[metric].name, doc.metrics[metric].name])), test: () => () => true },
    contains("label", "Slice contains", (index) => slices[index].label),
  ], (test) => { passes = test; return draw(); });
  return draw;
}

/** @param {HistoryDocument} doc @param {number} number */
function fillHistory(doc, number) {
  const { history: { nights, series, events }, systems } = doc;
  const last = nights.length - 1, night = (/** @type {number} */ row) => last - row;
  const verdicts = [...new Set(nights.map((each) => each.verdict).filter(Boolean))];
  const used = series.filter((each) => each.label === "" && each.values.some((value) => value !== null));
  const shownNights = () => table.order.map(night).sort((a, b) => a - b);
  const table = new Table(byId(`nights-table-${number}`), {
    name: "Runs", scope: `nights-${number}.`, count: nights.length,
    columns: [
      { title: "run", width: 140, value: (row) => nights[night(row)].run, cell: (row) => runLink(nights[night(row)]) },
      { title: "started", value: (row) => nights[night(row)].started.slice(0, 16).replace("T", " ") },
      ...(verdicts.length ? [{ title: "gates", value: (/** @type {number} */ row) => nights[night(row)].verdict || null, cell: (/** @type {number} */ row) => element("b", { class: `said ${nights[night(row)].verdict}` }, nights[night(row)].verdict || "–") }] : []),
      ...used.map((each) => ({
        title: doc.metrics[each.metric].name + (systems.length > 1 ? ` of ${systems[each.system]}` : ""), meaning: doc.metrics[each.metric].meaning, isNumber: true,
        value: (/** @type {number} */ row) => each.values[night(row)], text: (/** @type {number} */ row) => shown(each.values[night(row)]),
      })),
      ...systems.map((system, index) => ({
        title: "scored" + (systems.length > 1 ? ` of ${system}` : ""), meaning: "samples that were scored; red if more samples or repeats than usual have no score", width: 130,
        value: (/** @type {number} */ row) => nights[night(row)].scored[index] || null,
        cell: (/** @type {number} */ row) => element("b", { class: events.some((event) => event.what === "coverage" && event.night === night(row) && event.system === index) ? "said fail" : "plain" }, nights[night(row)].scored[index] || "–"),
      })),
      { title: "version", value: (row) => nights[night(row)].version || null },
    ],
    filters: [
      contains("run", "Run contains", (row) => nights[night(row)].run),
      ...(verdicts.length ? [oneOf("verdict", "Gates", verdicts, (row, text) => nights[night(row)].verdict === text)] : []),
      oneOf("last", "Last", ["14", "30", "90", "365"].filter((count) => Number(count) < nights.length), (row, count) => row < Number(count), (count) => `${count} runs`),
    ],
    changed: () => { plotMetrics(doc, byId(`series-${number}`), shownNights()); drawSlices(); },
  });
  const drawSlices = plotSlices(doc, number, shownNights);
}

/** @param {Night} night */
const runLink = (night) => (night.link === null ? element("span", { title: "this run has no page" }, night.run) : element("a", { href: night.link }, night.run));

start((documents) => documents.forEach((doc, number) => fillHistory(/** @type {HistoryDocument} */ (doc), number)));
