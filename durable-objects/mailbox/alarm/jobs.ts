/**
 * Work that the alarm hands to the Worker: the mailbox stores and decides, workers act. `workers/mail/mailbox-jobs.ts` implements
 * it as an entrypoint of this Worker, which the object reaches by `ctx.exports`. A job throws when a store cannot be reached.
 */

import type { IncomingLedger } from '../incoming/incoming-store.ts';
import type { SpamLesson } from '../messages/spam-lesson-store.ts';
import type { OutboxSnapshot } from '../outbox/outbox-report-store.ts';
import type { AutomaticSend } from '../rules/automatic-store.ts';

export interface MailboxJobs {
  /** Checks and delivers accepted mail until none is due. */
  processIncoming(userId: string, traceId?: string): Promise<void>;
  /** Attempts every recipient of the outbox that is due. */
  sendOutbox(userId: string): Promise<void>;
  /** Delivers due reports to the senders of the reported messages. */
  sendReports(userId: string): Promise<void>;
  /** Puts a forward, a vacation reply or a forwarding code into the outbox. */
  sendAutomatic(userId: string, send: AutomaticSend): Promise<void>;
  /** Bring the operator's tables up to date with this mailbox. */
  publishLedger(userId: string, ledger: IncomingLedger): Promise<void>;
  publishOutbox(userId: string, snapshots: readonly OutboxSnapshot[]): Promise<void>;
  /** Deletes R2 objects in every location. */
  deleteBlobs(keys: readonly string[]): Promise<void>;
  /** Writes an object into a quorum of the locations, in place of an earlier one. */
  saveSnapshot(r2Key: string, body: string): Promise<void>;
  /** Pushes changes to the devices of clients. */
  sendPushes(userId: string): Promise<void>;
  /** @returns the trained model; null if the user had no model and no lesson's message could be read. */
  trainSpamModel(model: Uint8Array | null, lessons: readonly SpamLesson[]): Promise<Uint8Array | null>;
}
