/** Two workers and one message: the first one's lease ends, a second one works, then the first one's late result arrives. */
import { env, runInDurableObject } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { markPublished } from '../../../durable-objects/mail/outbox/outbox-report-store.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import type { AttemptOutcome } from '../../../workers/mail/domain/recipient-state.ts';
import { RETRY_POLICY } from '../../../workers/mail/domain/recipient-state.ts';
import { sendReports } from '../../../workers/mail/outbound/send-reports.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

/** Retries at once, so that a second worker may take a recipient while the first one holds others. */
const AT_ONCE = { ...RETRY_POLICY, firstDelayMs: 0, delayMsMax: 0 };
const REFUSED: AttemptOutcome = { kind: 'refused', code: 550, reply: '550 no' };
const DEFERRED: AttemptOutcome = { kind: 'deferred', code: 450, reply: '450 later' };
const SENT: AttemptOutcome = { kind: 'sent', code: 250, reply: '250 ok' };

async function openOutbox(emails: readonly string[], envelopeFrom = 'ann@example.test', ownsRaw = false) {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const outboxId = crypto.randomUUID();
  const rawKey = `mail/${userId}/out/x`;
  await env.BLOBS.put(rawKey, 'Subject: x\r\n\r\nx\r\n');
  const recipients = emails.map((email) => ({ email, domain: email.split('@')[1] ?? '' }));
  const about = { headerMessageId: null, rawKey, ownsRaw, sizeBytes: 10, bodyHash: '', isEightBit: false };
  value(
    await mailbox.enqueueOutbox({ outboxId, kind: 'forward', envelopeFrom, recipients, holdUntil: 0, ...about }, 200),
  );
  const claim = async () =>
    value(await mailbox.claimOutbox({ limit: 10, leaseMs: 60_000, policy: AT_ONCE }))[0] ??
    Promise.reject(new Error('nothing was due'));
  const record = async (leaseId: string, ordinal: number, outcome: AttemptOutcome) =>
    value(await mailbox.recordOutcomes(outboxId, leaseId, [{ ordinal, outcome }], AT_ONCE));
  const inSql = <T>(work: (sql: SqlStorage) => T) =>
    runInDurableObject(mailbox as unknown as DurableObjectStub, (_, state) => work(state.storage.sql));
  const rows = (table: string) => inSql((sql) => Number(sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n));
  return { mailbox, userId, rawKey, claim, record, inSql, rows };
}

it('ignores the late result of a worker whose recipient another worker has, though it holds others', async () => {
  const { mailbox, claim, record } = await openOutbox(['first@far.test', 'second@far.test']);
  const old = await claim();
  await record(old.leaseId, 0, DEFERRED);
  const present = await claim();
  expect(present.recipients.map(({ ordinal }) => ordinal)).toEqual([0]);
  // The answer of the old worker's call was lost, so it repeats the call, with a better result.
  await record(old.leaseId, 0, SENT);
  await record(present.leaseId, 0, REFUSED);
  const [report] = value(await mailbox.listDueReports(10));
  expect(report?.recipients.map(({ email }) => email)).toEqual(['first@far.test']);
});

it('keeps the bytes of a message until its report has been made', async () => {
  const { mailbox, claim, record, rows } = await openOutbox(['x@far.test'], 'ann@example.test', true);
  const job = await claim();
  await record(job.leaseId, 0, REFUSED);
  expect(await rows('garbage')).toBe(0);
  const [report] = value(await mailbox.listDueReports(10));
  if (!report) throw new Error('no report is due');
  value(await mailbox.finishReport(report));
  expect(await rows('garbage')).toBe(1);
});

it('makes a report again whose step was cut, and makes none for the null sender', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const { mailbox, userId, claim, record, rows } = await openOutbox(['x@far.test'], 'ann@elsewhere.test');
  const job = await claim();
  await record(job.leaseId, 0, REFUSED);
  const full = new Proxy(env.BLOBS, {
    get: (target, name) =>
      name === 'put' ? () => Promise.reject(new Error('full')) : Reflect.get(target, name).bind(target),
  });
  await expect(sendReports({ ...env, BLOBS: full, BLOBS_2: full } as unknown as Env, userId)).rejects.toThrow('full');
  expect(value(await mailbox.listDueReports(10))).toHaveLength(1);
  await sendReports(env, userId);
  expect(await rows("outbox WHERE kind = 'report'")).toBe(1);
  expect(value(await mailbox.listDueReports(10))).toEqual([]);

  const silent = await openOutbox(['x@far.test'], '');
  const bounced = await silent.claim();
  await silent.record(bounced.leaseId, 0, REFUSED);
  await sendReports(env, silent.userId);
  expect(await silent.rows("outbox WHERE kind = 'report'")).toBe(0);
  expect(value(await silent.mailbox.listDueReports(10))).toEqual([]);
});

it('publishes a message again that changed while its state was on the way to the operator', async () => {
  const { claim, record, inSql } = await openOutbox(['x@far.test']);
  const job = await claim();
  const row = () =>
    inSql((sql) =>
      sql.exec<{ version: number; publish_at: number | null }>('SELECT version, publish_at FROM outbox').one(),
    );
  const before = await row();
  await record(job.leaseId, 0, REFUSED);
  await inSql((sql) => markPublished(sql, [{ outboxId: job.outboxId, version: before.version }]));
  const changed = await row();
  expect(changed.version).toBeGreaterThan(before.version);
  expect(changed.publish_at).not.toBeNull();
  await inSql((sql) => markPublished(sql, [{ outboxId: job.outboxId, version: changed.version }]));
  expect((await row()).publish_at).toBeNull();
});
