/**
 * Import of mbox and single messages. Repeating an import adds nothing twice (a message is known by its bytes), so one that
 * was cut off is simply sent again. Dates, flags, labels and folders are kept where the file tells them.
 */
import { createHash, randomUUID } from 'node:crypto';
import { deliverRaw } from './delivery.ts';
import { toNameKey } from './domain/folder-name.ts';
import { type MboxMessage, MboxSplitter, readMarked } from './domain/mbox.ts';
import { openMailbox } from './mailbox.ts';
import { openBytes } from './mime/opened-message.ts';
import { parseMessage } from './mime/parse.ts';

/** Of one message; it is held in memory. */
export const IMPORTED_MESSAGE_BYTES_MAX = 40 * 1024 * 1024;
const FAILURES_TOLD_MAX = 100;

export interface ImportReport {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
  /** The first of them; `index` counts from 0. */
  failures: { index: number; code: string }[];
}

export interface ImportOptions {
  /** A folder's id or role, for messages that name none. */
  readonly folder: string;
  readonly now: number;
}

export async function importMbox(
  env: Env,
  userId: string,
  body: ReadableStream<Uint8Array>,
  options: ImportOptions,
): Promise<ImportReport> {
  const report: ImportReport = { messages: 0, imported: 0, duplicates: 0, failed: 0, failures: [] };
  const splitter = new MboxSplitter(IMPORTED_MESSAGE_BYTES_MAX);
  for await (const chunk of body) {
    for (const message of splitter.push(chunk)) await importOne(env, userId, message, options, report);
  }
  // A half of the last message must not pass for the whole: the file is sent again when it is all there.
  for (const message of splitter.end())
    await importOne(env, userId, message?.isCut ? 'cut_off' : message, options, report);
  return report;
}

export async function importMessage(
  env: Env,
  userId: string,
  raw: Uint8Array,
  options: ImportOptions,
): Promise<ImportReport> {
  const report: ImportReport = { messages: 0, imported: 0, duplicates: 0, failed: 0, failures: [] };
  const message = readMarked(Buffer.from(raw), null);
  await importOne(env, userId, message.isCut ? 'cut_off' : message, options, report);
  return report;
}

async function importOne(
  env: Env,
  userId: string,
  message: MboxMessage | 'cut_off' | null,
  options: ImportOptions,
  report: ImportReport,
): Promise<void> {
  const index = report.messages;
  report.messages += 1;
  const outcome =
    message === null ? 'too_large' : message === 'cut_off' ? message : await store(env, userId, message, options);
  if (outcome === 'imported') report.imported += 1;
  else if (outcome === 'duplicate') report.duplicates += 1;
  else {
    report.failed += 1;
    if (report.failures.length < FAILURES_TOLD_MAX) report.failures.push({ index, code: outcome });
  }
}

async function store(env: Env, userId: string, message: MboxMessage, { folder, now }: ImportOptions): Promise<string> {
  const mailbox = openMailbox(env, userId);
  const rawSha256 = createHash('sha256').update(message.raw).digest('hex');
  const known = await mailbox.command('isRawKnown', rawSha256);
  if (known.ok && known.value) return 'duplicate';
  const parsedRaw = await parseMessage(message.raw);
  const target = message.folder === null ? folder : await findOrMakeFolder(env, userId, message.folder, folder);
  const stored = await deliverRaw(env, {
    userId,
    deliveryKey: `import:${rawSha256}:${randomUUID()}`,
    message: openBytes(message.raw),
    parsedRaw,
    receivedAt: Math.min(message.receivedAt ?? parsedRaw.sentAt ?? now, now),
    origin: 'imported',
    folder: target,
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
  if (!stored.ok) return stored.error.kind;
  return stored.value.duplicate ? 'duplicate' : 'imported';
}

async function findOrMakeFolder(env: Env, userId: string, name: string, fallback: string): Promise<string> {
  const mailbox = openMailbox(env, userId);
  const folders = await mailbox.listFolders();
  const found = folders.ok ? folders.value.find((row) => toNameKey(row.name) === toNameKey(name)) : undefined;
  if (found) return found.folder_id;
  const made = await mailbox.createFolder(name);
  return made.ok ? made.value.folder_id : fallback;
}
