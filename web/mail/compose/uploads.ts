/** Uploads attachments, each in its own request, with progress. */
import { call, describeError, describeProblem, type ProblemBody } from '../../shared/api.ts';
import { formatBytes } from '../../shared/format.ts';
import { fill, texts } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showError } from '../../shared/toasts.tsx';
import { attachmentPath, type Message } from '../model/api.ts';
import { session } from '../model/session.ts';
import { change, changeUpload } from './compose-state.ts';
import { compose } from './compose-store.ts';
import type { Picture } from './quoted-html.ts';
import type { Upload } from './writing.ts';

const t = mailComposeTexts.window;

const running = new Map<string, XMLHttpRequest>();

/** Uses XMLHttpRequest, because `fetch` does not report the progress of an upload. */
function upload(key: string, file: File): void {
  const limit = session.get().profile?.attachment_limit_bytes;
  if (limit !== undefined && file.size > limit) {
    const sizes = { size: formatBytes(file.size), limit: formatBytes(limit) };
    changeUpload(key, { error: fill(texts.fileTooLarge, { name: file.name, ...sizes }) });
    return;
  }
  const request = new XMLHttpRequest();
  running.set(key, request);
  request.open('POST', `/v1/attachments?file_name=${encodeURIComponent(file.name)}`);
  request.setRequestHeader('content-type', file.type || 'application/octet-stream');
  request.responseType = 'json';
  request.upload.onprogress = (event) => {
    if (event.lengthComputable) changeUpload(key, { progress: event.loaded / event.total });
  };
  request.onload = () => {
    running.delete(key);
    const answer = request.response as ({ attachment_id?: string } & ProblemBody) | null;
    if (request.status === 201 && answer?.attachment_id) {
      changeUpload(key, { attachmentId: answer.attachment_id, progress: 1 });
    } else changeUpload(key, { error: describeProblem(request.status, answer ?? {}) });
  };
  request.onerror = () => {
    running.delete(key);
    changeUpload(key, { error: describeProblem(0, {}) });
  };
  request.send(file);
}

const toUpload = (key: string, fileName: string, size: number): Upload => ({
  ...{ key, fileName, size },
  progress: 0,
  attachmentId: null,
  error: null,
});

/** Attaches files. @param isCopied whether they are files of the forwarded message. */
export function attach(chosen: Iterable<File>, isCopied = false): void {
  const { writing } = compose.get();
  if (!writing) return;
  const added: [Upload, File][] = [...chosen].map((file) => [
    { ...toUpload(crypto.randomUUID(), file.name, file.size), ...(isCopied ? { isCopied } : {}) },
    file,
  ]);
  change({ attachments: [...writing.attachments, ...added.map(([entry]) => entry)] });
  for (const [entry, file] of added) {
    files.set(entry.key, file);
    upload(entry.key, file);
  }
}

/** Files of this tab by key of the upload. Previews are made from them. */
const files = new Map<string, Blob>();
export const findFile = (key: string): Blob | null => files.get(key) ?? null;

/** Copies the pictures of a quoted message to the new message, under the keys that the quote names. */
export async function attachPictures(message: Message, wanted: readonly Picture[]): Promise<void> {
  const { writing } = compose.get();
  if (!writing) return;
  const entries = wanted.map(
    ({ key, fileName, size }): Upload => ({ ...toUpload(key, fileName, size), isInline: true }),
  );
  change({ attachments: [...writing.attachments, ...entries] });
  for (const { key, fileName, contentType } of wanted) {
    try {
      const blob = await (await call(attachmentPath(message.id, fileName))).blob();
      files.set(key, blob);
      upload(key, new File([blob], fileName, { type: contentType }));
      changeUpload(key, {});
    } catch (error) {
      changeUpload(key, { error: fill(t.pictureFailed, { error: describeError(error) }) });
    }
  }
}

/** Uploads a picture that the text shows. @returns the key of its upload. */
export function attachPicture(file: File): string | null {
  const { writing } = compose.get();
  if (!writing) return null;
  const entry: Upload = { ...toUpload(crypto.randomUUID(), file.name, file.size), isInline: true };
  files.set(entry.key, file);
  change({ attachments: [...writing.attachments, entry] });
  upload(entry.key, file);
  return entry.key;
}

export function detach(key: string): void {
  running.get(key)?.abort();
  running.delete(key);
  files.delete(key);
  changeUpload(key, null);
}

/**
 * Uploads attachments of an existing message again for the new one.
 * @param isWanted whether to copy the attachment at this position.
 */
export async function attachCopies(message: Message, isWanted: (at: number) => boolean = () => true): Promise<void> {
  try {
    for (const one of message.attachments.filter((_, at) => isWanted(at))) {
      const response = await call(attachmentPath(message.id, one.file_name));
      attach([new File([await response.blob()], one.file_name, { type: one.content_type })], true);
    }
  } catch (error) {
    showError(error);
  }
}
