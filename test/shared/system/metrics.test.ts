/** Tests `GET /v1/metrics` of a running server, and the traces in its log. */

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awaitMessage, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
});
afterAll(() => server[Symbol.asyncDispose]());

async function scrape(accept = 'text/plain', token = server.rootToken) {
  const response = await fetch(`${server.url}/v1/metrics`, { headers: { accept, authorization: `Bearer ${token}` } });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

/** Parses metrics: values by name with labels. */
const readSamples = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );

it('are for operators only', async () => {
  expect((await server.call('GET', '/v1/metrics', undefined, null)).status).toBe(401);
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  expect((await scrape('text/plain', body.token)).status).toBe(403);
});

it('count operations by outcome, and have the form that the client accepts', async () => {
  for (let n = 0; n < 3; n++) await server.call('GET', '/v1/scores', undefined, null);
  await server.call('POST', '/v1/scores', {}, null);
  await fetch(`${server.url}/no-such-bucket/key`);
  const plain = await scrape();
  expect([plain.status, plain.type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  const samples = readSamples(plain.text);
  expect(samples.get('tessera_operations_total{operation="score_read",outcome="ok"}')).toBe(3);
  expect(samples.get('tessera_operations_total{operation="score_write",outcome="refused"}')).toBe(1);
  expect(samples.get('tessera_operations_total{operation="storage_read",outcome="refused"}')).toBe(1);
  expect(samples.get('tessera_counters_available')).toBe(1);
  expect(samples.get('tessera_collector_alarm{collector="mail"}')).toBe(0);
  expect(samples.get('tessera_mail_recipients_waiting{state="deferred"}')).toBe(0);
  expect(samples.get('tessera_database_bytes{database="DIRECTORY"}')).toBeGreaterThan(100_000);
  expect(samples.get('tessera_cost_estimate_dollars')).toBeGreaterThan(0);
  const bucketOf = (le: string) =>
    samples.get(`tessera_operation_duration_seconds_bucket{operation="score_read",outcome="ok",le="${le}"}`);
  const bounds = ['0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '+Inf'].map(bucketOf);
  expect(bounds.at(-1)).toBe(3);
  expect([...bounds].sort((a, b) => (a ?? -1) - (b ?? -1))).toEqual(bounds);
  expect(samples.get('tessera_operation_duration_seconds_count{operation="score_read",outcome="ok"}')).toBe(3);
  expect(samples.get('tessera_isolate_starts_total')).toBeGreaterThanOrEqual(1);
  const open = await scrape(OPEN_METRICS);
  expect(open.text).toContain('# TYPE tessera_operation_duration_seconds histogram\n');
  expect([open.type, open.text.endsWith('\n# EOF\n')]).toEqual([`${OPEN_METRICS}; charset=utf-8`, true]);
  expect(open.text).toContain('# TYPE tessera_operations counter\n');
  expect(plain.text).toContain('# TYPE tessera_operations_total counter\n');
});

it('say how fast the stores answer, what waits, and how old the copies for disasters are', async () => {
  const before = readSamples((await scrape()).text);
  for (const store of ['DIRECTORY', 'OBJECTS_0', 'BLOBS', 'BLOBS_2'])
    expect(before.get(`tessera_store_seconds{store="${store}"}`)).toBeGreaterThanOrEqual(0);
  for (const queue of ['MAIL_OUTBOUND', 'STORAGE_TASKS'])
    expect(before.get(`tessera_queue_messages{queue="${queue}"}`)).toBeGreaterThanOrEqual(0);
  expect(before.get('tessera_copies_missing{database="OBJECTS_0"}')).toBe(0);
  expect(before.get('tessera_journal_lag_seconds{database="OBJECTS_0"}')).toBe(0);
  expect(before.has('tessera_snapshot_age_seconds{database="OBJECTS_0"}')).toBe(false);
  const { accessKeyId, secretAccessKey } = await server.createAccessKey('lag');
  const s3 = new S3Client({
    endpoint: server.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  await s3.send(new CreateBucketCommand({ Bucket: 'lagging' }));
  await s3.send(new PutObjectCommand({ Bucket: 'lagging', Key: 'a', Body: 'x' }));
  const lagging = readSamples((await scrape()).text);
  expect(lagging.get('tessera_journal_lag_seconds{database="OBJECTS_0"}')).toBeGreaterThan(0);
  expect((await server.call('POST', '/v1/storage/snapshot', {})).status).toBe(200);
  expect((await server.call('POST', '/v1/storage/doubt', {})).status).toBe(200);
  const after = readSamples((await scrape()).text);
  expect(after.get('tessera_journal_lag_seconds{database="OBJECTS_0"}')).toBe(0);
  for (const database of ['DIRECTORY', 'OBJECTS_0'])
    expect(after.get(`tessera_snapshot_age_seconds{database="${database}"}`)).toBeLessThan(600);
});

it('have the trace of a request in the log of the Worker and of the queue consumer', async () => {
  const ann = await registerUser(server, 'ann');
  const response = await fetch(`${server.url}/v1/inbound`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.rootToken}`,
      'content-type': 'message/rfc822',
      'x-envelope-from': 'b@elsewhere.test',
      'x-envelope-to': ann.email,
      traceparent: PARENT,
    },
    body: 'From: b@elsewhere.test\r\nSubject: Traced\r\n\r\nTraced.\r\n',
  });
  expect(response.status).toBe(202);
  await awaitMessage(server, ann, 'inbox', 'Traced');
  const traced = await until('both log lines', async () => {
    const lines = readFileSync(join(server.directory, 'server.log'), 'utf8').split('\n');
    const events = lines.filter((line) => line.includes(TRACE)).map((line) => JSON.parse(line).event as string);
    return events.includes('mail_accepted') && events.includes('incoming_finished') ? events : undefined;
  });
  expect(traced).toContain('request');
});

it('come from Analytics Engine where there is one, and only the counters are missing if it does not answer', async () => {
  const queries: { authorization: string | undefined; sql: string }[] = [];
  let isDown = false;
  const analytics: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    queries.push({ authorization: request.headers.authorization, sql: Buffer.concat(chunks).toString() });
    if (isDown) return response.writeHead(500).end();
    const rows = [
      {
        name: 'operations',
        label: 'mail_read',
        outcome: 'ok',
        count: '1200000',
        ms: 36000000,
        at4: '900000',
        at5: 1100000,
      },
      { name: 'errors', label: 'blob_lost', outcome: '', count: 2, ms: 0 },
    ];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: rows, rows: 2 }));
  });
  await new Promise<void>((resolve) => analytics.listen(0, '127.0.0.1', resolve));
  try {
    await server.stop();
    const url = `http://127.0.0.1:${(analytics.address() as AddressInfo).port}/sql`;
    await server.start({ ANALYTICS_TOKEN: 'token-of-analytics', ANALYTICS_URL: url });
    const samples = readSamples((await scrape()).text);
    expect(samples.get('tessera_operations_total{operation="mail_read",outcome="ok"}')).toBe(1_200_000);
    expect(samples.get('tessera_operation_seconds_total{operation="mail_read",outcome="ok"}')).toBe(36_000);
    const bucket = 'tessera_operation_duration_seconds_bucket{operation="mail_read",outcome="ok"';
    expect(samples.get(`${bucket},le="0.25"}`)).toBe(900_000);
    expect(samples.get(`${bucket},le="0.5"}`)).toBe(1_100_000);
    expect(samples.get(`${bucket},le="+Inf"}`)).toBe(1_200_000);
    expect(queries[0]?.sql).toContain('sum(if(double2 <= 250 * double1, _sample_interval * double1, 0)) AS at4');
    expect(samples.get('tessera_errors_total{event="blob_lost"}')).toBe(2);
    // Expected dollars per million operations: 0.30 for the request, 0.04 for 2 ms, 0.15 for the call of a Durable Object, 0.025 for a
    // tenth of a data point.
    expect(samples.get('tessera_cost_estimate_dollars')).toBeCloseTo(1.2 * 0.515, 5);
    expect(queries[0]?.authorization).toBe('Bearer token-of-analytics');
    expect(queries[0]?.sql).toMatch(/^SELECT .* FROM tessera_counters WHERE .* FORMAT JSON$/);
    isDown = true;
    const rest = readSamples((await scrape()).text);
    expect(rest.get('tessera_counters_available')).toBe(0);
    expect(rest.get('tessera_database_bytes{database="DIRECTORY"}')).toBeGreaterThan(0);
    expect([...rest.keys()].some((name) => name.startsWith('tessera_operations'))).toBe(false);
  } finally {
    analytics.closeAllConnections();
    await new Promise((resolve) => analytics.close(resolve));
  }
});
