/** Lists all present problems, each with advice. */

import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { isServed, useConfig } from '../shared/config.ts';
import { formatBytes, formatCount } from '../shared/format.ts';
import { toHash } from '../shared/hash-route.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { operator, request, requestJson } from './token.ts';
import type { History } from './types.ts';

const t = operatorTexts.problems;

interface Named {
  name: string;
  message: string;
}
interface Health {
  status: string;
  version: string;
  unavailable?: string[];
  misconfigured?: Named[];
  warnings: Named[];
}
interface Collector {
  collector: string;
  /** For the collector `directory`: number n of the database `DIRECTORY_n` that has its row. Otherwise 0. */
  database: number;
  alarm: { reason: string; since: string; scanned: number; found: number } | null;
}
interface Problem {
  id: string;
  isBad: boolean;
  title: string;
  text: string;
  tab?: keyof typeof operatorTexts.tabs;
  collector?: Pick<Collector, 'collector' | 'database'>;
}

/** Health names a database that was put back to an earlier state with a whole sentence. */
const toStoreProblem = (name: string): Problem =>
  / was put back /.test(name)
    ? { id: name, isBad: true, title: name, text: t.storeOlderDo }
    : { id: name, isBad: true, title: fill(t.store, { name }), text: t.storeDo };

const ofHealth = ({ unavailable = [], misconfigured = [], warnings }: Health): Problem[] => [
  ...unavailable.map(toStoreProblem),
  ...misconfigured.map(({ name, message }) => ({
    id: name,
    isBad: true,
    title: fill(t.setting, { name }),
    text: fill(t.settingDo, { message }),
  })),
  ...warnings.map(({ name, message }) => ({
    // A store can have several warnings.
    id: `${name} ${message}`,
    isBad: false,
    title: fill(t.warning, { name }),
    text: fill(t.warningDo, { message }),
  })),
];

const ofCollectors = (collectors: readonly Collector[]): Problem[] =>
  collectors.flatMap(({ collector, database, alarm }) => {
    if (alarm === null) return [];
    const { reason, scanned, found } = alarm;
    const values = { reason, scanned: formatCount(scanned), found: formatCount(found) };
    const name = database === 0 ? collector : `${collector}-${database}`;
    const id = `collector ${name}`;
    const text = fill(t.alarmDo, values);
    return [{ id, isBad: true, title: fill(t.alarm, { name }), text, collector: { collector, database } }];
  });

async function findMailProblems(): Promise<Problem[]> {
  const [queue, failures, complaints] = await Promise.all([
    requestJson<{ diagnosis: string }>('/v1/outbound?limit=1'),
    requestJson<{ data: { kind: string }[]; next_cursor: string | null }>('/v1/outbound/errors?limit=100'),
    requestJson<{ data: { user_id: string; held: boolean }[] }>('/v1/outbound/complaints'),
  ]);
  const found: Problem[] = [];
  // Mail that waits for a consumer is a warning of health.
  if (queue.diagnosis === 'recipient_down')
    found.push({ id: 'queue', isBad: false, title: t.queue, text: t.queueDown, tab: 'outbound' });
  const held = new Set(complaints.data.filter((one) => one.held).map((one) => one.user_id)).size;
  if (held > 0) {
    const title = plural(t.heldSending, held);
    found.push({ id: 'held', isBad: true, title, text: t.heldSendingDo, tab: 'sending' });
  }
  // Complaints are counted above. Domains that cannot send are warnings of health.
  const count = failures.data.filter(({ kind }) => kind !== 'complaint' && kind !== 'sending').length;
  if (count > 0) {
    const title = fill(t.failed, {
      count: plural(operatorTexts.counts.messages, count) + (failures.next_cursor ? '+' : ''),
    });
    found.push({ id: 'failed', isBad: false, title, text: t.failedDo, tab: 'outbound' });
  }
  return found;
}

/** Size limit of a D1 database, and the share of the limit at which an operator should act. */
const DATABASE_BYTES_MAX = 10_000_000_000;
const NEARLY_FULL = 0.8;

async function findStorageProblems(): Promise<Problem[]> {
  const { shards } = await requestJson<{ shards: { shard: number; database_bytes: number }[] }>('/v1/storage/stats');
  return shards
    .filter(({ database_bytes }) => database_bytes > DATABASE_BYTES_MAX * NEARLY_FULL)
    .map(({ shard, database_bytes }) => ({
      id: `shard ${shard}`,
      isBad: true,
      title: fill(t.disk, {
        name: `OBJECTS_${shard}`,
        percent: `${Math.round((database_bytes / DATABASE_BYTES_MAX) * 100)} % (${formatBytes(database_bytes)})`,
      }),
      text: t.diskDo,
      tab: 'storage' as const,
    }));
}

/** Probes the stores, because the caller is an operator. If one does not answer, the status is 503, but the body is the same report. */
const loadHealth = async (): Promise<Health> =>
  (await fetch('/v1/health', { headers: { authorization: `Bearer ${operator.get().token}` } })).json();

async function loadProblems(config: WebConfig | null): Promise<{ version: string; problems: Problem[] }> {
  const [health, collectors, mail, storage] = await Promise.all([
    loadHealth(),
    requestJson<{ data: Collector[] }>('/v1/collectors'),
    isServed(config, 'mail') ? findMailProblems() : [],
    isServed(config, 'storage') ? findStorageProblems() : [],
  ]);
  return {
    version: health.version,
    problems: [...ofHealth(health), ...ofCollectors(collectors.data), ...mail, ...storage],
  };
}

export function Problems({ history }: { history: History | null }) {
  const config = useConfig();
  // `history` is a dependency: when the overview loads its history again, the problems are loaded again too.
  const { value, error, reload } = useLoaded(() => loadProblems(config), [config, history]);
  const problems = [...(value?.problems ?? [])];
  if (history && !history.is_available)
    problems.push({ id: 'counters', isBad: false, title: t.counters, text: t.countersDo });
  const isWell = value !== null && !problems.some(({ isBad }) => isBad);
  const acknowledge = ({ collector, database }: Pick<Collector, 'collector' | 'database'>) =>
    request(`/v1/collectors/${collector}/acknowledge`, { method: 'POST', body: { database } }).then(() => {
      showToast(t.acknowledged);
      reload();
    }, showError);
  return (
    <section className="card stack" aria-label={t.title}>
      <div className="row wrap">
        <h2 className="grow">{t.title}</h2>
        {value && (
          <span className={isWell ? 'badge good' : 'badge bad'} role="status">
            {isWell ? t.well : fill(t.count, { count: formatCount(problems.length) })}
          </span>
        )}
      </div>
      {error && <p className="error-box">{error}</p>}
      {value && problems.length === 0 && <p className="muted">{t.none}</p>}
      {problems.length > 0 && (
        <ul className="plain-lines problems">
          {problems.map(({ id, isBad, title, text, tab, collector }) => (
            <li key={id} className="row wrap" data-bad={isBad || undefined}>
              <span className="grow">
                <strong>{title}</strong>
                <span className="reason muted">{text}</span>
              </span>
              {tab && <a href={toHash([tab])}>{fill(t.open, { name: operatorTexts.tabs[tab] })}</a>}
              {collector && (
                <button type="button" onClick={() => void acknowledge(collector)}>
                  {t.acknowledge}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {value && <p className="muted small">Tessera {value.version}</p>}
    </section>
  );
}
