/**
 * Pulls mail from another mailbox: one connection of a pull, called by the mailbox's alarm. It reads each folder after the last UID
 * that was handled, and stores messages as an import of a file does. Progress is saved every ten seconds and belongs to the mailbox,
 * so a lost connection repeats ten seconds at most. Messages that exist already are recognised by their bytes.
 *
 * Gaps: flags that change on the other server later are not copied. The copy of a message in a second folder is not stored again.
 */
import type { FetchMessageObject, ImapFlow } from 'imapflow';
import type {
  Pull,
  PullEnd,
  PulledFolder,
  PullFault,
  PullProgress,
} from '../../../../durable-objects/mail/contract/pulls.ts';
import { openSecret } from '../../../identity/index.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { type MailboxRpc, openMailbox } from '../../bindings/mailbox.ts';
import { type PlannedFolder, planFolders, toPulledMarks } from '../../domain/pulled-folders.ts';
import { IMPORTED_MESSAGE_BYTES_MAX, ImportRun } from '../process/import-mail.ts';
import { connectToServer } from './imap-server.ts';
import { pullContext } from './pull-rules.ts';

/** Two thirds of the 15 minutes that the platform gives an alarm. */
const CONNECTION_MS_MAX = 10 * 60_000;
const SAVE_MS = 10_000;
const MESSAGES_PER_FETCH = 25;
/** A tenth of the `subrequests` that wrangler.toml allows an invocation. Time is used up earlier. */
const SUBREQUESTS_MAX = 100_000;
const FOLDERS_MAX = 1_000;

export async function pullMail(env: Env, userId: string): Promise<void> {
  const mailbox = openMailbox(env, userId);
  const claimed = await mailbox.claimPull();
  if (!claimed.ok || claimed.value === null) return;
  const pull = claimed.value;
  const end = await connectAndRead(env, userId, pull);
  await mailbox.endPullConnection({ pullId: pull.pullId, connectedAt: pull.connectedAt }, end);
}

async function connectAndRead(env: Env, userId: string, pull: Pull): Promise<PullEnd> {
  const failed = (fault: PullFault): PullEnd => ({ progress: toProgress(pull), isDone: false, fault });
  const opened = openSecret(pull.secretSealed ?? '', pullContext(userId, pull.pullId), env);
  if (!opened.ok) return failed('secret_lost');
  const client = await connectToServer(env, pull, opened.value);
  if (typeof client === 'string') return failed(client);
  const reading = new Reading(env, userId, pull, client);
  const saving = setInterval(() => void reading.save(), SAVE_MS);
  try {
    return await reading.readAll();
  } catch (error) {
    logError('pull_interrupted', error);
    return { progress: reading.progress, isDone: false, fault: 'interrupted' };
  } finally {
    clearInterval(saving);
    client.close();
  }
}

const toProgress = ({ folders, imported, duplicates, failed, passes }: Pull): PullProgress => ({
  folders,
  imported,
  duplicates,
  failed,
  passes,
});

/** Why reading stops before all folders were read. `limit`: another connection continues. */
type Stop = 'limit' | 'over_quota' | null;

/** Reads the folders over one connection. */
class Reading {
  progress: PullProgress;
  readonly #env: Env;
  readonly #userId: string;
  readonly #pull: Pull;
  readonly #client: ImapFlow;
  readonly #mailbox: MailboxRpc;
  readonly #endsAt = Date.now() + CONNECTION_MS_MAX;
  #subrequestsLeft = SUBREQUESTS_MAX;
  /** True once the pull was deleted, or another connection took its place. */
  #isOver = false;

  constructor(env: Env, userId: string, pull: Pull, client: ImapFlow) {
    this.#env = env;
    this.#userId = userId;
    this.#pull = pull;
    this.#client = client;
    this.#mailbox = openMailbox(env, userId);
    this.progress = toProgress(pull);
  }

  async save(): Promise<void> {
    const { pullId, connectedAt } = this.#pull;
    try {
      const saved = await this.#mailbox.savePullProgress({ pullId, connectedAt }, this.progress);
      if (!saved.ok || !saved.value) this.#isOver = true;
    } catch (error) {
      // The next save may succeed. If none does, the lease ends and another connection repeats the rest.
      logError('pull_progress_unsaved', error);
    }
  }

  async readAll(): Promise<PullEnd> {
    const list = await this.#client.list();
    const folders = planFolders(list, this.#client.capabilities.has('X-GM-EXT-1')).slice(0, FOLDERS_MAX);
    for (const folder of folders) {
      const stop = await this.#readFolder(folder);
      if (stop) return { progress: this.progress, isDone: false, fault: stop === 'limit' ? null : stop };
    }
    await this.#client.logout().catch(() => {});
    return { progress: { ...this.progress, passes: this.progress.passes + 1 }, isDone: true, fault: null };
  }

  async #readFolder(folder: PlannedFolder): Promise<Stop> {
    const opened = await this.#client.mailboxOpen(folder.path, { readOnly: true }).catch((error: unknown) => {
      if (isRefused(error)) return null;
      throw error;
    });
    if (!opened) return null;
    const uidValidity = String(opened.uidValidity);
    const known = this.progress.folders[folder.path];
    let lastUid = known?.uidValidity === uidValidity ? known.lastUid : 0;
    const uids = await this.#listUids(lastUid, opened.exists);
    this.#note(folder, { uidValidity, lastUid, remaining: uids.length });
    for (let at = 0; at < uids.length; at += MESSAGES_PER_FETCH) {
      const chunk = uids.slice(at, at + MESSAGES_PER_FETCH);
      const stop = await this.#readMessages(folder, chunk);
      if (stop) return stop;
      lastUid = chunk.at(-1) ?? lastUid;
      this.#note(folder, { uidValidity, lastUid, remaining: uids.length - at - chunk.length });
      if (this.#isOver || Date.now() >= this.#endsAt) return 'limit';
    }
    return null;
  }

  /** @returns the UIDs after one, in order. `n:*` always has the last message (RFC 3501 §6.4.8), so smaller ones are left out. */
  async #listUids(lastUid: number, exists: number): Promise<number[]> {
    if (exists === 0) return [];
    const found = await this.#client.search({ uid: `${lastUid + 1}:*` }, { uid: true });
    return (found || []).filter((uid) => uid > lastUid).sort((a, b) => a - b);
  }

  /** Reads messages together, or one by one if the server cannot deliver one of them. */
  async #readMessages(folder: PlannedFolder, uids: readonly number[]): Promise<Stop> {
    try {
      return await this.#importMessages(folder, uids);
    } catch (error) {
      if (!this.#client.usable || !isRefused(error)) throw error;
    }
    if (uids.length === 1) {
      this.progress = { ...this.progress, failed: this.progress.failed + 1 };
      return null;
    }
    for (const uid of uids) {
      const stop = await this.#readMessages(folder, [uid]);
      if (stop) return stop;
    }
    return null;
  }

  async #importMessages(folder: PlannedFolder, uids: readonly number[]): Promise<Stop> {
    const limits = { subrequestsMax: this.#subrequestsLeft, writingMsMax: Number.POSITIVE_INFINITY };
    const run = new ImportRun(this.#env, this.#userId, { folder: 'inbox', now: createClock(this.#env)(), ...limits });
    const query = { uid: true, flags: true, internalDate: true, labels: folder.byGmailLabels };
    // One byte more than allowed, so that a message that is too large is recognised.
    const source = { start: 0, maxLength: IMPORTED_MESSAGE_BYTES_MAX + 1 };
    for await (const message of this.#client.fetch(uids.join(','), { ...query, source }, { uid: true }))
      await addMessage(run, folder, message);
    const report = await run.end();
    this.#subrequestsLeft = run.subrequestsLeft;
    const { imported, duplicates, failed } = this.progress;
    // The same messages are read again by another connection.
    if (report.failures.some(({ code }) => code === 'over_quota')) return 'over_quota';
    if (report.remaining > 0) return 'limit';
    this.progress = {
      ...this.progress,
      imported: imported + report.imported,
      duplicates: duplicates + report.duplicates,
      failed: failed + report.failed,
    };
    return null;
  }

  #note(folder: PlannedFolder, pulled: PulledFolder): void {
    this.progress = { ...this.progress, folders: { ...this.progress.folders, [folder.path]: pulled } };
  }
}

async function addMessage(run: ImportRun, folder: PlannedFolder, message: FetchMessageObject): Promise<void> {
  const raw = message.source;
  if (!raw) return;
  const range = { offset: 0, sizeBytes: raw.byteLength };
  if (raw.byteLength > IMPORTED_MESSAGE_BYTES_MAX) return run.addTooLarge(range);
  const receivedAt = message.internalDate === undefined ? null : new Date(message.internalDate).getTime();
  const marks = toPulledMarks(folder, message.flags ?? new Set(), message.labels ?? new Set());
  await run.addMessage({ raw, receivedAt, isCut: false, ...marks }, range);
}

/** Whether the server answered NO or BAD to a command. The connection is still good then. */
const isRefused = (error: unknown): boolean =>
  ['NO', 'BAD'].includes((error as { responseStatus?: string }).responseStatus ?? '');
