/** The bytes of pictures in the message being written. */
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { call } from '../../shared/api.ts';
import { attachmentPath, loadMessage } from '../model/api.ts';
import { compose } from './compose-store.ts';
import { findFile } from './uploads.ts';
import type { Upload, Writing } from './writing.ts';

/** Loads a picture of the message: from this tab if it holds the file, otherwise from the saved draft. */
export async function loadPicture(writing: Writing, contentId: string): Promise<Blob | null> {
  const upload = writing.attachments.find((one) => toDraftContentId(one.key) === contentId);
  if (!upload) return null;
  const here = findFile(upload.key);
  if (here || !writing.draftId || !upload.attachmentId) return here;
  const draft = await loadMessage(writing.draftId);
  const attachment = draft.attachments.find((one) => one.content_id === toDraftContentId(upload.attachmentId ?? ''));
  return attachment ? await (await call(attachmentPath(draft.id, attachment.file_name))).blob() : null;
}

/** Returns a function that reads an attachment from this tab or from the saved draft; null if neither has it yet. */
export function findLoader({ key, fileName, attachmentId }: Upload): (() => Promise<Response>) | null {
  const here = findFile(key);
  if (here) return async () => new Response(here);
  const draftId = compose.get().writing?.draftId;
  return draftId && attachmentId !== null ? () => call(attachmentPath(draftId, fileName)) : null;
}
