// @ts-check
/* Fills whichever parts a page has: of a run, of two that are compared, of many. */
"use strict";

/** @param {ReportDocument} doc */
function plotMetrics(doc) {
  const place = byId("metrics-plot");
  const compared = doc.kind === "comparison";
  const points = compared
    ? doc.differences.flatMap((found) => [found.baseline, found.candidate].map((measured, system) => ({ metric: plotName(found), system, ...measured })))
    : doc.metrics.flatMap((metric) => metric.values.map((found, system) => ({ metric: plotName(metric), system, ...found })));
  dotPlot(place, points, { systems: doc.systems, label: "Main metrics with intervals; the table below holds the same numbers" });
  if (!compared && points.some((point) => point.value !== null)) explainArrow(place, doc.metrics);
  if (doc.pair.length) plotDifferences(byId("pair-plot"), doc.pair, [doc.systems[1]]);
  if (doc.differences.length) plotDifferences(byId("differences-plot"), doc.differences, compared ? ["candidate"] : doc.systems);
}

start((documents) => documents.forEach((doc, number) => {
  const { history } = doc;
  if (history === null) plotMetrics(doc);
  const parts = /** @type {[string, () => void][]} */ (history === null ? [
    ["slices-table", () => fillSlices(doc)],
    ["distribution-plots", () => plotDistributions(doc.systems, doc.distributions)],
    ["samples-table", () => fillSamples(doc)],
  ] : partsOfHistory(/** @type {HistoryDocument} */ (doc), number));
  for (const [id, make] of parts) if (byId(id)) whenSeen(byId(id), make);
}));
