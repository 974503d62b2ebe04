/**
 * One user's mailbox: the RPC shell. The object's name is the `user_id`. It decides nothing: it reads the clock, opens a
 * transaction, calls a store, and wakes whoever listens.
 *
 * **How a message gets in.** There is one way, `storeMessage(input)`: put the raw bytes (`input.rawKey`) and the decoded
 * attachments in every location first (`workers/mail/mime` does it and makes `input.parsed`; `workers/mail/delivery.ts`
 * does both steps), then call this. In one transaction it adds the message, its folder's counts, thread, search terms,
 * quota, labels and change. It is idempotent by `deliveryKey`: repeat it after any doubt. It answers a plain `Result`:
 * `{ok: true, value: {messageId, emailId, threadId, folderId, folderRole, duplicate}}`, or `{ok: false, error}` with
 * `no_mailbox` (never created, or erased), `over_quota` (only where `enforceQuota`), `no_folder`. A throw is an outage: try again.
 *
 * **Waking.** The object has one alarm. A part that wants it calls `scheduleWake(sql, name, at)` in its transaction and
 * is run by `runWake(name)` in `wakes.ts`; the shell arms the alarm after every call.
 * By design: a view (All, Flagged) holds nothing, so nothing moves into it; All and Flagged leave out Junk and Trash.
 */
import { DurableObject } from 'cloudflare:workers';
import type { NamespaceOwner } from '../../workers/mail/namespace-owner.ts';
import { createClock } from '../../workers/shared/clock.ts';
import { err, ok, type Result } from '../../workers/shared/result.ts';
import { answerClose } from '../../workers/shared/web-socket.ts';
import { storeMessage } from './arrival-store.ts';
import {
  type BatchPatch,
  type BatchResult,
  deleteFolder,
  deleteMessages,
  emptyFolder,
  patchMessages,
} from './batch-store.ts';
import { PRUNE_INTERVAL_MS, readChanges, readState } from './change-store.ts';
import {
  COMMANDS,
  type CommandAnswer,
  type CommandArguments,
  type CommandContext,
  type CommandName,
} from './commands.ts';
import type { StoredMessage, StoreMessageError, StoreMessageInput } from './delivered-message.ts';
import {
  createDraft,
  type Draft,
  type DraftContent,
  type DraftError,
  deleteDraft,
  readDraft,
  replaceDraft,
} from './draft-store.ts';
import {
  createFolder,
  createRoleFolders,
  type FolderError,
  type FolderRow,
  findFolder,
  isHidden,
  listFolders,
  renameFolder,
} from './folder-store.ts';
import { type EventMessage, Listeners } from './listeners.ts';
import {
  type ListPlace,
  listMessages,
  type MessageDetail,
  type MessageSummary,
  readMessage,
  readThreadMessages,
  type ThreadPage,
} from './message-read-store.ts';
import { findMessage } from './message-store.ts';
import type { CompileError } from './search-sql.ts';
import { type SearchAnswer, type SearchRequest, search } from './search-store.ts';
import {
  type Database,
  type MailboxRow,
  type NewMailbox,
  nextWakeAt,
  openDatabase,
  readMailbox,
  scheduleWake,
  settleWake,
  takeDueWakes,
  writeMailbox,
} from './store.ts';
import { findThread } from './thread-store.ts';
import { runTransportCall, type TransportCallName } from './transport-calls.ts';
import { keepTransportWakes } from './transport-wakes.ts';
import { insertUpload, readUploads, type Upload, type UploadError } from './upload-store.ts';
import { runWake } from './wakes.ts';

type NoMailbox = { readonly kind: 'no_mailbox' };
export type ReadError = NoMailbox | { readonly kind: 'not_found' };

export interface MailboxProfile extends MailboxRow {
  readonly state: string;
}

export class Mailbox extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #listeners: Listeners;
  #database: Database | undefined;
  /** The state that listeners were last told of. */
  #announced = -1;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#now = createClock(env);
    this.#listeners = new Listeners(ctx, (since) => readChanges(this.#db.sql, since), this.#now);
    ctx.blockConcurrencyWhile(async () => {
      this.#database = await openDatabase(ctx.storage);
    });
  }

  get #db(): Database {
    if (!this.#database) throw new Error('the database is not open');
    return this.#database;
  }

  /** Creates the mailbox with its folders; again: brings type and limit up to date. */
  async createMailbox(mailbox: NewMailbox): Promise<void> {
    this.#db.transaction(() => {
      writeMailbox(this.#db.sql, mailbox, this.#now());
      createRoleFolders(this.#db.sql, this.#now());
      scheduleWake(this.#db.sql, 'changes', this.#now() + PRUNE_INTERVAL_MS);
    });
    await this.#armAlarm();
  }

  async readProfile(): Promise<Result<MailboxProfile, NoMailbox>> {
    return this.#read((sql, mailbox) => ok({ ...mailbox, state: String(readState(sql)) }));
  }

  /** The one way a message enters; see above. */
  async storeMessage(input: StoreMessageInput): Promise<Result<StoredMessage, StoreMessageError>> {
    return this.#write((sql, mailbox, now) => storeMessage(sql, mailbox, input, now));
  }

  async listFolders(): Promise<Result<FolderRow[], NoMailbox>> {
    return this.#read((sql) => ok(listFolders(sql)));
  }

  async listMessages(folderKey: string, place: ListPlace, limit: number): Promise<Result<MessageSummary[], ReadError>> {
    return this.#read((sql) => {
      const folder = findFolder(sql, folderKey);
      return folder ? ok(listMessages(sql, folder, place, limit)) : err({ kind: 'not_found' });
    });
  }

  async readMessage(messageId: string): Promise<Result<MessageDetail, ReadError>> {
    return this.#read((sql) => {
      const found = findMessage(sql, messageId);
      const message = found && readMessage(sql, found.position);
      return message ? ok(message) : err({ kind: 'not_found' });
    });
  }

  /** Oldest first, after a position (exclusive). At most so many, and at most so much text. */
  async readThread(threadId: string, after: number, limit: number): Promise<Result<ThreadPage, ReadError>> {
    return this.#read((sql) => {
      const thread = findThread(sql, threadId);
      if (thread === null) return err({ kind: 'not_found' });
      const page = readThreadMessages(sql, thread, after, limit);
      return page.messages.length > 0 ? ok(page) : err({ kind: 'not_found' });
    });
  }

  async search(request: SearchRequest): Promise<Result<SearchAnswer, CompileError | NoMailbox>> {
    return this.#read((sql) => search(sql, request));
  }

  /** In one transaction; each id has its own outcome. */
  async patchMessages(
    ids: readonly string[],
    patch: BatchPatch,
  ): Promise<Result<BatchResult[], FolderError | NoMailbox>> {
    return this.#write((sql, _, now) => patchMessages(sql, ids, patch, now));
  }

  /** To Trash; what is in Trash already is erased. */
  async deleteMessages(ids: readonly string[]): Promise<Result<BatchResult[], NoMailbox>> {
    return this.#write((sql, _, now) => ok(deleteMessages(sql, ids, now)));
  }

  async createFolder(name: string): Promise<Result<FolderRow, FolderError | NoMailbox>> {
    return this.#write((sql, _, now) => createFolder(sql, name, now));
  }

  async renameFolder(key: string, name: string): Promise<Result<FolderRow, FolderError | NoMailbox>> {
    return this.#write((sql, _, now) => renameFolder(sql, key, name, now));
  }

  /** Its mail, and that of the folders under it, goes to Trash. */
  async deleteFolder(key: string): Promise<Result<null, FolderError | NoMailbox>> {
    for (;;) {
      const done = await this.#write((sql, _, now) => deleteFolder(sql, key, now));
      if (!done.ok) return done;
      if (done.value === 0) return ok(null);
    }
  }

  /** Erases what is in Junk or Trash. */
  async emptyFolder(key: string): Promise<Result<number, FolderError | NoMailbox>> {
    let total = 0;
    for (;;) {
      const erased = await this.#write<number, FolderError>((sql, _, now) => {
        const folder = findFolder(sql, key);
        if (!folder) return err({ kind: 'no_folder' });
        return isHidden(folder) ? ok(emptyFolder(sql, folder, now)) : err({ kind: 'folder_fixed' });
      });
      if (!erased.ok) return erased;
      if (erased.value === 0) return ok(total);
      total += erased.value;
    }
  }

  /** After the bytes are in every location; on an error the caller removes them. */
  async insertUpload(upload: Upload): Promise<Result<Upload, UploadError | NoMailbox>> {
    return this.#write((sql, mailbox, now) => insertUpload(sql, mailbox, upload, now));
  }

  /** Those of the ids that are uploads of this mailbox, in order. */
  async readUploads(ids: readonly string[]): Promise<Result<Upload[], NoMailbox>> {
    return this.#read((sql) => ok(readUploads(sql, ids)));
  }

  /** @param cleanedHtml the content's HTML, safe to show. */
  async createDraft(content: DraftContent, cleanedHtml: string | null): Promise<Result<Draft, DraftError | NoMailbox>> {
    return this.#write((sql, mailbox, now) => createDraft(sql, mailbox, content, cleanedHtml, now));
  }

  /** @param revision refuses the save when the draft has another one by now; null saves in any case. */
  async replaceDraft(
    draftId: string,
    content: DraftContent,
    cleanedHtml: string | null,
    revision: number | null,
  ): Promise<Result<Draft, DraftError | NoMailbox>> {
    const request = { content, cleanedHtml, revision };
    return this.#write((sql, mailbox, now) => replaceDraft(sql, mailbox, draftId, request, now));
  }

  async readDraft(draftId: string): Promise<Result<Draft, ReadError>> {
    return this.#read((sql) => {
      const draft = readDraft(sql, draftId);
      return draft ? ok(draft) : err({ kind: 'not_found' });
    });
  }

  async deleteDraft(draftId: string): Promise<Result<null, ReadError>> {
    return this.#write((sql, _, now) => (deleteDraft(sql, draftId, now) ? ok(null) : err({ kind: 'not_found' })));
  }

  /** Filters, contacts, vacation, forwarding: see `commands.ts`. */
  async command<N extends CommandName>(
    name: N,
    ...values: CommandArguments<N>
  ): Promise<CommandAnswer<N> | { readonly ok: false; readonly error: NoMailbox }> {
    type Run = (context: CommandContext, ...rest: unknown[]) => Result<unknown, unknown>;
    const run = COMMANDS[name] as unknown as Run;
    // The table's own types say what each name takes and gives; one cast keeps them through the lookup.
    return (await this.#write((sql, mailbox, now) => run({ sql, mailbox, now }, ...values))) as never;
  }

  /** Upgrades to a WebSocket; `since` and `credential` in the query. The route has checked who asks. */
  override async fetch(request: Request): Promise<Response> {
    if (!readMailbox(this.#db.sql)) return new Response(null, { status: 404 });
    const query = new URL(request.url).searchParams;
    const since = query.get('since');
    const expires = query.get('expires');
    const credential = { id: query.get('credential') ?? '', expiresAt: expires === null ? null : Number(expires) };
    return this.#listeners.accept(since === null ? null : Number(since), credential, readState(this.#db.sql));
  }

  /** @param since null answers at once with the state now. */
  async pollEvents(since: number | null, timeoutMs: number): Promise<Result<EventMessage, NoMailbox>> {
    const open = this.#read((sql) => ok(readState(sql)));
    if (!open.ok) return open;
    return since === null
      ? ok({ state: String(open.value), changes: [] })
      : ok(await this.#listeners.poll(since, timeoutMs));
  }

  /** Forgets everything: rows, search terms, alarm, sockets. The bytes in R2 are the caller's. May be run twice. */
  async erase(): Promise<void> {
    this.#listeners.close({});
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#database = await openDatabase(this.ctx.storage);
    this.#announced = -1;
  }

  /** Ends the sockets of sessions that are no more. */
  async closeSockets(which: { readonly only?: string; readonly except?: string }): Promise<void> {
    this.#listeners.close(which);
  }

  override webSocketMessage(): void {
    // Clients have nothing to say here; "ping" is answered without waking the object.
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    answerClose(socket, code, reason);
  }

  /** Mail transport's calls, by name; see `transport-calls.ts`. */
  async transport(name: TransportCallName, values: readonly unknown[]): Promise<Result<unknown, unknown>> {
    return this.#write((sql, mailbox, now) => runTransportCall({ sql, mailbox, now }, name, values));
  }

  /** The record of the whole namespace; only the object that `workers/mail/namespace-owner.ts` names has one. */
  async readOwner(): Promise<NamespaceOwner | null> {
    return (await this.ctx.storage.get<NamespaceOwner>('owner')) ?? null;
  }

  async writeOwner(owner: NamespaceOwner): Promise<void> {
    await this.ctx.storage.put('owner', owner);
  }

  #read<T, E>(work: (sql: SqlStorage, mailbox: MailboxRow) => Result<T, E>): Result<T, E | NoMailbox> {
    const mailbox = readMailbox(this.#db.sql);
    return mailbox ? work(this.#db.sql, mailbox) : err({ kind: 'no_mailbox' });
  }

  /** One transaction; then the alarm and the listeners. A failed Result must have written nothing. */
  async #write<T, E>(
    work: (sql: SqlStorage, mailbox: MailboxRow, now: number) => Result<T, E>,
  ): Promise<Result<T, E | NoMailbox>> {
    const { sql } = this.#db;
    const outcome = this.#db.transaction(() => {
      const mailbox = readMailbox(sql);
      return mailbox ? work(sql, mailbox, this.#now()) : err<NoMailbox>({ kind: 'no_mailbox' });
    });
    this.#announce();
    await this.#armAlarm();
    return outcome;
  }

  #announce(): void {
    const state = readState(this.#db.sql);
    if (state === this.#announced) return;
    this.#announced = state;
    this.#listeners.announce();
  }

  async #armAlarm(): Promise<void> {
    const wakeAt = nextWakeAt(this.#db.sql);
    if (wakeAt === null) return;
    // The alarm runs on the machine's clock, wakes are in the service's: a moved clock moves both the same way.
    const at = wakeAt - (this.#now() - Date.now());
    const armed = await this.ctx.storage.getAlarm();
    if (armed === null || armed > at) await this.ctx.storage.setAlarm(at);
  }

  override async alarm(): Promise<void> {
    const { sql } = this.#db;
    const due = this.#db.transaction(() => {
      const taken = takeDueWakes(sql, this.#now());
      keepTransportWakes(
        sql,
        taken.map((wake) => wake.name),
        this.#now(),
      );
      return taken;
    });
    try {
      for (const wake of due) {
        await runWake(wake.name, this.#db, this.env, this.ctx, this.#now);
        settleWake(sql, wake);
      }
    } finally {
      this.#announce();
      await this.#armAlarm();
    }
  }
}
