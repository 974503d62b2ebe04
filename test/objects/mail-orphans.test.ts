/** Bytes that a crash left between R2 and the row are removed, and nothing else. */
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { deliverRaw } from '../../workers/mail/delivery.ts';
import { storeRawBytes } from '../../workers/mail/inbound/store-raw.ts';
import { openMailbox } from '../../workers/mail/mailbox.ts';
import { openBytes } from '../../workers/mail/mime/opened-message.ts';
import { collectOrphans } from '../../workers/mail/orphans.ts';

const DAY_MS = 86_400_000;
const raw = Buffer.from(
  'From: a@far.test\r\nSubject: kept\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhi\r\n--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nfile\r\n--b--\r\n',
);

const listKeys = async (userId: string) => {
  const lists = await Promise.all([env.BLOBS, env.BLOBS_2].map((bucket) => bucket.list({ prefix: `mail/${userId}/` })));
  return lists.map((list) => list.objects.map((object) => object.key));
};

it('collects what no row names once it is a day old, in every location, and leaves what rows name', async () => {
  const userId = crypto.randomUUID();
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const delivery = {
    deliveryKey: 'd',
    receivedAt: Date.now(),
    origin: 'received',
    folder: 'inbox',
    isRead: false,
    isFlagged: false,
    labels: [],
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: true,
  } as const;
  expect(await deliverRaw(env, { ...delivery, userId, message: openBytes(raw) })).toMatchObject({ ok: true });
  const accepted = `mail/${userId}/in/accepted`;
  await storeRawBytes(env, accepted, raw);
  const row = {
    incomingId: 'i',
    contentKey: 'c',
    rawKey: accepted,
    sizeBytes: raw.length,
    envelopeFrom: 'a@far.test',
    envelopeTo: 'x@example.test',
    clientIp: null,
    helo: null,
    origin: 'smtp',
    verdicts: null,
  } as const;
  expect(await openMailbox(env, userId).acceptIncoming(row)).toMatchObject({ ok: true });
  const kept = await listKeys(userId);
  expect(kept[0]).toHaveLength(3);

  // The power went between R2 and the row.
  await storeRawBytes(env, `mail/${userId}/in/orphan`, raw);
  await storeRawBytes(env, `mail/${userId}/sent/none/raw`, raw);
  await storeRawBytes(env, `mail/${userId}/errors/e.json`, raw);
  await collectOrphans(env, Date.now());
  expect((await listKeys(userId))[0]).toHaveLength(6);

  expect(await collectOrphans(env, Date.now() + DAY_MS + 1_000)).toMatchObject({ removed: 2, isRoundOver: true });
  const left = kept.map((keys) => [...keys, `mail/${userId}/errors/e.json`].sort());
  expect((await listKeys(userId)).map((keys) => keys.sort())).toEqual(left);
  expect(await collectOrphans(env, Date.now() + 2 * DAY_MS)).toMatchObject({ removed: 0 });
});
