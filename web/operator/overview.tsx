/** The first page of the operator's part: problems, the last 24 hours, and the cost of this month. */
import { formatCount } from '../shared/format.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { Charts } from './charts.tsx';
import { Problems } from './problems.tsx';
import { SectionHead } from './section-head.tsx';
import { requestJson } from './token.ts';
import type { History } from './types.ts';

const t = operatorTexts.cost;
const DOLLARS = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** Projects the cost of the whole month, assuming that the rest of it costs as much per day as the part before. */
function project({ since, dollars }: History['month']): number {
  const start = new Date(since);
  const end = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
  const part = (Date.now() - start.getTime()) / (end - start.getTime());
  return part > 0 ? dollars / Math.min(1, part) : dollars;
}

function Cost({ month }: { month: History['month'] }) {
  const figures: [string, string][] = [
    [DOLLARS.format(month.dollars), t.estimate],
    [DOLLARS.format(project(month)), t.projected],
    [formatCount(month.operations), t.operations],
  ];
  return (
    <section className="stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <div className="figures-row">
        {figures.map(([value, label]) => (
          <div key={label} className="card figure-card">
            <strong>{value}</strong>
            <span className="muted small">{label}</span>
          </div>
        ))}
      </div>
      <p className="muted small">{t.about}</p>
    </section>
  );
}

export function Overview() {
  const { value, error, reload } = useLoaded(() => requestJson<History>('/v1/metrics/history'), []);
  return (
    <div className="stack-large">
      <SectionHead title={operatorTexts.tabs.overview} onReload={reload} />
      {error && <p className="error-box">{error}</p>}
      <Problems history={value} />
      {value && <Charts hours={value.hours} />}
      {value && <Cost month={value.month} />}
    </div>
  );
}
