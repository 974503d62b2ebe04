/** Charts of stored data per shard, garbage and the age of the last scrub, and three maintenance jobs. */
import { useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatBytes, formatCount, formatNumber, formatRelative } from '../shared/format.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { Facts } from './facts.tsx';
import { SectionHead } from './section-head.tsx';
import { requestJson } from './token.ts';

interface Stats {
  totals: Record<string, number>;
  shards: {
    shard: number;
    database_bytes: number;
    objects: number;
    scrub: { started_at: string | null; finished_at: string | null };
  }[];
  locations: { location: string; blobs: number; bytes: number }[];
}

/** Size limit of a D1 database. */
const DATABASE_BYTES_MAX = 10_000_000_000;

/** `rows`: name, bytes, and what to add to the size. */
type BarRow = [name: string, bytes: number, note?: string];

function Bars({ label, rows, max }: { label: string; rows: BarRow[]; max: number }) {
  return (
    <section className="card stack" aria-label={label}>
      <h3>{label}</h3>
      <div className="bars">
        {rows.map(([name, bytes, note]) => (
          <div key={name} className="bar-line">
            <span>{name}</span>
            <meter min={0} max={Math.max(1, max)} value={bytes} aria-label={`${name}: ${formatBytes(bytes)}`} />
            <span className="muted small">
              {formatBytes(bytes)}
              {note}
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}

/** The number of copies in a location, and how many of another location it lacks. */
function describeCopies(location: Stats['locations'][number], all: Stats['locations']): string {
  const missing = Math.max(...all.map((one) => one.blobs)) - location.blobs;
  const text = ` in ${formatNumber(location.blobs, 'blob')}`;
  return missing > 0 ? `${text}; ${formatNumber(missing, 'copy', 'copies')} missing` : text;
}

/** Days that a scrub of all copies takes at most. The setting `SCRUB_DAYS` may change it. */
const SCRUB_DAYS = 30;

function describeScrub({ finished_at, started_at }: Stats['shards'][number]['scrub']): string {
  if (finished_at) return `finished ${formatRelative(finished_at)}`;
  return started_at ? `running since ${formatRelative(started_at)}` : 'not yet';
}

/** Time since every copy was last read. A long bar is a reason to worry. */
function ScrubAges({ shards }: { shards: Stats['shards'] }) {
  return (
    <section className="card stack" aria-label="Scrub">
      <h3>Age of the last scrub, of {SCRUB_DAYS} days</h3>
      <div className="bars">
        {shards.map(({ shard, scrub }) => {
          const since = scrub.finished_at ?? scrub.started_at;
          const days = since ? (Date.now() - Date.parse(since)) / 86_400_000 : 0;
          return (
            <div key={shard} className="bar-line">
              <span>Shard {shard}</span>
              <meter
                min={0}
                max={SCRUB_DAYS}
                optimum={0}
                high={SCRUB_DAYS * 0.9}
                value={days}
                aria-label={`Shard ${shard}: ${describeScrub(scrub)}`}
              />
              <span className="muted small">{describeScrub(scrub)}</span>
            </div>
          );
        })}
      </div>
    </section>
  );
}

const JOBS = [
  ['gc', 'Collect garbage', 'Reclaims what nothing names any more.'],
  ['scrub', 'Scrub', 'Reads every copy again and repairs what is damaged.'],
  ['fsck', 'Check', 'Compares records and bytes; changes nothing.'],
] as const;

function Jobs({ onDone }: { onDone: () => void }) {
  const [running, setRunning] = useState<string | null>(null);
  const [report, setReport] = useState<{ name: string; value: Record<string, unknown> } | null>(null);
  const [error, setError] = useState<string | null>(null);
  const run = async (path: string, name: string) => {
    setRunning(path);
    setError(null);
    try {
      setReport({
        name,
        value: await requestJson<Record<string, unknown>>(`/v1/storage/${path}`, { method: 'POST', body: {} }),
      });
      onDone();
    } catch (cause) {
      setError(describeError(cause));
    } finally {
      setRunning(null);
    }
  };
  return (
    <section className="card stack" aria-label="Upkeep">
      <h3>Upkeep</h3>
      <p className="muted small">Runs by itself; here it runs now.</p>
      {JOBS.map(([path, name, meaning]) => (
        <div key={path} className="row wrap">
          <button type="button" disabled={running !== null} onClick={() => void run(path, name)}>
            {running === path ? 'Running …' : name}
          </button>
          <span className="muted small">{meaning}</span>
        </div>
      ))}
      <div role="status">
        {report && (
          <>
            <h4>{report.name}: report</h4>
            <Facts value={report.value} />
          </>
        )}
      </div>
      {error && <p className="error-box">{error}</p>}
    </section>
  );
}

export function Storage() {
  const { value, error, reload } = useLoaded(() => requestJson<Stats>('/v1/storage/stats'), []);
  const total = (name: string) => value?.totals[name] ?? 0;
  const figures: [string, string][] = [
    ['objects', formatCount(total('objects'))],
    ['versions', formatCount(total('versions'))],
    ['deletion markers', formatCount(total('deletion_markers'))],
    ['live', formatBytes(total('bytes_live'))],
    ['garbage', formatBytes(total('bytes_garbage'))],
    ['blobs lost', formatCount(total('blobs_lost'))],
    ['copies missing', formatCount(total('copies_missing'))],
  ];
  return (
    <section className="stack" aria-label="Storage">
      <SectionHead title="Storage" onReload={reload} />
      {error && <p className="error-box">{error}</p>}
      {value && (
        <>
          <div className="figures-row">
            {figures.map(([label, figure]) => (
              <div key={label} className="card figure-card">
                <strong>{figure}</strong>
                <span className="muted small">{label}</span>
              </div>
            ))}
          </div>
          <Bars
            label="Where the bytes are"
            max={total('bytes_blobs') + total('bytes_inline')}
            rows={[
              ['Blobs', total('bytes_blobs')],
              ['of these packed', total('bytes_packed')],
              ['of these garbage', total('bytes_garbage')],
              ['Inline, until packed', total('bytes_inline')],
            ]}
          />
          <Bars
            label="Copies by location"
            max={Math.max(...value.locations.map((one) => one.bytes), 1)}
            rows={value.locations.map((one): BarRow => [one.location, one.bytes, describeCopies(one, value.locations)])}
          />
          <Bars
            label="Databases, of the 10 GB that one holds"
            max={DATABASE_BYTES_MAX}
            rows={value.shards.map((one): BarRow => [`Shard ${one.shard}`, one.database_bytes])}
          />
          <ScrubAges shards={value.shards} />
          <Jobs onDone={reload} />
        </>
      )}
    </section>
  );
}
