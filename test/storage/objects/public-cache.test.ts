/** Tests answers with public objects from the cache of the data centre, if the bucket's owner opted in. */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';

const bindings = env as unknown as Env;
let owner: string;

async function send(method: string, path: string, more: { as?: string; body?: string; headers?: HeadersInit } = {}) {
  const headers = new Headers(more.headers);
  if (more.as !== undefined) headers.set('authorization', `Bearer ${more.as}`);
  if (more.body !== undefined) headers.set('content-length', String(Buffer.byteLength(more.body)));
  const init = { method, headers, ...(more.body === undefined ? {} : { body: more.body }) };
  const request = new Request(`http://localhost${path}`, init) as Request<unknown, IncomingRequestCfProperties>;
  const context = createExecutionContext();
  const response = await worker.fetch(request, { ...bindings, CLOCK_OFFSET_SECONDS: String(clockOffset) }, context);
  const text = await response.text();
  await waitOnExecutionContext(context);
  return { status: response.status, text, headers: response.headers };
}

let clockOffset = 0;

beforeAll(async () => {
  const json = { 'content-type': 'application/json' };
  const root = bindings.ROOT_TOKEN;
  const user = await send('POST', '/v1/iam/users', { as: root, headers: json, body: '{"name":"public-cache"}' });
  const token = { name: 'x', user_id: JSON.parse(user.text).user_id, scopes: ['objects:read', 'objects:write'] };
  const made = await send('POST', '/v1/iam/tokens', { as: root, headers: json, body: JSON.stringify(token) });
  owner = JSON.parse(made.text).token;
});

const toTagging = (value: string) =>
  `<Tagging><TagSet><Tag><Key>tessera:public-cache-seconds</Key><Value>${value}</Value></Tag></TagSet></Tagging>`;

/** Creates a public bucket with the object `x`. @returns the path of the object. */
async function makeObject(seconds: string | null, condition: object = {}): Promise<string> {
  const bucket = `public-${crypto.randomUUID()}`;
  const statement = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${bucket}/*` };
  const policy = { Version: '2012-10-17', Statement: [{ ...statement, ...condition }] };
  await must('PUT', `/${bucket}`);
  await must('PUT', `/${bucket}?policy`, JSON.stringify(policy));
  if (seconds !== null) await must('PUT', `/${bucket}?tagging`, toTagging(seconds));
  await must('PUT', `/${bucket}/x`, 'first', { 'cache-control': 'max-age=5', 'content-type': 'text/plain' });
  return `/${bucket}/x`;
}

async function must(method: string, path: string, body?: string, headers: HeadersInit = {}): Promise<void> {
  const { status, text } = await send(method, path, { as: owner, headers, ...(body === undefined ? {} : { body }) });
  expect(status, text).toBeLessThan(300);
}

const read = async (path: string, headers: HeadersInit = {}) => (await send('GET', path, { headers })).text;

it('an anonymous read may be as old as the owner allows, and the owner reads what is stored', async () => {
  const path = await makeObject('60');
  const first = await send('GET', path);
  expect(first.text).toBe('first');
  await must('PUT', path, 'second');
  const cached = await send('GET', path);
  expect(cached).toMatchObject({ status: 200, text: 'first' });
  for (const name of ['etag', 'content-type', 'cache-control', 'last-modified', 'x-object-id']) {
    expect(cached.headers.get(name), name).toBe(first.headers.get(name));
  }
  expect([...cached.headers.keys()].filter((name) => name.startsWith('x-tessera'))).toEqual([]);
  expect(cached.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  expect((await send('GET', path, { as: owner })).text).toBe('second');
  await must('DELETE', path);
  expect(await read(path)).toBe('first');
  clockOffset += 61;
  // A caller without the right to list must get 403, so that it does not learn that an object is missing.
  expect((await send('GET', path)).status).toBe(403);
});

it('a read with the same entity tag is not modified', async () => {
  const path = await makeObject('60');
  const etag = (await send('GET', path)).headers.get('etag') ?? '';
  await must('DELETE', path);
  expect(await send('GET', path, { headers: { 'if-none-match': etag } })).toMatchObject({ status: 304, text: '' });
  expect((await send('GET', path, { headers: { 'if-none-match': '"other"' } })).status).toBe(403);
});

it.each([
  ['without the tag', null, {}, {}],
  ['if the policy has a condition', '60', { Condition: { Bool: { 'aws:SecureTransport': 'false' } } }, {}],
  ['with a range', '60', {}, { range: 'bytes=0-99' }],
  ['with an origin', '60', {}, { origin: 'https://other.test' }],
] as const)('a read sees each change %s', async (_, seconds, condition, headers) => {
  const path = await makeObject(seconds, condition);
  expect(await read(path)).toBe('first');
  await must('PUT', path, 'second');
  expect(await read(path, headers)).toBe('second');
});

it('a signed read fills no cache', async () => {
  const path = await makeObject('60');
  await must('DELETE', `${path.slice(0, -2)}?policy`);
  expect((await send('GET', path, { as: owner })).text).toBe('first');
  expect((await send('GET', path)).status).toBe(403);
});

it('a read with parameters, which may name an old version or be signed, fills no cache', async () => {
  const path = await makeObject('60', { Action: ['s3:GetObject', 's3:GetObjectVersion'] });
  expect(await read(`${path}?versionId=null`)).toBe('first');
  await must('PUT', path, 'second');
  expect(await read(path)).toBe('second');
});

it.each(['0', '3601', 'forever', ''])('a bad number of seconds is refused: %s', async (value) => {
  const [, bucket] = (await makeObject(null)).split('/');
  const answer = await send('PUT', `/${bucket}?tagging`, { as: owner, body: toTagging(value) });
  expect(answer).toMatchObject({ status: 400 });
  expect(answer.text).toContain('<Code>InvalidTag</Code>');
});
