/**
 * Checks a message: authentication (SPF, DKIM, DMARC, ARC), spam and viruses. Incoming and outgoing mail have the same interface.
 * Each verdict has reasons.
 *
 * - `checkMessage` runs all checks. `authenticateMessage` alone is for acceptance, where the DMARC policy decides; pass its result
 * to `checkMessage` later.
 * - `readTokens`, `trainUserModel` and `personaliseSpam` are for a user's own training. A mailbox stores the user's model as one
 * BLOB.
 * - If a configured scanner is down, slow or gives an invalid answer, the result is `deferred`, never "clean" and never "ham".
 *
 * By design: the checks do not refuse, move or delete mail; callers do. Large attachments are not held in memory: see
 * `opened-message.ts`.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { authenticateMessage } from './authentication/index.ts';
import type { CheckDependencies, CheckSettings } from './dependencies.ts';
import { type OpenedMessage, openBytes } from './opened-message.ts';
import { checkSpam } from './spam/index.ts';
import type { Authentication, Deferred, Verdicts } from './verdicts.ts';
import { checkVirus } from './virus/index.ts';

export { authenticateMessage } from './authentication/index.ts';
export { readSealedClient } from './authentication/sealed-client.ts';
export type { CheckDependencies, CheckSettings, DnsFailure, DnsRecordType, ResolveDns } from './dependencies.ts';
export { addReason, personaliseSpam, readTokens, trainUserModel } from './spam/index.ts';
export { NEWSLETTER_LABEL, spareNewsletter } from './spam/newsletters.ts';
export type * from './verdicts.ts';

export interface MessageToCheck {
  /** The whole message as received, with CRLF line ends. */
  readonly raw: Uint8Array | OpenedMessage;
  /** Envelope of the message. `from` is empty for the null sender. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** The SMTP client. Null if it is unknown, or if one of our users submitted the message. */
  readonly clientIp: string | null;
  readonly helo: string | null;
  readonly direction: 'inbound' | 'outbound';
  /**
   * The recipient's spam model, from `trainUserModel`. For a message with several recipients, omit it and call `personaliseSpam`
   * for each.
   */
  readonly userModel?: Uint8Array | null;
  /** Result of `authenticateMessage` at acceptance, if it was called. */
  readonly authentication?: Authentication;
}

export async function checkMessage(
  message: MessageToCheck,
  settings: CheckSettings,
  dependencies: CheckDependencies,
): Promise<Result<Verdicts, Deferred>> {
  const opened = message.raw instanceof Uint8Array ? openBytes(message.raw) : message.raw;
  const { bytes: raw, tree, digestBody } = opened;
  const digests = digestBody ? { digestBody } : {};
  const [authentication, virus] = await Promise.all([
    message.authentication ?? authenticateMessage({ ...message, ...digests, raw }, dependencies, settings),
    checkVirus(opened, settings, dependencies),
  ]);
  if (!virus.ok) return err(virus.error);
  const whole = opened.cuts.length === 0 && opened.isWhole ? {} : { readWhole: opened.read };
  const spam = await checkSpam({ ...message, raw, tree, ...whole }, authentication, settings, dependencies);
  if (!spam.ok) return err(spam.error);
  return ok({ ...spam.value, virus: virus.value, authentication });
}
