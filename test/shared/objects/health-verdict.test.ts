/** Tests that open health reads one row, and that it never answers with a verdict that is too old. */
import {
  createExecutionContext,
  createScheduledController,
  env as testEnv,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { judgeStores } from '../../../workers/shared/stores/health-verdict.ts';
import { type BindingCall, wrapEnvironment } from '../../support/platform/wrap-bindings.ts';

const env = testEnv as unknown as Env & { readonly ROOT_TOKEN: string };
const MINUTE_MS = 60_000;
/** Of one probe of all stores. docs/architecture.md has the number of databases that this allows. */
const QUERIES_PER_SHARD = 5;

interface Report {
  readonly httpStatus: number;
  readonly status: string;
  readonly unavailable?: readonly string[];
  readonly misconfigured?: readonly { readonly name: string; readonly message: string }[];
  readonly warnings: readonly { readonly name: string; readonly message: string }[];
}

interface Changes {
  readonly bindings?: Record<string, unknown>;
  /** Token of the caller. Absent: an open request. */
  readonly token?: string;
}

let calls: BindingCall[] = [];

async function readHealth({ bindings = {}, token }: Changes = {}): Promise<Report> {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const request = new Request('http://localhost/v1/health', headers && { headers });
  const counted = wrapEnvironment({ ...env, ...bindings } as Env, (call, run) => {
    calls.push(call);
    return run();
  });
  const answer = await worker.fetch(request as never, counted, createExecutionContext());
  return { httpStatus: answer.status, ...((await answer.json()) as Omit<Report, 'httpStatus'>) };
}

/** Runs cron once. The products' own work is left out. */
async function runCron(bindings: Record<string, unknown> = {}): Promise<void> {
  const context = createExecutionContext();
  const controller = createScheduledController({ scheduledTime: new Date(), cron: '* * * * *' });
  await worker.scheduled(controller, { ...env, ...bindings, PRODUCTS: 'storage' } as Env, context);
  await waitOnExecutionContext(context);
}

/** Moves all times of the verdict into the past. */
const age = (ms: number) =>
  env.DIRECTORY.prepare(
    'UPDATE health_verdict SET judged_at = judged_at - ?1, claimed_at = claimed_at - ?1, cron_at = cron_at - ?1',
  )
    .bind(ms)
    .run();

const failing = { prepare: () => ({ run: () => Promise.reject(new Error('D1_ERROR: gone')) }) };

/** Each D1 batch is one query, and each call of R2, an object or a queue is one request. */
const describeCalls = () => calls.map(({ binding, kind }) => `${kind} ${binding}`);

beforeEach(async () => {
  await env.DIRECTORY.prepare('DELETE FROM health_verdict').run();
  calls = [];
});

it('reads one row of DIRECTORY and asks no other store', async () => {
  await runCron();
  for (let request = 0; request < 3; request++) {
    calls = [];
    expect(await readHealth()).toMatchObject({ httpStatus: 200, status: 'ok', warnings: [] });
    expect(describeCalls()).toEqual(['d1 DIRECTORY']);
  }
  calls = [];
  await readHealth({ token: env.ROOT_TOKEN });
  const asked = (pattern: RegExp) => describeCalls().filter((call) => pattern.test(call)).length;
  expect(asked(/^d1 OBJECTS_0/)).toBeGreaterThan(0);
  expect(asked(/^d1 OBJECTS_0/)).toBeLessThanOrEqual(QUERIES_PER_SHARD);
  expect(asked(/^r2 BLOBS$/)).toBeGreaterThan(0);
});

it('answers from what cron found, and an operator from what is true now', async () => {
  await runCron();
  const bindings = { OBJECTS_1: failing };
  expect((await readHealth({ bindings })).status).toBe('ok');
  expect(await readHealth({ bindings, token: env.ROOT_TOKEN })).toMatchObject({
    httpStatus: 503,
    unavailable: ['OBJECTS_1'],
  });
  await env.DIRECTORY.prepare('DELETE FROM health_verdict').run();
  await runCron(bindings);
  expect(await readHealth()).toMatchObject({ httpStatus: 503, unavailable: ['OBJECTS_1'] });
  expect((await readHealth({ token: env.ROOT_TOKEN })).status).toBe('ok');
});

it('judges once before the first cron run, also if many ask', async () => {
  const reports = await Promise.all(Array.from({ length: 8 }, () => readHealth()));
  expect(calls.filter(({ binding }) => binding === 'OBJECTS_0').length).toBeLessThanOrEqual(QUERIES_PER_SHARD);
  expect(reports.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(1);
  for (const { httpStatus, unavailable } of reports)
    if (httpStatus === 503) expect(unavailable).toEqual(['the stores are being judged']);
  expect((await readHealth()).status).toBe('ok');
});

it('makes a new verdict if the last one is too old, warns of cron, and names the age while it has none', async () => {
  await runCron();
  await age(6 * MINUTE_MS);
  const bindings = { OBJECTS_1: failing };
  expect(await readHealth({ bindings })).toMatchObject({
    unavailable: ['OBJECTS_1'],
    warnings: [{ name: 'cron', message: 'last judged the stores 6 minutes ago' }],
  });
  await age(MINUTE_MS);
  const again = await readHealth();
  expect([again.httpStatus, again.warnings[0]?.name]).toEqual([200, 'cron']);
  // Another request has the claim, but gave no verdict.
  await age(6 * MINUTE_MS);
  await env.DIRECTORY.prepare('UPDATE health_verdict SET claimed_at = ?').bind(Date.now()).run();
  expect(await readHealth()).toMatchObject({
    httpStatus: 503,
    unavailable: ['the stores were last judged 6 minutes ago'],
  });
  await runCron();
  expect(await readHealth()).toMatchObject({ httpStatus: 200, warnings: [] });
});

it('keeps the verdict of the later one of two that judge at once', async () => {
  let end = () => {};
  const isSlow = new Promise<void>((resolve) => {
    end = resolve;
  });
  const findWarnings = async () => [];
  const early = judgeStores(env, { findWarnings, findSilent: () => isSlow.then(() => []) });
  await new Promise((resolve) => setTimeout(resolve, 2));
  await judgeStores({ ...env, OBJECTS_1: failing } as unknown as Env, { findWarnings, findSilent: async () => [] });
  end();
  await early;
  expect((await readHealth()).unavailable).toEqual(['OBJECTS_1']);
});

it('uses no verdict of another version of the Worker', async () => {
  await runCron();
  const bindings = { OBJECTS_1: failing, VERSION: { id: 'next', tag: '', timestamp: '' } };
  expect((await readHealth({ bindings })).unavailable).toEqual(['OBJECTS_1']);
  expect((await readHealth()).status).toBe('ok');
});

it('names DIRECTORY if the verdict cannot be read, and a bad setting at once', async () => {
  await runCron();
  expect(await readHealth({ bindings: { DIRECTORY: failing } })).toMatchObject({
    httpStatus: 503,
    unavailable: ['DIRECTORY'],
  });
  expect(await readHealth({ bindings: { MASTER_KEY: undefined } })).toMatchObject({
    status: 'misconfigured',
    misconfigured: [{ name: 'MASTER_KEY', message: 'is missing' }],
  });
  await env.DIRECTORY.prepare('ALTER TABLE health_verdict RENAME TO kept').run();
  expect(await readHealth()).toMatchObject({
    status: 'misconfigured',
    misconfigured: [{ name: 'DIRECTORY', message: 'lacks its tables: run npm run upgrade' }],
  });
  await env.DIRECTORY.prepare('ALTER TABLE kept RENAME TO health_verdict').run();
});

it('refuses a wrong credential', async () => {
  expect(await readHealth({ token: 'wrong' })).toMatchObject({ httpStatus: 401 });
});
