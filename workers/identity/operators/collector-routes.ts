/** `/v1/collectors`: the state of each collector and its alarm, for operators. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { refillLocations } from '../../shared/collectors/refill.ts';
import {
  COLLECTOR_NAMES,
  type Collector,
  createCollectorStore,
  listCollectors,
} from '../../shared/collectors/store.ts';
import {
  createRoutes,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { databaseOf, findDatabase } from '../../shared/stores/directories.ts';
import { authorizeFirst, requireOperator } from '../callers/guards.ts';

const OPERATOR = { tags: ['service'], security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };

const toTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const collectorSchema = z
  .object({
    collector: z.enum(COLLECTOR_NAMES),
    database: z.int().openapi({
      description: 'For the collector `directory`: number n of the `DIRECTORY_n` that has its row. Otherwise 0',
    }),
    round: z.int(),
    scanned: z.int().openapi({ description: 'Objects that this round has scanned so far' }),
    last_round_finished_at: z.string().nullable(),
    orphans_waiting: z.int().openapi({ description: 'Found without an owner, and not deleted yet' }),
    orphans_in_other_locations: z.int().openapi({ description: 'Deleted in the first location only' }),
    alarm: z
      .object({ reason: z.string(), since: z.string(), scanned: z.int(), found: z.int() })
      .nullable()
      .openapi({ description: 'Why it stopped. It stays until a round ends without one, or until it is acknowledged' }),
  })
  .openapi('Collector');

const acknowledgementSchema = z
  .strictObject({
    remove: z.boolean().default(false).openapi({
      description:
        'Lets the next round remove as many objects, or publish with as many players fewer, as the alarm counted',
    }),
    database: z
      .int()
      .min(0)
      .default(0)
      .openapi({ description: 'For the collector `directory`: number n of the `DIRECTORY_n` that has its row' }),
    take_over: z.boolean().default(false).openapi({
      description: 'The stores that are bound now are the right ones: they become the owners of the bytes',
    }),
  })
  .openapi('CollectorAcknowledgement');

const refillSchema = z
  .strictObject({
    cursor: z.string().max(1_100).default('').openapi({ description: '`next_cursor` of the answer before' }),
    max_seconds: z.int().min(1).max(300).default(60),
  })
  .openapi('LocationRefill');

export const collectorsApi = createCollectorsApi();

function createCollectorsApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  const list = createRoute({
    ...OPERATOR,
    method: 'get' as const,
    path: '/v1/collectors' as const,
    operationId: 'listCollectors',
    summary: 'What the collectors scanned, and their alarms',
    responses: {
      200: jsonContent(z.object({ data: z.array(collectorSchema) }), 'Every collector'),
      ...problemResponses(401, 403),
    },
  });
  api.openapi(list, async (c) =>
    c.json({ data: await Promise.all(listCollectors(c.env).map((each) => describe(c.env, each))) }, 200),
  );
  const acknowledge = createRoute({
    ...OPERATOR,
    method: 'post' as const,
    path: '/v1/collectors/{collector}/acknowledge' as const,
    operationId: 'acknowledgeCollector',
    summary: 'Acknowledge the alarm of a collector',
    request: { params: z.object({ collector: z.enum(COLLECTOR_NAMES) }), ...jsonBody(acknowledgementSchema) },
    responses: { 204: { description: 'Acknowledged' }, ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(acknowledge, async (c) => {
    const { remove, take_over: takeOver } = c.req.valid('json');
    const { collector } = c.req.valid('param');
    const { database: number } = c.req.valid('json');
    const database = collector === 'directory' ? findDatabase(c.env, number) : c.env.DIRECTORY;
    if (database === null) return sendProblem(c, problem(404, 'not_found', 'Database not found.'));
    await createCollectorStore(database, collector).acknowledge({ remove, takeOver });
    await recordAudit(
      c,
      'collector.acknowledge',
      { type: 'collector', id: collector },
      { remove, take_over: takeOver, ...(number === 0 ? {} : { directory: number }) },
    );
    return c.body(null, 204);
  });
  const refill = createRoute({
    ...OPERATOR,
    method: 'post' as const,
    path: '/v1/locations/refill' as const,
    operationId: 'refillLocations',
    summary: 'Copy objects that a location lacks from another one, after a bucket was lost',
    request: jsonBody(refillSchema),
    responses: {
      200: jsonContent(
        z
          .object({
            scanned: z.int(),
            copied: z.int(),
            copied_bytes: z.int(),
            failed: z.int().openapi({ description: 'Objects that do not match their checksum; the log names them' }),
            next_cursor: z.string().nullable().openapi({ description: 'Null when every location has every object' }),
          })
          .openapi('LocationRefillReport'),
        'What this call copied',
      ),
      ...problemResponses(400, 401, 403),
    },
  });
  api.openapi(refill, async (c) => {
    const { cursor, max_seconds: seconds } = c.req.valid('json');
    const until = Date.now() + seconds * 1000;
    const report = await refillLocations(c.env, cursor, () => Date.now() < until);
    await recordAudit(c, 'locations.refill', SERVICE, { copied: report.copied, finished: report.next_cursor === null });
    return c.json(report, 200);
  });
  return api;
}

async function describe(env: Env, { name, database }: Collector): Promise<z.infer<typeof collectorSchema>> {
  const store = createCollectorStore(databaseOf(env, database), name);
  const [row, { waiting, removing }] = await Promise.all([store.read(), store.count()]);
  const alarm =
    row.alarm === null
      ? null
      : {
          reason: row.alarm,
          since: toTime(row.alarmAt) ?? '',
          scanned: row.alarmScanned ?? 0,
          found: row.alarmFound ?? 0,
        };
  return {
    collector: name,
    database,
    round: row.round,
    scanned: row.scanned,
    last_round_finished_at: toTime(row.finishedAt),
    orphans_waiting: waiting,
    orphans_in_other_locations: removing,
    alarm,
  };
}
