/**
 * Imports mbox files and single messages, with dates, flags, labels and folders if the file has them. Idempotent, because a message
 * is identified by its bytes: after an interruption, repeat the import.
 *
 * An invocation of a Worker may make 10,000 subrequests (https://developers.cloudflare.com/workers/platform/limits/). Each message
 * costs one per R2 object and location. To save subrequests, messages are stored in batches, with two calls of the mailbox each.
 * Messages beyond the limit are counted as `remaining`. When the file is sent again, stored messages are skipped at one call per
 * batch.
 *
 * A request also ends after about ten seconds of writing. Under `npm start`, all writes of R2 and D1 share one disk, so a longer
 * import would hold up everybody's requests until its end.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { StoreMessageInput } from '../../../../durable-objects/mail/contract/delivered-message.ts';
import { sharedTurns } from '../../../shared/concurrency/shared-turns.ts';
import { deleteBlobs, listLocations } from '../../bindings/blobs.ts';
import { type MailboxRpc, openMailbox } from '../../bindings/mailbox.ts';
import { openBytes } from '../../checks/opened-message.ts';
import { toNameKey } from '../../domain/folder-name.ts';
import { type MboxMessage, readMarked, readMboxMessage } from '../../domain/mbox.ts';
import { type MboxSpan, MboxSplitter } from '../../domain/mbox-splitter.ts';
import { type ParsedRaw, parseMessage } from '../../mime/parse.ts';
import { INLINE_TEXT_BYTES_MAX, putDelivery } from './delivery.ts';

/** Maximum size of one message, which is held in memory. */
export const IMPORTED_MESSAGE_BYTES_MAX = 40 * 1024 * 1024;
const FAILURES_LISTED_MAX = 100;
const BATCH_MESSAGES = 25;
const BATCH_BYTES = 4 * 1024 * 1024;
/**
 * Maximum of subrequests per import. It is below the platform's limit, because authentication also uses subrequests, and a refusal
 * by the mailbox costs a delete.
 */
const SUBREQUESTS_MAX = 9_000;
/** Time after the first write at which no further batch is written. */
const WRITING_MS_MAX = 10_000;

export interface ImportReport {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
  /** Number of messages that were not imported because the limit of subrequests, or of time, was reached. */
  remaining: number;
  /** Size of the file: the sum of the five sizes that follow. Separators and blank lines count as part of their message. */
  size_bytes: number;
  imported_bytes: number;
  duplicate_bytes: number;
  failed_bytes: number;
  remaining_bytes: number;
  /** Number of bytes before the first separator that are not part of a message. */
  skipped_bytes: number;
  /** The first failures. `index` counts messages from 0; `offset` and `size_bytes` are the message's range in the file. */
  failures: { index: number; code: string; offset: number; size_bytes: number }[];
}

export interface ImportOptions {
  /** Id or role of the folder for messages that name no folder. */
  readonly folder: string;
  readonly now: number;
  readonly subrequestsMax?: number;
  readonly writingMsMax?: number;
}

export async function importMbox(
  env: Env,
  userId: string,
  body: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<ImportReport> {
  const run = new ImportRun(env, userId, options);
  const splitter = new MboxSplitter(IMPORTED_MESSAGE_BYTES_MAX);
  for await (const chunk of body) {
    for (const span of splitter.push(chunk)) await run.add(span);
  }
  for (const span of splitter.end()) await run.add(span);
  return run.end();
}

export async function importMessage(
  env: Env,
  userId: string,
  raw: Uint8Array,
  options: ImportOptions,
): Promise<ImportReport> {
  const run = new ImportRun(env, userId, options);
  await run.addMessage(readMarked(Buffer.from(raw), null), { offset: 0, sizeBytes: raw.byteLength });
  return run.end();
}

/** Range of the file that contains a message and its separator. */
type Range = Pick<MboxSpan, 'offset' | 'sizeBytes'>;

interface Waiting {
  readonly index: number;
  readonly range: Range;
  readonly message: MboxMessage;
  readonly sha256: string;
}

interface ImportableMessage extends Waiting {
  readonly parsed: ParsedRaw;
  readonly folder: string;
}

interface Put {
  readonly index: number;
  readonly range: Range;
  readonly input: StoreMessageInput;
  readonly written: readonly string[];
}

/** One import run, which stores messages in batches. Files and pulls from other mailboxes use it. */
export class ImportRun {
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
    size_bytes: 0,
    imported_bytes: 0,
    duplicate_bytes: 0,
    failed_bytes: 0,
    remaining_bytes: 0,
    skipped_bytes: 0,
    failures: [],
  };
  readonly #folderIds = new Map<string, string>();
  #batch: Waiting[] = [];
  #batchBytes = 0;
  #subrequestsLeft: number;
  /** Time at which writing ends; null before the first write. So each request writes at least one batch. */
  #endsAt: number | null = null;

  constructor(env: Env, userId: string, options: ImportOptions) {
    this.#env = env;
    this.#userId = userId;
    this.#options = options;
    this.#mailbox = openMailbox(env, userId);
    this.#subrequestsLeft = options.subrequestsMax ?? SUBREQUESTS_MAX;
  }

  async add(span: MboxSpan): Promise<void> {
    if (span.kind === 'message') return this.addMessage(readMboxMessage(span), span);
    if (span.kind === 'too_large') return this.addTooLarge(span);
    this.#report.size_bytes += span.sizeBytes;
    this.#report.skipped_bytes += span.sizeBytes;
  }

  /** Counts a message that is too large to be held in memory. */
  addTooLarge(range: Range): void {
    this.#report.size_bytes += range.sizeBytes;
    this.#fail(this.#report.messages++, range, 'too_large');
  }

  async addMessage(message: MboxMessage, range: Range): Promise<void> {
    const index = this.#report.messages;
    this.#report.messages += 1;
    this.#report.size_bytes += range.sizeBytes;
    // A truncated last message is not stored. The user can send the complete file again.
    if (message.isCut) return this.#fail(index, range, 'cut_off');
    const sha256 = createHash('sha256').update(message.raw).digest('hex');
    this.#batch.push({ index, range, message, sha256 });
    this.#batchBytes += message.raw.byteLength;
    if (this.#batch.length >= BATCH_MESSAGES || this.#batchBytes >= BATCH_BYTES) await this.#storeBatch();
  }

  /** Stores what waits. @returns the report of everything that was added so far. */
  async end(): Promise<ImportReport> {
    await this.#storeBatch();
    return this.#report;
  }

  get subrequestsLeft(): number {
    return this.#subrequestsLeft;
  }

  #fail(index: number, { offset, sizeBytes }: Range, code: string): void {
    this.#report.failed += 1;
    this.#report.failed_bytes += sizeBytes;
    if (this.#report.failures.length < FAILURES_LISTED_MAX)
      this.#report.failures.push({ index, code, offset, size_bytes: sizeBytes });
  }

  #count(outcome: 'imported' | 'duplicates' | 'remaining', { sizeBytes }: Range): void {
    this.#report[outcome] += 1;
    const bytes = { imported: 'imported_bytes', duplicates: 'duplicate_bytes', remaining: 'remaining_bytes' } as const;
    this.#report[bytes[outcome]] += sizeBytes;
  }

  /** Reserves subrequests. @returns false once the limit is reached, and in all later calls. */
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
    // Two calls per batch: one to find known messages, one to store the batch.
    if (!this.#spend(2)) {
      for (const { range } of batch) this.#count('remaining', range);
      return;
    }
    const known = new Set(await this.#listKnown(batch));
    const wanted: ImportableMessage[] = [];
    for (const waiting of batch) {
      if (known.has(waiting.sha256)) {
        this.#count('duplicates', waiting.range);
        continue;
      }
      await sharedTurns.giveWay(this.#userId);
      const parsed = await parseMessage(waiting.message.raw);
      const folder = await this.#findFolder(waiting.message.folder);
      if (folder === null || !this.#spend(countObjects(parsed) * listLocations(this.#env).length)) {
        this.#count('remaining', waiting.range);
        continue;
      }
      known.add(waiting.sha256);
      wanted.push({ ...waiting, parsed, folder });
    }
    if (wanted.length === 0) return;
    this.#endsAt ??= Date.now() + (this.#options.writingMsMax ?? WRITING_MS_MAX);
    await this.#store(await Promise.all(wanted.map((each) => this.#put(each))));
    if (Date.now() >= this.#endsAt) this.#subrequestsLeft = 0;
  }

  async #listKnown(batch: readonly Waiting[]): Promise<readonly string[]> {
    const known = await this.#mailbox.listKnownRaws(batch.map((waiting) => waiting.sha256));
    return known.ok ? known.value : [];
  }

  async #put({ index, range, message, sha256, parsed, folder }: ImportableMessage): Promise<Put> {
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
    return { index, range, ...put };
  }

  async #store(puts: readonly Put[]): Promise<void> {
    if (puts.length === 0) return;
    const stored = await this.#mailbox.storeMessages(puts.map((put) => put.input));
    const unwanted: string[] = [];
    for (const [at, { index, range, written }] of puts.entries()) {
      const outcome = stored.ok ? stored.value[at] : stored;
      if (outcome?.ok) this.#count(outcome.value.duplicate ? 'duplicates' : 'imported', range);
      else {
        this.#fail(index, range, outcome?.error.kind ?? 'no_mailbox');
        unwanted.push(...written);
      }
    }
    if (unwanted.length > 0) {
      this.#spend(listLocations(this.#env).length);
      await deleteBlobs(this.#env, unwanted);
    }
  }

  /** Finds or creates the folder of a message. @returns its id; null when no subrequests are left. */
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

/** Counts the R2 objects of a message: its raw bytes, files and long texts. */
function countObjects({ text, html, attachments }: ParsedRaw): number {
  const isLong = (value: string | null) => value !== null && Buffer.byteLength(value) > INLINE_TEXT_BYTES_MAX;
  return 1 + attachments.length + [text, html].filter(isLong).length;
}
