/** Runs the calls of a mailbox against its database, sets its alarm and notifies its listeners. */

import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { createClock } from '../../../workers/shared/settings/clock.ts';
import { settingsOf } from '../../../workers/shared/settings/settings.ts';
import { OlderStoreError } from '../../../workers/shared/stores/store-age.ts';
import { nextAlarmAt } from '../alarm/wakes.ts';
import type { MailboxRow, NoMailbox, NotFound } from '../contract/mailbox.ts';
import { readChanges, readState } from '../database/change-store.ts';
import { createMemory, type Memory } from '../database/memory.ts';
import { type Database, isDatabase, openDatabase, readMailbox } from '../database/store.ts';
import { Listeners } from './listeners.ts';

export const orNotFound = (isDone: boolean): Result<null, NotFound> => (isDone ? ok(null) : err({ kind: 'not_found' }));

const HINT_WAIT_MS_MAX = 60_000;

export class Transactions {
  readonly now: () => number;
  readonly listeners: Listeners;
  memory: Memory = createMemory();
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  #database: Database | undefined;
  #opening: Promise<Database> | undefined;
  #isLeaving: boolean | undefined;
  /** The last state that was pushed to listeners. */
  #announced = -1;

  constructor(ctx: DurableObjectState, env: Env) {
    this.now = createClock(env);
    this.#env = env;
    this.#storage = ctx.storage;
    this.listeners = new Listeners(ctx, (since) => readChanges(this.database.sql, since), this.now);
  }

  get database(): Database {
    if (!this.#database) throw new Error('the database is not open');
    return this.#database;
  }

  /** Values by key, in the same storage as the database. */
  get kv(): SyncKvStorage {
    return this.#storage.kv;
  }

  /** The database; undefined if this object never stored anything. @throws OlderStoreError while the mailbox is being put back. */
  get opened(): Database | undefined {
    if (this.isLeaving) throw new OlderStoreError('MAILBOX');
    return this.#database;
  }

  /** Whether a restore of this mailbox has begun and not been replayed. */
  get isLeaving(): boolean {
    this.#isLeaving ??= this.kv.get('leaving') === true;
    return this.#isLeaving;
  }

  set isLeaving(isLeaving: boolean) {
    if (isLeaving) this.kv.put('leaving', true);
    else this.kv.delete('leaving');
    this.#isLeaving = isLeaving;
  }

  /** Number of the last replay after a restore. If the locations have a greater one, the mailbox was put back. */
  get number(): number {
    return this.kv.get<number>('age') ?? 0;
  }

  set number(number: number) {
    this.kv.put('age', number);
  }

  /**
   * Opens the database if there is one, and applies pending migrations. Call it before anything else. An object without a
   * database stays empty: a request with a made-up user id also reaches an object and must not fill it.
   */
  async open(): Promise<void> {
    if (isDatabase(this.#storage)) await this.#create();
  }

  /** Opens the database, and creates it if there is none. @throws OlderStoreError while the mailbox is being put back. */
  create(): Promise<Database> {
    if (this.isLeaving) throw new OlderStoreError('MAILBOX');
    return this.#create();
  }

  async #create(): Promise<Database> {
    this.#opening ??= openDatabase(this.#storage);
    this.#database = await this.#opening;
    return this.#database;
  }

  /** Deletes everything and creates an empty database. */
  async empty(): Promise<Database> {
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
    this.#opening = undefined;
    this.#announced = -1;
    this.memory = createMemory();
    return this.create();
  }

  /** Maximum delay of publishing the mailbox's totals of incoming mail to the operator's tables. */
  get ledgerDelayMs(): number {
    return settingsOf(this.#env).MAIL_LEDGER_SECONDS * 1000;
  }

  /** Time that the alarm waits for the hint of an attempt: a minute, or less if the first retry is earlier. */
  get hintWaitMs(): number {
    return Math.min(HINT_WAIT_MS_MAX, settingsOf(this.#env).MAIL_RETRY_SECONDS * 1000);
  }

  /** Runs work that only reads the database. @param isAlways also while the mailbox is being put back. */
  read<T, E>(
    work: (sql: SqlStorage, mailbox: MailboxRow, now: number) => Result<T, E>,
    isAlways = false,
  ): Result<T, E | NoMailbox> {
    const database = isAlways ? this.#database : this.opened;
    if (!database) return err({ kind: 'no_mailbox' });
    const { sql } = database;
    const mailbox = readMailbox(sql);
    return mailbox ? work(sql, mailbox, this.now()) : err({ kind: 'no_mailbox' });
  }

  /**
   * Runs work in one transaction, then sets the alarm and notifies listeners. Only a throw rolls the transaction back. So work
   * that returns an error must return it before its first write.
   */
  async write<T, E>(
    work: (sql: SqlStorage, mailbox: MailboxRow, now: number) => Result<T, E>,
  ): Promise<Result<T, E | NoMailbox>> {
    if (!this.opened) return err({ kind: 'no_mailbox' });
    const { sql } = this.opened;
    const outcome = this.opened.transaction(() => {
      const mailbox = readMailbox(sql);
      return mailbox ? work(sql, mailbox, this.now()) : err<NoMailbox>({ kind: 'no_mailbox' });
    });
    this.announce();
    await this.armAlarm();
    return outcome;
  }

  /** Pushes new changes to listeners, if there are any. */
  announce(): void {
    const state = readState(this.database.sql);
    if (state === this.#announced) return;
    this.#announced = state;
    this.listeners.announce();
  }

  /** Sets the alarm for the earliest wake. */
  async armAlarm(): Promise<void> {
    const wakeAt = nextAlarmAt(this, this.database.sql);
    if (wakeAt === null) return;
    // Converts from `now`, which wakes use and tests can shift, to the machine's clock, which alarms use.
    const at = Math.max(Date.now(), wakeAt - (this.now() - Date.now()));
    const armed = await this.#storage.getAlarm();
    if (armed === null || armed > at) await this.#storage.setAlarm(at);
  }
}
