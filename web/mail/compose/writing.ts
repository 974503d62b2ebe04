/** A message being written, in the forms that this page and Drafts use. Pure. */
import { findDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { formatAddresses, parseAddresses } from '../model/addresses.ts';
import type { Address, DraftAnswer, DraftBody, Outgoing } from '../model/api.ts';
import { joinHtml, joinPlain, type Quote, resolvePictures, splitHtml, splitPlain } from './quoted-html.ts';

export interface Upload {
  key: string;
  fileName: string;
  size: number;
  /** Uploaded fraction of the file, from 0 to 1. */
  progress: number;
  attachmentId: string | null;
  error: string | null;
  /** Whether this is a picture of the quoted message. It is shown in the quote instead of the list of attachments. */
  isInline?: boolean;
  /** Whether this is a file of the forwarded message. */
  isCopied?: boolean;
}

export interface Writing {
  /** Id of the message in this browser. The idempotency key of a send contains it, so a repeated send is harmless. */
  key: string;
  /**
   * Idempotency key of an earlier version that the user took back before the server answered. The server may have that version. In
   * that case it refuses this one under the same key, so that only one version is sent.
   */
  doubtfulKey?: string;
  draftId: string | null;
  /** Revision of the draft that this text is based on; null before the first save. */
  revision: number | null;
  /** Checksums of unconfirmed saves. A newer revision with one of these checksums is our own. */
  tried: string[];
  /** Sender: one of the user's own addresses; empty for the default one. */
  from: string;
  to: string;
  cc: string;
  bcc: string;
  subject: string;
  body: string;
  /** Formatted text that another program wrote. This page keeps it but cannot edit it. `body` has the same text. */
  html: string | null;
  /** The typed text with its formatting; null if it has none. `body` has the same text. Pictures are named as in `quote`. */
  rich: string | null;
  /** The formatting before the switch to plain text. It comes back with the switch to formatted text. */
  former?: string | null;
  /** Formatted text that is answered or forwarded. It follows `body`; this page keeps it as it is. */
  quote: Quote | null;
  attachments: Upload[];
  inReplyTo: string | null;
  references: string[];
  /** Address for replies; empty for the sender's address. */
  replyTo: string;
  importance: DraftAnswer['importance'];
  /** Header fields that another program set. This page keeps them. */
  headers: DraftAnswer['headers'];
  /** Id of the message that this one forwards. */
  forwardOf: string | null;
  /** What a reply or a forwarded message had before the user changed anything (`toTyped`). */
  untouched?: string;
}

/**
 * Limit of the API for the References field. The newest references are kept, because they place the message in its conversation.
 */
const REFERENCES_MAX = 100;

/** A new message. @param signature the user's signature, may be empty. */
export const blankWriting = (key: string, signature: string): Writing => ({
  key,
  draftId: null,
  revision: null,
  tried: [],
  from: '',
  to: '',
  cc: '',
  bcc: '',
  subject: '',
  body: signature ? `\n\n-- \n${signature}` : '',
  html: null,
  rich: null,
  quote: null,
  attachments: [],
  inReplyTo: null,
  references: [],
  replyTo: '',
  importance: 'normal',
  headers: [],
  forwardOf: null,
});

/** Whether the message has no content worth saving. @param untouched the body of a new message. */
export const isEmptyWriting = (writing: Writing, untouched = ''): boolean =>
  ![writing.to, writing.cc, writing.bcc, writing.subject].some((text) => text.trim() !== '') &&
  (writing.body.trim() === '' || writing.body === untouched) &&
  writing.html === null &&
  writing.quote === null &&
  writing.attachments.length === 0;

/** What the user can type or choose, as text for comparisons. Files that the page copied are not among it. */
export const toTyped = ({
  from,
  to,
  cc,
  bcc,
  subject,
  body,
  rich,
  replyTo,
  importance,
  attachments,
}: Writing): string =>
  JSON.stringify([
    ...[from, to, cc, bcc, subject, body, rich, replyTo, importance],
    attachments.filter((upload) => !upload.isInline && !upload.isCopied).map((upload) => upload.key),
  ]);

/** Whether this is a reply or a forwarded message in which the user changed nothing. */
export const isUntouched = (writing: Writing): boolean => writing.untouched === toTyped(writing);

/**
 * Converts typed recipients to the API's form. Keeps invalid ones, because Drafts accepts incomplete addresses; `send` rejects
 * them.
 */
function toAddresses(text: string): Address[] {
  const { addresses, bad } = parseAddresses(text);
  return [...addresses, ...bad.map((email) => ({ email }))];
}

/** The text and HTML parts of the message in the form of the API. */
function toTexts({ body, html, rich, quote, attachments }: Writing): { body: string; html?: string } {
  if (!quote && rich === null) return { body, ...(html === null ? {} : { html }) };
  if (quote?.isPlain && rich === null) return { body: joinPlain(body, quote) };
  const ids = new Map(attachments.flatMap(({ key, attachmentId }) => (attachmentId ? [[key, attachmentId]] : [])));
  return joinHtml(
    body,
    rich === null ? null : resolvePictures(rich, ids),
    quote && { ...quote, html: resolvePictures(quote.html, ids) },
  );
}

export function toDraftBody(writing: Writing): DraftBody {
  const written = toTexts(writing);
  // Whether to send an attachment: a picture that was removed from the text is left out.
  const isUsed = ({ isInline, attachmentId }: Upload) =>
    !isInline || findDraftContentId(written.html ?? null, attachmentId ?? '') !== null;
  return {
    ...(writing.from ? { from: { email: writing.from } } : {}),
    to: toAddresses(writing.to),
    cc: toAddresses(writing.cc),
    bcc: toAddresses(writing.bcc),
    subject: writing.subject,
    ...written,
    attachments: writing.attachments.flatMap((upload) =>
      upload.attachmentId && !upload.error && isUsed(upload) ? { attachment_id: upload.attachmentId } : [],
    ),
    ...(writing.inReplyTo ? { in_reply_to: writing.inReplyTo } : {}),
    ...(writing.references.length > 0 ? { references: writing.references.slice(-REFERENCES_MAX) } : {}),
    ...(writing.replyTo.trim() ? { reply_to: toAddresses(writing.replyTo) } : {}),
    ...(writing.importance === 'normal' ? {} : { importance: writing.importance }),
    ...(writing.headers.length > 0 ? { headers: writing.headers } : {}),
    ...(writing.forwardOf ? { forward_of: writing.forwardOf } : {}),
  };
}

/** The request that sends the message. Pictures of the quote get the Content-ID that the HTML names. */
export function toOutgoing(writing: Writing, sendAt: Date | null): Outgoing {
  const draft = toDraftBody(writing);
  return {
    ...draft,
    attachments: draft.attachments.map(({ attachment_id }) => {
      const content_id = findDraftContentId(draft.html ?? null, attachment_id);
      return content_id === null ? { attachment_id } : { attachment_id, content_id };
    }),
    ...(sendAt ? { send_at: sendAt.toISOString() } : {}),
    ...(writing.draftId ? { draft_id: writing.draftId } : {}),
  };
}

export const toUploads = (draft: DraftAnswer): Upload[] =>
  draft.attachments.map((one) => ({
    key: one.attachment_id,
    fileName: one.file_name,
    size: one.size,
    progress: 1,
    attachmentId: one.attachment_id,
    error: null,
    ...(findDraftContentId(draft.html, one.attachment_id) === null ? {} : { isInline: true }),
  }));

/** Splits a draft's body into the typed text and the quote, if this page wrote the draft. */
function fromTexts({ html, body, in_reply_to }: DraftAnswer): Pick<Writing, 'body' | 'html' | 'rich' | 'quote'> {
  if (html === null) return { html, rich: null, ...(in_reply_to === null ? { body, quote: null } : splitPlain(body)) };
  const split = splitHtml(html, body);
  return split
    ? { body: split.text, html: null, rich: split.rich, quote: split.quote }
    : { body, html, rich: null, quote: null };
}

/** Converts a draft to the form that this page edits. */
export const fromDraft = (draft: DraftAnswer): Omit<Writing, 'key'> => ({
  draftId: draft.id,
  revision: draft.revision,
  tried: [],
  from: draft.from?.email ?? '',
  to: formatAddresses(draft.to),
  cc: formatAddresses(draft.cc),
  bcc: formatAddresses(draft.bcc),
  subject: draft.subject,
  ...fromTexts(draft),
  inReplyTo: draft.in_reply_to,
  references: draft.references,
  replyTo: formatAddresses(draft.reply_to),
  importance: draft.importance,
  headers: draft.headers,
  forwardOf: draft.forward_of,
  attachments: toUploads(draft),
});

/**
 * Checksum of a draft's content: equal drafts have equal checksums. It protects no secret, and forging it gains
 * nothing.
 */
export function checksumOf(draft: DraftBody | DraftAnswer): string {
  const people = (list: readonly Address[]) => list.map((one) => [one.name ?? '', one.email]);
  const text = JSON.stringify([
    draft.from?.email ?? '',
    ...[draft.to, draft.cc, draft.bcc].map(people),
    draft.subject,
    draft.body,
    draft.html ?? '',
    draft.attachments.map((one) => one.attachment_id),
    draft.in_reply_to ?? '',
    draft.references ?? [],
    people(draft.reply_to ?? []),
    draft.importance ?? 'normal',
    (draft.headers ?? []).map(({ name, value }) => [name, value]),
    draft.forward_of ?? '',
  ]);
  // FNV-1a twice with different start values and multipliers: 64 bits in one pass.
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
  }
  return `${text.length}.${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Whether the server's draft contains nothing that was written elsewhere. */
export const isOwnDraft = (theirs: DraftAnswer, writing: Writing): boolean =>
  writing.revision === null ||
  theirs.revision === writing.revision ||
  writing.tried.includes(checksumOf(theirs)) ||
  checksumOf(theirs) === checksumOf(toDraftBody(writing));

/**
 * Separates the attachments of `mine` into own ones and those that `theirs` has as well. An upload belongs to only one draft, so
 * shared ones must be uploaded again.
 */
export function splitFiles(mine: Writing, theirs: DraftAnswer | null): { own: Upload[]; shared: Upload[] } {
  const taken = new Set(theirs?.attachments.map((one) => one.attachment_id));
  const isShared = (upload: Upload) => upload.attachmentId !== null && taken.has(upload.attachmentId);
  return {
    own: mine.attachments.filter((upload) => !isShared(upload)),
    shared: mine.attachments.filter(isShared),
  };
}
