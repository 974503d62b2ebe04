/**
 * Export with progress. The file is written to the browser's private file system while it arrives, so it may be larger
 * than the memory. A browser without a private file system downloads it without progress.
 */
import { call, describeError } from '../../shared/api.ts';
import { createStore } from '../../shared/store.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { MessageCounter } from './mbox-pieces.ts';

const t = mailSettingsTexts.transfer;

export interface ExportState {
  state: 'idle' | 'running' | 'stopped' | 'done';
  messages: number;
  bytes: number;
  /** Number of messages when the export began. */
  expected: number;
  trouble: string | null;
  /** URL of the finished file. */
  url: string | null;
}

const IDLE: ExportState = { state: 'idle', messages: 0, bytes: 0, expected: 0, trouble: null, url: null };
export const exporting = createStore<ExportState>(IDLE);

const FILE_NAME = 'export.mbox';
/** Bytes after which the shown progress is updated. */
const PROGRESS_BYTES = 200_000;
let stop = new AbortController();

export const canExportWithProgress = (): boolean =>
  'storage' in navigator && 'getDirectory' in navigator.storage && 'createWritable' in FileSystemFileHandle.prototype;

async function receive(signal: AbortSignal): Promise<File> {
  const response = await call('/v1/export', { signal });
  const folder = await navigator.storage.getDirectory();
  const handle = await folder.getFileHandle(FILE_NAME, { create: true });
  const file = await handle.createWritable();
  const counter = new MessageCounter();
  let [bytes, reported] = [0, 0];
  try {
    for await (const chunk of response.body ?? []) {
      await file.write(chunk);
      counter.push(chunk);
      bytes += chunk.length;
      if (bytes - reported < PROGRESS_BYTES) continue;
      reported = bytes;
      exporting.set({ messages: counter.count, bytes });
    }
  } catch (error) {
    await file.abort();
    throw error;
  }
  await file.close();
  exporting.set({ messages: counter.count, bytes });
  return await handle.getFile();
}

/** Starts an export. @param expected how many messages the file should contain. */
export async function startExport(expected: number): Promise<void> {
  if (exporting.get().state === 'running') return;
  endExport();
  const own = new AbortController();
  stop = own;
  exporting.set({ ...IDLE, state: 'running', expected });
  try {
    const url = URL.createObjectURL(await receive(own.signal));
    exporting.set({ state: 'done', url });
    saveFile(url);
  } catch (error) {
    const trouble = own.signal.aborted ? null : fill(t.cutOff, { error: describeError(error) });
    exporting.set({ state: 'stopped', trouble });
  }
}

export function saveFile(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = 'mail.mbox';
  link.click();
}

export const stopExport = (): void => stop.abort();

/** Releases the exported file and its URL. */
export function endExport(): void {
  const { url, state } = exporting.get();
  if (state === 'running') return;
  if (url) URL.revokeObjectURL(url);
  exporting.set(IDLE);
}
