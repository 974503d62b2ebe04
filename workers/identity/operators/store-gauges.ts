/** Gauges of what every deployment has: how fast each store answers, how large the databases are, and what waits in the queues. */
import { inTime } from '../../shared/concurrency/in-time.ts';
import { listStores } from '../../shared/stores/bindings.ts';
import { readDatabaseState } from '../../shared/stores/probe-store.ts';
import type { Metric } from '../../shared/telemetry/exposition.ts';

/** A store that does not answer within this time has no sample. Health names it. */
const PROBE_MS = 3_000;

export const gauge = (name: string, help: string, samples: Metric['samples']): Metric => ({
  name,
  type: 'gauge',
  help,
  samples,
});

interface Answer<T> {
  readonly seconds: number;
  readonly value: T;
}

/** Asks a store. @returns null if it does not answer in time. */
async function ask<T>(probe: () => Promise<T>): Promise<Answer<T> | null> {
  const startedAt = Date.now();
  const answer = probe().then((value) => ({ seconds: (Date.now() - startedAt) / 1000, value }));
  return inTime(answer, PROBE_MS, null).catch(() => null);
}

/** Reads the gauges of the stores and queues. What does not answer is left out. */
export async function readStoreGauges(env: Env): Promise<Metric[]> {
  const { databases, buckets } = listStores(env);
  const [states, heads, queues] = await Promise.all([
    askEach(databases, readDatabaseState),
    askEach(buckets, (bucket) => bucket.head('health')),
    readQueues(env),
  ]);
  return [
    gauge(
      'tessera_database_bytes',
      'Size of a D1 database. It ends at 10 GB.',
      states.map(({ store, value }) => ({ labels: { database: store }, value: value.sizeBytes })),
    ),
    gauge(
      'tessera_store_seconds',
      'Time in which a store answered one small read, from where this answer was made.',
      [...states, ...heads].map(({ store, seconds }) => ({ labels: { store }, value: seconds })),
    ),
    ...queues,
  ];
}

async function askEach<S, T>(stores: ReadonlyMap<string, S>, probe: (store: S) => Promise<T>) {
  const answers = await Promise.all(
    [...stores].map(async ([name, store]) => {
      const answer = await ask(() => probe(store));
      return answer === null ? [] : [{ store: name, ...answer }];
    }),
  );
  return answers.flat();
}

/** Sum of the sizes of all databases that answer. */
export async function sumDatabaseBytes(env: Env): Promise<number> {
  const states = await askEach(listStores(env).databases, readDatabaseState);
  return states.reduce((sum, { value }) => sum + value.sizeBytes, 0);
}

/** Queues that a consumer of this Worker reads. */
const QUEUES = ['MAIL_OUTBOUND', 'STORAGE_TASKS'] as const;

async function readQueues(env: Env): Promise<Metric[]> {
  const found = await Promise.all(
    QUEUES.map(async (queue) => {
      const answer = await ask(() => env[queue].metrics());
      return answer === null ? [] : [{ labels: { queue }, metrics: answer.value }];
    }),
  );
  const samples = found.flat();
  const ageOf = (since: Date | undefined): number => (since === undefined ? 0 : (Date.now() - since.getTime()) / 1000);
  return [
    gauge(
      'tessera_queue_messages',
      'Messages that wait in a queue.',
      samples.map(({ labels, metrics }) => ({ labels, value: metrics.backlogCount })),
    ),
    gauge(
      'tessera_queue_oldest_seconds',
      'Age of the oldest message that waits in a queue.',
      samples.map(({ labels, metrics }) => ({ labels, value: ageOf(metrics.oldestMessageTimestamp) })),
    ),
  ];
}
