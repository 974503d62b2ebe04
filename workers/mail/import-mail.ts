/**
 * Import of mbox and single messages. Repeating an import adds nothing twice (a message is known by its bytes), so one that
 * was cut off is simply sent again. Dates, flags, labels and folders are kept where the file tells them.
 *
 * An invocation of a Worker may make 10,000 subrequests (https://developers.cloudflare.com/workers/platform/limits/), and each
 * message costs one for each of its R2 objects and locations. So messages go in batches, two calls of the mailbox each, and
 * what would pass the limit is counted as `remaining`: the file is sent again, and what is stored is passed over, a batch a call.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { StoreMessageInput } from '../../durable-objects/mailbox/contract/delivered-message.ts';
import { deleteBlobs, listLocations } from './blobs.ts';
import { INLINE_TEXT_BYTES_MAX, putDelivery } from './delivery.ts';
import { toNameKey } from './domain/folder-name.ts';
import { type MboxMessage, MboxSplitter, readMarked } from './domain/mbox.ts';
import { type MailboxRpc, openMailbox } from './mailbox.ts';
import { openBytes } from './mime/opened-message.ts';
import { type ParsedRaw, parseMessage } from './mime/parse.ts';

/** Of one message; it is held in memory. */
export const IMPORTED_MESSAGE_BYTES_MAX = 40 * 1024 * 1024;
const FAILURES_TOLD_MAX = 100;
const BATCH_MESSAGES = 25;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Below the platform's, because authentication asks too, and a mailbox's refusal costs a delete. */
const SUBREQUESTS_MAX = 9_000;

export interface ImportReport {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
  /** Not looked at: the request had done all that one may do. */
  remaining: number;
  /** The first of them; `index` counts from 0. */
  failures: { index: number; code: string }[];
}

export interface ImportOptions {
  /** A folder's id or role, for messages that name none. */
  readonly folder: string;
  readonly now: number;
  readonly subrequestsMax?: number;
}

export async function importMbox(
  env: Env,
  userId: string,
  body: ReadableStream<Uint8Array>,
  options: ImportOptions,
): Promise<ImportReport> {
  const run = new ImportRun(env, userId, options);
  const splitter = new MboxSplitter(IMPORTED_MESSAGE_BYTES_MAX);
  for await (const chunk of body) {
    for (const message of splitter.push(chunk)) await run.add(message);
  }
  // A half of the last message must not pass for the whole: the file is sent again when it is all there.
  for (const message of splitter.end()) await run.add(message?.isCut ? 'cut_off' : message);
  return run.end();
}

export async function importMessage(
  env: Env,
  userId: string,
  raw: Uint8Array,
  options: ImportOptions,
): Promise<ImportReport> {
  const run = new ImportRun(env, userId, options);
  const message = readMarked(Buffer.from(raw), null);
  await run.add(message.isCut ? 'cut_off' : message);
  return run.end();
}

interface Waiting {
  readonly index: number;
  readonly message: MboxMessage;
  readonly sha256: string;
}

interface Wanted extends Waiting {
  readonly parsed: ParsedRaw;
  readonly folder: string;
}

interface Put {
  readonly index: number;
  readonly input: StoreMessageInput;
  readonly written: readonly string[];
}

/** One import, a batch at a time. */
class ImportRun {
  readonly #env: Env;
  readonly #userId: string;
  readonly #options: ImportOptions;
  readonly #mailbox: MailboxRpc;
  readonly #report: ImportReport = {
    messages: 0,
    imported: 0,
    duplicates: 0,
    failed: 0,
    remaining: 0,
    failures: [],
  };
  readonly #folderIds = new Map<string, string>();
  #batch: Waiting[] = [];
  #batchBytes = 0;
  #subrequestsLeft: number;

  constructor(env: Env, userId: string, options: ImportOptions) {
    this.#env = env;
    this.#userId = userId;
    this.#options = options;
    this.#mailbox = openMailbox(env, userId);
    this.#subrequestsLeft = options.subrequestsMax ?? SUBREQUESTS_MAX;
  }

  /** @param message null is one that is too large. */
  async add(message: MboxMessage | 'cut_off' | null): Promise<void> {
    const index = this.#report.messages;
    this.#report.messages += 1;
    if (message === null || message === 'cut_off') return this.#fail(index, message ?? 'too_large');
    const sha256 = createHash('sha256').update(message.raw).digest('hex');
    this.#batch.push({ index, message, sha256 });
    this.#batchBytes += message.raw.byteLength;
    if (this.#batch.length >= BATCH_MESSAGES || this.#batchBytes >= BATCH_BYTES) await this.#storeBatch();
  }

  async end(): Promise<ImportReport> {
    await this.#storeBatch();
    return this.#report;
  }

  #fail(index: number, code: string): void {
    this.#report.failed += 1;
    if (this.#report.failures.length < FAILURES_TOLD_MAX) this.#report.failures.push({ index, code });
  }

  /** Whether there is room for so many more. Once there is none, nothing further is begun. */
  #spend(subrequests: number): boolean {
    const isRoom = this.#subrequestsLeft >= subrequests;
    this.#subrequestsLeft = isRoom ? this.#subrequestsLeft - subrequests : 0;
    return isRoom;
  }

  async #storeBatch(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    if (batch.length === 0) return;
    // What is known already, and the storing in the end.
    if (!this.#spend(2)) {
      this.#report.remaining += batch.length;
      return;
    }
    const known = new Set(await this.#listKnown(batch));
    const wanted: Wanted[] = [];
    for (const waiting of batch) {
      if (known.has(waiting.sha256)) {
        this.#report.duplicates += 1;
        continue;
      }
      const parsed = await parseMessage(waiting.message.raw);
      const folder = await this.#findFolder(waiting.message.folder);
      if (folder === null || !this.#spend(countObjects(parsed) * listLocations(this.#env).length)) {
        this.#report.remaining += 1;
        continue;
      }
      known.add(waiting.sha256);
      wanted.push({ ...waiting, parsed, folder });
    }
    await this.#store(await Promise.all(wanted.map((each) => this.#put(each))));
  }

  async #listKnown(batch: readonly Waiting[]): Promise<readonly string[]> {
    const known = await this.#mailbox.listKnownRaws(batch.map((waiting) => waiting.sha256));
    return known.ok ? known.value : [];
  }

  async #put({ index, message, sha256, parsed, folder }: Wanted): Promise<Put> {
    const { now } = this.#options;
    const put = await putDelivery(this.#env, {
      userId: this.#userId,
      deliveryKey: `import:${sha256}:${randomUUID()}`,
      message: openBytes(message.raw),
      parsedRaw: parsed,
      receivedAt: Math.min(message.receivedAt ?? parsed.sentAt ?? now, now),
      origin: 'imported',
      folder,
      isRead: message.isRead,
      isFlagged: message.isFlagged,
      labels: message.labels.slice(0, 50),
      envelopeFrom: '',
      envelopeTo: null,
      spam: null,
      authentication: null,
      applyRules: false,
      enforceQuota: true,
    });
    return { index, ...put };
  }

  async #store(puts: readonly Put[]): Promise<void> {
    if (puts.length === 0) return;
    const stored = await this.#mailbox.storeMessages(puts.map((put) => put.input));
    const unwanted: string[] = [];
    for (const [at, { index, written }] of puts.entries()) {
      const outcome = stored.ok ? stored.value[at] : stored;
      if (outcome?.ok) this.#report[outcome.value.duplicate ? 'duplicates' : 'imported'] += 1;
      else {
        this.#fail(index, outcome?.error.kind ?? 'no_mailbox');
        unwanted.push(...written);
      }
    }
    if (unwanted.length > 0) {
      this.#spend(listLocations(this.#env).length);
      await deleteBlobs(this.#env, unwanted);
    }
  }

  /** @returns null when there is no room to ask. */
  async #findFolder(name: string | null): Promise<string | null> {
    const fallback = this.#options.folder;
    const known = name === null ? fallback : this.#folderIds.get(toNameKey(name));
    if (known !== undefined || name === null) return known ?? fallback;
    if (!this.#spend(2)) return null;
    const folders = await this.#mailbox.listFolders();
    for (const row of folders.ok ? folders.value : []) this.#folderIds.set(toNameKey(row.name), row.folder_id);
    if (!this.#folderIds.has(toNameKey(name))) {
      const made = await this.#mailbox.createFolder(name);
      this.#folderIds.set(toNameKey(name), made.ok ? made.value.folder_id : fallback);
    }
    return this.#folderIds.get(toNameKey(name)) ?? fallback;
  }
}

/** How many objects of R2 a message becomes: its raw bytes, its files, its long texts. */
function countObjects({ text, html, attachments }: ParsedRaw): number {
  const isLong = (value: string | null) => value !== null && Buffer.byteLength(value) > INLINE_TEXT_BYTES_MAX;
  return 1 + attachments.length + [text, html].filter(isLong).length;
}
