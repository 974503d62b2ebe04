/** Tests the trace of a request in the log lines of Durable Objects, and the counters. */
import { createExecutionContext, runInDurableObject, env as testEnv } from 'cloudflare:test';
import { afterEach, expect, it, vi } from 'vitest';
import { LeaderboardView } from '../../../durable-objects/leaderboard/view/index.ts';
import { Mailbox } from '../../../durable-objects/mail/index.ts';
import { runMetricsSchedule } from '../../../workers/identity/operators/metrics-routes.ts';
import worker from '../../../workers/index.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { MailboxJobs } from '../../../workers/mail/mailbox-jobs.ts';
import { countError, countOperation } from '../../../workers/shared/telemetry/counters.ts';
import { runInvocation } from '../../../workers/shared/telemetry/invocation.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import { estimateDollars } from '../../../workers/shared/telemetry/prices.ts';

const env = testEnv as unknown as Env;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

interface Line {
  readonly event: string;
  readonly trace_id?: string;
}
const lines: Line[] = [];
const keep = (text: unknown) => void (String(text).startsWith('{') && lines.push(JSON.parse(String(text))));

afterEach(() => {
  lines.length = 0;
  vi.restoreAllMocks();
});

it('is the same in the Worker and in the object that it calls', async () => {
  vi.spyOn(console, 'log').mockImplementation(keep);
  vi.spyOn(console, 'error').mockImplementation(keep);
  vi.spyOn(Mailbox.prototype, 'readProfile').mockImplementation(async () => {
    logError('profile_read', 'in the object');
    return { ok: false, error: { kind: 'no_mailbox' } };
  });
  expect(await runInvocation(env, TRACE, () => openMailbox(env, 'ann').readProfile())).toMatchObject({ ok: false });
  vi.spyOn(LeaderboardView.prototype, 'top').mockImplementation(() => {
    logError('top_read', 'in the object');
    throw new Error('away');
  });
  await env.DIRECTORY.prepare(
    "INSERT INTO season(season, board, ends_at, shards, created_at) VALUES (strftime('%Y-%m', 'now'), '', unixepoch('now', '+1 month') * 1000, 4, 0)",
  ).run();
  const request = new Request('http://localhost/v1/scores', {
    headers: { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` },
  });
  await worker.fetch(request as Request<unknown, IncomingRequestCfProperties>, env, createExecutionContext());
  const traces = new Map(lines.map(({ event, trace_id }) => [event, trace_id]));
  expect([traces.get('profile_read'), traces.get('top_read'), traces.get('request')]).toEqual([TRACE, TRACE, TRACE]);
});

/** Returns the bindings of a deployment (without `LOCAL`), and a list that records its data points. */
function deployed(changes: Record<string, string> = {}) {
  const points: AnalyticsEngineDataPoint[] = [];
  const COUNTERS = { writeDataPoint: (point: AnalyticsEngineDataPoint) => void points.push(point) };
  const VERSION = { id: 'v1', tag: '', timestamp: '' };
  return { points, deployment: { ...env, LOCAL: '', COUNTERS, VERSION, ...changes } as unknown as Env };
}

it('counts each failure, and one of ten successes with the weight of ten', () => {
  const { points, deployment } = deployed();
  vi.spyOn(Math, 'random').mockReturnValueOnce(0.5).mockReturnValueOnce(0.05);
  countOperation(deployment, 'storage_read', 'ok', 20);
  countOperation(deployment, 'storage_read', 'ok', 30);
  countOperation(deployment, 'score_write', 'failed', 7);
  runInvocation(deployment, TRACE, () => countError('blob_lost'));
  expect(points).toEqual([
    { indexes: ['storage_read'], blobs: ['operations', 'storage_read', 'ok', 'v1'], doubles: [10, 300] },
    { indexes: ['score_write'], blobs: ['operations', 'score_write', 'failed', 'v1'], doubles: [1, 7] },
    { indexes: ['blob_lost'], blobs: ['errors', 'blob_lost', '', 'v1'], doubles: [1, 0] },
  ]);
});

it('logs an alarm if the estimate of a day is over the limit', async () => {
  vi.spyOn(console, 'log').mockImplementation(keep);
  vi.spyOn(console, 'error').mockImplementation(keep);
  const queries: string[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_, init) => {
    queries.push(String(init?.body));
    const row = { name: 'operations', label: 'mail_out', outcome: 'ok', count: '100000', ms: 5 };
    return Response.json({ data: [row], rows: 1 });
  });
  const at = { cron: '17 3 * * *', scheduledTime: Date.now() } as ScheduledController;
  const account = { ANALYTICS_TOKEN: 'a-token', ANALYTICS_URL: 'https://analytics.example/sql' };
  const dollars = estimateDollars({ operations: { mail_out: 100_000 } });
  const [below, above] = [Math.floor(dollars), Math.ceil(dollars)];
  await runMetricsSchedule(at, deployed({ ...account, COST_ALARM_DOLLARS: String(below) }).deployment);
  expect(lines.map(({ event }) => event)).toEqual(['cost_estimated', 'cost_alarm']);
  expect(lines[1]).toMatchObject({ dollars: Number(dollars.toFixed(2)), limit_dollars: below });
  lines.length = 0;
  await runMetricsSchedule(at, deployed({ ...account, COST_ALARM_DOLLARS: String(above) }).deployment);
  await runMetricsSchedule(at, deployed(account).deployment);
  await runMetricsSchedule(at, deployed().deployment);
  expect(lines.map(({ event }) => event)).toEqual(['cost_estimated', 'cost_estimated']);
  expect(queries[0]).toMatch(/FROM tessera_counters WHERE timestamp >= toDateTime\(\d{10}\)/);
});

it('of an alarm is its own, and that of the jobs that it gives to the Worker', async () => {
  vi.spyOn(console, 'log').mockImplementation(keep);
  vi.spyOn(console, 'error').mockImplementation(keep);
  vi.spyOn(MailboxJobs.prototype, 'deleteBlobs').mockImplementation(async () => {
    logError('job_failed', 'in the Worker');
    throw new Error('R2 is away');
  });
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  await runInDurableObject(mailbox as unknown as DurableObjectStub<Mailbox>, async (object, state) => {
    state.storage.sql.exec("INSERT INTO garbage(r2_key, since) VALUES ('mail/x/in/1', 0)");
    await runInvocation(env, TRACE, () => object.alarm());
  });
  const traces = new Map(lines.map(({ event, trace_id }) => [event, trace_id]));
  expect(traces.get('wake_failed')).toMatch(/^[0-9a-f]{32}$/);
  expect(traces.get('wake_failed')).not.toBe(TRACE);
  expect(traces.get('job_failed')).toBe(traces.get('wake_failed'));
});
