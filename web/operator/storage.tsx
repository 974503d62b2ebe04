/** What is stored and where, as small charts; garbage, the scrub's age, and the three levers. */
import { useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatBytes, formatCount, formatRelative } from '../shared/format.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { Facts } from './facts.tsx';
import { ask } from './token.ts';

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

/** D1 stops here. */
const DATABASE_BYTES_MAX = 10_000_000_000;

function Bars({ label, rows, max }: { label: string; rows: [string, number][]; max: number }) {
  return (
    <section className="card stack" aria-label={label}>
      <h3>{label}</h3>
      <div className="bars">
        {rows.map(([name, bytes]) => (
          <div key={name} className="bar-line">
            <span>{name}</span>
            <meter min={0} max={Math.max(1, max)} value={bytes} aria-label={`${name}: ${formatBytes(bytes)}`} />
            <span className="muted small">{formatBytes(bytes)}</span>
          </div>
        ))}
      </div>
    </section>
  );
}

const LEVERS = [
  ['gc', 'Collect garbage', 'Reclaims what nothing names any more.'],
  ['scrub', 'Scrub', 'Reads every copy again and repairs what is damaged.'],
  ['fsck', 'Check', 'Compares records and bytes; changes nothing.'],
] as const;

function Levers({ onDone }: { onDone: () => void }) {
  const [running, setRunning] = useState<string | null>(null);
  const [report, setReport] = useState<{ name: string; value: Record<string, unknown> } | null>(null);
  const [error, setError] = useState<string | null>(null);
  const run = async (path: string, name: string) => {
    setRunning(path);
    setError(null);
    try {
      setReport({
        name,
        value: await ask<Record<string, unknown>>(`/v1/storage/${path}`, { method: 'POST', body: {} }),
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
      {LEVERS.map(([path, name, meaning]) => (
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
  const { value, error, reload } = useLoaded(() => ask<Stats>('/v1/storage/stats'), []);
  const total = (name: string) => value?.totals[name] ?? 0;
  const figures: [string, string][] = [
    ['objects', formatCount(total('objects'))],
    ['versions', formatCount(total('versions'))],
    ['deletion markers', formatCount(total('deletion_markers'))],
    ['live', formatBytes(total('bytes_live'))],
    ['garbage', formatBytes(total('bytes_garbage'))],
    ['blobs lost', formatCount(total('blobs_lost'))],
  ];
  return (
    <section className="stack" aria-label="Storage">
      <div className="row">
        <h2 className="grow">Storage</h2>
        <button type="button" onClick={reload}>
          Ask again
        </button>
      </div>
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
            rows={value.locations.map((one): [string, number] => [one.location, one.bytes])}
          />
          <Bars
            label="Databases, of the 10 GB that one holds"
            max={DATABASE_BYTES_MAX}
            rows={value.shards.map((one): [string, number] => [`Shard ${one.shard}`, one.database_bytes])}
          />
          <section className="card" aria-label="Scrub">
            <h3>Last scrub</h3>
            <ul className="plain-lines">
              {value.shards.map(({ shard, scrub }) => (
                <li key={shard}>
                  Shard {shard}:{' '}
                  {scrub.finished_at
                    ? `finished ${formatRelative(scrub.finished_at)}`
                    : scrub.started_at
                      ? `running since ${formatRelative(scrub.started_at)}`
                      : 'not yet'}
                </li>
              ))}
            </ul>
          </section>
          <Levers onDone={reload} />
        </>
      )}
    </section>
  );
}
