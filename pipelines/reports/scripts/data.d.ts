/* What scripts read of the documents in a page, which pipelines/reports/document.py describes. */

interface Measured { value: number | null; low: number | null; high: number | null }

interface Metric {
  name: string; meaning: string; higher_is_better: boolean; low: number | null; high: number | null; main: boolean;
  values: Measured[]; is_change: boolean;
}

interface Difference extends Measured { verdict: string }

interface Slice {
  label: string; system: number; samples: number | null; values: Measured[];
  differences: Difference[]; where: Record<string, string>;
}

interface Samples {
  total: number; ids: string[]; systems: number[]; statuses: string[]; slices: Record<string, (string | string[])[]>;
  metrics: Record<string, (number | null)[]>; cells: Record<string, number[]>;
}

interface CardSide {
  status: string; prediction: string | null; words: string[];
  drawing: string | null; problem: string;
}

interface Card {
  row: number; system: number; whys: string[]; sides: CardSide[]; truth: string | null;
  words: string[]; picture: string; picture_problem: string;
}

interface Night { run: string; started: string; version: string; link: string | null; verdict: string; part: number; scored: string[] }

interface Series {
  label: string; system: number; metric: number; values: (number | null)[]; lows: (number | null)[];
  highs: (number | null)[]; samples: number;
}

interface HistoryEvent { night: number; what: string; system: number; metric: number }

interface GateLine { metric: number; value: number; text: string }

interface Nights { nights: Night[]; series: Series[]; events: HistoryEvent[]; gates: GateLine[] }

interface ReportDocument {
  kind: string; systems: string[]; metrics: Metric[]; lead: string; slices: Slice[]; sample_metrics: Metric[]; samples: Samples | null; cards: Card[]; history: Nights | null; draw: string[];
  more: Record<string, { command: string; total: number | null }>;
}

interface HistoryDocument extends ReportDocument { history: Nights }
