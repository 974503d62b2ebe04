/** Tests which messages form a conversation. A subject alone joins only messages of existing participants, within a few days. */
import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 10);
const person = (name: string) => ({ name, email: `${name}@x.test` });

interface Letter {
  readonly from: string | null;
  readonly to?: readonly string[];
  readonly cc?: readonly string[];
  readonly subject: string;
  readonly day?: number;
  readonly parent?: string;
}

/** Stores the messages in order. @returns the thread of each message, as a number counted from 0 by first occurrence. */
async function threadsOf(...letters: readonly Letter[]): Promise<number[]> {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e6 });
  const ids: string[] = [];
  for (const [n, { from, to = ['me'], cc = [], subject, day = 0, parent }] of letters.entries()) {
    const parsed = {
      from: from === null ? null : person(from),
      to: to.map(person),
      cc: cc.map(person),
      subject,
      messageId: `<m${n}@x.test>`,
      inReplyTo: parent ?? null,
      references: parent ? [parent] : [],
    };
    const stored = await mailbox.storeMessage(delivery(parsed, { receivedAt: START + day * DAY_MS }));
    if (!stored.ok) throw new Error(stored.error.kind);
    ids.push(stored.value.threadId);
  }
  return ids.map((id) => [...new Set(ids)].indexOf(id));
}

const ann: Letter = { from: 'ann', subject: 'Plans' };
const mine: Letter = { from: 'me', to: ['bob'], subject: 'Plans' };

describe('a subject', () => {
  it.each<[string, Letter[], number[]]>([
    ['joins a reply of the author', [ann, { from: 'ann', subject: 'Re: Plans' }], [0, 0]],
    ['joins a reply of a recipient', [mine, { from: 'bob', subject: 'AW: Plans' }], [0, 0]],
    ['joins my reply to the author', [ann, { from: 'me', to: ['ann'], subject: 'Re: Plans' }], [0, 0]],
    [
      'joins a reply of a person in Cc',
      [
        { ...ann, cc: ['carl'] },
        { from: 'carl', subject: 'Re: Plans' },
      ],
      [0, 0],
    ],
    ['joins case-insensitive addresses', [ann, { from: 'ANN', subject: 'RE: plans' }], [0, 0]],
    [
      'joins a subject in other letters, with a NUL',
      [
        { ...ann, subject: 'İ\0 \u212aöln 会議' },
        { from: 'ann', subject: 'Re: İ\0 \u212aÖLN 会議' },
      ],
      [0, 0],
    ],
    ['joins a reply without recipients', [ann, { from: 'ann', to: [], subject: 'Re: Plans' }], [0, 0]],
    ['joins the original after its reply', [{ from: 'ann', subject: 'Re: Plans' }, ann], [0, 0]],
    [
      'joins the thread of its author, not the newest',
      [ann, { ...ann, from: 'bob' }, { from: 'ann', subject: 'Re: Plans' }],
      [0, 1, 0],
    ],
    [
      'joins by the time of import',
      [
        { ...ann, day: -900 },
        { from: 'ann', subject: 'Re: Plans', day: -899 },
      ],
      [0, 0],
    ],
    ['does not join a stranger', [ann, { from: 'carl', subject: 'Re: Plans' }], [0, 1]],
    ['does not join my mail to another person', [ann, { from: 'me', to: ['carl'], subject: 'Re: Plans' }], [0, 1]],
    ['does not join after a few days', [ann, { from: 'ann', subject: 'Re: Plans', day: 6 }], [0, 1]],
    ['does not join an original', [ann, ann], [0, 1]],
    ['does not join a stranger who is first', [{ from: 'carl', subject: 'Re: Plans' }, ann], [0, 1]],
    ['does not join mail without a sender', [ann, { from: null, subject: 'Re: Plans' }], [0, 1]],
    [
      'does not join two senders without an address',
      [
        { ...ann, from: null },
        { from: null, subject: 'Re: Plans' },
      ],
      [0, 1],
    ],
    [
      'does not join empty subjects',
      [
        { ...ann, subject: '' },
        { from: 'ann', subject: 'Re:' },
      ],
      [0, 1],
    ],
    [
      'does not join invoices of two senders',
      [
        { ...ann, subject: 'RE: Invoice' },
        { from: 'bob', subject: 'AW: Invoice' },
      ],
      [0, 1],
    ],
    [
      'does not join a reply to an unknown parent',
      [ann, { from: 'ann', subject: 'Re: Plans', parent: '<gone@x.test>' }],
      [0, 1],
    ],
    [
      'is not needed by a stranger who names a message',
      [ann, { from: 'carl', subject: 'Hi', parent: '<m0@x.test>' }],
      [0, 0],
    ],
  ])('%s', async (_, letters, expected) => {
    expect(await threadsOf(...letters)).toEqual(expected);
  });
});
