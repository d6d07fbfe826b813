// @ts-check
/* The page of an evaluation. */
"use strict";

start((/** @type {EvaluationData} */ data) => {
  const plot = byId("metrics-plot");
  const points = data.metrics.flatMap((metric) => metric.values.map((found, system) => ({ metric: plotName(metric), system, ...found })));
  dotPlot(plot, points, { systems: data.systems, label: "Main metrics with intervals; the table below holds the same numbers" });
  if (points.some((point) => point.value !== null)) explainArrow(plot, data.metrics);
  if (data.pair.length) plotDifferences(byId("pair-plot"), data.pair, [data.systems[1]]);
  if (data.differences.length) plotDifferences(byId("differences-plot"), data.differences, data.systems);
  const parts = /** @type {[string, () => void][]} */ ([
    ["slices-table", () => fillSlices(data)],
    ["distribution-plots", () => plotDistributions(data.systems, data.distributions)],
    ["samples-table", () => fillSamples(data)],
  ]);
  for (const [id, make] of parts) if (byId(id)) whenSeen(byId(id), make);
});
