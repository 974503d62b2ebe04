/** Tests the merges of the full-text index in a mailbox that received its messages one by one. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

it('is merged into few segments by the alarm, and finds the same messages', async () => {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  const stub = mailbox as unknown as DurableObjectStub;
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const read = (query: string) =>
    runInDurableObject(stub, (_, state) => Number(Object.values(state.storage.sql.exec(query).one())[0]));
  const ids: string[] = [];
  for (let n = 0; n < 300; n += 1) {
    const stored = await mailbox.storeMessage(
      delivery({ subject: `number${n} common`, text: `word${n % 7} body${n}` }),
    );
    if (stored.ok) ids.push(stored.value.messageId);
  }
  expect(ids).toHaveLength(300);
  for (const id of ids.slice(0, 60)) {
    await mailbox.deleteMessages([id]);
    await mailbox.deleteMessages([id]);
  }
  const search = async (query: string) => {
    const found = await mailbox.search({ query, sort: 'newest', page: null, limit: 200 });
    return found.ok ? found.value.hits.map(({ message }) => message.messageId) : found.error;
  };
  const queries = ['common', 'word3', 'number150', 'number10', 'body299', 'numb*', '"word5 body299"', 'word3 -body101'];
  const before = await Promise.all(queries.map(search));
  const segments = 'SELECT count(DISTINCT segid) FROM message_search_idx';
  const many = await read(segments);
  // Run the alarm until the merge is recorded. It may have run some rounds already.
  await expect
    .poll(
      async () => {
        await runDurableObjectAlarm(stub);
        return read('SELECT tidied_state FROM mailbox');
      },
      { timeout: 60_000 },
    )
    .toBeGreaterThan(0);
  expect(await read(segments)).toBeLessThan(many);
  expect(await read(segments)).toBeLessThanOrEqual(4);
  expect(await Promise.all(queries.map(search))).toEqual(before);
});
