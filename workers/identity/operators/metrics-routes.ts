/**
 * `GET /v1/metrics` (on APP_HOST also `GET /metrics`): counters of this day and gauges of the stores, for Prometheus. Each day, the
 * cost of the day before is estimated.
 */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { createCollectorStore, listCollectors } from '../../shared/collectors/store.ts';
import { createRoutes, type JsonApiEnv, problemResponses, unchecked } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { databaseOf } from '../../shared/stores/directories.ts';
import { readCounters, toActivity } from '../../shared/telemetry/counter-store.ts';
import {
  ACCEPTED_RECIPIENTS,
  BOUNDS_MS,
  type Counter,
  ISOLATE_STARTS,
  REFUSED_SUBMISSIONS,
  recordGauge,
} from '../../shared/telemetry/counters.ts';
import {
  type Metric,
  OPEN_METRICS_TYPE,
  PROMETHEUS_TYPE,
  type ReadGauges,
  type Sample,
  toExposition,
} from '../../shared/telemetry/exposition.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { estimateDollars } from '../../shared/telemetry/prices.ts';
import { authorizeFirst, requireOperator } from '../callers/guards.ts';
import { addHistoryRoute } from './metrics-history.ts';
import { gauge, readStoreGauges, sumDatabaseBytes } from './store-gauges.ts';

const DAY_MS = 86_400_000;

async function readCollectors(env: Env): Promise<Metric> {
  const samples = await Promise.all(
    listCollectors(env).map(async ({ name, database }) => {
      const { alarm } = await createCollectorStore(databaseOf(env, database), name).read();
      const collector = database === 0 ? name : `${name}-${database}`;
      return { labels: { collector }, value: alarm === null ? 0 : 1 };
    }),
  );
  return gauge('tessera_collector_alarm', '1 if a collector stopped and waits for an operator.', samples);
}

/** The samples of a histogram of durations. */
function toHistogram({ label: operation, outcome, count, ms, atMost }: Counter): Sample[] {
  const labels = { operation, outcome };
  const bounded = BOUNDS_MS.map((bound, at) => ({ le: String(bound / 1000), value: atMost[at] ?? 0 }));
  return [
    ...[...bounded, { le: '+Inf', value: count }].map(
      ({ le, value }): Sample => ({ end: '_bucket', labels: { ...labels, le }, value }),
    ),
    { end: '_sum', labels, value: ms / 1000 },
    { end: '_count', labels, value: count },
  ];
}

/** Labels of counted events that are not delivery events. */
const NOT_DELIVERY: ReadonlySet<string> = new Set([REFUSED_SUBMISSIONS, ACCEPTED_RECIPIENTS, ISOLATE_STARTS]);

function toCounterMetrics(env: Env, counters: readonly Counter[], periodMs: number): Metric[] {
  const of = (wanted: Counter['name']) => counters.filter(({ name }) => name === wanted);
  const operations = of('operations').map(({ label, outcome, count, ms }) => ({
    operation: label,
    outcome,
    count,
    ms,
  }));
  return [
    {
      name: 'tessera_operations',
      type: 'counter',
      help: 'Operations of this day (UTC) by outcome: ok, refused (4xx) or failed (5xx).',
      samples: operations.map(({ count, ms: _, ...labels }) => ({ labels, value: count })),
    },
    {
      name: 'tessera_operation_seconds',
      type: 'counter',
      help: 'Time until the answer began, of all operations of this day together.',
      samples: operations.map(({ count: _, ms, ...labels }) => ({ labels, value: ms / 1000 })),
    },
    {
      name: 'tessera_operation_duration_seconds',
      type: 'histogram',
      help: 'Time until the answer began, of the operations of this day (UTC).',
      samples: of('operations').flatMap(toHistogram),
    },
    {
      name: 'tessera_errors',
      type: 'counter',
      help: 'Log lines of level error of this day, by event.',
      samples: of('errors').map(({ label, count }) => ({ labels: { event: label }, value: count })),
    },
    {
      name: 'tessera_delivery_events',
      type: 'counter',
      help: 'Delivery events of Cloudflare Email Service of this day, by what they came to. unknown: of mail that no mailbox here sent.',
      samples: of('events')
        .filter(({ label }) => !NOT_DELIVERY.has(label))
        .map(({ label, outcome, count }) => ({ labels: { event: label, outcome }, value: count })),
    },
    {
      name: 'tessera_submissions_refused',
      type: 'counter',
      help: 'Submissions of this day that were refused. recorded: in the error queue. counted: beyond its limit of an hour.',
      samples: of('events')
        .filter(({ label }) => label === REFUSED_SUBMISSIONS)
        .map(({ outcome, count }) => ({ labels: { outcome }, value: count })),
    },
    {
      name: 'tessera_isolate_starts',
      type: 'counter',
      help: 'Isolates of the Worker that started this day (UTC). Isolates that run objects only are not counted.',
      samples: of('events')
        .filter(({ label }) => label === ISOLATE_STARTS)
        .map(({ count }) => ({ labels: {}, value: count })),
    },
    gauge('tessera_cost_estimate_dollars', 'Estimated cost of this day, without stored bytes.', [
      { labels: {}, value: estimateDollars(toActivity(env, counters, periodMs)) },
    ]),
  ];
}

/** Reads today's counters; null if that fails. The answer then has the gauges only. */
async function readCountersSafely(env: Env, now: number): Promise<readonly Counter[] | null> {
  try {
    return await readCounters(env, now - (now % DAY_MS), now);
  } catch (error) {
    logError('counters_read_failed', error);
    return null;
  }
}

/** Creates the routes of the metrics. @param readGauges reads the gauges of the products that are served. */
export function createMetricsApi(readGauges: ReadGauges): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  const guard = authorizeFirst(requireOperator);
  const answer = async (c: Context<JsonApiEnv>) => {
    const now = createClock(c.env)();
    const [counters, ...gauges] = await Promise.all([
      readCountersSafely(c.env, now),
      readGauges(c.env),
      readStoreGauges(c.env),
      readCollectors(c.env).then((metric) => [metric]),
    ]);
    const metrics = [
      gauge('tessera_counters_available', '1 if the counters can be read from Analytics Engine.', [
        { labels: {}, value: counters === null ? 0 : 1 },
      ]),
      ...(counters === null ? [] : toCounterMetrics(c.env, counters, now % DAY_MS)),
      ...gauges.flat(),
    ];
    const isOpenMetrics = (c.req.header('accept') ?? '').includes('application/openmetrics-text');
    const headers = {
      'content-type': isOpenMetrics ? OPEN_METRICS_TYPE : PROMETHEUS_TYPE,
      'cache-control': 'no-store',
    };
    return unchecked(c.body(toExposition(metrics, isOpenMetrics), 200, headers));
  };
  api.openapi(
    createRoute({
      method: 'get',
      path: '/v1/metrics',
      tags: ['service'],
      security: [{ bearer: [] }],
      middleware: guard,
      operationId: 'getMetrics',
      summary: 'Counters of this day and gauges of the stores, for Prometheus',
      responses: {
        200: {
          description: 'OpenMetrics 1.0 if the client accepts it, else the Prometheus text format',
          content: { 'text/plain': { schema: { type: 'string' as const } } },
        },
        ...problemResponses(401, 403),
      },
    }),
    answer,
  );
  addHistoryRoute(api, guard);
  // `/metrics` is reachable only on APP_HOST. If all products share one origin, `/metrics` is a bucket there.
  api.get('/metrics', guard, answer);
  return api;
}

const GAUGE_MINUTES = 10;

/**
 * Records the size of the databases every ten minutes. Daily, estimates the cost of the day before. An estimate over
 * COST_ALARM_DOLLARS is logged as an error, so that the alert on errors reports it.
 */
export async function runMetricsSchedule(controller: ScheduledController, env: Env): Promise<void> {
  if (controller.cron === '* * * * *') {
    if (Math.floor(controller.scheduledTime / 60_000) % GAUGE_MINUTES !== 0) return;
    return recordGauge(env, 'database_bytes', await sumDatabaseBytes(env));
  }
  const now = createClock(env)();
  const today = now - (now % DAY_MS);
  const counters = await readCounters(env, today - DAY_MS, today);
  if (counters === null) return;
  const dollars = Math.round(estimateDollars(toActivity(env, counters, DAY_MS)) * 100) / 100;
  const { COST_ALARM_DOLLARS: limit } = settingsOf(env);
  logInfo('cost_estimated', { dollars, limit_dollars: limit });
  if (limit > 0 && dollars > limit)
    logError('cost_alarm', `the operations of a day cost about ${dollars} dollars`, { dollars, limit_dollars: limit });
}
