/** Tests messages that are in several folders. */
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { value } from '../../support/mail/mailbox-world.ts';
import { delivery } from '../../support/mail/messages.ts';

async function open() {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e6 });
  const counts = async () => {
    const folders = value(await mailbox.listFolders()).filter(({ total }) => total > 0);
    return folders.map(({ name, total, unread }) => [name, total, unread]);
  };
  const listed = async (key: string) =>
    value(await mailbox.listMessages(key, { offset: 0 }, 50)).map(({ messageId }) => messageId);
  const used = async () => value(await mailbox.readProfile()).usedBytes;
  return { mailbox, counts, listed, used };
}

it('a message in two folders is listed and counted in both, and its bytes count once', async () => {
  const { mailbox, counts, listed, used } = await open();
  const { messageId } = value(await mailbox.storeMessage(delivery({}, { alsoIn: ['archive', 'inbox', 'all'] })));
  expect(await counts()).toEqual([
    ['Inbox', 1, 1],
    ['All', 1, 1],
    ['Archive', 1, 1],
  ]);
  expect([await listed('inbox'), await listed('archive'), await listed('all')]).toEqual(Array(3).fill([messageId]));
  expect(await used()).toBe(1000);
  value(await mailbox.patchMessages([messageId], { isRead: true }));
  expect(await counts()).toContainEqual(['Archive', 1, 0]);
  value(await mailbox.patchMessages([messageId], { folderKey: 'sent' }));
  expect([await listed('inbox'), await listed('archive'), await listed('sent')]).toEqual([[], [], [messageId]]);
  const { changes = [] } = value(await mailbox.pollEvents(0, 0));
  expect(changes.map((change) => [change.folder_ids?.length ?? 1, change.left_folder_ids?.length ?? 0])).toEqual([
    [2, 0],
    [2, 0],
    [1, 2],
  ]);
});

it('a message leaves a folder that is deleted and stays in the other; Trash takes it from both', async () => {
  const { mailbox, counts, listed, used } = await open();
  const own = value(await mailbox.createFolder('Own'));
  const { messageId } = value(await mailbox.storeMessage(delivery({}, { folder: own.folder_id, alsoIn: ['inbox'] })));
  value(await mailbox.deleteFolder(own.folder_id));
  expect(await counts()).toEqual([
    ['Inbox', 1, 1],
    ['All', 1, 1],
  ]);
  await mailbox.deleteMessages([messageId]);
  expect([await listed('trash'), await listed('all')]).toEqual([[messageId], []]);
  await mailbox.deleteMessages([messageId]);
  expect([await counts(), await used()]).toEqual([[], 0]);
});
