/**
 * Completes a request by the content of a draft. A request with only `draft_id` sends the draft as it was saved. A request with
 * content of its own is the whole message.
 */
import { toValidationProblem } from '../../../shared/json/json-api.ts';
import { type Problem, problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { findDraftContentId } from '../../domain/inline-picture.ts';
import { type SubmitRequest, submitSchema } from './request-schema.ts';

/** Members of a request that are not content of the message. */
const NON_CONTENT = new Set(['draft_id', 'send_at']);

/**
 * @returns the request with the draft's content, and the revision of the draft that was read. The revision is null if the request
 * has content of its own.
 */
export async function fillFromDraft(
  env: Env,
  userId: string,
  request: SubmitRequest,
): Promise<Result<{ request: SubmitRequest; draftRevision: number | null }, Problem>> {
  const { draft_id: draftId, send_at } = request;
  const isWhole = Object.keys(request).some((name) => !NON_CONTENT.has(name));
  if (draftId === undefined || isWhole) return ok({ request, draftRevision: null });
  const draft = await openMailbox(env, userId).readDraft(draftId);
  if (!draft.ok) return err(problem(404, 'no_draft', 'Draft not found, or already sent.'));
  const { content, revision } = draft.value;
  const filled = submitSchema.safeParse({
    from: content.from ? { email: content.from.email, name: content.from.name || undefined } : undefined,
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    reply_to: content.replyTo,
    subject: content.subject,
    body: content.body,
    html: content.html ?? undefined,
    attachments: content.attachmentIds.map((attachment_id) => ({
      attachment_id,
      content_id: findDraftContentId(content.html, attachment_id) ?? undefined,
    })),
    in_reply_to: content.inReplyTo ?? undefined,
    references: content.references,
    headers: content.headers,
    importance: content.importance,
    forward_of: content.forwardOf ?? undefined,
    send_at,
    draft_id: draftId,
  });
  return filled.success
    ? ok({ request: filled.data, draftRevision: revision })
    : err(toValidationProblem(filled.error));
}
