/** `/v1/locations/s3`: the copy in an S3 location, and the first step of a rescue from it. For operators. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import {
  createRoutes,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { checkS3Location } from '../../shared/s3-location/check.ts';
import { readThrough } from '../../shared/s3-location/lag.ts';
import { endRescue, mayRescue } from '../../shared/s3-location/owner.ts';
import { continuePass, openS3Location } from '../../shared/s3-location/pass.ts';
import { fillFromS3Location } from '../../shared/s3-location/rescue.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { authorizeFirst, requireOperator } from '../callers/guards.ts';

const OPERATOR = { tags: ['service'], security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };
const NO_LOCATION = problem(409, 'no_s3_location', 'S3_LOCATION, its endpoint or its credential is not set.');
const maxSeconds = z.int().min(1).max(300).default(60);
const time = z.iso.datetime();

const copySchema = z.strictObject({ max_seconds: maxSeconds }).openapi('S3LocationCopy');
const copyReportSchema = z
  .object({
    through: z.string().nullable().openapi({ description: 'The S3 location has everything that is older than this' }),
    scanned: z.int(),
    copied: z.int(),
    copied_bytes: z.int(),
    failed: z.int(),
    finished: z.boolean().openapi({ description: 'False if the pass has to go on, or another run has it' }),
  })
  .openapi('S3LocationCopyReport');

const rescueSchema = z
  .strictObject({
    cursor: z.string().max(1_100).default('').openapi({ description: '`next_cursor` of the answer before' }),
    before: z.string().max(1_100).default('').openapi({
      description: 'Copies only keys before this one, so that several ranges can be copied at a time',
    }),
    until: time.optional().openapi({ description: 'Rescues the state at this time. Default: the newest' }),
    max_seconds: maxSeconds,
  })
  .openapi('Rescue');
const rescueReportSchema = z
  .object({
    scanned: z.int(),
    copied: z.int(),
    copied_bytes: z.int(),
    failed: z
      .int()
      .openapi({ description: 'Objects that did not arrive or do not match their MD5; the log names them' }),
    left_out: z.int().openapi({ description: 'Objects that had been deleted, or are later than `until`' }),
    next_cursor: z.string().nullable(),
  })
  .openapi('RescueReport');

const checkSchema = z
  .strictObject({
    cursor: z.string().max(1_100).default('').openapi({ description: '`next_cursor` of the answer before' }),
    read: z.boolean().default(false).openapi({ description: 'Reads every object again, and compares it with its MD5' }),
    remove_damaged: z.boolean().default(false).openapi({
      description: 'Removes damaged copies of objects that R2 has. The next pass copies them again. Needs `read`',
    }),
    max_seconds: maxSeconds,
  })
  .openapi('S3LocationCheck');
const checkReportSchema = z
  .object({
    scanned: z.int(),
    missing: z.int().openapi({
      description: 'Objects of R2, older than the last whole pass, that are missing or have another size',
    }),
    unrecorded: z.int().openapi({ description: 'Objects that R2 lacks and whose deletion is not recorded yet' }),
    damaged: z.int().openapi({ description: 'Objects that do not match their MD5. Only with `read`' }),
    read_bytes: z.int(),
    removed: z.int(),
    examples: z.array(z.string()),
    next_cursor: z.string().nullable(),
  })
  .openapi('S3LocationCheckReport');

const endSchema = z
  .strictObject({
    take_over: z.boolean().default(false).openapi({
      description: 'This installation writes to the S3 location from now on. Only if the one that wrote it is gone',
    }),
  })
  .openapi('RescueEnd');

const route = <P extends string>(path: P, operationId: string, summary: string) => ({
  ...OPERATOR,
  method: 'post' as const,
  path,
  operationId,
  summary,
});

export function createS3LocationApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  addCopyRoute(api);
  addCheckRoute(api);
  addRescueRoutes(api);
  return api;
}

function addCopyRoute(api: OpenAPIHono<JsonApiEnv>): void {
  const copy = createRoute({
    ...route('/v1/locations/s3/copy', 'copyOutside', 'Copy to the S3 location now, as cron does each minute'),
    request: jsonBody(copySchema),
    responses: { 200: jsonContent(copyReportSchema, 'The pass so far'), ...problemResponses(400, 401, 403, 409) },
  });
  api.openapi(copy, async (c) => {
    const location = openS3Location(c.env);
    if (location === null) return sendProblem(c, NO_LOCATION);
    const until = Date.now() + c.req.valid('json').max_seconds * 1000;
    const pass = await continuePass(c.env, location, () => Date.now() < until);
    const { through = null, scanned = 0, copied = 0, bytes = 0, failed = 0 } = pass ?? {};
    const finished = pass !== null && pass.range === null && pass.startedAt === through;
    const seen = through === null ? null : new Date(through).toISOString();
    return c.json({ through: seen, scanned, copied, copied_bytes: bytes, failed, finished }, 200);
  });
}

function addCheckRoute(api: OpenAPIHono<JsonApiEnv>): void {
  const check = createRoute({
    ...route('/v1/locations/s3/check', 'checkOutside', 'Compare the S3 location with R2, and its bytes with their MD5'),
    request: jsonBody(checkSchema),
    responses: { 200: jsonContent(checkReportSchema, 'What differs'), ...problemResponses(400, 401, 403, 409) },
  });
  api.openapi(check, async (c) => {
    const location = openS3Location(c.env);
    if (location === null) return sendProblem(c, NO_LOCATION);
    const { cursor, read, remove_damaged: remove, max_seconds: seconds } = c.req.valid('json');
    const until = Date.now() + seconds * 1000;
    const through = await readThrough(c.env);
    const options = { cursor, readsBytes: read, removesDamaged: read && remove, through };
    if (options.removesDamaged) await recordAudit(c, 'locations.check', SERVICE, { remove_damaged: true });
    return c.json(await checkS3Location(c.env, location, () => Date.now() < until, options), 200);
  });
}

function addRescueRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  const fill = createRoute({
    ...route('/v1/locations/s3/rescue', 'rescueFromOutside', 'Fill the first R2 bucket of an empty installation'),
    request: jsonBody(rescueSchema),
    responses: { 200: jsonContent(rescueReportSchema, 'What was copied'), ...problemResponses(400, 401, 403, 409) },
  });
  const refuse = async (env: Env) => {
    if (await mayRescue(env)) return null;
    return problem(409, 'not_empty', 'This installation is in use. Only an empty one can be rescued into.');
  };
  api.openapi(fill, async (c) => {
    const location = openS3Location(c.env);
    if (location === null) return sendProblem(c, NO_LOCATION);
    const refusal = await refuse(c.env);
    if (refusal !== null) return sendProblem(c, refusal);
    const { cursor, before, until, max_seconds: seconds } = c.req.valid('json');
    const end = Date.now() + seconds * 1000;
    const options = {
      cursor,
      before,
      until: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
      now: createClock(c.env)(),
    };
    const report = await fillFromS3Location(c.env, location, () => Date.now() < end, options);
    return c.json(report, 200);
  });
  const end = createRoute({
    ...route('/v1/locations/s3/rescue/end', 'endRescue', 'End a rescue, after the rebuilds'),
    request: jsonBody(endSchema),
    responses: { 204: { description: 'Ended' }, ...problemResponses(400, 401, 403, 409) },
  });
  api.openapi(end, async (c) => {
    const location = openS3Location(c.env);
    const { take_over: isTakenOver } = c.req.valid('json');
    if (location === null || !(await endRescue(c.env, location, isTakenOver))) return sendProblem(c, NO_LOCATION);
    await recordAudit(c, 'locations.rescue', SERVICE, { take_over: isTakenOver });
    return c.body(null, 204);
  });
}
