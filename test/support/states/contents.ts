/**
 * What the stored state of a release holds. `fillState` writes it through the public API of a running server, so it works with every
 * release; `readState` reads all of it again. A test compares the two after an upgrade.
 */
import { createHash } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';

/** Credentials and ids that `readState` needs, and the answers that it must get. */
export interface StateFacts {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly scoreToken: string;
  readonly email: string;
  readonly password: string;
  /** Time at which the state was made, in milliseconds since 1970. A later server needs a clock of that month to show the board. */
  readonly madeAt: number;
  readonly contents: StateContents;
}

export interface StateContents {
  /** Versions by key, newest first: SHA-256 of the bytes, or null for a delete marker. */
  readonly objects: Readonly<Record<string, readonly (string | null)[]>>;
  /** Lines `rank user_id score` of the whole board. */
  readonly board: readonly string[];
  /** Lines `folder subject flags sha256-of-raw` of each message, sorted. */
  readonly messages: readonly string[];
  readonly labels: readonly string[];
}

const BUCKET = 'photos';
const PLAYERS = 40;
const PASSWORD = 'correct horse battery';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each caller knows the members that it reads
type Json = any;

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** Bytes that depend only on the seed. */
const bytesOf = (seed: string, length: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / 32) }, (_, n) => createHash('sha256').update(`${seed}:${n}`).digest()),
  ).subarray(0, length);

/** A server, and the credential with which it is called; null sends none. */
interface Client {
  readonly url: string;
  readonly token: string | null;
}

async function call({ url, token }: Client, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`);
  return text === '' ? null : JSON.parse(text);
}

/** @param clockOffsetMs how far the server's clock is ahead of ours: a signature bears the server's time. */
const openS3 = (url: string, key: { accessKeyId: string; secretAccessKey: string }, clockOffsetMs: number): S3Client =>
  new S3Client({
    endpoint: url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: key,
    systemClockOffset: clockOffsetMs,
  });

async function fillStorage(url: string, key: { accessKeyId: string; secretAccessKey: string }): Promise<void> {
  const s3 = openS3(url, key, 0);
  const put = (name: string, body: Uint8Array) =>
    s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: name, Body: body }));
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  await s3.send(new PutBucketVersioningCommand({ Bucket: BUCKET, VersioningConfiguration: { Status: 'Enabled' } }));
  await put('small.txt', bytesOf('small 1', 41));
  await put('small.txt', bytesOf('small 2', 4_000));
  // Repeats itself, so that the packed state stays small.
  await put('large.bin', Buffer.alloc(300_000, bytesOf('large', 1_024)));
  await put('deleted.txt', bytesOf('deleted', 100));
  await s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'deleted.txt' }));
}

async function fillMail(url: string): Promise<string> {
  const register = (name: string) =>
    call({ url, token: null }, 'POST', '/v1/auth/register', {
      email: `${name.toLowerCase()}@example.test`,
      password: PASSWORD,
      name,
    });
  const ada = await register('Ada');
  const grace = await register('Grace');
  const send = (message: object) => call({ url, token: grace.token }, 'POST', '/v1/messages', message);
  const to = [{ email: 'ada@example.test' }];
  await send({ to, subject: 'The lake house', body: 'Friday noon.' });
  const content = Buffer.alloc(30_000, bytesOf('ticket', 512)).toString('base64');
  await send({
    to,
    subject: 'Tickets',
    body: 'Yours is attached.',
    attachments: [{ file_name: 'ticket.pdf', content_type: 'application/pdf', content }],
  });
  for (;;) {
    const { data } = await call({ url, token: ada.token }, 'GET', '/v1/messages');
    const found = (data as Json[]).filter(({ subject }) => subject === 'Tickets' || subject === 'The lake house');
    if (found.length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      continue;
    }
    const tickets = found.find(({ subject }) => subject === 'Tickets');
    await call({ url, token: ada.token }, 'PATCH', `/v1/messages/${tickets.id}`, {
      is_read: true,
      is_flagged: true,
      labels: ['Journeys'],
    });
    break;
  }
  await call({ url, token: ada.token }, 'POST', '/v1/drafts', {
    to: [{ email: 'grace@example.test' }],
    subject: 'A draft',
    body: 'Half',
  });
  return 'ada@example.test';
}

/** Fills the empty store of a running server. @returns what `readState` needs. */
export async function fillState(url: string, rootToken: string): Promise<StateFacts> {
  const madeAt = Date.now();
  const user = await call({ url, token: rootToken }, 'POST', '/v1/iam/users', { name: 'owner' });
  const made = await call({ url, token: rootToken }, 'POST', `/v1/iam/users/${user.user_id}/access-keys`, {});
  const key = { accessKeyId: made.access_key_id, secretAccessKey: made.secret_access_key };
  await fillStorage(url, key);
  const { token: scoreToken } = await call({ url, token: rootToken }, 'POST', '/v1/iam/tokens', {
    name: 'game',
    scopes: ['scores:write'],
  });
  const updates = Array.from({ length: PLAYERS }, (_, n) => ({
    user_id: `player-${n}`,
    user_name: `Player ${n}`,
    points: (n * 37) % 23,
    event_id: `state-${n}`,
  }));
  await call({ url, token: scoreToken }, 'POST', '/v1/scores/batch', { updates });
  const email = await fillMail(url);
  const open = { ...key, scoreToken, email, password: PASSWORD, madeAt };
  return { ...open, contents: await readState(url, open) };
}

async function readStorage(
  url: string,
  facts: Omit<StateFacts, 'contents'>,
  clockOffsetMs: number,
): Promise<StateContents['objects']> {
  const s3 = openS3(url, facts, clockOffsetMs);
  const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket: BUCKET }));
  const rows = await Promise.all([
    ...Versions.map(async ({ Key = '', VersionId = '', LastModified }) => {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key, VersionId }));
      if (!Body) throw new Error(`${Key} has no body`);
      return { Key, at: Number(LastModified), VersionId, hash: sha256(await Body.transformToByteArray()) };
    }),
    ...DeleteMarkers.map(async ({ Key = '', VersionId = '', LastModified }) => ({
      Key,
      VersionId,
      at: Number(LastModified),
      hash: null,
    })),
  ]);
  // Version ids are sortable times. Both are compared, because a test can store two versions within a second.
  const sorted = rows.sort(
    (a, b) => a.Key.localeCompare(b.Key) || b.at - a.at || b.VersionId.localeCompare(a.VersionId),
  );
  const objects: Record<string, (string | null)[]> = {};
  for (const { Key, hash } of sorted) objects[Key] = [...(objects[Key] ?? []), hash];
  return objects;
}

async function readMail(url: string, token: string): Promise<string[]> {
  const lines: string[] = [];
  const folders: Json[] = await call({ url, token }, 'GET', '/v1/folders');
  for (const { id, name, role } of folders) {
    if (role === 'all') continue;
    const { data } = await call({ url, token }, 'GET', `/v1/folders/${id}/messages`);
    for (const message of data) {
      const raw = await fetch(`${url}/v1/messages/${message.id}/raw`, {
        headers: { authorization: `Bearer ${token}` },
      });
      // The raw form of a draft is written when it is read.
      const hash = raw.ok && role !== 'drafts' ? sha256(new Uint8Array(await raw.arrayBuffer())) : 'none';
      lines.push(`${name} | ${message.subject} | read ${message.is_read} | flag ${message.is_flagged} | ${hash}`);
    }
  }
  return lines.sort();
}

/**
 * Reads everything that `fillState` wrote, with the credentials that it made.
 *
 * @param clockOffsetMs how far the server's clock is ahead of ours
 */
export async function readState(
  url: string,
  facts: Omit<StateFacts, 'contents'>,
  clockOffsetMs = 0,
): Promise<StateContents> {
  const { data: entries } = await call({ url, token: null }, 'GET', '/v1/scores?exact=1&limit=100');
  const { email, password } = facts;
  const { token } = await call({ url, token: null }, 'POST', '/v1/auth/login', { email, password });
  const { data: labels } = await call({ url, token }, 'GET', '/v1/labels');
  return {
    objects: await readStorage(url, facts, clockOffsetMs),
    board: (entries as Json[]).map((entry) => `${entry.rank} ${entry.user_id} ${entry.score}`),
    messages: await readMail(url, token),
    labels: (labels as Json[]).map(({ label, total }) => `${label} ${total}`),
  };
}
