/**
 * The checks of a message: who sent it (SPF, DKIM, DMARC, ARC), is it spam, does it carry a virus. One interface for the
 * way in and the way out; each verdict explains itself.
 *
 * - `checkMessage` runs everything. `authenticateMessage` alone is for acceptance time, when the DMARC policy decides; hand its
 *   answer to `checkMessage` afterwards.
 * - `readTokens`, `trainUserModel` and `personaliseSpam` are a user's own training: a mailbox keeps the model as one BLOB.
 * - A configured scanner that is down, slow or garbled gives `deferred`, never "clean" and never "ham".
 *
 * By design: nothing here refuses, moves or deletes mail; callers do. Large attachments are not held: see `checks/opened-message.ts`.
 */
import { err, ok, type Result } from '../../shared/result.ts';
import { authenticateMessage } from './authentication/index.ts';
import type { CheckDependencies, CheckSettings } from './dependencies.ts';
import { type OpenedMessage, openBytes } from './opened-message.ts';
import { checkSpam } from './spam/index.ts';
import type { Authentication, Deferred, Verdicts } from './verdicts.ts';
import { checkVirus } from './virus/index.ts';

export { authenticateMessage } from './authentication/index.ts';
export type { CheckDependencies, CheckSettings, DnsFailure, DnsRecordType, ResolveDns } from './dependencies.ts';
export { personaliseSpam, readTokens, trainUserModel } from './spam/index.ts';
export type * from './verdicts.ts';

export interface MessageToCheck {
  /** The whole message as it came over the wire, CRLF line ends. */
  readonly raw: Uint8Array | OpenedMessage;
  /** `from` is empty for the null sender. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** The SMTP client; null when unknown or when the message was submitted by one of our users. */
  readonly clientIp: string | null;
  readonly helo: string | null;
  readonly direction: 'inbound' | 'outbound';
  /** From `trainUserModel`; leave it out when a message has several recipients and use `personaliseSpam` for each. */
  readonly userModel?: Uint8Array | null;
  /** What `authenticateMessage` said when the message was accepted, if it was asked. */
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
