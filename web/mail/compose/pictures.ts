/** The bytes of pictures in the message being written. */
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { call } from '../../shared/api.ts';
import { attachmentPath, loadMessage } from '../model/api.ts';
import { findPicture } from './uploads.ts';
import type { Writing } from './writing.ts';

/** A picture that this tab has copied, or one that the saved draft has. */
export async function loadPicture(writing: Writing, contentId: string): Promise<Blob | null> {
  const upload = writing.attachments.find((one) => toDraftContentId(one.key) === contentId);
  if (!upload) return null;
  const here = findPicture(upload.key);
  if (here || !writing.draftId || !upload.attachmentId) return here;
  const draft = await loadMessage(writing.draftId);
  const attachment = draft.attachments.find((one) => one.content_id === toDraftContentId(upload.attachmentId ?? ''));
  return attachment ? await (await call(attachmentPath(draft.id, attachment.file_name))).blob() : null;
}
