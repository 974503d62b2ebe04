/**
 * Work that the alarm hands to the Worker: the mailbox stores and decides, the Worker acts. `workers/mail/mailbox-jobs.ts`
 * implements these calls as an entrypoint of this Worker, which the object reaches by `ctx.exports`. A call throws when a store
 * cannot be reached.
 */

import type { IncomingLedger } from './incoming.ts';
import type { AutomaticSend, OutboxSnapshot } from './outbox.ts';

export interface SpamLesson {
  readonly messageId: string;
  readonly label: 'junk' | 'ham';
  /** R2 key of the raw message; null if the message was erased. */
  readonly rawKey: string | null;
}

export interface MailboxJobs {
  /** Checks and delivers accepted mail until no message is due. */
  processIncoming(userId: string, traceId?: string): Promise<void>;
  /** Attempts delivery to every due recipient of the outbox. */
  sendOutbox(userId: string): Promise<void>;
  /** Delivers due reports to the senders of the reported messages. */
  sendReports(userId: string): Promise<void>;
  /** Fetches mail of another mailbox over one connection, if a pull is due. */
  pullMail(userId: string): Promise<void>;
  /** Puts a forward, a vacation reply or a forwarding code into the outbox. */
  sendAutomatic(userId: string, send: AutomaticSend): Promise<void>;
  /** Brings the operator's table of incoming mail up to date with this mailbox. */
  publishLedger(userId: string, ledger: IncomingLedger): Promise<void>;
  publishOutbox(userId: string, snapshots: readonly OutboxSnapshot[]): Promise<void>;
  /** Deletes R2 objects in every location. */
  deleteBlobs(keys: readonly string[]): Promise<void>;
  /** Writes an R2 object into a quorum of the locations. Replaces an earlier object. */
  saveSnapshot(r2Key: string, body: string): Promise<void>;
  /** Pushes changes to the devices of clients. */
  sendPushes(userId: string): Promise<void>;
  /**
   * Trains the user's spam model.
   * @returns the trained model; null if the user had no model and no lesson's message could be read.
   */
  trainSpamModel(model: Uint8Array | null, lessons: readonly SpamLesson[]): Promise<Uint8Array | null>;
}
