/**
 * Calls that put the mailbox back to an earlier state and replay what must hold: docs/design/restores.md. From `beginRestore` until
 * `endRestore`, the mailbox refuses every other call, and its alarm does nothing.
 */
import { ok, type Result } from '../../../workers/shared/pure/result.ts';
import { withTrace } from '../../../workers/shared/telemetry/invocation.ts';
import { saveSnapshot } from '../alarm/wakes.ts';
import type { NoMailbox } from '../contract/mailbox.ts';
import { type ObjectNumberList, PUT_BACK } from '../contract/recovery.ts';
import { readState } from '../database/change-store.ts';
import { createPointInTime } from '../database/point-in-time-store.ts';
import { type HeldState, putHeldState, readHeldState } from '../messages/restore-store.ts';
import { raiseCardFloor } from '../rules/card-store.ts';
import { OwnReads } from './own-reads.ts';

export class RestoreCalls extends OwnReads {
  /** Reads the bookmark of the present state, or of the state at a time. @throws if there is none. */
  async readBookmark(time: number | null): Promise<string> {
    const platform = createPointInTime(this.ctx.storage, this.env);
    return time === null ? platform.readBookmark() : platform.findBookmark(time);
  }

  /** @returns the number of the last replay of this mailbox, and whether a restore began that has not been replayed. */
  async readAge(): Promise<{ readonly number: number; readonly isLeaving: boolean }> {
    return { number: this.transactions.number, isLeaving: this.transactions.isLeaving };
  }

  /**
   * Stops serving, and saves the states of all messages in R2.
   * @returns what must hold after the restore, as JSON for `putHeldState`. Repeating it changes nothing.
   */
  async beginRestore(number: number): Promise<Result<string, NoMailbox>> {
    const mailbox = this.transactions.read((_, row) => ok(row), true);
    if (!mailbox.ok) return mailbox;
    this.transactions.isLeaving = true;
    const { database, now } = this.transactions;
    await saveSnapshot({ database, jobs: withTrace(this.ctx.exports.MailboxJobs) });
    const { sql } = database;
    return ok(JSON.stringify(readHeldState(sql, number, readState(sql), now())));
  }

  /** Puts the storage back and ends this object. Always throws: `PUT_BACK` if it was put back. */
  async putBack(bookmark: string): Promise<void> {
    await createPointInTime(this.ctx.storage, this.env).putBack(bookmark);
    // The end of the object would otherwise discard writes that are not stored yet.
    await this.ctx.storage.sync();
    this.ctx.abort(PUT_BACK);
  }

  /** Puts into the earlier state what must hold. Idempotent. @returns the number of messages that were erased since. */
  async putHeldState(json: string): Promise<number> {
    const held: HeldState = JSON.parse(json);
    const { database, now } = this.transactions;
    const erased = database.transaction(() => {
      // Programs may know cards that are newer than those of the earlier state, so they compare all of them.
      raiseCardFloor(database.sql, held.state + 1);
      return putHeldState(database.sql, held, now());
    });
    this.transactions.isLeaving = false;
    return erased;
  }

  /** Serves again, with this number. */
  async endRestore(number: number): Promise<void> {
    this.transactions.number = Math.max(this.transactions.number, number);
    this.transactions.isLeaving = false;
    this.transactions.announce();
    await this.transactions.armAlarm();
  }

  /** The list of mailboxes that were put back. Only the object that has the owner record of the namespace keeps it. */
  async changeNumbers(outside: ObjectNumberList, userId: string, number: number | null): Promise<ObjectNumberList> {
    const own = this.ctx.storage.kv.get<ObjectNumberList>('ages') ?? { version: 0, numbers: {} };
    const { version, numbers } = own.version >= outside.version ? own : outside;
    const { [userId]: _, ...others } = numbers;
    const list = { version: version + 1, numbers: number === null ? others : { ...others, [userId]: number } };
    this.ctx.storage.kv.put('ages', list);
    return list;
  }
}
