/**
 * One user's mailbox: the RPC shell. The object's name is the `user_id`. Each call reads the clock, opens a transaction, calls a
 * store and notifies listeners. `calls/` has one class of calls per concern, each extending the one before: messages, drafts,
 * rules, cards, incoming, outbox, JMAP, credentials, reads by a credential. `mailbox-object.ts` explains why.
 *
 * **Rooms**, each importing only those before it: `contract/` (what calls take and return; the Worker imports no other room),
 * `database/` (schema, change log, wakes, search index), `credentials/`, `messages/`, `drafts/` and `search/` and `rules/`,
 * `incoming/`, `outbox/`, `jmap/`; then `alarm/` and `calls/`.
 *
 * **Storing a delivered message.** `storeMessage(input)`:
 * - First put the raw bytes (`input.rawKey`) and the decoded attachments in a quorum of the locations.
 * `workers/mail/inbound/process/delivery.ts` does this, parses the message and makes the call.
 * - One transaction then adds the message, its folder's counts, thread, search terms, quota, labels and change.
 * - The call is idempotent by `deliveryKey`. If its outcome is unknown, repeat it.
 * - It returns a plain `Result`: `{ok: true, value: {messageId, emailId, threadId, folderId, folderRole, duplicate}}` or `{ok:
 * false, error}`. Errors are `no_mailbox` (never created, or erased), `over_quota` (only with `enforceQuota`) and `no_folder`. A
 * throw is an outage: retry.
 *
 * **Waking.** The object has one alarm, which is set after every write. `alarm/wakes.ts` reads from the rows what is due when, so
 * no schedule is stored that could be lost. Work on other systems (SMTP, scanners, R2, D1) runs in the Worker, by
 * `ctx.exports.MailboxJobs`.
 *
 * By design: a view (All, Flagged) holds no message, so no message can be moved into it. All and Flagged omit Junk and Trash.
 */

import { answerClose } from '../../workers/shared/json/web-socket.ts';
import { ok, type Result } from '../../workers/shared/pure/result.ts';
import { settingsOf } from '../../workers/shared/settings/settings.ts';
import { findOutsideNumber } from '../../workers/shared/stores/object-ages.ts';
import { runInvocation, withTrace } from '../../workers/shared/telemetry/invocation.ts';
import { runWakes } from './alarm/wakes.ts';
import { RestoreCalls } from './calls/restore-calls.ts';
import type { EventMessage } from './contract/changes.ts';
import type { MailboxProfile, NamespaceOwner, NewMailbox, NoMailbox } from './contract/mailbox.ts';
import { takeCredentials } from './credentials/credential-store.ts';
import { readState } from './database/change-store.ts';
import { readMailbox, writeMailbox } from './database/store.ts';
import { createRoleFolders } from './messages/folder-store.ts';

/** While PRODUCTS does not include mail, the alarm checks it again at this interval. */
const ABSENT_MS = 3_600_000;
/** While the mailbox is in an earlier state, the alarm looks again at this interval. */
const PUT_BACK_MS = 60_000;

export class Mailbox extends RestoreCalls {
  /** Creates the mailbox with its folders. If it exists, updates its type and limit only. */
  async createMailbox(mailbox: NewMailbox): Promise<void> {
    const { now } = this.transactions;
    const database = await this.transactions.create();
    database.transaction(() => {
      writeMailbox(database.sql, mailbox, now());
      createRoleFolders(database.sql, now());
    });
    await this.transactions.armAlarm();
  }

  async readProfile(): Promise<Result<MailboxProfile, NoMailbox>> {
    return this.transactions.read((sql, mailbox) => ok({ ...mailbox, state: String(readState(sql)) }));
  }

  /** Upgrades a request to a WebSocket. The query has `since` and `credential`. The route has authorised the caller already. */
  override async fetch(request: Request): Promise<Response> {
    const { opened: database, listeners } = this.transactions;
    if (!database || !readMailbox(database.sql)) return new Response(null, { status: 404 });
    const query = new URL(request.url).searchParams;
    const since = query.get('since');
    const expires = query.get('expires');
    const credential = { id: query.get('credential') ?? '', expiresAt: expires === null ? null : Number(expires) };
    return listeners.accept(since === null ? null : Number(since), credential, readState(database.sql));
  }

  /** @param since number of the last change that the client has; null returns the current state at once. */
  async pollEvents(since: number | null, timeoutMs: number): Promise<Result<EventMessage, NoMailbox>> {
    const open = this.transactions.read((sql) => ok(readState(sql)));
    if (!open.ok) return open;
    return since === null
      ? ok({ state: String(open.value), changes: [] })
      : ok(await this.transactions.listeners.poll(since, timeoutMs));
  }

  /**
   * Erases rows, search terms, alarm and sockets. The caller deletes the bytes in R2. Idempotent. Credentials stay until
   * `endCredentials`: if deletion of the account fails half-way, the user can still repeat it.
   */
  async erase(): Promise<void> {
    const { opened, listeners } = this.transactions;
    listeners.close({});
    if (!opened) return;
    const putBack = takeCredentials(opened.sql);
    putBack((await this.transactions.empty()).sql);
  }

  override webSocketMessage(): void {
    // Ignores messages of clients. They send only "ping", which the platform answers without waking the object.
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    answerClose(socket, code, reason);
  }

  /**
   * Reads the owner record of the whole namespace. Only the object that `workers/mail/bindings/namespace-owner.ts` names has one.
   */
  async readOwner(): Promise<NamespaceOwner | null> {
    return (await this.ctx.storage.get<NamespaceOwner>('owner')) ?? null;
  }

  async writeOwner(owner: NamespaceOwner): Promise<void> {
    await this.ctx.storage.put('owner', owner);
  }

  /** Whether the mailbox is in an earlier state, in which it must not send, delete or save anything. */
  async #isPutBack(): Promise<boolean> {
    const { isLeaving, number } = this.transactions;
    if (isLeaving) return true;
    const mailbox = this.transactions.read((_, { userId }) => ok(userId));
    return mailbox.ok && number < (await findOutsideNumber(this.env, 'mailboxes', mailbox.value));
  }

  override async alarm(): Promise<void> {
    // While the deployment does not serve mail, the alarm does no work. Waiting mail stays.
    if (!settingsOf(this.env).PRODUCTS.includes('mail')) return this.ctx.storage.setAlarm(Date.now() + ABSENT_MS);
    if (await this.#isPutBack()) return this.ctx.storage.setAlarm(Date.now() + PUT_BACK_MS);
    const { opened: database, kv, memory, now, ledgerDelayMs, hintWaitMs } = this.transactions;
    if (!database) return;
    const userId = readMailbox(database.sql)?.userId;
    if (userId === undefined) return;
    const waitUntil = (work: Promise<unknown>) => this.ctx.waitUntil(work);
    await runInvocation(this.env, undefined, async () => {
      const jobs = withTrace(this.ctx.exports.MailboxJobs);
      try {
        await runWakes({ database, kv, memory, jobs, userId, now, waitUntil, ledgerDelayMs, hintWaitMs });
      } finally {
        this.transactions.announce();
        await this.transactions.armAlarm();
      }
    });
  }
}
