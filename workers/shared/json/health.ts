import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Result } from '../pure/result.ts';
import { settingProblemsOf } from '../settings/settings.ts';
import { bindingProblemOf } from '../stores/bindings.ts';
import { type Finders, findAboutStores, type StoreFindings } from '../stores/health-findings.ts';
import { readFindings, versionIdOf } from '../stores/health-verdict.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from './json-api.ts';
import type { Problem } from './problem.ts';

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

/** Tells whether the caller of an open route is an operator. @returns the problem of a wrong credential. */
export type FindOperator = (c: Context<JsonApiEnv>) => Promise<Result<boolean, Problem>>;

/**
 * Adds `GET /v1/health`, which reports whether every store answers with the expected schema, and whether every setting is valid. It
 * answers from cron's last verdict about the stores. An operator's request probes them.
 */
export function addHealth(
  api: OpenAPIHono<JsonApiEnv>,
  version: string,
  finders: Finders,
  findOperator: FindOperator,
): void {
  api.openapi(
    createRoute({
      method: 'get',
      path: '/v1/health',
      tags: ['service'],
      security: [],
      operationId: 'getHealth',
      summary: 'Whether every store answers and every setting is valid',
      description:
        "Answers from the last verdict about the stores, which cron makes each minute. With an operator's token, probes every store at once.",
      responses: {
        200: jsonContent(okSchema, 'All is well'),
        503: jsonContent(
          unavailableSchema,
          'The stores that do not answer, and the settings, secrets and schemas that are missing or not valid; or that there is no verdict of the last minutes',
        ),
        ...problemResponses(401),
      },
    }),
    async (c) => {
      // An operator whose session cannot be looked up gets the verdict, which names DIRECTORY.
      const caller = await findOperator(c).catch(() => null);
      if (caller?.ok === false) return sendProblem(c, caller.error);
      const find = caller?.value ? findAboutStores : readFindings;
      const report = toReport(c.env, version, await find(c.env, finders));
      return report.status === 'ok' ? c.json(report, 200) : c.json(report, 503);
    },
  );
}

/** Says what runs. An isolate that was started without the binding, as by an older configuration, does not know its commit. */
const releaseOf = (env: Partial<Pick<Env, 'VERSION'>>, version: string) => ({
  version,
  commit: env.VERSION?.tag || 'unknown',
  version_id: versionIdOf(env),
});

type HealthReport = z.output<typeof okSchema> | z.output<typeof unavailableSchema>;

/** The report has the names of settings with bad values and of unknown settings, never their values. */
function toReport(env: Env, version: string, found: StoreFindings): HealthReport {
  const settings = [...settingProblemsOf(env), bindingProblemOf(env)].filter((problem) => problem !== null);
  const unavailable = [...found.unavailable];
  const misconfigured = [...settings, ...found.misconfigured];
  const warnings = [...found.warnings];
  const runs = releaseOf(env, version);
  if (unavailable.length + misconfigured.length === 0) return { status: 'ok', ...runs, warnings };
  const status = unavailable.length === 0 ? 'misconfigured' : 'unavailable';
  return { status, ...runs, unavailable, misconfigured, warnings };
}
