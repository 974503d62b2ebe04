/**
 * Writes metrics as text: OpenMetrics 1.0 for clients that accept it, else the Prometheus text format 0.0.4, which differs in the
 * names of counters. https://prometheus.io/docs/specs/om/open_metrics_spec/
 */

export interface Metric {
  /** Name of the metric, without `_total`. Its last word is the unit. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** End of the name of a sample of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly end?: '_bucket' | '_sum' | '_count';
}

/** Reads the gauges of a product. */
export type ReadGauges = (env: Env) => Promise<Metric[]>;

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const escapeText = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

const toLabels = (labels: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeText(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
};

export function toExposition(metrics: readonly Metric[], isOpenMetrics: boolean): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => {
    const sampleName = type === 'counter' ? `${name}_total` : name;
    const family = isOpenMetrics ? name : sampleName;
    return [
      `# TYPE ${family} ${type}`,
      `# HELP ${family} ${escapeText(help)}`,
      ...samples.map(({ labels, value, end = '' }) => `${sampleName}${end}${toLabels(labels)} ${value}`),
    ];
  });
  return `${[...lines, ...(isOpenMetrics ? ['# EOF'] : [])].join('\n')}\n`;
}
