import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { type AttemptOutcome, RETRY_POLICY } from '../../../workers/mail/domain/recipient-state.ts';
import { readQueueGroups } from '../../../workers/mail/store/queue-store.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const OUTCOMES: Record<string, AttemptOutcome> = {
  sent: { kind: 'sent', code: 250, reply: '250 ok' },
  failed: { kind: 'refused', code: 550, reply: '550 no' },
  deferred: { kind: 'deferred', code: 450, reply: '450 later' },
};

/** Creates a message with one recipient per state, after one attempt. */
async function openAttempted(states: readonly string[]) {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const outboxId = crypto.randomUUID();
  const emails = states.map((state, at) => `${state}${at}@Far.test`);
  const message = {
    outboxId,
    kind: 'forward' as const,
    headerMessageId: null,
    rawKey: `mail/${userId}/out/x`,
    ownsRaw: false,
    sizeBytes: 10,
    bodyHash: '',
    isEightBit: false,
    envelopeFrom: 'ann@example.test',
    recipients: emails.map((email) => ({ email, domain: 'far.test' })),
    holdUntil: 0,
  };
  value(await mailbox.enqueueOutbox(message, 200));
  const claim = async () => value(await mailbox.claimOutbox({ limit: 10, leaseMs: 60_000, policy: RETRY_POLICY }));
  const [job] = await claim();
  if (!job) throw new Error('nothing was due');
  const outcomes = states.flatMap((state, ordinal) => {
    const outcome = OUTCOMES[state];
    return outcome ? [{ ordinal, outcome }] : [];
  });
  value(await mailbox.recordOutcomes(job.outboxId, job.leaseId, outcomes, RETRY_POLICY));
  const due = async () => (await claim()).flatMap((each) => each.recipients.map(({ email }) => email)).sort();
  return { mailbox, outboxId, due };
}

describe('a retry by the operator', () => {
  it.each([
    [['deferred', 'failed'], null, ['deferred0@Far.test']],
    [['failed', 'deferred', 'deferred'], null, ['deferred1@Far.test', 'deferred2@Far.test']],
    [['failed', 'failed'], null, []],
    [['sent', 'failed'], null, []],
    [['sent', 'deferred'], null, ['deferred1@Far.test']],
    [['deferred', 'failed'], ['failed1@far.test'], ['failed1@Far.test']],
    [
      ['deferred', 'failed'],
      ['deferred0@far.test', 'failed1@far.test'],
      ['deferred0@Far.test', 'failed1@Far.test'],
    ],
    [['deferred', 'deferred'], ['deferred1@far.test'], ['deferred1@Far.test']],
    [['sent', 'failed'], ['sent0@far.test'], []],
    [['failed'], ['failed0@far.test', 'failed0@far.test'], ['failed0@Far.test']],
    [['deferred'], ['stranger@far.test'], []],
    [['deferred', 'failed'], ['failed1@far.test', 'stranger@far.test'], []],
    [['deferred'], ['deferred0@far.test '], []],
    [['deferred'], [''], []],
  ])('of %j, named %j, sends to %j', async (states, named, expected) => {
    const { mailbox, outboxId, due } = await openAttempted(states);
    const { count, unknown } = value(await mailbox.retryOutbox(outboxId, named));
    expect(count).toBe(expected.length);
    expect(unknown).toEqual((named ?? []).filter((email) => !/^(?:deferred|failed|sent)\d@far\.test$/.test(email)));
    expect(await due()).toEqual(expected);
  });

  it('does not give a waiting recipient another five days, nor its sender a second report', async () => {
    const { mailbox, outboxId } = await openAttempted(['failed', 'deferred']);
    const before = value(await mailbox.listDueReports(10)).length;
    value(await mailbox.retryOutbox(outboxId, null));
    expect(value(await mailbox.listDueReports(10)).length).toBe(before);
  });
});

it('a destination whose only recipients are deferred has no due work of its own, even when their retry is due', async () => {
  const destination = `${crypto.randomUUID()}.test`;
  const insert = (queued: number, deferred: number) =>
    env.DIRECTORY.prepare(
      `INSERT INTO mail_queue (outbox_id, destination, user_id, kind, size_bytes, queued_at, held, queued, deferred, next_attempt_at)
       VALUES (?, ?, 'u', 'message', 1, 1, 0, ?, ?, 5)`,
    )
      .bind(crypto.randomUUID(), destination, queued, deferred)
      .run();
  await insert(0, 1);
  const read = async () =>
    (await readQueueGroups(env.DIRECTORY, 10, 1_000)).find((each) => each.destination === destination);
  expect(await read()).toMatchObject({ deferred: 1, due: 0, oldestDueAt: 5 });
  await insert(2, 0);
  expect(await read()).toMatchObject({ deferred: 1, due: 2 });
});
