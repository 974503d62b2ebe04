/** Six charts of the last 24 hours. */
import { formatBytes, formatCount, formatDuration, formatTime } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import type { Hour } from './types.ts';

const t = operatorTexts.charts;
const WIDTH = 240;
const HEIGHT = 64;

interface ChartProps {
  title: string;
  hours: readonly Hour[];
  of: (hour: Hour) => number | null;
  format: (value: number) => string;
  /** Whether the figure beside the chart's title is the sum of the hours; otherwise it is the last value. */
  isTotal: boolean;
  isBad?: boolean;
  note?: string | undefined;
}

function Chart({ title, hours, of, format, isTotal, isBad = false, note }: ChartProps) {
  const values = hours.map(of);
  const known = values.filter((value) => value !== null);
  const most = Math.max(0, ...known);
  const figure = isTotal ? known.reduce((sum, value) => sum + value, 0) : (known.at(-1) ?? null);
  const peak = hours[values.indexOf(most)];
  const text = figure === null ? t.unknown : format(figure);
  const label =
    most === 0 || !peak
      ? fill(t.nothing, { title })
      : fill(t.summary, { title, total: text, most: format(most), time: formatTime(peak.since) });
  const slot = WIDTH / hours.length;
  return (
    <figure className="card chart">
      <figcaption>
        <span className="muted small">{title}</span>
        <strong className={isBad && figure ? 'danger-text' : undefined}>{text}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} className="chart-axis" />
        {hours.map((hour, index) => {
          const value = values[index] ?? 0;
          const height = value === 0 ? 0 : Math.max(2, (value / most) * (HEIGHT - 2));
          return (
            <rect
              key={hour.since}
              className={isBad ? 'chart-bar bad' : 'chart-bar'}
              x={index * slot + slot * 0.12}
              width={slot * 0.76}
              y={HEIGHT - height}
              height={height}
            >
              <title>{`${formatTime(hour.since)}: ${format(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div className="row muted chart-foot">
        <span className="grow">{t.ago}</span>
        {note && <span className="grow">{note}</span>}
        <span>{t.now}</span>
      </div>
    </figure>
  );
}

export function Charts({ hours }: { hours: readonly Hour[] }) {
  const refused = hours.reduce((sum, hour) => sum + hour.refused, 0);
  const shared = { hours, format: formatCount, isTotal: true };
  return (
    <section className="stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <div className="charts">
        <Chart {...shared} title={t.requests} of={(hour) => hour.requests} />
        <Chart
          {...shared}
          title={t.errors}
          of={(hour) => hour.failed}
          isBad
          note={refused > 0 ? fill(t.errorsNote, { refused: formatCount(refused) }) : undefined}
        />
        <Chart {...shared} title={t.mailIn} of={(hour) => hour.mail_in} />
        <Chart {...shared} title={t.mailOut} of={(hour) => hour.mail_out} />
        <Chart
          title={t.queueAge}
          hours={hours}
          of={(hour) => hour.queue_age_seconds}
          format={formatDuration}
          isTotal={false}
        />
        <Chart
          title={t.storage}
          hours={hours}
          of={(hour) => hour.database_bytes}
          format={formatBytes}
          isTotal={false}
        />
      </div>
    </section>
  );
}
