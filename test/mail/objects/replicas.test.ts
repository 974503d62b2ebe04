/**
 * Mail in and out without DIRECTORY's primary: a replica that is behind, stuck or cut off never makes mail go to a wrong mailbox, be
 * lost, or be sent from an address that the account lost.
 */
import { applyD1Migrations, env as bindings, createExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import worker from '../../../workers/index.ts';
import { retireAddress } from '../../../workers/mail/accounts/addresses.ts';
import { mailboxObligation } from '../../../workers/mail/accounts/user-obligation.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { deleteDomain, saveDomain } from '../../../workers/mail/domains/domains.ts';
import { isHostedDomain, readDomainSettings } from '../../../workers/mail/domains/hosted-domains.ts';
import { receiveEmail } from '../../../workers/mail/inbound/accept/receive-email.ts';
import { createAccountStore } from '../../../workers/mail/store/account-store.ts';
import { addAddress } from '../../../workers/mail/store/address-store.ts';
import type { AuditRow } from '../../../workers/shared/audit/audit-store.ts';
import { userDatabaseOf } from '../../../workers/shared/stores/directories.ts';
import { ReplicatedDatabase } from '../../support/replicas.ts';

const real = bindings as unknown as Env;
const { MIGRATIONS, REPLICA_SYD } = bindings as unknown as {
  MIGRATIONS: Record<'directory', Parameters<typeof applyD1Migrations>[1]>;
  REPLICA_SYD: D1Database;
};

let directory: ReplicatedDatabase;
let env: Env;
/** Batches that the primary ran, and whether it answers. */
let primary: { asked: number; isDown: boolean };

/** A replica follows the primary at once, unless the test breaks it. It has the generation, but no other row, from before the test. */
beforeEach(async () => {
  await applyD1Migrations(REPLICA_SYD, MIGRATIONS.directory);
  const before = await real.DIRECTORY.prepare('SELECT generation FROM identity_generation').first<number>('generation');
  const level = 'INSERT OR REPLACE INTO identity_generation (one, generation) VALUES (1, ?)';
  await Promise.all(
    [real.DIRECTORY, REPLICA_SYD].map((each) =>
      each
        .prepare(level)
        .bind(before ?? 1)
        .run(),
    ),
  );
  primary = { asked: 0, isDown: false };
  const counted = {
    prepare: (sql: string) => real.DIRECTORY.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      primary.asked++;
      if (primary.isDown) throw new Error('D1_ERROR: Network connection lost (injected)');
      return real.DIRECTORY.batch(statements);
    },
  } as unknown as D1Database;
  directory = new ReplicatedDatabase(counted, { syd: REPLICA_SYD }, () => 1);
  env = { ...real, DIRECTORY: directory.viewFrom('syd') };
});
afterEach(() => void vi.useRealTimers());

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

async function call(
  method: string,
  path: string,
  token: string,
  body?: object,
): Promise<{ status: number; body: Json }> {
  const text = body && JSON.stringify(body);
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(text ? { 'content-type': 'application/json', 'content-length': String(text.length) } : {}),
      'cf-connecting-ip': `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`,
    },
    ...(text ? { body: text } : {}),
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env, createExecutionContext());
  const answered = await answer.text();
  return { status: answer.status, body: answered.startsWith('{') ? JSON.parse(answered) : answered };
}

interface Person {
  readonly email: string;
  /** Another address of the account, which it may lose. */
  readonly second: string;
  readonly userId: string;
  readonly token: string;
}

async function makePerson(domain = 'example.test'): Promise<Person> {
  const name = `p${crypto.randomUUID()}`;
  const email = `${name}@example.test`;
  const made = await call('POST', '/v1/auth/register', '', { email, password: 'correct horse battery', name });
  expect(made.status).toBe(201);
  const second = `second-${name}@${domain}`;
  const userId: string = made.body.user.user_id;
  expect(await addAddress(env, second, userId, Date.now())).toBe(true);
  return { email, second, userId, token: made.body.token };
}

/** @returns the reply: `accepted`, or the reason of the refusal. */
async function receive(to: string, environment = env): Promise<string> {
  const raw = `From: a@far.test\r\nTo: ${to}\r\nSubject: x\r\nMessage-ID: <${crypto.randomUUID()}@far.test>\r\n\r\nhi\r\n`;
  const rejects: string[] = [];
  const message = {
    from: 'a@far.test',
    to,
    raw: new Blob([raw]).stream(),
    rawSize: raw.length,
    setReject: (reason: string) => rejects.push(reason),
  } as unknown as ForwardableEmailMessage;
  await receiveEmail(message, environment);
  return rejects[0] ?? 'accepted';
}

/** Addresses that the mail in a mailbox was sent to. */
async function listReceived(userId: string): Promise<string[]> {
  const listed = await openMailbox(real, userId).listMessages('inbox', { offset: 0 }, 100);
  return listed.ok ? listed.value.flatMap((message) => message.to.map(({ email }) => email)) : [];
}
const listRaw = async (userId: string) =>
  (await real.BLOBS.list({ prefix: `mail/${userId}/in/` })).objects.map((object) => object.key);

const toAudit = (domain: string): AuditRow => ({
  ...{ at: Date.now(), entryId: crypto.randomUUID(), actorKind: 'root', actorId: 'root', action: 'domain.create' },
  ...{ targetType: 'domain', targetId: domain, network: null, userAgentDigest: null, requestId: 'x', details: {} },
});

/** A domain in DIRECTORY, as an operator adds it. */
async function makeDomain(change = {}): Promise<string> {
  const domain = `${crypto.randomUUID()}.test`;
  expect((await saveDomain(env, domain, change, toAudit)).ok).toBe(true);
  return domain;
}

const isolateElsewhere = (): Env => ({ ...real, DIRECTORY: directory.viewFrom('syd') });
const later = (ms: number) => void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

describe('mail to an address of an account', () => {
  it('is accepted without the primary, also while the primary does not answer', async () => {
    const ann = await makePerson();
    await directory.catchUp();
    primary = { asked: 0, isDown: true };
    for (const to of [ann.email, ann.second, ann.email.replace('@', '+tag@'), ann.email.toUpperCase()])
      expect(await receive(to)).toBe('accepted');
    expect(primary.asked).toBe(0);
    primary.isDown = false;
    await expect.poll(() => listReceived(ann.userId)).toHaveLength(4);
  });

  it('is accepted at once if it is new and no replica has it', async () => {
    directory.setFault('syd', 'stuck');
    const ann = await makePerson();
    expect(await receive(ann.email)).toBe('accepted');
    directory.setFault('syd', 'cut off');
    expect(await receive(ann.second)).toBe('accepted');
    await expect.poll(() => listReceived(ann.userId)).toHaveLength(2);
  });

  it('is refused once the account lost it, and the rest is still accepted', async () => {
    const ann = await makePerson();
    await directory.catchUp();
    directory.setFault('syd', 'stuck');
    expect((await call('DELETE', `/v1/accounts/${ann.userId}/addresses/${ann.second}`, real.ROOT_TOKEN)).status).toBe(
      204,
    );
    for (const to of [ann.second, ann.second.replace('@', '+tag@')]) expect(await receive(to)).toMatch(/^550 5\.1\.1/);
    expect(await receive(ann.email)).toBe('accepted');
    await expect.poll(() => listReceived(ann.userId)).toEqual([ann.email]);
    expect(await listRaw(ann.userId)).toHaveLength(1);
  });

  it('is accepted if only the mailbox learnt that the account loses it: the primary decides', async () => {
    const ann = await makePerson();
    await directory.catchUp();
    await openMailbox(real, ann.userId).retireAddress(ann.second);
    expect(await receive(ann.second)).toBe('accepted');
    await expect.poll(() => listReceived(ann.userId)).toEqual([ann.second]);
  });

  it('stays with the account if its mailbox cannot be told', async () => {
    const ann = await makePerson();
    const silent = { idFromName: () => ({}), get: () => ({ inTrace: () => Promise.reject(new Error('away')) }) };
    const cut = { ...env, MAILBOX: silent as unknown as Env['MAILBOX'] };
    await expect(retireAddress(cut, ann.second, ann.userId)).rejects.toMatchObject({ problem: { status: 503 } });
    expect(await createAccountStore(userDatabaseOf(real, ann.userId)).listAddresses(ann.userId)).toContain(ann.second);
    expect(await retireAddress(env, `none-${ann.second}`, ann.userId)).toBe(false);
  });

  it('goes to the catch-all once the account lost it, with its bytes', async () => {
    const [ann, bob] = [await makePerson(), await makePerson()];
    const domain = await makeDomain({ catch_all: bob.email });
    const lost = `lost@${domain}`;
    await addAddress(env, lost, ann.userId, Date.now());
    await directory.catchUp();
    directory.setFault('syd', 'stuck');
    expect(await retireAddress(env, lost, ann.userId)).toBe(true);
    expect(await receive(lost)).toBe('accepted');
    await expect.poll(() => listReceived(bob.userId)).toEqual([lost]);
    expect(await listReceived(ann.userId)).toEqual([]);
    expect(await listRaw(ann.userId)).toEqual([]);
    expect(await listRaw(bob.userId)).toHaveLength(1);
  });

  it('is refused after the account was erased', async () => {
    const ann = await makePerson();
    await directory.catchUp();
    directory.setFault('syd', 'stuck');
    await mailboxObligation.erase(ann.userId, env);
    expect(await receive(ann.email)).toMatch(/^550 5\.1\.1/);
    expect(await listRaw(ann.userId)).toEqual([]);
  });

  it('goes to the account it was issued to, also if a replica only knows the wildcard of another', async () => {
    const [ann, bob] = [await makePerson(), await makePerson()];
    const prefix = `w${crypto.randomUUID().slice(0, 8)}-`;
    await addAddress(env, `${prefix}*@example.test`, ann.userId, Date.now());
    await directory.catchUp();
    directory.setFault('syd', 'stuck');
    const exact = `${prefix}bob@example.test`;
    await addAddress(env, exact, bob.userId, Date.now());
    expect(await receive(exact)).toBe('accepted');
    expect(await receive(`${prefix}other@example.test`)).toBe('accepted');
    await expect.poll(() => listReceived(bob.userId)).toEqual([exact]);
    await expect.poll(() => listReceived(ann.userId)).toEqual([`${prefix}other@example.test`]);
  });

  it('is measured by the limit of its present account type', async () => {
    const ann = await makePerson();
    await directory.catchUp();
    directory.setFault('syd', 'stuck');
    const check = async (size: number) =>
      (await call('POST', '/v1/inbound/check', real.ROOT_TOKEN, { from: 'a@far.test', to: ann.email, size })).body
        .smtp_code;
    expect(await check(60_000_000)).toBe(552);
    await call('PATCH', `/v1/accounts/${ann.userId}`, real.ROOT_TOKEN, { account_type: 'business' });
    expect(await check(60_000_000)).toBe(250);
  });
});

describe('mail from an address of an account', () => {
  /** The message waits for a day, so that none is sent during the test. */
  const send = (person: Person, from?: string) =>
    call('POST', '/v1/messages', person.token, {
      ...(from === undefined ? {} : { from: { email: from } }),
      to: [{ email: 'b@far.test' }],
      subject: 'x',
      body: 'x',
      send_at: new Date(Date.now() + 24 * 3_600_000).toISOString(),
    });

  it('is submitted without the primary', async () => {
    const ann = await makePerson();
    await directory.catchUp();
    // The first message of an hour asks for a share of the hourly limit of the domain.
    expect((await send(ann)).status).toBe(202);
    primary = { asked: 0, isDown: true };
    for (const from of [undefined, ann.email, ann.email.replace('@', '+tag@'), ann.second])
      expect([from, (await send(ann, from)).status]).toEqual([from, 202]);
    expect(primary.asked).toBe(0);
  });

  it('is refused once the account lost it, and from an address of another account', async () => {
    const [ann, bob] = [await makePerson(), await makePerson()];
    await directory.catchUp();
    directory.setFault('syd', 'stuck');
    expect(await retireAddress(env, ann.second, ann.userId)).toBe(true);
    for (const from of [ann.second, bob.email, `none-${ann.email}`])
      expect([from, (await send(ann, from)).body.code]).toEqual([from, 'foreign_sender']);
    expect((await send(ann, ann.email)).status).toBe(202);
  });

  it('is submitted at once if it is new and no replica has it', async () => {
    directory.setFault('syd', 'stuck');
    const ann = await makePerson();
    expect((await send(ann, ann.second)).status).toBe(202);
  });
});

describe('the settings of a domain', () => {
  it('apply at once where they were changed, and within ten seconds elsewhere, whatever a replica has', async () => {
    const domain = await makeDomain();
    const elsewhere = isolateElsewhere();
    await directory.catchUp();
    expect((await readDomainSettings(elsewhere, domain)).row?.isHeld).toBe(false);
    directory.setFault('syd', 'stuck');
    await saveDomain(env, domain, { is_held: true }, toAudit);
    expect((await readDomainSettings(env, domain)).row?.isHeld).toBe(true);
    later(10_000);
    expect((await readDomainSettings(elsewhere, domain)).row?.isHeld).toBe(true);
  });

  it('ask the primary once in ten seconds for all domains, also for those without settings', async () => {
    const domain = await makeDomain();
    const elsewhere = isolateElsewhere();
    await directory.catchUp();
    primary.asked = 0;
    for (let n = 0; n < 20; n++) {
      expect((await readDomainSettings(elsewhere, `none-${n}.test`)).row).toBeNull();
      expect((await readDomainSettings(elsewhere, domain)).keys).toHaveLength(2);
    }
    expect(primary.asked).toBe(1);
  });

  it('no longer accept mail ten seconds after the domain was deleted, and accept it at once for a new one', async () => {
    const domain = await makeDomain();
    const ann = await makePerson(domain);
    const elsewhere = isolateElsewhere();
    await directory.catchUp();
    expect(await receive(ann.second, elsewhere)).toBe('accepted');
    directory.setFault('syd', 'stuck');
    expect(await isHostedDomain(elsewhere, 'new.example')).toBe(false);
    await deleteDomain(env, domain, toAudit);
    const made = await makeDomain();
    await addAddress(env, `new@${made}`, ann.userId, Date.now());
    expect(await receive(`new@${made}`, elsewhere)).toBe('accepted');
    await expect.poll(() => listReceived(ann.userId)).toHaveLength(2);
    later(10_000);
    expect(await receive(ann.second, elsewhere)).toMatch(/^550 5\.7\.1/);
  });
});
