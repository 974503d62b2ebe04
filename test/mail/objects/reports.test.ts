import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { RETRY_POLICY } from '../../../workers/mail/domain/recipient-state.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

async function openOutbox(emails: readonly string[]) {
  const userId = crypto.randomUUID();
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const transport = openMailbox(env, userId);
  const message = {
    outboxId: crypto.randomUUID(),
    kind: 'forward' as const,
    headerMessageId: null,
    rawKey: `mail/${userId}/out/x`,
    ownsRaw: false,
    sizeBytes: 10,
    bodyHash: '',
    isEightBit: false,
    envelopeFrom: 'ann@example.test',
    recipients: emails.map((email) => ({ email, domain: email.split('@')[1] ?? '' })),
    holdUntil: 0,
  };
  const enqueue = async () => value(await transport.enqueueOutbox(message, 200));
  await enqueue();
  const claim = async () => value(await transport.claimOutbox({ limit: 10, leaseMs: 60_000, policy: RETRY_POLICY }));
  const list = async () => value(await transport.listDueReports(10));
  return { transport, message, enqueue, claim, list };
}

it('puts a recipient that fails during a report into a second report, and leaves the first unchanged', async () => {
  const { transport, claim, list } = await openOutbox(['early@far.test', 'late@far.test']);
  const [job] = await claim();
  if (!job) throw new Error('nothing was due');
  const refuse = async (ordinal: number) => {
    const outcome = { kind: 'refused' as const, code: 550, reply: '550 no' };
    const outcomes = [{ ordinal, outcome }];
    value(await transport.recordOutcomes(job.outboxId, job.leaseId, outcomes, RETRY_POLICY));
  };
  const recipientsOf = (reports: Awaited<ReturnType<typeof list>>) =>
    reports.map((report) => report.recipients.map(({ email }) => email));

  await refuse(0);
  const [first] = await list();
  expect(recipientsOf(await list())).toEqual([['early@far.test']]);
  await refuse(1);
  const both = await list();
  expect(recipientsOf(both).sort()).toEqual([['early@far.test'], ['late@far.test']]);
  // After a crash, the first report is made again under the same key, so the sender must receive it only once.
  const [again, other] = [...both].sort((a) => (a.reportId === first?.reportId ? -1 : 1));
  expect(again).toEqual(first);
  expect(other?.reportId).not.toBe(first?.reportId);
  if (!again || !other) throw new Error('two reports were due');
  await transport.finishReport(again);
  expect(recipientsOf(await list())).toEqual([['late@far.test']]);
  await transport.finishReport(other);
  expect(await list()).toEqual([]);
});

it('sends a message once that was enqueued twice under one id', async () => {
  const { enqueue, claim } = await openOutbox(['x@far.test']);
  await enqueue();
  expect((await claim()).map((job) => job.recipients.length)).toEqual([1]);
  expect(await claim()).toEqual([]);
});
