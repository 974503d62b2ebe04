import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BatchPlace } from '../../../durable-objects/mail/contract/search.ts';

import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
/** Number of messages, more than one round changes. */
const MESSAGES = 301;
const SWALLOWS = 43;

let mailbox: MailboxRpc;
const put = (n: number, subject: string) =>
  delivery({ subject }, { receivedAt: Date.UTC(2026, 0, 1) + n * 60_000, sizeBytes: 10 });

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const inputs = Array.from({ length: MESSAGES }, (_, n) => put(n, n % 7 === 0 ? 'swallow' : 'crow'));
  for (let at = 0; at < MESSAGES; at += 50) value(await mailbox.storeMessages(inputs.slice(at, at + 50)));
});

describe('a change of all messages that a search finds', () => {
  it('reaches each of them once, in rounds with growing progress, and leaves out messages that arrive meanwhile', async () => {
    const changed: string[] = [];
    const steps: number[] = [];
    for (let place: BatchPlace | null | undefined; place !== null; ) {
      const round = value(await mailbox.changeFound('crow is:unread', place ?? null, { isRead: true }));
      expect(new Set(round.results.map(({ status }) => status))).toEqual(new Set(['updated']));
      changed.push(...round.results.map(({ id }) => id));
      steps.push(round.progress);
      if (place === undefined) value(await mailbox.storeMessage(put(MESSAGES, 'crow late')));
      place = round.next;
    }
    expect(steps.length).toBeGreaterThan(1);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(steps.at(-1)).toBe(1);
    expect(new Set(changed).size).toBe(MESSAGES - SWALLOWS);
    expect(changed).toHaveLength(MESSAGES - SWALLOWS);
    const [inbox] = value(await mailbox.listFolders());
    expect([inbox?.total, inbox?.unread]).toEqual([MESSAGES + 1, SWALLOWS + 1]);
  });

  it('deletes them, and erases those that are in Trash', async () => {
    expect(value(await mailbox.changeFound('swallow', null, 'delete')).results).toHaveLength(SWALLOWS);
    expect(value(await mailbox.changeFound('swallow', null, 'delete')).results).toHaveLength(0);
    expect(value(await mailbox.changeFound('swallow in:trash', null, 'delete')).results).toHaveLength(SWALLOWS);
    expect(value(await mailbox.listFolders()).at(-1)).toMatchObject({ role: 'trash', total: 0 });
    expect(value(await mailbox.changeFound('swallow in:any', null, 'delete')).results).toHaveLength(0);
  });

  it('is refused if the folder is unknown', async () => {
    const refused = await mailbox.changeFound('crow', null, { folderKey: 'nowhere', isRead: true });
    expect(refused).toEqual({ ok: false, error: { kind: 'no_folder' } });
  });
});
