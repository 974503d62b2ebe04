/** Tests when pulls connect and when they end, in the storage of a mailbox. The clock is the tests'. */
import { env, runInDurableObject } from 'cloudflare:test';
import { expect, it } from 'vitest';
import type { NewPull, PullEnd, PullProgress } from '../../../durable-objects/mail/contract/pulls.ts';
import {
  claimPull,
  deletePull,
  endConnection,
  listPulls,
  nextPullAt,
  savePullProgress,
  startPull,
} from '../../../durable-objects/mail/incoming/pull-store.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const PROGRESS: PullProgress = {
  folders: { INBOX: { uidValidity: '1', lastUid: 7, remaining: 3 } },
  imported: 7,
  duplicates: 0,
  failed: 0,
  passes: 0,
};
const done: PullEnd = { progress: { ...PROGRESS, passes: 1 }, isDone: true, fault: null };
const server = (userName: string, pullId = userName): NewPull => ({
  pullId,
  host: 'imap.old.test',
  port: 993,
  userName,
  secretKind: 'password',
  secretSealed: `sealed ${pullId}`,
});

async function inStorage(work: (kv: SyncKvStorage) => void): Promise<void> {
  const mailbox = openMailbox(env, crypto.randomUUID());
  await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, { storage }) => work(storage.kv));
}

it('a mailbox logs in once a minute, over all its pulls and also for new ones', async () => {
  await inStorage((kv) => {
    startPull(kv, server('a'), NOW);
    startPull(kv, server('b'), NOW);
    const first = claimPull(kv, NOW);
    expect([first?.pullId, claimPull(kv, NOW + 1), nextPullAt(kv)]).toEqual(['a', null, NOW + MINUTE]);
    deletePull(kv, 'a');
    deletePull(kv, 'b');
    startPull(kv, server('a', 'other guess'), NOW + 2);
    expect(nextPullAt(kv)).toBe(NOW + MINUTE);
    expect(claimPull(kv, NOW + MINUTE - 1)).toBeNull();
    expect(claimPull(kv, NOW + MINUTE)?.pullId).toBe('other guess');
  });
});

it('a connection that saves progress keeps its pull, and a lost one loses it', async () => {
  await inStorage((kv) => {
    startPull(kv, server('a'), NOW);
    const first = claimPull(kv, NOW);
    if (!first) throw new Error('nothing claimed');
    expect(savePullProgress(kv, first, PROGRESS, NOW + 50_000)).toBe(true);
    expect(claimPull(kv, NOW + 100_000)).toBeNull();
    const second = claimPull(kv, NOW + 110_000);
    expect(second).toMatchObject(PROGRESS);
    // The first connection was only slow.
    expect(savePullProgress(kv, first, PROGRESS, NOW + 110_001)).toBe(false);
    endConnection(kv, first, done, NOW + 110_002);
    expect(listPulls(kv)[0]).toMatchObject({ passes: 0, connectedAt: NOW + 110_000 });
  });
});

it('a pass is followed by another, and a failure by longer and longer pauses', async () => {
  await inStorage((kv) => {
    startPull(kv, server('a'), NOW);
    const connect = (at: number, end: PullEnd) => {
      const pull = claimPull(kv, at);
      if (!pull) throw new Error(`nothing to claim at ${at - NOW}`);
      endConnection(kv, pull, end, at + 1000);
      return (nextPullAt(kv) ?? 0) - at - 1000;
    };
    expect(connect(NOW, done)).toBe(15 * MINUTE);
    const failed: PullEnd = { progress: PROGRESS, isDone: false, fault: 'unreachable' };
    const pauses = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => connect(NOW + DAY + n * 120 * MINUTE, failed) / MINUTE);
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(connect(NOW + 3 * DAY, { ...done, isDone: false })).toBe(MINUTE - 1000);
  });
});

it('the secret is erased when a log-in is refused, after 30 days, and when the user ends the pull', async () => {
  await inStorage((kv) => {
    startPull(kv, server('a'), NOW);
    const pull = claimPull(kv, NOW);
    if (!pull) throw new Error('nothing claimed');
    endConnection(kv, pull, { progress: PROGRESS, isDone: false, fault: 'login_refused' }, NOW + 1);
    expect(listPulls(kv)[0]).toMatchObject({ secretSealed: null, fault: 'login_refused', imported: 7 });
    expect([nextPullAt(kv), claimPull(kv, NOW + DAY)]).toEqual([null, null]);

    // A new secret continues where the pull was.
    startPull(kv, server('a', 'again'), NOW + DAY);
    expect(listPulls(kv)).toMatchObject([{ pullId: 'again', imported: 7, fault: null, folders: PROGRESS.folders }]);
    const again = claimPull(kv, NOW + DAY);
    if (!again) throw new Error('nothing claimed');
    endConnection(kv, again, { progress: PROGRESS, isDone: false, fault: 'unreachable' }, NOW + 31 * DAY - 1);
    expect(nextPullAt(kv)).toBe(NOW + 31 * DAY);
    expect([claimPull(kv, NOW + 31 * DAY), listPulls(kv)[0]?.secretSealed]).toEqual([null, null]);

    startPull(kv, server('b'), NOW);
    expect([deletePull(kv, 'b'), deletePull(kv, 'b')]).toEqual([true, false]);
    for (const name of ['c', 'd']) startPull(kv, server(name), NOW);
    expect(startPull(kv, server('e'), NOW)).toEqual({ ok: false, error: { kind: 'too_many', what: 'pulls', max: 3 } });
  });
});
