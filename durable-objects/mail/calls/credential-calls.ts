/**
 * Calls about the credentials that open the mailbox. They also work after the mailbox was erased: if deletion of the account fails
 * half-way, the user can still repeat it.
 */

import type { EndedCredentials, Holder, KeptCredential, NewCredential, SessionRow } from '../contract/credentials.ts';
import {
  confirmSession,
  endCredentials,
  forgetNames,
  identify,
  insertCredential,
  listSessions,
  renameHolder,
  setSuspended,
} from '../credentials/credential-store.ts';

import { readMailbox } from '../database/store.ts';
import { endSubscriptions } from '../jmap/push-store.ts';
import { ImapCalls } from './imap-calls.ts';

export class CredentialCalls extends ImapCalls {
  /** @returns the credential; null if it is unknown, ended or expired, and while the user is suspended. */
  async identify(secretSha256: string): Promise<KeptCredential | null> {
    const { opened, now } = this.transactions;
    return opened ? identify(opened.sql, secretSha256, now()) : null;
  }

  async insertCredential(given: NewCredential, user: Holder): Promise<void> {
    const database = await this.transactions.create();
    database.transaction(() => insertCredential(database.sql, given, user, this.transactions.now()));
  }

  async renameHolder(name: string): Promise<void> {
    if (this.transactions.opened) renameHolder(this.transactions.opened.sql, name);
  }

  async listSessions(): Promise<SessionRow[]> {
    const { opened, now } = this.transactions;
    return opened ? listSessions(opened.sql, now()) : [];
  }

  async confirmSession(sessionId: string, until: number): Promise<void> {
    if (this.transactions.opened) confirmSession(this.transactions.opened.sql, sessionId, until);
  }

  /** Ends credentials with their connections and push subscriptions. @returns how many of them this mailbox had. */
  async endCredentials(which: EndedCredentials): Promise<number> {
    const { opened } = this.transactions;
    if (!opened) return 0;
    const ended = opened.transaction(() => {
      const ids = endCredentials(opened.sql, which);
      this.#endSubscriptions(which, ids);
      const isAll = which.only === undefined && which.except === undefined && which.kind === undefined;
      if (isAll && !readMailbox(opened.sql)) forgetNames(opened.sql);
      return ids;
    });
    if (which.kind !== undefined) for (const id of ended) this.transactions.listeners.close({ only: id });
    else this.transactions.listeners.close(which);
    return ended.length;
  }

  /**
   * Suspends or resumes the user. While suspended, no credential works; all connections are closed at once.
   * @param at time of the suspension; null lifts it.
   */
  async setSuspended(at: number | null): Promise<void> {
    const { sql } = await this.transactions.create();
    setSuspended(sql, at);
    if (at === null) return;
    this.transactions.listeners.close({});
    endSubscriptions(sql, {});
  }

  #endSubscriptions(which: EndedCredentials, ended: readonly string[]): void {
    const { sql } = this.transactions.database;
    if (which.kind !== undefined) for (const id of ended) endSubscriptions(sql, { only: id });
    else endSubscriptions(sql, which);
  }
}
