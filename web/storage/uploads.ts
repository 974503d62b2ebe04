/**
 * Uploads that can be resumed. A small file is sent in one request, a larger one in parts, each with a signed hash. Files and parts
 * share the requests that run at a time (`upload-pace.ts`). A pause or a lost network stops at once and keeps the parts that arrived.
 * After a reload the browser knows the upload but no longer has the file. If the user selects the same file again, only missing parts
 * are sent (ListParts).
 */
import { createStore } from '../shared/store.ts';
import {
  abortMultipart,
  completeMultipart,
  createMultipart,
  type Key,
  listParts,
  type Part,
  S3Error,
  s3,
} from './s3.ts';
import { put, withRetries } from './upload-request.ts';
import { holdSlot, pace, reportSuccess } from './upload-slots.ts';

export const PART_BYTES_MIN = 8 * 1024 * 1024;
const PARTS_MAX = 10_000;
/** Limit of parts of one file that are in memory at a time. */
const PARALLEL_PARTS = 5;

export type UploadState = 'waiting' | 'running' | 'paused' | 'failed' | 'done' | 'file-needed';

export interface Upload {
  id: string;
  bucket: string;
  name: string;
  size: number;
  modified: number;
  state: UploadState;
  sentBytes: number;
  uploadId: string | null;
  partSize: number;
  error: string | null;
}

export const uploads = createStore<{ list: Upload[] }>({ list: [] });

const files = new Map<string, File>();
const stops = new Map<string, AbortController>();
let signedIn: Key | null = null;
let onDone: (bucket: string, names: readonly string[]) => void = () => undefined;

const STORAGE_KEY = 'tessera.uploads';

function keep(): void {
  const open = uploads.get().list.filter((upload) => upload.uploadId !== null && upload.state !== 'done');
  try {
    if (open.length > 0) localStorage.setItem(`${STORAGE_KEY}.${signedIn?.accessKeyId}`, JSON.stringify(open));
    else localStorage.removeItem(`${STORAGE_KEY}.${signedIn?.accessKeyId}`);
  } catch {
    // If storage is unavailable, the upload continues, but a reload ends it.
  }
}

/** Starts the queue for a key, with the unfinished uploads that this browser has stored for it. */
export function setUploadKey(key: Key | null, done: typeof onDone): void {
  if (key?.accessKeyId === signedIn?.accessKeyId) {
    onDone = done;
    return;
  }
  for (const stop of stops.values()) stop.abort();
  signedIn = key;
  onDone = done;
  files.clear();
  let kept: Upload[] = [];
  try {
    if (key) kept = JSON.parse(localStorage.getItem(`${STORAGE_KEY}.${key.accessKeyId}`) ?? '[]') as Upload[];
  } catch {
    kept = [];
  }
  uploads.set({ list: kept.map((upload) => ({ ...upload, state: 'file-needed' })) });
}

function change(id: string, part: Partial<Upload>): void {
  uploads.set(({ list }) => ({ list: list.map((upload) => (upload.id === id ? { ...upload, ...part } : upload)) }));
  if ('uploadId' in part || 'state' in part) keep();
}

const find = (id: string): Upload | undefined => uploads.get().list.find((upload) => upload.id === id);

const isSameFile = (upload: Upload, bucket: string, name: string, file: File): boolean =>
  upload.bucket === bucket &&
  upload.name === name &&
  upload.size === file.size &&
  upload.modified === file.lastModified;

export function addFiles(bucket: string, added: readonly { name: string; file: File }[]): void {
  const unfinished = uploads.get().list.filter(({ state }) => state === 'file-needed');
  const found: Upload[] = [];
  for (const { name, file } of added) {
    const known = unfinished.find((one) => isSameFile(one, bucket, name, file));
    const id = known?.id ?? crypto.randomUUID();
    files.set(id, file);
    if (known) change(id, { state: 'waiting', error: null });
    else {
      found.push({
        id,
        bucket,
        name,
        size: file.size,
        modified: file.lastModified,
        state: 'waiting',
        sentBytes: 0,
        uploadId: null,
        partSize: Math.max(PART_BYTES_MIN, Math.ceil(file.size / PARTS_MAX)),
        error: null,
      });
    }
  }
  uploads.set(({ list }) => ({ list: [...list, ...found] }));
  pump();
}

export function pause(id: string): void {
  change(id, { state: 'paused' });
  stops.get(id)?.abort();
}

export function resume(id: string): void {
  if (!files.has(id)) change(id, { state: 'file-needed' });
  else change(id, { state: 'waiting', error: null });
  pump();
}

const idsIn = (...states: readonly UploadState[]): string[] =>
  uploads
    .get()
    .list.filter(({ state }) => states.includes(state))
    .map(({ id }) => id);

/** Pauses all uploads in one step, so that no waiting one starts when a running one stops. */
export function pauseAll(): void {
  const isPaused = new Set(idsIn('waiting', 'running'));
  uploads.set(({ list }) => ({ list: list.map((one) => (isPaused.has(one.id) ? { ...one, state: 'paused' } : one)) }));
  keep();
  for (const id of isPaused) stops.get(id)?.abort();
}

/** Resumes the paused uploads and repeats the failed ones. */
export function resumeAll(): void {
  const isWanted = new Set(idsIn('paused', 'failed'));
  uploads.set(({ list }) => ({
    list: list.map((one) => (isWanted.has(one.id) ? { ...one, state: 'waiting', error: null } : one)),
  }));
  pump();
}

export async function cancelAll(): Promise<void> {
  // Waiting uploads are canceled first, so that none of them starts when a running one stops.
  for (const id of idsIn('waiting', 'paused', 'failed', 'file-needed', 'running')) await cancel(id);
}

export async function cancel(id: string): Promise<void> {
  const upload = find(id);
  stops.get(id)?.abort();
  files.delete(id);
  uploads.set(({ list }) => ({ list: list.filter((one) => one.id !== id) }));
  keep();
  if (upload?.uploadId && signedIn && upload.state !== 'done') {
    await abortMultipart(signedIn, upload.bucket, upload.name, upload.uploadId).catch(() => undefined);
  }
}

export const clearDone = (): void =>
  uploads.set(({ list }) => ({ list: list.filter((upload) => upload.state !== 'done') }));

/** Whether another upload to the same name is running. Both at once might leave the older file as the newest version. */
const isNameBusy = ({ bucket, name }: Upload): boolean =>
  uploads.get().list.some((one) => one.state === 'running' && one.bucket === bucket && one.name === name);

function pump(): void {
  const { list } = uploads.get();
  let running = list.filter((upload) => upload.state === 'running').length;
  for (const upload of list) {
    if (running >= pace().limit) return;
    if (upload.state !== 'waiting' || isNameBusy(upload)) continue;
    running += 1;
    void run(upload.id);
  }
}

async function run(id: string): Promise<void> {
  const file = files.get(id);
  const upload = find(id);
  const key = signedIn;
  if (!file || !upload || !key) return;
  const stop = new AbortController();
  stops.set(id, stop);
  change(id, { state: 'running', error: null });
  try {
    if (file.size <= PART_BYTES_MIN) await sendWhole(key, upload, file, stop.signal);
    else await sendParts(key, upload, file, stop.signal);
    files.delete(id);
    change(id, { state: 'done', sentBytes: file.size });
    onDone(upload.bucket, [upload.name]);
  } catch (error) {
    if (!stop.signal.aborted) change(id, { state: 'failed', error: (error as Error).message });
  } finally {
    stops.delete(id);
    pump();
  }
}

const contentType = (file: File): string => file.type || 'application/octet-stream';

async function sendWhole(key: Key, upload: Upload, file: File, signal: AbortSignal): Promise<void> {
  await holdSlot(signal, async () => {
    const body = new Uint8Array(await file.arrayBuffer());
    await withRetries(signal, () =>
      put(key, upload, {}, body, { 'content-type': contentType(file) }, signal, (sentBytes) =>
        change(upload.id, { sentBytes }),
      ),
    );
    reportSuccess(body.length);
  });
}

async function sendParts(key: Key, upload: Upload, file: File, signal: AbortSignal): Promise<void> {
  let { uploadId } = find(upload.id) ?? upload;
  const arrived = new Map<number, Part>();
  if (uploadId !== null) {
    try {
      for (const part of await listParts(key, upload.bucket, upload.name, uploadId)) arrived.set(part.number, part);
    } catch (error) {
      // `NoSuchUpload`: the server no longer has the multipart upload, so start it again.
      if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') throw error;
      uploadId = null;
    }
  }
  if (uploadId === null) {
    uploadId = await createMultipart(key, upload.bucket, upload.name, contentType(file));
    change(upload.id, { uploadId });
  }
  const openId = uploadId;
  const count = Math.ceil(file.size / upload.partSize);
  const sizeOf = (number: number) => Math.min(upload.partSize, file.size - (number - 1) * upload.partSize);
  const missing: number[] = [];
  for (let number = 1; number <= count; number++) {
    if (arrived.get(number)?.size !== sizeOf(number)) missing.push(number);
  }
  const sending = new Map<number, number>();
  const report = () => {
    let sentBytes = 0;
    for (const part of arrived.values()) sentBytes += part.size;
    for (const bytes of sending.values()) sentBytes += bytes;
    change(upload.id, { sentBytes: Math.min(sentBytes, file.size) });
  };
  report();
  const send = async (part: number) => {
    const start = (part - 1) * upload.partSize;
    const body = new Uint8Array(await file.slice(start, start + sizeOf(part)).arrayBuffer());
    const query = { partNumber: String(part), uploadId: openId };
    const etag = await withRetries(signal, () =>
      put(key, upload, query, body, {}, signal, (bytes) => {
        sending.set(part, bytes);
        report();
      }),
    );
    sending.delete(part);
    arrived.set(part, { number: part, etag, size: body.length });
    report();
    reportSuccess(body.length);
    // A free slot may now suffice for one more file.
    pump();
  };
  const work = async () => {
    while (missing.length > 0) {
      await holdSlot(signal, async () => {
        const part = missing.shift();
        if (part !== undefined) await send(part);
      });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_PARTS }, work));
  await withRetries(signal, () => completeMultipart(key, upload.bucket, upload.name, openId, [...arrived.values()]));
}

/** When the network is back, resume the uploads that failed. */
addEventListener('online', () => {
  for (const upload of uploads.get().list) if (upload.state === 'failed' && files.has(upload.id)) resume(upload.id);
});

/** Creates an empty folder: an object whose name ends in a slash. */
export const createFolder = (key: Key, bucket: string, name: string) =>
  s3(key, { method: 'PUT', bucket, key: name, body: new Uint8Array() });
