/** Rebuilds a mailbox from the raw mail in R2, after an error in parsing, cleaning or indexing, or a loss of derived rows. */

import { openMailbox } from '../bindings/mailbox.ts';
import { type OpenedMessage, openStored } from '../checks/opened-message.ts';
import { createPutPart, readPieces, storeParts, streamPieces } from '../inbound/delivery.ts';
import { type ParsedAttachment, type ParsedRaw, parseMessage } from '../mime/parse.ts';

const PER_ROUND = 50;
const RAW_SUFFIX = /raw$/;

export interface RebuildReport {
  messages: number;
  /** Ids of messages whose raw bytes are in no location; they are left unchanged. */
  missing: string[];
}

/** Rebuilds message by message, so the mailbox serves others in between. If interrupted, run it again. */
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
      const put = createPutPart(env, []);
      const stored = await storeParts(isSent ? await readFiles(message, parsed) : parsed, prefix, put);
      const done = await mailbox.rebuildMessage(messageId, stored);
      if (done.ok) report.messages += 1;
    }
  }
}

/** The message with the bytes of its files in place of ranges of the raw message. */
async function readFiles(message: OpenedMessage, parsed: ParsedRaw): Promise<ParsedRaw> {
  const attachments: ParsedAttachment[] = [];
  for (const attachment of parsed.attachments)
    attachments.push({
      ...attachment,
      range: null,
      pieces: [await readPieces(streamPieces(message, attachment.pieces))],
    });
  return { ...parsed, attachments };
}
