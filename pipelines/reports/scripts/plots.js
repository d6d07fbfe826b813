// @ts-check
/* Plots of metrics: values and differences with their intervals, and distributions. */
"use strict";

/** How wide a plot in a place may be. @param {Element} place @param {number} widest */
const widthOf = (place, widest) => Math.max(300, Math.min(widest, place.clientWidth || widest));

/** The room that names need left of a plot. @param {string[]} names @param {number} width */
const marginFor = (names, width) => Math.min(320, width * 0.55, 24 + 8 * Math.max(...names.map((name) => name.length)));

/** @typedef {{metric: string, system: number, value: number | null, low: number | null, high: number | null, note?: string, ink?: string}} Point */

/**
 * A dot and a whisker for each point, a row for each metric, and in it one for each system.
 * @param {Element} place
 * @param {Point[]} points
 * @param {{systems: string[], label: string, difference?: boolean, domain?: [number, number]}} options
 */
function dotPlot(place, points, options) {
  const measured = points.filter((point) => point.value !== null);
  if (!measured.length) return;
  const { systems, difference = false } = options;
  const many = systems.length > 1;
  const write = difference ? signed : shown;
  const numbers = measured.flatMap((point) => [point.value ?? 0, point.low ?? point.value ?? 0, point.high ?? point.value ?? 0]);
  const names = [...new Set(measured.map((point) => point.metric))];
  const width = widthOf(place, 860);
  const reach = 1.05 * Math.max(0.001, ...numbers.map(Math.abs));
  const domain = difference ? [-reach, reach] : [Math.min(0, ...numbers), Math.max(1, ...numbers)];
  const ink = (/** @type {Point} */ point) => point.ink ?? color(point.system);
  const row = many ? { y: "system", fy: "metric" } : { y: "metric" };
  const figure = Plot.plot({
    width,
    marginLeft: marginFor(names, width),
    marginRight: 30,
    height: 46 + names.length * (many ? 14 + systems.length * 16 : 30),
    style: { fontSize: "13px" },
    x: { domain, label: null, grid: true, nice: !difference, ticks: width < 600 ? 3 : 8, tickFormat: difference ? (/** @type {number} */ value) => (value ? d3.format("+~f")(value).replace("-", "−") : "0") : undefined },
    y: many ? { type: "point", axis: null, domain: d3.range(systems.length), padding: 0.9 } : { domain: names, label: null, tickSize: 0 },
    fy: many ? { domain: names, label: null } : undefined,
    ariaLabel: options.label,
    marks: [
      difference ? Plot.ruleX([0], { stroke: "currentColor", strokeWidth: 1.5 }) : null,
      Plot.ruleY(measured.filter((point) => point.low !== null), { x1: "low", x2: "high", ...row, stroke: ink, strokeWidth: 2, marker: "tick" }),
      Plot.dot(measured, {
        x: "value", ...row, r: 5, fill: ink, symbol: (/** @type {Point} */ point) => symbolOf(point.system),
        title: (/** @type {Point} */ point) =>
          `${many ? `${systems[point.system]}: ` : ""}${write(point.value)}${point.low === null ? "" : ` (${write(point.low)} to ${write(point.high)})`}${point.note ? `, ${point.note}` : ""}`,
      }),
      many ? Plot.axisFy({ anchor: "left", label: null, dx: -4, textAnchor: "end" }) : null,
    ],
  });
  makeImage(figure);
  place.append(...(many ? [legend(systems)] : []), figure);
}

/** The name of a metric in a plot: an arrow tells that lower is better. @param {{name: string, higher_is_better: boolean}} metric */
const plotName = (metric) => metric.name + (metric.higher_is_better ? "" : " ↓");

/** Says what the arrow means, where there is one. @param {Element} place @param {{higher_is_better: boolean}[]} metrics */
function explainArrow(place, metrics) {
  if (metrics.some((metric) => !metric.higher_is_better)) place.append(element("p", { class: "caption" }, "↓ lower is better"));
}

/**
 * The differences of metrics from a baseline, with a line at zero.
 * @param {Element} place
 * @param {Compared[]} compared
 * @param {string[]} systems
 */
function plotDifferences(place, compared, systems) {
  const points = compared.map((found) => ({
    ...found.difference,
    metric: plotName(found),
    system: found.system,
    note: found.difference.verdict,
    ink: found.difference.verdict === "better" ? "var(--good)" : found.difference.verdict === "worse" ? "var(--bad)" : "var(--soft)",
  }));
  dotPlot(place, points, { systems, difference: true, label: "Differences with paired intervals; the table below holds the same numbers" });
  explainArrow(place, compared);
}

/** @param {string[]} systems @param {Distribution} found */
function distributionPlot(systems, found) {
  const many = systems.length > 1;
  const { edges } = found;
  const counted = edges[1] - edges[0] === 1;
  const whole = edges.every(Number.isInteger);
  const write = whole ? grouped : shown;
  const bins = found.counts.flatMap((counts, system) =>
    counts.map((count, index) => ({ count, system, from: edges[index], to: edges[index + 1] })),
  );
  const steps = (/** @type {number} */ system) =>
    bins.filter((bin) => bin.system === system).flatMap((bin) => [{ x: bin.from, y: bin.count }, { x: bin.to, y: bin.count }]);
  const marks = many
    ? found.counts.map((_, system) => Plot.lineY(steps(system), { x: "x", y: "y", stroke: color(system), strokeWidth: 2, strokeDasharray: ["none", "6 3", "2 3", "8 3 2 3"][system % 4] }))
    : [Plot.rectY(bins, { x1: "from", x2: "to", y: "count", fill: color(0), inset: 0.5, title: (/** @type {any} */ bin) => `${counted ? grouped((bin.from + bin.to) / 2) : `${write(bin.from)} to ${write(bin.to)}`}: ${grouped(bin.count)} samples` })];
  const summary = found.quartiles
    .map((quartiles, system) => (quartiles.length ? `${many ? `${systems[system]}: ` : ""}median ${shown(quartiles[2])}, half between ${shown(quartiles[1])} and ${shown(quartiles[3])}` : ""))
    .filter(Boolean);
  const last = edges[edges.length - 1];
  const plot = Plot.plot({
    width: 300, height: 130, marginLeft: 44, marginBottom: 24, marginRight: 14, style: { fontSize: "11px" },
    x: { label: null, domain: d3.extent(edges), ticks: counted ? d3.range(Math.ceil(edges[0]), last, Math.ceil((last - edges[0]) / 10)) : 5, tickFormat: counted ? "d" : undefined },
    y: { label: null, ticks: 3, grid: true, tickFormat: "~s" },
    ariaLabel: `Distribution of ${found.name}: ${summary.join("; ")}`,
    marks: [...marks, Plot.ruleY([0])],
  });
  makeImage(plot);
  const meaning = `${found.meaning}; ${found.higher_is_better ? "higher" : "lower"} is better`;
  return element("div", {}, element("h3", { title: meaning }, found.name), plot, ...summary.map((line) => element("p", {}, line)));
}

/** @param {string[]} systems @param {Distribution[]} distributions */
function plotDistributions(systems, distributions) {
  const place = byId("distribution-plots");
  if (!place) return;
  if (systems.length > 1) place.before(legend(systems));
  place.append(...distributions.map((found) => distributionPlot(systems, found)));
}
