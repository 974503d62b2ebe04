/** A message being written, as it is typed and as Drafts keeps it. Pure. */
import { formatAddresses, parseAddresses } from '../model/addresses.ts';
import type { Address, DraftAnswer, DraftBody } from '../model/api.ts';

export interface Upload {
  key: string;
  fileName: string;
  size: number;
  /** 0 to 1. */
  progress: number;
  attachmentId: string | null;
  error: string | null;
}

export interface Writing {
  /** Names the message in this browser and makes a repeated send harmless. */
  key: string;
  draftId: string | null;
  /** The revision of the draft that this text continues; null before there is one. */
  revision: number | null;
  /** Sums of what left for Drafts and was not confirmed: a newer revision with such a sum is our own. */
  tried: string[];
  /** One of the writer's own addresses; empty for the first of them. */
  from: string;
  to: string;
  cc: string;
  bcc: string;
  subject: string;
  body: string;
  /** Formatted text that another program wrote. This page keeps it and cannot change it; the body says the same. */
  html: string | null;
  attachments: Upload[];
  inReplyTo: string | null;
  references: string[];
}

/** What the API takes; the newest say where a message belongs. */
const REFERENCES_MAX = 100;

/** @param signature of the writer, may be empty. */
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
  attachments: [],
  inReplyTo: null,
  references: [],
});

/** Nothing in it is worth keeping: `untouched` is the body that a new message begins with. */
export const isEmptyWriting = (writing: Writing, untouched = ''): boolean =>
  ![writing.to, writing.cc, writing.bcc, writing.subject].some((text) => text.trim() !== '') &&
  (writing.body.trim() === '' || writing.body === untouched) &&
  writing.html === null &&
  writing.attachments.length === 0;

/** A draft keeps half-written addresses too; a message that is sent has none (`send` saw to it). */
function toAddresses(text: string): Address[] {
  const { addresses, bad } = parseAddresses(text);
  return [...addresses, ...bad.map((email) => ({ email }))];
}

export function toDraftBody(writing: Writing): DraftBody {
  return {
    ...(writing.from ? { from: { email: writing.from } } : {}),
    to: toAddresses(writing.to),
    cc: toAddresses(writing.cc),
    bcc: toAddresses(writing.bcc),
    subject: writing.subject,
    body: writing.body,
    ...(writing.html === null ? {} : { html: writing.html }),
    attachments: writing.attachments.flatMap((upload) =>
      upload.attachmentId && !upload.error ? { attachment_id: upload.attachmentId } : [],
    ),
    ...(writing.inReplyTo ? { in_reply_to: writing.inReplyTo } : {}),
    ...(writing.references.length > 0 ? { references: writing.references.slice(-REFERENCES_MAX) } : {}),
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
  }));

/** A draft of the Drafts folder, to go on with. */
export const fromDraft = (draft: DraftAnswer): Omit<Writing, 'key'> => ({
  draftId: draft.id,
  revision: draft.revision,
  tried: [],
  from: draft.from?.email ?? '',
  to: formatAddresses(draft.to),
  cc: formatAddresses(draft.cc),
  bcc: formatAddresses(draft.bcc),
  subject: draft.subject,
  body: draft.body,
  html: draft.html,
  inReplyTo: draft.in_reply_to,
  references: draft.references,
  attachments: toUploads(draft),
});

/** Two drafts with the same sum say the same. No secret is in it, and nobody gains by forging it. */
export function sumOf(draft: DraftBody | DraftAnswer): string {
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
  ]);
  // FNV-1a, twice with different beginnings: 64 bits, at once.
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
  }
  return `${text.length}.${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Whether the draft, as the server has it, holds nothing that was written elsewhere since. */
export const isOwnDraft = (theirs: DraftAnswer, writing: Writing): boolean =>
  writing.revision === null ||
  theirs.revision === writing.revision ||
  writing.tried.includes(sumOf(theirs)) ||
  sumOf(theirs) === sumOf(toDraftBody(writing));

/** `mine` without the files that belong to `theirs`: an upload belongs to one draft only. */
export function splitFiles(mine: Writing, theirs: DraftAnswer | null): { own: Upload[]; shared: Upload[] } {
  const taken = new Set(theirs?.attachments.map((one) => one.attachment_id));
  const isShared = (upload: Upload) => upload.attachmentId !== null && taken.has(upload.attachmentId);
  return {
    own: mine.attachments.filter((upload) => !isShared(upload)),
    shared: mine.attachments.filter(isShared),
  };
}
