/** Reads messages, each only as far as the requested properties need. */
import type { EmailRecord } from '../../../../durable-objects/mail/contract/jmap.ts';

import { sharedTurns } from '../../../shared/concurrency/shared-turns.ts';
import { getBlob } from '../../bindings/blobs.ts';
import { readHeaders } from '../../mime/mime-tree.ts';
import { toMessageBlobId } from '../domain/blob-id.ts';
import type { Arguments, Call } from '../protocol/method.ts';
import { findBlobSource, openMessageBlob } from './blobs.ts';
import { type BodyArguments, decideNeed, toEmail } from './email.ts';

/** Messages read in parallel. An invocation may have six open connections. */
const READS_AT_ONCE = 4;
/** Bytes of a message that are read for its header. Real headers are shorter. */
const HEADER_BYTES_READ = 256 * 1024;

export async function toEmails(
  call: Call,
  records: readonly EmailRecord[],
  properties: readonly string[],
  args: BodyArguments,
): Promise<Arguments[]> {
  const options = { ...args, parts: call.parts };
  const need = decideNeed(properties);
  if (need === 'record') return records.map((record) => toEmail(record, null, properties, options));
  const emails: Arguments[] = [];
  const queue = records.entries();
  const work = async () => {
    for (const [at, record] of queue) {
      await sharedTurns.giveWay(call.user.userId);
      const read = need === 'headers' ? await readHead(call, record) : await readWhole(call, record);
      emails[at] = toEmail(record, read, properties, options);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, work));
  return emails;
}

async function readHead(call: Call, record: EmailRecord) {
  if (record.rawKey === null) return readWhole(call, record);
  const stored = await getBlob(call.env, record.rawKey, { offset: 0, length: HEADER_BYTES_READ });
  if (!stored) throw new Error('the raw message is missing in every location');
  return { headers: readHeaders(new Uint8Array(await stored.arrayBuffer())).headers, message: null };
}

async function readWhole({ env, user }: Call, record: EmailRecord) {
  const source =
    record.rawKey === null
      ? await findBlobSource(env, user.userId, toMessageBlobId(record.id))
      : {
          id: { kind: 'message' as const, id: record.id, parts: [] },
          sizeBytes: record.sizeBytes,
          type: 'message/rfc822',
          r2Key: record.rawKey,
        };
  const message = source && (await openMessageBlob(env, user.userId, source));
  if (!message) throw new Error('the raw message is missing in every location');
  return { headers: readHeaders(message.bytes).headers, message };
}
