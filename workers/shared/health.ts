import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { bindingProblemOf, listStores } from './bindings.ts';
import { type JsonApiEnv, jsonContent } from './json-api.ts';
import { probeDatabase } from './probe-store.ts';
import { settingProblemsOf } from './settings.ts';

const okSchema = z.object({ status: z.literal('ok'), version: z.string() }).openapi('Health');
const problemSchema = z.object({ name: z.string(), message: z.string() });
const unavailableSchema = z
  .object({
    status: z.enum(['unavailable', 'misconfigured']),
    version: z.string(),
    unavailable: z.array(z.string()),
    misconfigured: z.array(problemSchema),
  })
  .openapi('Unavailable');

/** The names of a product's parts that do not answer. */
export type FindSilent = (env: Env) => Promise<string[]>;

/** `GET /v1/health`: whether every store answers and every setting is valid. */
export function addHealth(api: OpenAPIHono<JsonApiEnv>, version: string, findSilent: FindSilent): void {
  api.openapi(
    createRoute({
      method: 'get',
      path: '/v1/health',
      tags: ['service'],
      security: [],
      operationId: 'getHealth',
      summary: 'Whether every store answers and every setting is valid',
      responses: {
        200: jsonContent(okSchema, 'All is well'),
        503: jsonContent(unavailableSchema, 'The stores that do not answer, and the settings that are not valid'),
      },
    }),
    async (c) => {
      const report = await checkHealth(c.env, version, findSilent);
      return report.status === 'ok' ? c.json(report, 200) : c.json(report, 503);
    },
  );
}

type HealthReport = z.output<typeof okSchema> | z.output<typeof unavailableSchema>;

/** Probes each store with the smallest request, and lists settings with bad values and unknown names, never the values. */
async function checkHealth(
  env: Env,
  version: string,
  findSilent: FindSilent,
  timeoutMs = 3_000,
): Promise<HealthReport> {
  const { databases, buckets } = listStores(env);
  const probes = new Map<string, () => Promise<unknown>>();
  for (const [name, database] of databases) probes.set(name, () => probeDatabase(database));
  for (const [name, bucket] of buckets) probes.set(name, () => bucket.head('health'));
  const outcomes = await Promise.all(
    [...probes].map(async ([name, probe]) => ((await answersInTime(probe, timeoutMs)) ? null : name)),
  );
  // It reads DIRECTORY, whose own probe has a name.
  const silent = outcomes.includes('DIRECTORY') ? [] : await findSilent(env).catch(() => []);
  const unavailable = [...outcomes.filter((name) => name !== null), ...silent];
  const misconfigured = [...settingProblemsOf(env), bindingProblemOf(env)].filter((problem) => problem !== null);
  if (unavailable.length + misconfigured.length === 0) return { status: 'ok', version };
  const status = unavailable.length === 0 ? 'misconfigured' : 'unavailable';
  return { status, version, unavailable, misconfigured };
}

async function answersInTime(probe: () => Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), timeoutMs));
  return Promise.race([
    probe().then(
      () => true,
      () => false,
    ),
    late,
  ]);
}
