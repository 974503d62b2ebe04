/** The bytes of pictures in the message being written. */
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { call } from '../../shared/api.ts';
import { attachmentPath, loadMessage } from '../model/api.ts';
import { compose } from './compose-store.ts';
import { findFile } from './uploads.ts';
import type { Upload, Writing } from './writing.ts';

/** A picture that this tab has copied, or one that the saved draft has. */
export async function loadPicture(writing: Writing, contentId: string): Promise<Blob | null> {
  const upload = writing.attachments.find((one) => toDraftContentId(one.key) === contentId);
  if (!upload) return null;
  const here = findFile(upload.key);
  if (here || !writing.draftId || !upload.attachmentId) return here;
  const draft = await loadMessage(writing.draftId);
  const attachment = draft.attachments.find((one) => one.content_id === toDraftContentId(upload.attachmentId ?? ''));
  return attachment ? await (await call(attachmentPath(draft.id, attachment.file_name))).blob() : null;
}

/** An attachment of this tab, or of the saved draft. @throws if neither has it. */
export async function loadFile({ key, fileName, attachmentId }: Upload): Promise<Response> {
  const here = findFile(key);
  if (here) return new Response(here);
  const draftId = compose.get().writing?.draftId;
  if (!draftId || attachmentId === null) throw new Error('The draft does not have the file yet.');
  return await call(attachmentPath(draftId, fileName));
}
