/* The shapes of the data in a page, as pipelines/results/page writes them, and the libraries that stand before the
   scripts, each under its global name. */
declare const d3: any;
declare const Plot: any;
declare const Tabulator: any;

type Row = Record<string, any>;

interface Measured { value: number | null; low: number | null; high: number | null }

interface Metric {
  name: string; meaning: string; higher_is_better: boolean; low: number | null; high: number | null; main: boolean;
  values: Measured[];
}

interface Difference extends Measured { verdict: string }

interface Slice {
  label: string; system: number; samples: number; values: Measured[]; differences: Difference[];
}

interface Coded { texts: string[]; codes: number[] }

interface Samples {
  total: number; ids: string[]; systems: number[]; statuses: Coded; slices: Record<string, Coded>;
  metrics: Record<string, (number | null)[]>;
}

interface RecordText { text: string; left_out: number }

interface Card {
  row: number; system: number; status: string; why: string; metrics: Record<string, number | null>;
  truth: RecordText; prediction: RecordText | null; details: any; words: string[]; drawing: string | null;
  problem: string; before: number | null;
}

interface Distribution {
  name: string; meaning: string; higher_is_better: boolean; edges: number[]; counts: number[][]; quartiles: number[][];
}

interface EvaluationData {
  systems: string[]; metrics: Metric[]; sample_metrics: Metric[]; differences: Compared[]; pair: Compared[]; slices: Slice[];
  distributions: Distribution[]; samples: Samples | null; cards: Card[];
}

interface Compared {
  name: string; meaning: string; higher_is_better: boolean; system: number; baseline: Measured; candidate: Measured;
  difference: Difference;
}

interface ChangedSide {
  status: string; metrics: Record<string, number | null>; prediction: RecordText | null; words: string[];
  drawing: string | null; problem: string;
}

interface Changed {
  sample_id: string; kind: string; change: number | null; truth: RecordText | null; words: string[];
  sides: ChangedSide[];
}

interface ComparedSlice { label: string; samples: number | null; values: CellOfSlice[] }

interface CellOfSlice { baseline: number | null; candidate: number | null; difference: Difference }

interface ComparisonData {
  sides: string[]; metrics: Compared[]; slices: ComparedSlice[]; sample_metrics: Metric[]; changed: Changed[];
}

interface Night { run: string; started: string; version: string; link: string | null; verdict: string; part: number; scored: string[] }

interface Series { system: string; metric: number; values: (number | null)[]; lows: (number | null)[]; highs: (number | null)[] }

interface SliceSeries { label: string; system: string; metric: number; values: (number | null)[]; samples: number }

interface MarkedNight { night: number; text: string; system: string; metric: number }

interface GateLine { metric: number; value: number; text: string }

interface BenchmarkHistory {
  systems: string[];
  benchmark: string; metrics: Metric[]; nights: Night[]; series: Series[]; slices: SliceSeries[];
  breaks: MarkedNight[]; changes: MarkedNight[]; gaps: MarkedNight[]; gates: GateLine[]; drops: MarkedNight[];
}

interface HistoryData { histories: BenchmarkHistory[] }
