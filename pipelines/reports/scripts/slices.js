// @ts-check
/* The table of the slices: their values, and their differences from the baseline. */
"use strict";

const MIN_SAMPLES = 20;
const VERDICTS = ["worse", "better", "no difference shown"];
const SIGNS = /** @type {Record<string, string>} */ ({ better: "▲ better", worse: "▼ worse" });

/** @param {ReportDocument} doc */
function fillSlices(doc) {
  const { slices, systems } = doc;
  const compared = doc.kind === "comparison";
  const many = systems.length > 1 && !compared;
  const { metrics } = doc;
  const used = leadFirst(doc, [...metrics.keys()].filter((index) => slices.some((slice) => slice.values[index].value !== null)));
  const most = Math.max(...slices.map((slice) => slice.samples ?? 0));
  // A slice of few samples says little; where there are no others, all are shown.
  const least = most < MIN_SAMPLES ? null : MIN_SAMPLES;
  new Table(byId("slices-table"), {
    name: "Slices", scope: "slices.", count: slices.length, rowHeight: 46,
    columns: [
      { title: "slice", value: (row) => slices[row].label, width: 170, cell: (row) => sliceLink(doc, slices[row], many) },
      ...(many ? [systemColumn(doc, (row) => slices[row].system)] : []),
      { title: "samples", isNumber: true, value: (row) => slices[row].samples, text: (row) => (slices[row].samples === null ? "–" : grouped(slices[row].samples)) },
      ...used.flatMap((index) => [...(compared ? [] : [valueColumn(doc, index)]), ...differenceColumns(doc, metrics[index], index)]),
    ],
    filters: [
      contains("label", "Slice contains", (row) => slices[row].label),
      ...(many ? [oneOf("system", "System", systems, (row, text) => systems[slices[row].system] === text)] : []),
      ...(slices.some((slice) => slice.differences.length) ? [oneOf("verdict", "Verdict", VERDICTS, (row, text) => slices[row].differences.some(({ verdict }) => verdict === text))] : []),
      bounded("At least so many samples", { name: "samples", min: 0, value: least }, (row, bound) => (slices[row].samples ?? bound) >= bound),
    ],
  });
}

/** A link to the samples of a slice, where the page can find them. @param {ReportDocument} doc @param {Slice} slice @param {boolean} many */
function sliceLink(doc, slice, many) {
  const columns = Object.keys(doc.samples?.slices ?? {}), names = Object.keys(slice.where);
  if (!names.length || !names.every((name) => columns.includes(name))) return element("bdi", { title: slice.label }, slice.label);
  const filters = Object.fromEntries(names.map((name) => [`slice.${name}`, slice.where[name]]));
  return element("a", { title: slice.label, href: samplesLink({ ...filters, ...(many ? { system: doc.systems[slice.system] } : {}) }) }, element("bdi", {}, slice.label));
}

/** A value, with its interval as a bar below on the range of the metric, and the value of all samples as a thin line across. @param {ReportDocument} doc @param {number} index @returns {Column} */
function valueColumn(doc, index) {
  const metric = doc.metrics[index];
  return {
    title: metric.name, meaning: metric.meaning, isNumber: true, width: 118, value: (row) => doc.slices[row].values[index].value,
    cell: (row) => {
      const { values, system } = doc.slices[row];
      const { value, low, high } = values[index];
      if (value === null) return document.createTextNode("–");
      const range = /** @type {[number, number]} */ ([Math.min(metric.low ?? 0, low ?? value), Math.max(metric.high ?? 1, high ?? value)]);
      const interval = low === null ? "" : ` (${shown(low)} to ${shown(high)})`;
      return element("span", { title: `${shown(value)}${interval}` }, shown(value), element("span", { class: "hidden" }, interval),
        whisker(values[index], range, metric.values[system]?.value ?? null, color(system)));
    },
  };
}

/** The difference of a metric from the baseline, on a range that its column shares; nothing where there is none. @param {ReportDocument} doc @param {{name: string, meaning: string}} metric @param {number} index @returns {Column[]} */
function differenceColumns(doc, metric, index) {
  const column = doc.slices.flatMap(({ differences }) => differences.slice(index, index + 1));
  if (!column.some(({ value }) => value !== null)) return [];
  const reach = Math.max(1e-9, ...column.flatMap(({ value, low, high }) => [value, low, high].map((end) => Math.abs(end ?? 0))));
  const compared = doc.kind === "comparison";
  return [{
    title: compared ? metric.name : `${metric.name} against the baseline`,
    meaning: compared ? metric.meaning : `the difference of ${metric.name} from the baseline, with its paired interval`,
    isNumber: true, width: 150, value: (row) => doc.slices[row].differences[index]?.value,
    cell: (row) => {
      const { differences, values } = doc.slices[row];
      const difference = differences[index];
      if (!difference || difference.value === null) return document.createTextNode("–");
      const interval = difference.low === null ? "" : ` (${signed(difference.low)} to ${signed(difference.high)})`;
      const said = SIGNS[difference.verdict];
      const ink = difference.verdict === "better" ? "var(--good)" : difference.verdict === "worse" ? "var(--bad)" : "var(--soft)";
      return element("span", { title: `${signed(difference.value)}${interval}: ${difference.verdict}\n${shown(Number(values[index].value) - difference.value)} → ${shown(values[index].value)}` },
        ...(said ? [element("b", { class: difference.verdict }, said), " "] : []), signed(difference.value), element("span", { class: "hidden" }, interval), whisker(difference, [-reach, reach], 0, ink));
    },
  }];
}

/** A bar from `low` to `high` of a range, with a dot at the value; `line` is a thin line across. @param {Measured} measured @param {[number, number]} range @param {number | null} line @param {string} ink */
function whisker({ value, low, high }, [from, to], line, ink) {
  const places = Object.entries({ from: low, to: high, at: value, "line-at": line }).filter(([, place]) => place !== null);
  const style = places.map(([name, place]) => `--${name}:${((Number(place) - from) / (to - from || 1)).toFixed(4)};`).join("");
  return element("i", { class: "whisker", style: `${style}--ink:${ink}` });
}
