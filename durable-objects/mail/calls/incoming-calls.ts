/** Calls about incoming mail, from acceptance to delivery. Each write is one transaction. */

import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { currentInvocation } from '../../../workers/shared/telemetry/invocation.ts';
import type { StoredMessage, StoreMessageError, StoreMessageInput } from '../contract/delivered-message.ts';
import type { ClaimedIncoming, IncomingEnd, IncomingMessage } from '../contract/incoming.ts';
import type { NoMailbox, ReadError } from '../contract/mailbox.ts';
import type { NewPull, Pull, PullConnection, PullEnd, PullProgress } from '../contract/pulls.ts';
import { storeMessage } from '../incoming/arrival-store.ts';
import * as incoming from '../incoming/incoming-store.ts';
import * as pulls from '../incoming/pull-store.ts';
import { isRetired, openAddressAgain, retireAddress } from '../incoming/retired-address-store.ts';
import { readSpamModel } from '../messages/spam-lesson-store.ts';

import { CardCalls } from './card-calls.ts';
import { orNotFound } from './transactions.ts';

export class IncomingCalls extends CardCalls {
  /**
   * Once this returns, the message is durable. Its raw bytes must be in a quorum of the locations before the call.
   * @param isConfirmed whether DIRECTORY's primary says that the account has the address. If not, an address that it lost is refused.
   */
  async acceptIncoming(
    message: IncomingMessage,
    isConfirmed: boolean,
  ): Promise<
    Result<{ duplicate: boolean }, { readonly kind: 'over_quota' } | { readonly kind: 'retired' } | NoMailbox>
  > {
    const { opened, kv } = this.transactions;
    if (opened && !isConfirmed && isRetired(kv, message.deliveredTo)) return err({ kind: 'retired' });
    this.transactions.memory.incomingTrace = currentInvocation()?.traceId;
    return this.transactions.write((sql, mailbox, now) => incoming.acceptIncoming(sql, mailbox, message, now));
  }

  /** Records that the account lost an address. Call it before DIRECTORY changes. */
  async retireAddress(email: string): Promise<void> {
    if (this.transactions.opened) retireAddress(this.transactions.kv, email);
  }

  /** Records that the account has an address again. Call it after DIRECTORY changed. */
  async openAddressAgain(email: string): Promise<void> {
    if (this.transactions.opened) openAddressAgain(this.transactions.kv, email);
  }

  /** @returns the due messages, and the user's own spam model to check them with (null if there is none). */
  async claimIncoming(
    limit: number,
    leaseMs: number,
  ): Promise<Result<{ messages: ClaimedIncoming[]; spamModel: Uint8Array | null }, NoMailbox>> {
    const { leases } = this.transactions.memory;
    return this.transactions.read((sql, mailbox, now) => {
      const messages = incoming.claimIncoming(sql, leases, mailbox, limit, leaseMs, now);
      return ok({ messages, spamModel: messages.length > 0 ? readSpamModel(sql) : null });
    });
  }

  /** Stores an accepted message in a folder and removes its row of accepted mail, in one transaction. */
  async deliverIncoming(
    incomingId: string,
    input: StoreMessageInput,
  ): Promise<Result<StoredMessage, StoreMessageError>> {
    return this.transactions.write((sql, mailbox, now) => {
      const stored = storeMessage(sql, mailbox, input, now, true);
      if (stored.ok) incoming.removeIncoming(sql, incomingId);
      this.transactions.memory.leases.delete(incomingId);
      return stored;
    });
  }

  async finishIncoming(incomingId: string, end: IncomingEnd): Promise<Result<void, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(incoming.finishIncoming(sql, incomingId, end, now)));
  }

  async deferIncoming(
    incomingId: string,
    attempts: number,
    reason: string,
    firstDelayMs: number,
  ): Promise<Result<void, NoMailbox>> {
    this.transactions.memory.leases.delete(incomingId);
    return this.transactions.write((sql, _, now) =>
      ok(incoming.deferIncoming(sql, incomingId, attempts, reason, firstDelayMs, now)),
    );
  }

  async readQuarantined(incomingId: string): Promise<Result<ClaimedIncoming, ReadError>> {
    return this.transactions.read((sql, mailbox) => {
      const found = incoming.readQuarantined(sql, mailbox, incomingId);
      return found ? ok(found) : err({ kind: 'not_found' });
    });
  }

  async listPulls(): Promise<Result<Pull[], NoMailbox>> {
    return this.transactions.read(() => ok(pulls.listPulls(this.transactions.kv)));
  }

  async startPull(pull: NewPull): Promise<Result<Pull, pulls.TooManyPulls | NoMailbox>> {
    return this.transactions.write((_, __, now) => pulls.startPull(this.transactions.kv, pull, now));
  }

  async deletePull(pullId: string): Promise<Result<null, ReadError>> {
    return this.transactions.write(() => orNotFound(pulls.deletePull(this.transactions.kv, pullId)));
  }

  /** @returns the pull that must connect now; null if none is due. */
  async claimPull(): Promise<Result<Pull | null, NoMailbox>> {
    return this.transactions.write((_, __, now) => ok(pulls.claimPull(this.transactions.kv, now)));
  }

  /** @returns false if the pull ended meanwhile. */
  async savePullProgress(connection: PullConnection, progress: PullProgress): Promise<Result<boolean, NoMailbox>> {
    return this.transactions.write((_, __, now) =>
      ok(pulls.savePullProgress(this.transactions.kv, connection, progress, now)),
    );
  }

  async endPullConnection(connection: PullConnection, end: PullEnd): Promise<Result<void, NoMailbox>> {
    return this.transactions.write((_, __, now) => ok(pulls.endConnection(this.transactions.kv, connection, end, now)));
  }
}
