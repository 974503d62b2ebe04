/** Calls that only JMAP makes. Each answer includes the state of the mailbox at the time of the read. */
import type { FlagPatch } from '../../../workers/mail/domain/message-flags.ts';
import { ANSWER_BYTES_MAX } from '../../../workers/shared/pure/request-budget.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { JmapType } from '../contract/changed-types.ts';
import type { StoreMessageError, StoreMessageInput } from '../contract/delivered-message.ts';
import type {
  Arrangement,
  DestroyRound,
  EmailPatch,
  EmailQueryAnswer,
  EmailQueryRequest,
  EmailRecord,
  EmailSetAnswer,
  EmailSetFailure,
  EmailText,
  IdentityChange,
  JmapFolder,
  QueryFailure,
  StoredSubmission,
  SubmissionRecord,
  SubmitStoredError,
  ThreadRecord,
  TypeChanges,
} from '../contract/jmap.ts';
import type { NoMailbox, ReadError, StoredIdentity } from '../contract/mailbox.ts';
import type { DuePush, NewPushSubscription, PushOutcome, PushSubscription, PushUpdate } from '../contract/push.ts';
import { readState, recordChange } from '../database/change-store.ts';
import { writeSettings } from '../database/store.ts';
import { readTypeChanges } from '../jmap/changes-store.ts';
import { listEmailIds, readEmails, readEmailTexts, readThreads } from '../jmap/email-read-store.ts';
import { createEmail, destroyEmail, updateEmail } from '../jmap/email-write-store.ts';
import { readJmapFolders } from '../jmap/folder-read-store.ts';
import { arrangeFolder, destroyFolder } from '../jmap/folder-write-store.ts';
import {
  deleteSubscription,
  insertSubscription,
  listDuePushes,
  listSubscriptions,
  recordPushes,
  updateSubscription,
} from '../jmap/push-store.ts';
import { listThreadMates, queryEmails } from '../jmap/query-store.ts';
import {
  cancelSubmission,
  forgetSubmission,
  listSubmissionIds,
  readSubmissions,
  submitStored,
} from '../jmap/submission-store.ts';
import { OutboxCalls } from './outbox-calls.ts';
import { orNotFound } from './transactions.ts';

export class JmapCalls extends OutboxCalls {
  async readJmapFolders(withThreads: boolean): Promise<Result<{ state: string; folders: JmapFolder[] }, NoMailbox>> {
    return this.transactions.read((sql) => ok({ state: toState(sql), folders: readJmapFolders(sql, withThreads) }));
  }

  async arrangeFolder(folderId: string, arrangement: Arrangement): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(arrangeFolder(sql, folderId, arrangement, now)));
  }

  /** @param removeEmails true to erase the folder's messages that are in no other folder. */
  async destroyFolder(
    folderId: string,
    removeEmails: boolean,
  ): Promise<Result<Extract<DestroyRound, 'done' | 'has_mail'>, ReadError>> {
    for (;;) {
      const round = await this.transactions.write((sql, _, now) => ok(destroyFolder(sql, folderId, removeEmails, now)));
      if (!round.ok) return round;
      if (round.value === 'not_found') return err({ kind: 'not_found' });
      if (round.value !== 'more') return ok(round.value);
    }
  }

  /** @returns the changes of a type since a state; null if the state is too old. */
  async readTypeChanges(
    type: JmapType,
    since: number,
    max: number,
    folderId: string | null = null,
  ): Promise<Result<TypeChanges | null, NoMailbox>> {
    return this.transactions.read((sql) => ok(readTypeChanges(sql, type, { since, max, folderId })));
  }

  /**
   * @param ids null for all messages. If there are more than `max`, or if their fields exceed what an answer may have, none is returned
   * and `hasMore` is true.
   */
  async readEmails(
    ids: readonly string[] | null,
    max = Number.MAX_SAFE_INTEGER,
  ): Promise<Result<{ state: string; emails: EmailRecord[]; hasMore: boolean }, NoMailbox>> {
    return this.transactions.read((sql) => {
      const all = ids ?? listEmailIds(sql, max + 1);
      const emails = all.length > max ? null : readEmails(sql, all, ANSWER_BYTES_MAX);
      return ok({ state: toState(sql), emails: emails ?? [], hasMore: emails === null });
    });
  }

  async readThreads(ids: readonly string[]): Promise<Result<{ state: string; threads: ThreadRecord[] }, NoMailbox>> {
    return this.transactions.read((sql) => ok({ state: toState(sql), threads: readThreads(sql, ids) }));
  }

  async readEmailTexts(ids: readonly string[]): Promise<Result<EmailText[], NoMailbox>> {
    return this.transactions.read((sql) => ok(readEmailTexts(sql, ids)));
  }

  async queryEmails(
    request: EmailQueryRequest,
  ): Promise<Result<{ state: string; found: EmailQueryAnswer | QueryFailure }, NoMailbox>> {
    return this.transactions.read((sql) => ok({ state: toState(sql), found: queryEmails(sql, request) }));
  }

  /** @returns the email ids of all messages in the threads. */
  async listThreadMates(threadIds: readonly string[]): Promise<Result<string[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listThreadMates(sql, threadIds)));
  }

  /** Replaces the stored identities. @param change the record to add to the change log. */
  async writeIdentities(
    identities: readonly StoredIdentity[],
    change: IdentityChange,
  ): Promise<Result<null, NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => {
      writeSettings(sql, { ...mailbox.settings, identities });
      recordChange(sql, { type: change.type, identity_id: change.identityId }, now);
      return ok(null);
    });
  }

  /**
   * Updates and destroys messages in one transaction.
   * @returns null, and changes nothing, if the mailbox's state is not `ifInState`.
   */
  async setEmails(request: {
    readonly ifInState: string | null;
    readonly updates: Readonly<Record<string, EmailPatch>>;
    readonly destroys: readonly string[];
  }): Promise<Result<EmailSetAnswer | null, NoMailbox>> {
    return this.transactions.write((sql, _, now) => {
      const oldState = toState(sql);
      if (request.ifInState !== null && request.ifInState !== oldState) return ok(null);
      const updated = Object.entries(request.updates).map(
        ([id, patch]) => [id, updateEmail(sql, id, patch, now)] as const,
      );
      const destroyed = request.destroys.map((id) => [id, destroyEmail(sql, id, now)] as const);
      return ok({
        oldState,
        newState: toState(sql),
        updated: Object.fromEntries(updated),
        destroyed: Object.fromEntries(destroyed),
      });
    });
  }

  /** Stores a message that a client created. Its raw bytes must be in a quorum of the locations before the call. */
  async createEmail(
    input: StoreMessageInput,
    folderIds: readonly string[],
    flags: FlagPatch,
  ): Promise<Result<{ email: EmailRecord; duplicate: boolean }, StoreMessageError | EmailSetFailure>> {
    return this.transactions.write((sql, mailbox, now) => createEmail(sql, mailbox, input, folderIds, flags, now));
  }

  /** Queues a stored message for sending. The outgoing raw bytes must be in a quorum of the locations before the call. */
  async submitStored(submission: StoredSubmission): Promise<Result<SubmissionRecord, SubmitStoredError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => submitStored(sql, submission, now));
  }

  /** @param ids null for the newest `max` submissions. */
  async readSubmissions(
    ids: readonly string[] | null,
    max: number,
  ): Promise<Result<{ state: string; submissions: SubmissionRecord[] }, NoMailbox>> {
    return this.transactions.read((sql) =>
      ok({ state: toState(sql), submissions: readSubmissions(sql, ids ?? listSubmissionIds(sql, max)) }),
    );
  }

  /** Deletes the record of a submission. This does not cancel it: a queued message is still sent. */
  async forgetSubmission(submissionId: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(forgetSubmission(sql, submissionId, now)));
  }

  /** Cancels a submission. @returns false if it is too late. */
  async cancelEmailSubmission(outboxId: string): Promise<Result<boolean, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(cancelSubmission(sql, outboxId, now)));
  }

  /** @param credentialId the client's credential. A client sees only the subscriptions that were created with its credential. */
  async listPushSubscriptions(credentialId: string): Promise<Result<PushSubscription[], NoMailbox>> {
    return this.transactions.read((sql, _, now) => ok(listSubscriptions(sql, credentialId, now)));
  }

  async insertPushSubscription(
    credentialId: string,
    subscription: NewPushSubscription,
  ): Promise<Result<null, NoMailbox | { readonly kind: 'too_many'; readonly what: string; readonly max: number }>> {
    return this.transactions.write((sql, _, now) => insertSubscription(sql, credentialId, subscription, now));
  }

  async updatePushSubscription(
    credentialId: string,
    id: string,
    update: PushUpdate,
  ): Promise<Result<'done' | 'not_found' | 'wrong_code', NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(updateSubscription(sql, credentialId, id, update, now)));
  }

  async deletePushSubscription(credentialId: string, id: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql) => orNotFound(deleteSubscription(sql, credentialId, id)));
  }

  /**
   * Leases the pushes that are due to the caller. Other callers get none until the caller records the outcomes, or until the
   * lease ends.
   * @returns the due pushes.
   */
  async claimPushes(leaseMs: number): Promise<Result<DuePush[], NoMailbox>> {
    const { memory } = this.transactions;
    return this.transactions.read((sql, { userId }, now) => {
      if (memory.pushedUntil > now) return ok([]);
      const due = listDuePushes(sql, userId, now);
      if (due.length === 0) return ok(due);
      const leaseUntil = now + due.length * leaseMs;
      memory.pushedUntil = leaseUntil;
      return ok(due.map((push) => ({ ...push, leaseUntil })));
    });
  }

  async recordPushes(pushes: readonly DuePush[], outcomes: readonly PushOutcome[]): Promise<Result<void, NoMailbox>> {
    const { memory } = this.transactions;
    const leaseUntil = pushes[0]?.leaseUntil;
    // A worker whose lease ended must not end that of the next one, nor fail what the next one sent.
    const isLate = leaseUntil !== undefined && leaseUntil !== memory.pushedUntil;
    if (!isLate) memory.pushedUntil = 0;
    const recorded = isLate ? outcomes.filter(({ result }) => result !== 'failed') : outcomes;
    return this.transactions.write((sql, _, now) => ok(recordPushes(sql, pushes, recorded, now)));
  }
}

const toState = (sql: SqlStorage): string => String(readState(sql));
