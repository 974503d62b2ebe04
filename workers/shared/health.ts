import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { type JsonApiEnv, jsonContent } from './json-api.ts';

const okSchema = z.object({ status: z.literal('ok'), version: z.string() }).openapi('Health');
const unavailableSchema = z
  .object({ status: z.literal('unavailable'), version: z.string(), unavailable: z.array(z.string()) })
  .openapi('Unavailable');

/** `GET /v1/health`: whether every store answers. */
export function addHealth(api: OpenAPIHono<JsonApiEnv>, version: string): void {
  api.openapi(
    createRoute({
      method: 'get',
      path: '/v1/health',
      tags: ['service'],
      security: [],
      operationId: 'getHealth',
      summary: 'Whether every store answers',
      responses: {
        200: jsonContent(okSchema, 'All is well'),
        503: jsonContent(unavailableSchema, 'The stores that do not answer'),
      },
    }),
    async (c) => {
      const report = await checkHealth(c.env, version);
      return report.status === 'ok' ? c.json(report, 200) : c.json(report, 503);
    },
  );
}

type HealthReport =
  | { status: 'ok'; version: string }
  | { status: 'unavailable'; version: string; unavailable: string[] };

/** Asks each store for the least it can answer; a store that does not answer in time is named. */
async function checkHealth(env: Env, version: string, timeoutMs = 3_000): Promise<HealthReport> {
  const probes: Record<string, () => Promise<unknown>> = {};
  for (const [name, binding] of Object.entries(env) as [string, unknown][]) {
    if (name === 'DIRECTORY' || /^OBJECTS_\d+$/.test(name))
      probes[name] = () => (binding as D1Database).prepare('SELECT 1').run();
    if (/^BLOBS(_\d+)?$/.test(name)) probes[name] = () => (binding as R2Bucket).head('health');
  }
  const outcomes = await Promise.all(
    Object.entries(probes).map(async ([name, probe]) => ((await answersInTime(probe, timeoutMs)) ? null : name)),
  );
  const unavailable = outcomes.filter((name) => name !== null);
  return unavailable.length === 0 ? { status: 'ok', version } : { status: 'unavailable', version, unavailable };
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
