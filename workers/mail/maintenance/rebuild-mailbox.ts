/**
 * Rebuilds the derived rows of a mailbox from the raw mail in R2. Needed after an error in parsing, cleaning or indexing, or after
 * derived rows were lost.
 */

import type { ParsedMessage } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { putBlobStream } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { type OpenedMessage, openStored } from '../checks/opened-message.ts';
import { PartWriter, storeParts, streamPieces, toPartKey } from '../inbound/process/delivery.ts';
import { type ParsedRaw, parseMessage } from '../mime/parse.ts';
import { toStoredStructure } from '../mime/structure.ts';

const PER_ROUND = 50;
const RAW_SUFFIX = /raw$/;

export interface RebuildReport {
  messages: number;
  /** Ids of messages whose raw bytes are missing in every location. These messages are left unchanged. */
  missing: string[];
}

/** Rebuilds message by message, so that the mailbox serves other requests in between. If interrupted, run it again. */
export async function rebuildMailbox(env: Env, userId: string): Promise<RebuildReport> {
  const mailbox = openMailbox(env, userId);
  const report: RebuildReport = { messages: 0, missing: [] };
  for (let after = -1; ; ) {
    const sources = await mailbox.listRebuildSources(after, PER_ROUND);
    if (!sources.ok || sources.value.length === 0) return report;
    for (const { position, messageId, rawKey, isSent } of sources.value) {
      after = position;
      const message = await openStored(env, rawKey);
      if (!message) {
        report.missing.push(messageId);
        continue;
      }
      const parsed = await parseMessage(message.bytes, message);
      const prefix = RAW_SUFFIX.test(rawKey) ? rawKey.replace(RAW_SUFFIX, '') : `${rawKey}.`;
      const parts = await storeParts(parsed, prefix, new PartWriter(env));
      const stored = { ...parts, structure: await toStoredStructure(message) };
      const whole = isSent ? await storeFiles(env, message, parsed, stored, prefix) : stored;
      const done = await mailbox.rebuildMessage(messageId, whole);
      if (done.ok) report.messages += 1;
    }
  }
}

/** Stores the files of a sent message as R2 objects of their own again. The new parse has them as ranges of the raw message. */
async function storeFiles(
  env: Env,
  message: OpenedMessage,
  parsed: ParsedRaw,
  stored: ParsedMessage,
  prefix: string,
): Promise<ParsedMessage> {
  const attachments: ParsedMessage['attachments'][number][] = [];
  for (const [at, { range, ...file }] of stored.attachments.entries()) {
    const r2Key = range ? toPartKey(prefix, at) : file.r2Key;
    const pieces = parsed.attachments[at]?.pieces ?? [];
    if (range) await putBlobStream(env, toPartKey(prefix, at), streamPieces(message, pieces), file.sizeBytes);
    attachments.push({ ...file, r2Key });
  }
  return { ...stored, attachments };
}
