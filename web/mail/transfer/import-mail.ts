/**
 * Imports files in pieces of whole messages. So the import shows progress, can stop and resume, and no request takes
 * too long. The server recognises stored messages, so sending a piece twice adds nothing.
 */
import { ApiError, callJson, describeError } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { noteImport } from '../model/done-steps.ts';
import { refreshAll } from '../model/list-reading.ts';
import { lastCut, MESSAGE_BYTES_MAX } from './mbox-pieces.ts';

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
  /** Number of failures per reason that the server gave. */
  reasons: Record<string, number>;
}

export interface ImportState {
  state: 'idle' | 'running' | 'stopped' | 'done';
  files: File[];
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

const NO_COUNTS: Counts = { messages: 0, imported: 0, duplicates: 0, failed: 0, reasons: {} };
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

const PIECE_BYTES = 1_000_000;
let stop = new AbortController();

const isOneMessage = (file: File): boolean => /\.eml$/i.test(file.name) || file.type === 'message/rfc822';

/** Reads the next whole messages of a file: up to about a megabyte, or one larger message. */
async function nextPiece(file: File, offset: number): Promise<Blob> {
  if (isOneMessage(file)) return file;
  for (let size = PIECE_BYTES; ; size = Math.min(2 * size, MESSAGE_BYTES_MAX)) {
    const end = Math.min(offset + size, file.size);
    const piece = file.slice(offset, end);
    if (end === file.size) return piece;
    const cut = lastCut(new Uint8Array(await piece.arrayBuffer()));
    if (cut > 0) return file.slice(offset, offset + cut);
    if (size === MESSAGE_BYTES_MAX) return piece;
  }
}

export function addReport(counts: Counts, report: Report): Counts {
  const reasons = { ...counts.reasons };
  for (const { code } of report.failures) reasons[code] = (reasons[code] ?? 0) + 1;
  return {
    messages: counts.messages + report.messages,
    imported: counts.imported + report.imported,
    duplicates: counts.duplicates + report.duplicates,
    failed: counts.failed + report.failed,
    reasons,
  };
}

/**
 * Sends a piece, and repeats the request until no message remains. Messages that an earlier request stored are reported
 * as duplicates, so they are subtracted.
 */
async function sendPiece(file: File, piece: Blob, folderId: string, signal: AbortSignal): Promise<Report> {
  let before = 0;
  for (;;) {
    const report = await callJson<Report>(`/v1/import?folder_id=${encodeURIComponent(folderId)}`, {
      method: 'POST',
      rawBody: piece,
      headers: { 'content-type': isOneMessage(file) ? 'message/rfc822' : 'application/mbox' },
      signal,
    });
    if (report.remaining === 0 || report.imported === 0)
      return { ...report, imported: report.imported + before, duplicates: report.duplicates - before };
    before += report.imported;
  }
}

async function sendPieces(signal: AbortSignal): Promise<void> {
  for (;;) {
    const { files, at, offset, folderId } = importing.get();
    const file = files[at];
    if (!file) break;
    const piece = await nextPiece(file, offset);
    const report = await sendPiece(file, piece, folderId, signal);
    if (report.imported + report.duplicates > 0) noteImport();
    importing.set((now) => {
      const isEnd = offset + piece.size >= file.size;
      return {
        at: isEnd ? at + 1 : at,
        offset: isEnd ? 0 : offset + piece.size,
        doneBytes: now.doneBytes + piece.size,
        counts: addReport(now.counts, report),
      };
    });
    if (report.failures.some((one) => one.code === 'over_quota')) throw new Error(t.mailboxFull);
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

export function startImport(files: File[], folderId: string): void {
  if (files.length === 0 || importing.get().state === 'running') return;
  const totalBytes = files.reduce((sum, file) => sum + file.size, 0);
  importing.set({ ...IDLE, files, folderId, totalBytes });
  void run();
}

/** Stops the import. Stored messages stay. */
export const stopImport = (): void => stop.abort();

export function resumeImport(): void {
  if (importing.get().state === 'stopped') void run();
}

export function endImport(): void {
  if (importing.get().state !== 'running') importing.set(IDLE);
}
