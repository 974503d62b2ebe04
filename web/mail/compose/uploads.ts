/** Uploads attachments, each in its own request, with progress. */
import { call } from '../../shared/api.ts';
import { showError } from '../../shared/toasts.tsx';
import { attachmentPath, type Message } from '../model/api.ts';
import { change, changeUpload } from './compose-state.ts';
import { compose } from './compose-store.ts';
import type { Upload } from './writing.ts';

const running = new Map<string, XMLHttpRequest>();

/** Uses XMLHttpRequest, because `fetch` does not report the progress of an upload. */
function upload(key: string, file: File): void {
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
    const answer = request.response as { attachment_id?: string; detail?: string } | null;
    if (request.status === 201 && answer?.attachment_id) {
      changeUpload(key, { attachmentId: answer.attachment_id, progress: 1 });
    } else changeUpload(key, { error: answer?.detail ?? `The server answered ${request.status}.` });
  };
  request.onerror = () => {
    running.delete(key);
    changeUpload(key, { error: 'The server cannot be reached.' });
  };
  request.send(file);
}

export function attach(files: Iterable<File>): void {
  const { writing } = compose.get();
  if (!writing) return;
  const added: [Upload, File][] = [...files].map((file) => [
    { key: crypto.randomUUID(), fileName: file.name, size: file.size, progress: 0, attachmentId: null, error: null },
    file,
  ]);
  change({ attachments: [...writing.attachments, ...added.map(([entry]) => entry)] });
  for (const [entry, file] of added) upload(entry.key, file);
}

export function detach(key: string): void {
  running.get(key)?.abort();
  running.delete(key);
  changeUpload(key, null);
}

/** Uploads the attachments of a forwarded message again for the new one. `isWanted` selects them by position. */
export async function attachCopies(message: Message, isWanted: (at: number) => boolean = () => true): Promise<void> {
  try {
    for (const one of message.attachments.filter((_, at) => isWanted(at))) {
      const response = await call(attachmentPath(message.id, one.file_name));
      attach([new File([await response.blob()], one.file_name, { type: one.content_type })]);
    }
  } catch (error) {
    showError(error);
  }
}
