/**
 * Pictures in the HTML of a draft. A draft names an attachment as `cid:<attachment id>@attachment`, so that its Content-ID
 * (RFC 2392) follows from its id and needs no storage.
 */

export const toDraftContentId = (attachmentId: string): string => `${attachmentId}@attachment`;

/** @returns the Content-ID of an attachment that the HTML shows; null for other attachments. */
export const findDraftContentId = (html: string | null, attachmentId: string): string | null =>
  html?.includes(`"cid:${toDraftContentId(attachmentId)}"`) ? toDraftContentId(attachmentId) : null;
