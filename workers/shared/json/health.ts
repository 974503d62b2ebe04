import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { settingProblemsOf } from '../settings/settings.ts';
import { bindingProblemOf, listStores, writeQuorum } from '../stores/bindings.ts';
import { type DatabaseState, judgeDatabase, readDatabaseState } from '../stores/probe-store.ts';
import { type JsonApiEnv, jsonContent } from './json-api.ts';

const findingSchema = z.object({ name: z.string(), message: z.string() });
/** Conditions that do not make the service unavailable yet, but need an operator soon. */
const warnings = z.array(findingSchema);
/** What runs: the release, its commit, and the platform's id of this deployed version of the Worker. */
const release = {
  version: z.string(),
  commit: z.string().describe('12 hexadecimal digits, or `unknown`'),
  version_id: z.string().describe("Cloudflare's id of the Worker's version; `local` on a local server"),
};
const okSchema = z.object({ status: z.literal('ok'), ...release, warnings }).openapi('Health');
const unavailableSchema = z
  .object({
    status: z.enum(['unavailable', 'misconfigured']),
    ...release,
    unavailable: z.array(z.string()),
    misconfigured: z.array(findingSchema),
    warnings,
  })
  .openapi('Unavailable');

/** Finds the parts of a product that do not answer. @returns their names. */
export type FindSilent = (env: Env) => Promise<string[]>;

type HealthFinding = z.output<typeof findingSchema>;

/** Finds conditions of a product that need an operator soon. */
export type FindWarnings = (env: Env) => Promise<HealthFinding[]>;

interface Finders {
  readonly findSilent: FindSilent;
  readonly findWarnings: FindWarnings;
}

/**
 * Adds `GET /v1/health`, which reports whether every store answers with the expected schema, and whether every setting is valid.
 */
export function addHealth(api: OpenAPIHono<JsonApiEnv>, version: string, finders: Finders): void {
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
        503: jsonContent(
          unavailableSchema,
          'The stores that do not answer, and the settings, secrets and schemas that are missing or not valid',
        ),
      },
    }),
    async (c) => {
      const report = await checkHealth(c.env, version, finders);
      return report.status === 'ok' ? c.json(report, 200) : c.json(report, 503);
    },
  );
}

/** Says what runs. An isolate that was started without the binding, as by an older configuration, does not know its commit. */
const releaseOf = (env: Partial<Pick<Env, 'VERSION'>>, version: string) => ({
  version,
  commit: env.VERSION?.tag || 'unknown',
  version_id: env.VERSION?.id || 'unknown',
});

type HealthReport = z.output<typeof okSchema> | z.output<typeof unavailableSchema>;

/**
 * Probes each store with small requests. The report has the names of settings with bad values and of unknown settings, never their
 * values.
 */
async function checkHealth(
  env: Env,
  version: string,
  { findSilent, findWarnings }: Finders,
  timeoutMs = 3_000,
): Promise<HealthReport> {
  const { databases, buckets } = listStores(env);
  const states = new Map<string, DatabaseState>();
  const probes = new Map<string, () => Promise<unknown>>();
  for (const [name, database] of databases)
    probes.set(name, async () => states.set(name, await readDatabaseState(database)));
  for (const [name, bucket] of buckets) probes.set(name, () => bucket.head('health'));
  const outcomes = await Promise.all(
    [...probes].map(async ([name, probe]) => ((await answersInTime(probe, timeoutMs)) ? null : name)),
  );
  // `findSilent` reads DIRECTORY, so it is not called if DIRECTORY does not answer; the probe of DIRECTORY reports that.
  const silent = outcomes.includes('DIRECTORY') ? [] : await findSilent(env).catch(() => []);
  const silentBuckets = outcomes.filter((name) => name !== null && buckets.has(name));
  const isQuorumHeld = buckets.size - silentBuckets.length >= quorumOf(env, buckets.size);
  const spared = isQuorumHeld ? silentBuckets : [];
  const unavailable = [...outcomes.filter((name) => name !== null && !spared.includes(name)), ...silent] as string[];
  const findings = [...states].flatMap(([name, state]) =>
    judgeDatabase(name, state).map((finding) => ({ name, ...finding })),
  );
  const listed = (isWanted: boolean) =>
    findings.filter(({ isSick }) => isSick === isWanted).map(({ name, message }) => ({ name, message }));
  const settings = [...settingProblemsOf(env), bindingProblemOf(env)].filter((problem) => problem !== null);
  const misconfigured = [...settings, ...listed(true)];
  const warnings = [
    ...listed(false),
    ...spared.map((name) => ({ name: String(name), message: 'does not answer; the other locations do' })),
    ...(await findWarnings(env).catch(() => [])),
  ];
  const runs = releaseOf(env, version);
  if (unavailable.length + misconfigured.length === 0) return { status: 'ok', ...runs, warnings };
  const status = unavailable.length === 0 ? 'misconfigured' : 'unavailable';
  return { status, ...runs, unavailable, misconfigured, warnings };
}

/** The write quorum. If the setting is bad, all bound locations count, because health must answer nevertheless. */
function quorumOf(env: Env, bound: number): number {
  try {
    return writeQuorum(env);
  } catch {
    return bound;
  }
}

/** Runs a probe. @returns false if it fails or takes too long. */
export async function answersInTime(probe: () => Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), timeoutMs));
  return Promise.race([
    probe().then(
      () => true,
      () => false,
    ),
    late,
  ]);
}
