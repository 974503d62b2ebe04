/**
 * Pictures in the HTML of a draft. The HTML names an attachment as `cid:<attachment id>@attachment`. The Content-ID (RFC 2392)
 * therefore follows from the attachment's id and need not be stored.
 */

export const toDraftContentId = (attachmentId: string): string => `${attachmentId}@attachment`;

/** @returns the Content-ID of an attachment if the HTML shows it as a picture; null for other attachments. */
export const findDraftContentId = (html: string | null, attachmentId: string): string | null =>
  html?.includes(`"cid:${toDraftContentId(attachmentId)}"`) ? toDraftContentId(attachmentId) : null;
