/** Wakes of a mailbox: work that its one alarm runs. */
import { env, runInDurableObject } from 'cloudflare:test';
import { expect, it } from 'vitest';
import {
  cancelWakeAfter,
  nextWakeAt,
  scheduleWake,
  settleWake,
  takeDueWakes,
} from '../../durable-objects/mailbox/database/store.ts';
import { openMailbox } from '../../workers/mail/bindings/mailbox.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

/** Runs `work` in the storage of a new mailbox without wakes. */
async function withWakes(work: (sql: SqlStorage) => void): Promise<void> {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, state) => {
    state.storage.sql.exec('DELETE FROM wake');
    work(state.storage.sql);
  });
}

it('a wake that its own work schedules for tomorrow stays', async () => {
  await withWakes((sql) => {
    scheduleWake(sql, 'changes', 1_000);
    const [wake] = takeDueWakes(sql, 2_000);
    scheduleWake(sql, 'changes', DAY_MS);
    // The work may still die.
    expect(nextWakeAt(sql)).toBe(2_000 + MINUTE_MS);
    if (wake) settleWake(sql, wake);
    expect(nextWakeAt(sql)).toBe(DAY_MS);
  });
});

it('a wake whose work died is due again, together with what it scheduled', async () => {
  await withWakes((sql) => {
    scheduleWake(sql, 'changes', 1_000);
    takeDueWakes(sql, 2_000);
    scheduleWake(sql, 'changes', DAY_MS);
    expect(takeDueWakes(sql, 2_000 + MINUTE_MS).map(({ name }) => name)).toEqual(['changes']);
  });
});

it('a wake that is done and not scheduled again is gone', async () => {
  await withWakes((sql) => {
    scheduleWake(sql, 'publish', 1_000);
    const [wake] = takeDueWakes(sql, 1_000);
    scheduleWake(sql, 'publish', DAY_MS);
    cancelWakeAfter(sql, 'publish', MINUTE_MS);
    if (wake) settleWake(sql, wake);
    expect(nextWakeAt(sql)).toBeNull();
  });
});
