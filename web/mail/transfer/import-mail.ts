/**
 * Imports files in pieces of whole messages. So the import shows progress, can stop and resume, and no request takes
 * too long. The server recognises stored messages, so sending a piece twice adds nothing.
 */
import { ApiError, callJson, describeError } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { noteImport } from '../model/done-steps.ts';
import { refreshAll } from '../model/list-reading.ts';
import { type ImportSource, listSources } from './import-sources.ts';
import { MESSAGE_BYTES_MAX } from './mbox-pieces.ts';
import { SourceReader } from './source-reader.ts';
import { readVcards } from './vcards.ts';

const t = mailSettingsTexts.transfer;

interface Report {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
  remaining: number;
  failures: { index: number; code: string }[];
}

export interface Counts {
  messages: number;
  imported: number;
  duplicates: number;
  failed: number;
  /** Contacts that were added. */
  contacts: number;
  /** Number of failures per reason that the server gave. */
  reasons: Record<string, number>;
}

export interface ImportState {
  state: 'idle' | 'running' | 'stopped' | 'done';
  files: readonly ImportSource[];
  folderId: string;
  /** Index of the current file, and how many of its bytes are imported. */
  at: number;
  offset: number;
  doneBytes: number;
  totalBytes: number;
  counts: Counts;
  /** Why the import stopped; null if the user stopped it. */
  trouble: string | null;
}

const NO_COUNTS: Counts = { messages: 0, imported: 0, duplicates: 0, failed: 0, contacts: 0, reasons: {} };
const IDLE: ImportState = {
  state: 'idle',
  files: [],
  folderId: '',
  at: 0,
  offset: 0,
  doneBytes: 0,
  totalBytes: 0,
  counts: NO_COUNTS,
  trouble: null,
};

/** State of the import. It is outside of the settings page, so that the import continues when the user leaves that page. */
export const importing = createStore<ImportState>(IDLE);

let stop = new AbortController();

export function addReport(counts: Counts, report: Report): Counts {
  const reasons = { ...counts.reasons };
  for (const { code } of report.failures) reasons[code] = (reasons[code] ?? 0) + 1;
  return {
    messages: counts.messages + report.messages,
    imported: counts.imported + report.imported,
    duplicates: counts.duplicates + report.duplicates,
    failed: counts.failed + report.failed,
    contacts: counts.contacts,
    reasons,
  };
}

/**
 * Sends a piece, and repeats the request until no message remains. Messages that an earlier request stored are reported
 * as duplicates, so they are subtracted.
 */
async function sendPiece(
  { kind }: ImportSource,
  piece: Uint8Array<ArrayBuffer>,
  folderId: string,
  signal: AbortSignal,
): Promise<Report> {
  let before = 0;
  for (;;) {
    const report = await callJson<Report>(`/v1/import?folder_id=${encodeURIComponent(folderId)}`, {
      method: 'POST',
      rawBody: new Blob([piece]),
      headers: { 'content-type': kind === 'message' ? 'message/rfc822' : 'application/mbox' },
      signal,
    });
    if (report.remaining === 0 || report.imported === 0)
      return { ...report, imported: report.imported + before, duplicates: report.duplicates - before };
    before += report.imported;
  }
}

/** Saves the contacts of a vCard file. @returns how many were new. */
async function sendContacts(bytes: Uint8Array, signal: AbortSignal): Promise<number> {
  let added = 0;
  for (const contact of readVcards(new TextDecoder().decode(bytes))) {
    try {
      await callJson('/v1/contacts', { body: contact, signal });
      added += 1;
    } catch (error) {
      // 409: the contact exists. 400: its address is not valid. Neither keeps the others out.
      if (!(error instanceof ApiError && (error.status === 409 || error.status === 400))) throw error;
    }
  }
  return added;
}

const TOO_LARGE: Report = {
  messages: 1,
  imported: 0,
  duplicates: 0,
  failed: 1,
  remaining: 0,
  failures: [{ index: 0, code: 'too_large' }],
};

/** Sends a piece. @returns the counts with it. */
async function importPiece(source: ImportSource, piece: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Counts> {
  const { counts, folderId } = importing.get();
  if (source.kind === 'contacts') return { ...counts, contacts: counts.contacts + (await sendContacts(piece, signal)) };
  const isTooLarge = source.kind === 'message' && source.size >= MESSAGE_BYTES_MAX;
  const report = isTooLarge ? TOO_LARGE : await sendPiece(source, piece, folderId, signal);
  if (report.imported + report.duplicates > 0) noteImport();
  return addReport(counts, report);
}

/** Sends the rest of the current source. */
async function sendSource(source: ImportSource, signal: AbortSignal): Promise<void> {
  const reader = await SourceReader.open(source, importing.get().offset);
  try {
    for (let piece = await reader.next(); piece !== null; piece = await reader.next()) {
      const counts = await importPiece(source, piece, signal);
      const { length } = piece;
      const isFull = (counts.reasons.over_quota ?? 0) > (importing.get().counts.reasons.over_quota ?? 0);
      importing.set((now) => ({ counts, offset: now.offset + length, doneBytes: now.doneBytes + length }));
      if (isFull) throw new Error(t.mailboxFull);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function sendPieces(signal: AbortSignal): Promise<void> {
  for (;;) {
    const { files, at } = importing.get();
    const source = files[at];
    if (!source) break;
    await sendSource(source, signal);
    importing.set({ at: at + 1, offset: 0 });
  }
}

const warn = (event: BeforeUnloadEvent) => event.preventDefault();

async function run(): Promise<void> {
  const own = new AbortController();
  stop = own;
  importing.set({ state: 'running', trouble: null });
  addEventListener('beforeunload', warn);
  try {
    await sendPieces(own.signal);
    importing.set({ state: 'done' });
  } catch (error) {
    const isStoppedByUser = own.signal.aborted;
    const isAway = error instanceof ApiError && error.status === 0;
    const trouble = isAway ? t.serverCannotBeReached : describeError(error);
    importing.set({ state: 'stopped', trouble: isStoppedByUser ? null : trouble });
  } finally {
    removeEventListener('beforeunload', warn);
    refreshAll();
  }
}

/** Starts an import of what is in the files. Archives are not unpacked first. */
export async function startImport(files: readonly File[], folderId: string): Promise<void> {
  if (files.length === 0 || importing.get().state === 'running') return;
  try {
    const sources = await listSources(files);
    const totalBytes = sources.reduce((sum, { size }) => sum + size, 0);
    importing.set({ ...IDLE, files: sources, folderId, totalBytes });
  } catch (error) {
    importing.set({ ...IDLE, state: 'stopped', trouble: describeError(error) });
    return;
  }
  await run();
}

/** Stops the import. Stored messages stay. */
export const stopImport = (): void => stop.abort();

export function resumeImport(): void {
  if (importing.get().state === 'stopped') void run();
}

export function endImport(): void {
  if (importing.get().state !== 'running') importing.set(IDLE);
}
