/** `GET /v1/metrics/history`: the last 24 hours, and the estimated cost of this month. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { type JsonApiEnv, jsonContent, problemResponses } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { readCounters, readHours, sumOperations, toActivity } from '../../shared/telemetry/counter-store.ts';
import type { HourlyCounter } from '../../shared/telemetry/counters.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { estimateDollars } from '../../shared/telemetry/prices.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;

const count = z.int().min(0);
const historySchema = z
  .object({
    is_available: z
      .boolean()
      .openapi({ description: 'False if ANALYTICS_TOKEN is not set, or the counters cannot be read' }),
    hours: z.array(
      z.object({
        since: z.iso.datetime(),
        requests: count,
        refused: count.openapi({ description: 'Requests answered with 4xx' }),
        failed: count.openapi({ description: 'Requests answered with 5xx' }),
        mail_in: count,
        mail_out: count,
        queue_age_seconds: z.number().nullable().openapi({ description: 'Mean age of the oldest waiting recipient' }),
        database_bytes: z.number().nullable().openapi({ description: 'Mean size of all D1 databases together' }),
      }),
    ),
    month: z.object({
      since: z.iso.datetime(),
      operations: count,
      dollars: z.number().openapi({ description: 'Estimate without stored bytes and without what the plan includes' }),
    }),
  })
  .openapi('MetricsHistory');

type Hour = z.infer<typeof historySchema>['hours'][number];

function toHour(sinceMs: number, counters: readonly HourlyCounter[]): Hour {
  const ofHour = counters.filter(({ hour }) => hour * 1000 === sinceMs);
  const operations = ofHour.filter(({ name }) => name === 'operations');
  const sum = (of: (counter: HourlyCounter) => boolean) =>
    Math.round(operations.filter(of).reduce((total, one) => total + one.count, 0));
  const mean = (gauge: string): number | null => {
    const found = ofHour.find(({ name, label }) => name === 'gauges' && label === gauge);
    return found && found.count > 0 ? found.ms / found.count : null;
  };
  const isMailIn = ({ label }: HourlyCounter) => label === 'mail_in';
  return {
    since: new Date(sinceMs).toISOString(),
    requests: sum((one) => !isMailIn(one)),
    refused: sum((one) => !isMailIn(one) && one.outcome === 'refused'),
    failed: sum((one) => !isMailIn(one) && one.outcome === 'failed'),
    mail_in: sum(isMailIn),
    mail_out: sum(({ label }) => label === 'mail_out'),
    queue_age_seconds: mean('mail_oldest_age_seconds'),
    database_bytes: mean('database_bytes'),
  };
}

export function addHistoryRoute(api: OpenAPIHono<JsonApiEnv>, guard: MiddlewareHandler<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      method: 'get',
      path: '/v1/metrics/history',
      tags: ['service'],
      security: [{ bearer: [] }],
      middleware: guard,
      operationId: 'getMetricsHistory',
      summary: 'The last 24 hours, and the estimated cost of this month',
      request: { query: z.strictObject({}) },
      responses: { 200: jsonContent(historySchema, 'Hours, oldest first'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const now = createClock(c.env)();
      const first = now - (now % HOUR_MS) - (HOURS - 1) * HOUR_MS;
      const date = new Date(now);
      const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
      const [hourly, monthly] = await Promise.all([
        readHours(c.env, first, now),
        readCounters(c.env, month, now),
      ]).catch((error: unknown) => {
        logError('counters_read_failed', error);
        return [null, null];
      });
      const operations = sumOperations(monthly ?? []);
      return c.json(
        {
          is_available: hourly !== null,
          hours: Array.from({ length: HOURS }, (_, index) => toHour(first + index * HOUR_MS, hourly ?? [])),
          month: {
            since: new Date(month).toISOString(),
            operations: Math.round(Object.values(operations).reduce((sum, one) => sum + one, 0)),
            dollars: Math.round(estimateDollars(toActivity(c.env, monthly ?? [], now - month)) * 100) / 100,
          },
        },
        200,
      );
    },
  );
}
