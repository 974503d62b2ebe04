/**
 * Tests people in several databases: everything works for a person in any of the databases, and nothing changes for existing people
 * when databases are added.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseNumberOf } from '../../../workers/shared/stores/directories.ts';
import { awaitMail, linkIn, resetTokenIn, setRecoveryAddress } from '../../support/mail/account-mail.ts';
import { awaitMessage, confirmSession, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

const PASSWORD = 'correct horse battery';

let server: TestServer;
/** A person who registered while there was one database. */
let ann: MailUser;
/** People who registered after databases were added, in different databases. */
let bob: MailUser;
let eve: MailUser;
let others: MailUser[];

const newName = () => `p${crypto.randomUUID()}`;
const callAs = (user: MailUser, method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, user.token);
const statusOf = async (answer: Promise<ApiAnswer>) => (await answer).status;
const toMail = (to: string, subject: string) =>
  `From: a@far.test\r\nTo: ${to}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\n\r\nhi\r\n`;
const receive = (to: string, subject: string) => postInbound(server, toMail(to, subject), { from: 'a@far.test', to });

async function arrivesAt(user: MailUser, to: string): Promise<void> {
  const subject = `to ${crypto.randomUUID()}`;
  expect((await receive(to, subject)).status).toBe(202);
  await awaitMessage(server, user, 'inbox', subject);
}

async function send(from: MailUser, to: MailUser, sender?: string): Promise<void> {
  const subject = `from ${crypto.randomUUID()}`;
  const message = { to: [{ email: to.email }], subject, body: 'x', ...(sender ? { from: { email: sender } } : {}) };
  expect(await statusOf(callAs(from, 'POST', '/v1/messages', message))).toBe(202);
  await awaitMessage(server, to, 'inbox', subject);
}

/** Reads every page of a list of operators. */
async function listAll(path: string): Promise<ApiAnswer['body'][]> {
  const all = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await server.call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=3${more}`);
    expect(status).toBe(200);
    all.push(...body.data);
    cursor = body.next_cursor;
  }
  return all;
}

beforeAll(async () => {
  server = await startServer({ directories: 1, vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, newName());
  await server.stop();
  await server.start({}, 5);
  others = [];
  while (new Set(others.map(({ userId }) => databaseNumberOf(userId))).size < 4)
    others.push(await registerUser(server, newName()));
  const [first, ...rest] = others as [MailUser, ...MailUser[]];
  bob = first;
  eve = rest.find(({ userId }) => databaseNumberOf(userId) !== databaseNumberOf(bob.userId)) as MailUser;
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

describe('people who register after databases were added', () => {
  it('are stored in the new databases, and people from before stay in DIRECTORY', () => {
    expect(databaseNumberOf(ann.userId)).toBe(0);
    expect(new Set(others.map(({ userId }) => databaseNumberOf(userId)))).toEqual(new Set([1, 2, 3, 4]));
  });

  it('exchange mail with people in all databases', async () => {
    await send(ann, bob);
    await send(bob, ann);
    await send(bob, eve);
    await Promise.all(others.map((user) => arrivesAt(user, user.email)));
  });

  it('cannot register an address of another person, wherever it was issued', async () => {
    for (const { email } of [ann, bob, eve]) {
      const taken = await server.call('POST', '/v1/auth/register', { email, password: PASSWORD, name: 'x' }, null);
      expect([taken.status, taken.body.code]).toEqual([409, 'address_taken']);
    }
    const email = `${newName()}@example.test`;
    const both = await Promise.all(
      [1, 2, 3].map(() => server.call('POST', '/v1/auth/register', { email, password: PASSWORD, name: 'x' }, null)),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  it('never share an email with a user that an operator created', async () => {
    const taken = await server.call('POST', '/v1/iam/users', { name: 'x', email: bob.email });
    expect([taken.status, taken.body.code]).toEqual([409, 'email_taken']);
    const email = `${newName()}@example.test`;
    expect(await statusOf(server.call('POST', '/v1/iam/users', { name: 'x', email }))).toBe(201);
    const late = await server.call('POST', '/v1/auth/register', { email, password: PASSWORD, name: 'x' }, null);
    expect([late.status, late.body.code]).toEqual([409, 'address_taken']);
  });
});

describe('a further address', () => {
  it.each([
    ['of a person from before', () => ann],
    ['of a person in a new database', () => bob],
  ])('%s receives, sends, is listed, and is never issued again', async (_, whose) => {
    const user = whose();
    // Four addresses select several databases, so very likely one that is not the user's own.
    const emails = Array.from({ length: 4 }, () => `${newName()}@example.test`);
    await confirmSession(server, user.token);
    for (const email of emails) {
      expect(await statusOf(callAs(user, 'POST', '/v1/me/addresses', { email }))).toBe(201);
      expect(await statusOf(callAs(user, 'POST', '/v1/me/addresses', { email }))).toBe(409);
      await arrivesAt(user, email);
      await send(user, eve, email);
    }
    expect((await callAs(user, 'GET', '/v1/me')).body.addresses).toEqual([user.email, ...emails]);
    expect(
      (
        await callAs(eve, 'POST', '/v1/messages', {
          from: { email: emails[0] },
          to: [{ email: ann.email }],
          subject: 'x',
          body: 'x',
        })
      ).body.code,
    ).toBe('foreign_sender');
    for (const email of emails) {
      expect(await statusOf(callAs(user, 'DELETE', `/v1/me/addresses/${email}`))).toBe(204);
      expect((await receive(email, 'late')).status).toBe(422);
      const again = { email, password: PASSWORD, name: 'x' };
      expect(await statusOf(server.call('POST', '/v1/auth/register', again, null))).toBe(409);
    }
  });

  it('may be a wildcard or at an alias of the domain, and a person may receive the rest of a domain', async () => {
    const main = `${crypto.randomUUID()}.test`;
    const alias = `${crypto.randomUUID()}.test`;
    for (const body of [
      { domain: main, catch_all: bob.email },
      { domain: alias, alias_of: main },
    ])
      expect(await statusOf(server.call('POST', '/v1/domains', body))).toBe(201);
    const start = newName();
    for (const email of [`${start}@${main}`, `${start}-*@${main}`])
      expect(await statusOf(server.call('POST', `/v1/accounts/${eve.userId}/addresses`, { email }))).toBe(201);
    await arrivesAt(eve, `${start}@${main}`);
    await arrivesAt(eve, `${start}-shop@${alias}`);
    await arrivesAt(bob, `nobody@${alias}`);
    expect((await callAs(eve, 'GET', '/v1/me')).body.addresses).toContain(`${start}@${alias}`);
    await send(eve, ann, `${start}@${alias}`);
  });
});

describe('a person in a new database', () => {
  it('logs in, changes the password, and sets a new one by a link', async () => {
    const user = await registerUser(server, newName());
    const login = (password: string) => server.call('POST', '/v1/auth/login', { email: user.email, password }, null);
    expect((await login('wrong horse')).body.code).toBe('wrong_login');
    const session = (await login(PASSWORD)).body.token;
    const passwords = { current_password: PASSWORD, new_password: 'another horse battery' };
    expect(await statusOf(server.call('POST', '/v1/me/password', passwords, session))).toBeLessThan(300);
    expect(await statusOf(login('another horse battery'))).toBe(200);
    const link = await server.call('POST', `/v1/accounts/${user.userId}/password-reset`);
    expect(link.status).toBe(201);
    const token = resetTokenIn(link.body.url);
    expect(token).toMatch(/^rst_[1-4]_/);
    const reset = { token, password: 'a third horse battery' };
    expect(await statusOf(server.call('POST', '/v1/auth/reset', reset, null))).toBeLessThan(300);
    expect((await server.call('POST', '/v1/auth/reset', reset, null)).body.code).toBe('invalid_reset_token');
    expect(await statusOf(login('a third horse battery'))).toBe(200);
  });

  it('uses object storage with own keys and policies, and loses each right at once', async () => {
    const user = await registerUser(server, newName());
    const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
    const policies = `/v1/iam/users/${user.userId}/policies/all`;
    expect(await statusOf(server.call('PUT', policies, policy))).toBe(204);
    const key = (await server.call('POST', `/v1/iam/users/${user.userId}/access-keys`)).body;
    expect(key.access_key_id).toMatch(/^TESD0[1-4]/);
    const s3 = createSdkClient(server.url, { accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key });
    const bucket = `b-${crypto.randomUUID()}`;
    expect(await put(s3, bucket, null)).toBe(200);
    expect(await put(s3, bucket, 'one')).toBe(200);
    expect(await get(s3, bucket)).toBe('one');
    await server.call('PUT', policies, { ...policy, Statement: [{ ...policy.Statement[0], Effect: 'Deny' }] });
    expect([await put(s3, bucket, 'two'), await get(s3, bucket)]).toEqual([403, 403]);
    await server.call('PUT', policies, policy);
    expect([await put(s3, bucket, 'three'), await get(s3, bucket)]).toEqual([200, 'three']);
    await server.call('PUT', `/v1/accounts/${user.userId}/suspension`, { reason: 'test' });
    expect([await put(s3, bucket, 'four'), await get(s3, bucket)]).toEqual([403, 403]);
    await server.call('DELETE', `/v1/accounts/${user.userId}/suspension`);
    expect([await put(s3, bucket, 'five'), await get(s3, bucket)]).toEqual([200, 'five']);
    expect(await statusOf(server.call('DELETE', `/v1/iam/access-keys/${key.access_key_id}`))).toBe(204);
    expect([await put(s3, bucket, 'six'), await get(s3, bucket)]).toEqual([403, 403]);
    expect(await statusOf(server.call('DELETE', `/v1/iam/users/${user.userId}`))).toBe(409);
  });

  it('cannot get an access key whose id names another database', async () => {
    const wanted = { access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: 'x'.repeat(40) };
    const refused = await server.call('POST', `/v1/iam/users/${bob.userId}/access-keys`, wanted);
    expect([refused.status, refused.body.errors?.[0]?.path]).toEqual([400, 'access_key_id']);
  });

  it('has tokens, which operators list and revoke', async () => {
    const made = await server.call('POST', '/v1/iam/tokens', { name: 't', user_id: bob.userId, scopes: ['mail'] });
    expect(made.status).toBe(201);
    const { token, token_id: id } = made.body;
    expect(await statusOf(server.call('GET', '/v1/me', undefined, token))).toBe(200);
    expect((await listAll('/v1/iam/tokens')).map((each) => each.token_id)).toContain(id);
    expect(await statusOf(server.call('DELETE', `/v1/iam/tokens/${id}`))).toBe(204);
    expect(await statusOf(server.call('GET', '/v1/me', undefined, token))).toBe(401);
  });

  it('sets a recovery address, and opens the account by a link mailed to it', async () => {
    const user = await registerUser(server, newName());
    const recovery = `${newName()}@far.test`;
    await setRecoveryAddress(server, user.token, recovery, PASSWORD);
    expect((await callAs(user, 'GET', '/v1/me')).body.recovery_address).toBe(recovery);
    const asked = server.call('POST', '/v1/auth/forgot', { email: user.email }, null);
    expect(await statusOf(asked)).toBeLessThan(300);
    const token = resetTokenIn(linkIn(await awaitMail(server, recovery, 'Set a new password')));
    const reset = { token, password: 'another horse battery' };
    expect(await statusOf(server.call('POST', '/v1/auth/reset', reset, null))).toBeLessThan(300);
  });

  it('is erased, with every address retired and no name left in the audit log', async () => {
    const user = await registerUser(server, newName());
    const alias = `${newName()}@example.test`;
    await confirmSession(server, user.token);
    expect(await statusOf(callAs(user, 'POST', '/v1/me/addresses', { email: alias }))).toBe(201);
    const refuse = { to: [{ email: 'nobody@' }], subject: 'x', body: 'x' };
    await callAs(user, 'POST', '/v1/messages', refuse);
    expect(await statusOf(server.call('DELETE', `/v1/iam/users/${user.userId}`))).toBe(204);
    for (const email of [user.email, alias]) {
      expect((await receive(email, 'late')).status).toBe(422);
      const again = { email, password: PASSWORD, name: 'x' };
      expect(await statusOf(server.call('POST', '/v1/auth/register', again, null))).toBe(409);
    }
    expect(await statusOf(server.call('GET', `/v1/iam/users/${user.userId}`))).toBe(404);
    const entries = await listAll(`/v1/audit?target=${user.userId}`);
    expect(entries.map(({ action }) => action)).toEqual(['user.delete']);
    expect(await listAll(`/v1/audit?actor=${user.userId}`)).toEqual([]);
  });
});

describe('operators', () => {
  it('list the users of all databases once each, in order', async () => {
    const ids = (await listAll('/v1/iam/users')).map((user) => user.user_id);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids).toEqual(expect.arrayContaining([ann, bob, eve, ...others].map(({ userId }) => userId)));
  });

  it('list errors and audit entries of all databases, newest first', async () => {
    for (const user of [ann, bob, eve]) {
      const refused = { to: [{ email: `${'x'.repeat(300)}@example.test` }], subject: 'x', body: 'x' };
      expect(await statusOf(callAs(user, 'POST', '/v1/messages', refused))).toBe(400);
    }
    const errors = await listAll('/v1/outbound/errors');
    const times = errors.map(({ created_at }) => created_at);
    expect(times).toEqual([...times].sort().reverse());
    expect(errors.map((each) => each.user_id)).toEqual(
      expect.arrayContaining([ann, bob, eve].map(({ userId }) => userId)),
    );
    const audit = (await listAll('/v1/audit')).map(({ at }) => at);
    expect(audit).toEqual([...audit].sort().reverse());
  });

  it('see a snapshot of every database', async () => {
    const snapshot = await server.call('POST', '/v1/storage/snapshot');
    expect(snapshot.status).toBe(200);
    expect(snapshot.body.further_directories).toHaveLength(4);
    const users = [snapshot.body.directory, ...snapshot.body.further_directories].map(({ rows }) => rows.user);
    expect(users.reduce((sum, count) => sum + count, 0)).toBe((await listAll('/v1/iam/users')).length);
    const collectors = (await server.call('GET', '/v1/collectors')).body.data;
    expect(collectors.filter((each: { collector: string }) => each.collector === 'directory')).toHaveLength(5);
  });
});

/** Finds the files of the database that has a user. */
function filesOf({ userId }: MailUser): string[] {
  const folder = join(server.directory, 'd1/miniflare-D1DatabaseObject');
  const names = readdirSync(folder).filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite');
  const hasUser = (name: string) => {
    const database = new DatabaseSync(join(folder, name));
    try {
      return database.prepare('SELECT 1 FROM user WHERE user_id = ?').get(userId) !== undefined;
    } catch {
      // A database of objects has no users.
      return false;
    } finally {
      database.close();
    }
  };
  const name = names.find(hasUser) ?? '';
  return ['', '-shm', '-wal'].map((end) => join(folder, name + end));
}

describe.each([
  ['a new database', () => bob, () => ann],
  ['DIRECTORY', () => ann, () => bob],
])('%s that was lost', (_, whose, whoseElse) => {
  it('defers mail and registrations until it is rebuilt from its snapshot', async () => {
    const [user, other] = [whose(), whoseElse()];
    const number = databaseNumberOf(user.userId);
    const name = number === 0 ? 'DIRECTORY' : `DIRECTORY_${number}`;
    expect(await statusOf(server.call('POST', '/v1/storage/snapshot'))).toBe(200);
    await server.stop();
    for (const file of filesOf(user)) rmSync(file, { force: true });
    await server.start({}, 5);
    expect((await server.call('GET', '/v1/health')).body.unavailable).toEqual([
      `${name} was lost and has not been rebuilt`,
    ]);
    expect((await receive(user.email, 'too early')).status).toBe(503);
    const again = { email: user.email, password: PASSWORD, name: 'x' };
    expect(await statusOf(server.call('POST', '/v1/auth/register', again, null))).toBe(503);
    if (number !== 0) await arrivesAt(other, other.email);
    const rebuilt = await server.call('POST', `/v1/storage/directory/rebuild?database=${number}`);
    expect([rebuilt.status, rebuilt.body.rows_restored > 0]).toEqual([200, true]);
    expect((await server.call('GET', '/v1/health')).status).toBe(200);
    await arrivesAt(user, user.email);
    const login = { email: user.email, password: PASSWORD };
    expect(await statusOf(server.call('POST', '/v1/auth/login', login, null))).toBe(200);
    expect(await statusOf(server.call('POST', '/v1/auth/register', again, null))).toBe(409);
    expect((await receive(`${newName()}@example.test`, 'unknown')).status).toBe(422);
    await arrivesAt(other, other.email);
  });
});

describe('a deployment without bindings of databases that have people', () => {
  it('never reports an address as unknown, and loses nothing', async () => {
    const subject = `kept ${crypto.randomUUID()}`;
    await server.stop();
    await server.start({}, 1);
    expect((await receive(bob.email, subject)).status).toBe(503);
    expect((await receive(`${newName()}@example.test`, subject)).status).toBe(503);
    await arrivesAt(ann, ann.email);
    const taken = { email: `${newName()}@example.test`, password: PASSWORD, name: 'x' };
    expect(await statusOf(server.call('POST', '/v1/auth/register', taken, null))).toBe(503);
    await server.stop();
    await server.start({}, 5);
    await arrivesAt(bob, bob.email);
  });
});

/** Puts an object, or creates the bucket if `body` is null. @returns the status. */
async function put(s3: S3Client, bucket: string, body: string | null): Promise<number> {
  const sent: Promise<{ $metadata: { httpStatusCode?: number } }> =
    body === null
      ? s3.send(new CreateBucketCommand({ Bucket: bucket }))
      : s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'k', Body: body }));
  return await sent.then(toStatus, toStatus);
}

const get = (s3: S3Client, bucket: string): Promise<string | number> =>
  s3
    .send(new GetObjectCommand({ Bucket: bucket, Key: 'k' }))
    .then(({ Body }) => Body?.transformToString() ?? '', toStatus);

const toStatus = ({ $metadata }: { $metadata: { httpStatusCode?: number } }): number => $metadata.httpStatusCode ?? 0;
