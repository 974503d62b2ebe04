/** Composes the raw message of a draft that was written in the app. One revision of a draft always gives the same bytes. */
import { createHash } from 'node:crypto';
import type { Draft, DraftContent } from '../../../durable-objects/mail/contract/drafts.ts';
import { readBlob } from '../bindings/blobs.ts';
import { toHeaderFields } from '../domain/written-fields.ts';
import { type ComposedMessage, composeMessage, streamMessage } from './compose-message.ts';

/** @returns the message, with its size, before any file is read. */
export async function composeDraft(draft: Draft): Promise<ComposedMessage> {
  const { content, attachments, updatedAt, revision, messageId } = draft;
  const name = `${messageId}.${revision}`;
  const composition = {
    ...toComposition(content),
    attachments: attachments.map((upload) => ({ ...upload, contentId: null })),
    messageId: `<${name}@draft.invalid>`,
    date: new Date(updatedAt),
    boundary: name,
    headers: [
      ...(content.bcc.length > 0 ? [{ name: 'Bcc', value: content.bcc.map(({ email }) => email).join(', ') }] : []),
      ...toHeaderFields(content),
    ],
  };
  // The placeholders of files are not in the result. Only the author could write one into the draft.
  return composeMessage(composition, createHash('sha256').update(name).digest());
}

export const streamDraft = (env: Env, { attachments }: Draft, composed: ComposedMessage): AsyncGenerator<Uint8Array> =>
  streamMessage(composed, (n) => readBlob(env, attachments[n]?.r2Key ?? ''));

const toComposition = ({ from, to, cc, replyTo = [], subject, body, html, inReplyTo, references }: DraftContent) => ({
  from: from ?? { name: '', email: '' },
  to,
  cc,
  replyTo,
  subject,
  text: body,
  html,
  inReplyTo,
  references,
});
