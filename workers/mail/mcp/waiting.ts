/**
 * Drafts of agents that wait for the person. The mark of the agent is part of the draft, and every save by another hand removes it, so
 * a draft that waits is as the agent wrote it. An approval names the recipients and the hash of the bytes.
 */
import { createHash } from 'node:crypto';
import type { Draft, DraftContent } from '../../../durable-objects/mail/contract/drafts.ts';
import type { UserPrincipal } from '../../identity/index.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { readPieces } from '../inbound/process/delivery.ts';
import { composeDraft, streamDraft } from '../outbound/compose-draft.ts';
import { submitMessage } from '../outbound/submission/submit-message.ts';
import { callMailbox } from '../routes/route.ts';

/** Drafts that are looked at for waiting ones: the newest. */
const DRAFTS_MAX = 200;

export const listRecipients = ({ to, cc, bcc }: DraftContent): string[] =>
  [...new Set([...to, ...cc, ...bcc].map(({ email }) => email.toLowerCase()))].sort();

/** @returns the SHA-256 of the message of this revision, with its files, as hexadecimal digits. */
export async function hashDraft(env: Env, draft: Draft): Promise<string> {
  const bytes = await readPieces(streamDraft(env, draft, await composeDraft(draft)));
  return createHash('sha256').update(bytes).digest('hex');
}

export interface WaitingDraft {
  readonly draft: Draft;
  readonly sha256: string;
  readonly since: number;
  readonly tokenId: string;
}

/** Lists the drafts that agents asked to send, the newest first. */
export async function listWaiting(env: Env, userId: string): Promise<Result<WaitingDraft[], Problem>> {
  const listed = await callMailbox(env, userId, (mailbox) => mailbox.listMessages('drafts', { offset: 0 }, DRAFTS_MAX));
  if (!listed.ok) return listed;
  const ids = listed.value.map(({ messageId }) => messageId);
  const drafts = await callMailbox(env, userId, (mailbox) => mailbox.readDrafts(ids));
  if (!drafts.ok) return drafts;
  const waiting = drafts.value.flatMap((draft) => {
    const { agent } = draft.content;
    return agent?.waitingSince == null ? [] : [{ draft, since: agent.waitingSince, tokenId: agent.tokenId }];
  });
  return ok(await Promise.all(waiting.map(async (one) => ({ ...one, sha256: await hashDraft(env, one.draft) }))));
}

const NOT_WAITING = problem(404, 'not_found', 'No message waits under this id. It may have been changed or sent.');
const CHANGED = problem(412, 'draft_changed', 'The message is not the one that you saw. Read it again.');

async function findWaiting(env: Env, userId: string, draftId: string): Promise<Result<Draft, Problem>> {
  const read = await callMailbox(env, userId, (mailbox) => mailbox.readDraft(draftId));
  return read.ok && read.value.content.agent?.waitingSince != null ? read : err(NOT_WAITING);
}

export interface Approval {
  readonly recipients: readonly string[];
  readonly sha256: string;
}

/**
 * Sends a draft that waits, if the approval is of this message and these recipients.
 * @returns the id of the message in Sent. Undo-send holds as for every message.
 */
export async function approveWaiting(
  env: Env,
  user: UserPrincipal,
  draftId: string,
  { recipients, sha256 }: Approval,
): Promise<Result<string, Problem>> {
  const found = await findWaiting(env, user.userId, draftId);
  if (!found.ok) return found;
  const draft = found.value;
  const approved = [...new Set(recipients.map((email) => email.toLowerCase()))].sort();
  const isSame = approved.join() === listRecipients(draft.content).join() && sha256 === (await hashDraft(env, draft));
  if (!isSame) return err(CHANGED);
  return sendRevision(env, user, draft);
}

/** Sends exactly this revision of a draft. */
export async function sendRevision(env: Env, user: UserPrincipal, draft: Draft): Promise<Result<string, Problem>> {
  const request = { draft_id: draft.messageId };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request), approvedRevision: draft.revision };
  const sent = await submitMessage(env, user, request, options);
  return sent.ok ? ok(sent.value.messageId) : sent;
}

/** Marks a draft of an agent as waiting, or takes the mark away. @returns the new revision. */
export async function setWaiting(
  env: Env,
  userId: string,
  draft: Draft,
  waitingSince: number | null,
): Promise<Result<Draft, Problem>> {
  const { agent, ...content } = draft.content;
  const marked = { ...content, agent: { tokenId: agent?.tokenId ?? '', waitingSince } };
  // Drafts of agents have no HTML.
  return callMailbox(env, userId, (mailbox) => mailbox.replaceDraft(draft.messageId, marked, null, draft.revision));
}

/** Refuses a draft that waits: it stays a draft. */
export async function declineWaiting(env: Env, userId: string, draftId: string): Promise<Result<null, Problem>> {
  const found = await findWaiting(env, userId, draftId);
  if (!found.ok) return found;
  const declined = await setWaiting(env, userId, found.value, null);
  return declined.ok ? ok(null) : declined;
}
