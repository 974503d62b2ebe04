/** Charts of stored data per shard, garbage and the age of the last scrub, and three maintenance jobs. */
import { useState } from 'react';
import { describeError } from '../shared/api.ts';
import { formatBytes, formatCount, formatRelative } from '../shared/format.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { Facts } from './facts.tsx';
import { SectionHead } from './section-head.tsx';
import { requestJson } from './token.ts';

const t = operatorTexts.storage;

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

/** A bar of a chart: name, size in bytes, and a text to show after the size. */
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

/** Describes a location: its number of copies, and how many copies it lacks compared with the fullest location. */
function describeCopies(location: Stats['locations'][number], all: Stats['locations']): string {
  const missing = Math.max(...all.map((one) => one.blobs)) - location.blobs;
  return ` ${fill(missing > 0 ? t.copiesMissing : t.copies, {
    blobs: plural(operatorTexts.counts.blobs, location.blobs),
    missing: plural(operatorTexts.counts.copies, missing),
  })}`;
}

/** Days that a scrub of all copies takes at most, by default. The setting `SCRUB_DAYS` may change it. */
const SCRUB_DAYS = 30;

function describeScrub({ finished_at, started_at }: Stats['shards'][number]['scrub']): string {
  if (finished_at) return fill(t.finished, { when: formatRelative(finished_at) });
  return started_at ? fill(t.runningSince, { when: formatRelative(started_at) }) : t.notYet;
}

/** Shows the time since every copy was last read. A long bar is a reason to worry. */
function ScrubAges({ shards }: { shards: Stats['shards'] }) {
  return (
    <section className="card stack" aria-label={t.scrub}>
      <h3>{fill(t.scrubAge, { days: SCRUB_DAYS })}</h3>
      <div className="bars">
        {shards.map(({ shard, scrub }) => {
          const since = scrub.finished_at ?? scrub.started_at;
          const days = since ? (Date.now() - Date.parse(since)) / 86_400_000 : 0;
          return (
            <div key={shard} className="bar-line">
              <span>{fill(t.shard, { shard })}</span>
              <meter
                min={0}
                max={SCRUB_DAYS}
                optimum={0}
                high={SCRUB_DAYS * 0.9}
                value={days}
                aria-label={fill(t.shardScrub, { shard, scrub: describeScrub(scrub) })}
              />
              <span className="muted small">{describeScrub(scrub)}</span>
            </div>
          );
        })}
      </div>
    </section>
  );
}

const jobs = () =>
  [
    ['gc', t.collectGarbage, t.garbageText],
    ['scrub', t.scrub, t.scrubText],
    ['fsck', t.check, t.fsckText],
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
    <section className="card stack" aria-label={t.upkeep}>
      <h3>{t.upkeep}</h3>
      <p className="muted small">{t.upkeepText}</p>
      {jobs().map(([path, name, meaning]) => (
        <div key={path} className="row wrap">
          <button type="button" disabled={running !== null} onClick={() => void run(path, name)}>
            {running === path ? t.running : name}
          </button>
          <span className="muted small">{meaning}</span>
        </div>
      ))}
      <div role="status">
        {report && (
          <>
            <h4>{fill(t.report, { name: report.name })}</h4>
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
    [t.figures.objects, formatCount(total('objects'))],
    [t.figures.versions, formatCount(total('versions'))],
    [t.figures.markers, formatCount(total('deletion_markers'))],
    [t.figures.live, formatBytes(total('bytes_live'))],
    [t.figures.garbage, formatBytes(total('bytes_garbage'))],
    [t.figures.lost, formatCount(total('blobs_lost'))],
    [t.figures.missing, formatCount(total('copies_missing'))],
  ];
  return (
    <section className="stack" aria-label={t.storage}>
      <SectionHead title={t.storage} onReload={reload} />
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
            label={t.whereBytesAre}
            max={total('bytes_blobs') + total('bytes_inline')}
            rows={[
              [t.blobs, total('bytes_blobs')],
              [t.packed, total('bytes_packed')],
              [t.garbage, total('bytes_garbage')],
              [t.inlineUntilPacked, total('bytes_inline')],
            ]}
          />
          <Bars
            label={t.copiesByLocation}
            max={Math.max(...value.locations.map((one) => one.bytes), 1)}
            rows={value.locations.map((one): BarRow => [one.location, one.bytes, describeCopies(one, value.locations)])}
          />
          <Bars
            label={t.databases}
            max={DATABASE_BYTES_MAX}
            rows={value.shards.map((one): BarRow => [fill(t.shard, { shard: one.shard }), one.database_bytes])}
          />
          <ScrubAges shards={value.shards} />
          <Jobs onDone={reload} />
        </>
      )}
    </section>
  );
}
