/**
 * Import in pieces of whole messages: so there is progress to show, a place to stop and to go on from, and no request that is
 * too long. What is stored already is recognised by the server, so a piece that is sent twice adds nothing.
 */
import { ApiError, callJson, describeError } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { refreshAll } from '../model/list-reading.ts';
import { lastCut } from './mbox-pieces.ts';

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
  /** How often, by the reason that the server gave. */
  reasons: Record<string, number>;
}

export interface ImportState {
  state: 'idle' | 'running' | 'stopped' | 'done';
  files: File[];
  folderId: string;
  /** The file that is being sent, and how much of it is stored. */
  at: number;
  offset: number;
  doneBytes: number;
  totalBytes: number;
  counts: Counts;
  /** Why it stopped; null when it was told to. */
  trouble: string | null;
}

const NOTHING: Counts = { messages: 0, imported: 0, duplicates: 0, failed: 0, reasons: {} };
const IDLE: ImportState = {
  state: 'idle',
  files: [],
  folderId: '',
  at: 0,
  offset: 0,
  doneBytes: 0,
  totalBytes: 0,
  counts: NOTHING,
  trouble: null,
};

/** Outside of the settings page: whoever looks at something else meanwhile does not stop it. */
export const importing = createStore<ImportState>(IDLE);

const PIECE_BYTES = 1_000_000;
/** A message is not larger (the server says so of one that is). */
const MESSAGE_BYTES_MAX = 42_000_000;
let stop = new AbortController();

const isOneMessage = (file: File): boolean => /\.eml$/i.test(file.name) || file.type === 'message/rfc822';

/** The next messages of a file, whole ones: up to about a megabyte, or a single one that is larger. */
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

/** Sends a piece, again while a request could not do all of it: what was stored before is then known as such. */
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
    importing.set((now) => {
      const isEnd = offset + piece.size >= file.size;
      return {
        at: isEnd ? at + 1 : at,
        offset: isEnd ? 0 : offset + piece.size,
        doneBytes: now.doneBytes + piece.size,
        counts: addReport(now.counts, report),
      };
    });
    if (report.failures.some((one) => one.code === 'over_quota')) throw new Error('The mailbox is full.');
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
    const isTold = own.signal.aborted;
    const isAway = error instanceof ApiError && error.status === 0;
    const trouble = isAway ? 'The server cannot be reached.' : describeError(error);
    importing.set({ state: 'stopped', trouble: isTold ? null : trouble });
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

/** Stops where it is; what is stored stays. */
export const stopImport = (): void => stop.abort();

export function goOnImporting(): void {
  if (importing.get().state === 'stopped') void run();
}

export function endImport(): void {
  if (importing.get().state !== 'running') importing.set(IDLE);
}
