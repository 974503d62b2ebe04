import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { finishLessons } from '../../../durable-objects/mail/messages/spam-lesson-store.ts';
import { putBlob } from '../../../workers/mail/bindings/blobs.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { personaliseSpam, readTokens } from '../../../workers/mail/checks/index.ts';
import { delivery } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const bulletin = (n: number) =>
  Buffer.from(
    `From: Chess Club <news@chessclub.example>\r\nTo: user@example.test\r\nSubject: Chess Club bulletin ${n}\r\n\r\n` +
      `Round ${n} of the winter tournament is on Tuesday in the old library. Pairings, results and the replay of board one are posted ` +
      'beside the entrance. Analysis of the Caro-Kann endgame follows after the break, tea is served.\r\n',
  );
const ham = { score: 0.5, verdict: 'ham', reasons: [], engine: 'built-in' } as const;

let userId: string;
let mailbox: MailboxRpc;
beforeEach(async () => {
  userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
});

async function arrive(
  raw: Uint8Array,
  folder: 'inbox' | 'junk' = 'inbox',
  origin: 'received' | 'sent' = 'received',
): Promise<string> {
  const rawKey = `mail/${userId}/${crypto.randomUUID()}`;
  await putBlob(env, rawKey, raw);
  return value(await mailbox.storeMessage(delivery({}, { rawKey, folder, origin, sizeBytes: raw.length }))).messageId;
}
const move = async (id: string, folderKey: string) => value(await mailbox.patchMessages([id], { folderKey }));
const learn = async () => {
  const stub = env.MAILBOX.get(env.MAILBOX.idFromName(userId));
  for (let rounds = 0; rounds < 5 && (await runDurableObjectAlarm(stub)); rounds += 1);
  return value(await mailbox.readSpamModel());
};
const judge = (raw: Uint8Array, model: Uint8Array | null) => personaliseSpam(ham, readTokens(raw), model).verdict;

describe('moving mail trains the spam filter', () => {
  it.each([
    ['the web app', (id: string, to: string) => move(id, to)],
    [
      'a mail program',
      async (id: string, to: string) =>
        value(await mailbox.copyToFolder({ fromKey: to === 'junk' ? 'inbox' : 'junk', toKey: to, isMove: true }, [id])),
    ],
  ])('marks similar mail as junk after %s moved one into Junk, and as wanted after a move back', async (_, move) => {
    const id = await arrive(bulletin(1));
    await move(id, 'junk');
    const trainedModel = await learn();
    expect(trainedModel).not.toBeNull();
    expect(judge(bulletin(2), trainedModel)).toBe('junk');
    await move(id, 'inbox');
    expect(judge(bulletin(2), await learn())).toBe('ham');
  });

  it('ignores moves from Junk to Trash, between other folders, and of mail that the user wrote', async () => {
    await move(await arrive(bulletin(1), 'junk'), 'trash');
    await move(await arrive(bulletin(2)), 'archive');
    await move(await arrive(bulletin(3), 'inbox', 'sent'), 'junk');
    expect(await learn()).toBeNull();
  });

  it('skips a message that was erased meanwhile or whose bytes are missing', async () => {
    const gone = value(await mailbox.storeMessage(delivery({}, { rawKey: 'mail/nowhere' }))).messageId;
    await move(gone, 'junk');
    const erased = await arrive(bulletin(1));
    await move(erased, 'junk');
    value(await mailbox.deleteMessages([erased]));
    value(await mailbox.deleteMessages([erased]));
    await move(await arrive(bulletin(3)), 'junk');
    expect(judge(bulletin(2), await learn())).toBe('junk');
  });

  it('keeps no model for an account that is erased during training', async () => {
    const lesson = { messageId: await arrive(bulletin(1)), label: 'junk', rawKey: null } as const;
    await mailbox.erase();
    const models = await runInDurableObject(mailbox, (_, { storage }) => {
      finishLessons(storage.sql, [lesson], new Uint8Array([1]));
      return storage.sql.exec('SELECT count(*) AS count FROM spam_model').one().count;
    });
    expect(models).toBe(0);
  });
});
