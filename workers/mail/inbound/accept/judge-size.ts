/** Decides whether a message that is stored but not accepted yet is too large for a mailbox. */
import { openStored } from '../../checks/opened-message.ts';
import { chooseBodyParts } from '../../mime/body-parts.ts';
import { decodeContent } from '../../mime/content-decoding.ts';
import { memoryBudget } from '../../mime/memory-budget.ts';
import type { MimePart } from '../../mime/mime-tree.ts';
import { type Recipient, type RecipientReply, toReply } from './resolve-recipient.ts';
import type { StoredRaw } from './store-raw.ts';

/** A raw message in the locations, before any mailbox has it. */
export interface ArrivedRaw extends StoredRaw {
  /** Size of its files in bytes, measured with the first call. */
  readonly fileBytes: () => Promise<number>;
}

export const tooLarge = ({ email, messageBytesMax }: Recipient): RecipientReply =>
  toReply(email, 552, `5.3.4 message too large, the limit is ${messageBytesMax} bytes`);

/**
 * Judges a message by its size, and by that of its files. They are measured only if they could exceed the limit.
 * @returns the refusal, or null.
 * @throws if the raw message cannot be read.
 */
export async function judgeSize(
  { sizeBytes, fileBytes }: ArrivedRaw,
  recipient: Recipient,
): Promise<RecipientReply | null> {
  const { email, messageBytesMax, fileBytesMax } = recipient;
  if (sizeBytes > messageBytesMax) return tooLarge(recipient);
  if (sizeBytes <= fileBytesMax) return null;
  const bytes = await fileBytes();
  if (bytes <= fileBytesMax) return null;
  return toReply(email, 552, `5.3.4 the files have ${bytes} bytes, the limit is ${fileBytesMax} bytes`);
}

/**
 * Sums the decoded sizes of the attachments of a raw message. Waits for room in the memory of the isolate.
 * @returns a number of bytes. Of a message whose parts cannot be read within the limits, its whole size.
 * @throws if the raw message is missing or no location returned it.
 */
export function sumFileBytes(env: Env, rawKey: string, sizeBytes: number): Promise<number> {
  return memoryBudget.use(sizeBytes, async () => {
    const message = await openStored(env, rawKey);
    if (!message) throw new Error('the raw message is missing');
    if (!message.isWhole || message.tree.problem === 'too_many_parts' || message.tree.problem === 'too_deep')
      return message.sizeBytes;
    return chooseBodyParts(message.tree.parts).attachments.reduce((sum, part) => sum + sizeOf(part), 0);
  });
}

function sizeOf(part: MimePart): number {
  if (part.cut) return part.cut.inspection.length;
  return part.message ? part.message.length : decodeContent(part).length;
}
