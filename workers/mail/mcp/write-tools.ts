/** Tools that write drafts, ask to send them, and sort mail. None erases, and none moves mail to Trash or Junk. */
import { z } from '@hono/zod-openapi';
import type { Draft, DraftContent } from '../../../durable-objects/mail/contract/drafts.ts';
import { admitAction } from '../../identity/index.ts';
import { toVisibleLine, toVisibleText } from '../domain/foreign-text.ts';
import { lineSchema } from '../schemas/draft.ts';
import { labelSchema } from '../schemas/message.ts';
import { findMaskedRecipient } from '../store/masked-store.ts';
import { type Agent, orRefuse, readMessage, ToolError } from './agent.ts';
import { AgentReader } from './reading.ts';
import { tool } from './tool.ts';
import { listRecipients, sendRevision, setWaiting } from './waiting.ts';

const RECIPIENTS_MAX = 50;
const BODY_LENGTH_MAX = 100_000;
const MESSAGES_MAX = 50;

/** Drafts and requests to send of all agents of an account. */
const WRITES = { max: 120, windowMs: 3_600_000 };

async function admitWrite({ env, user, now }: Agent): Promise<void> {
  const admitted = await admitAction(env, 'agent write', user.userId, WRITES, now);
  if (!admitted.ok)
    throw new ToolError(`Agents of an account write at most ${WRITES.max} times an hour. Try again later.`);
}

const idSchema = z.string().min(1).max(100);
const emailSchema = z.email().max(254).toLowerCase();
const emailsSchema = z.array(emailSchema).max(RECIPIENTS_MAX);

export const draft = tool({
  name: 'draft',
  scope: 'mail:draft',
  isWrite: true,
  description:
    'Writes a draft of plain text, or replaces one that an agent wrote. With reply_to_message_id, recipients and subject that are missing are those of a reply. There is no Bcc. A draft is not sent.',
  input: z.strictObject({
    draft_id: idSchema.optional(),
    reply_to_message_id: idSchema.optional(),
    to: emailsSchema.optional(),
    cc: emailsSchema.default([]),
    subject: lineSchema(500).optional(),
    body: z.string().max(BODY_LENGTH_MAX),
  }),
  run: async (agent, { draft_id, reply_to_message_id, to, cc, subject, body }) => {
    await admitWrite(agent);
    const reply = reply_to_message_id === undefined ? null : await readReply(agent, reply_to_message_id);
    const toAddresses = (emails: readonly string[]) => emails.map((email) => ({ name: '', email }));
    const content: DraftContent = {
      from: reply?.from ?? null,
      to: toAddresses(to ?? reply?.to ?? []),
      cc: toAddresses(cc),
      bcc: [],
      // The person must see all that will leave.
      subject: toVisibleLine(subject ?? reply?.subject ?? '', 500),
      body: toVisibleText(body),
      html: null,
      attachmentIds: [],
      inReplyTo: reply?.inReplyTo ?? null,
      references: reply?.references ?? [],
      agent: { tokenId: agent.user.credentialId, waitingSince: null },
    };
    const saved =
      draft_id === undefined
        ? await agent.ask((mailbox) => mailbox.createDraft(content, null))
        : await replace(agent, draft_id, content);
    return `draft ${saved.messageId} revision ${saved.revision}, to ${listRecipients(content).join(', ') || 'nobody yet'}`;
  },
});

async function readReply(agent: Agent, messageId: string) {
  const message = await readMessage(agent, messageId);
  if (await new AgentReader(agent).isWithheld(message)) throw new ToolError('This message is withheld.');
  const { from, replyTo, subject, headerMessageId, references } = message;
  const masked = await findMaskedRecipient(agent.env, agent.user.userId, message);
  if (masked?.state === 'deleted') throw new ToolError('The message came to a masked address that has ended.');
  const isId = (id: string) => /^<[^<>\s\p{Cc}]{1,900}>$/u.test(id);
  const answered = (replyTo.length > 0 ? replyTo : from ? [from] : []).map(({ email }) => email.toLowerCase());
  return {
    // A reply to mail that came to a masked address must not name another one.
    from: masked && { name: '', email: masked.email },
    to: answered.filter((email) => emailSchema.safeParse(email).success),
    subject: /^re:/i.test(subject) ? subject.slice(0, 500) : `Re: ${subject}`.slice(0, 500),
    inReplyTo: headerMessageId !== null && isId(headerMessageId) ? headerMessageId : null,
    references: [...references.slice(-20), headerMessageId ?? ''].filter(isId),
  };
}

/** Finds a draft that is as an agent wrote it. What the person wrote or changed is the person's. */
async function readAgentDraft(agent: Agent, draftId: string): Promise<Draft> {
  const found = await agent.ask((mailbox) => mailbox.readDraft(draftId));
  if (found.content.agent === undefined)
    throw new ToolError('The person wrote or changed this draft. Write a new one.');
  return found;
}

async function replace(agent: Agent, draftId: string, content: DraftContent): Promise<Draft> {
  const { revision } = await readAgentDraft(agent, draftId);
  return agent.ask((mailbox) => mailbox.replaceDraft(draftId, content, null, revision));
}

export const sendDraft = tool({
  name: 'send_draft',
  scope: 'mail:draft',
  isWrite: true,
  description:
    'Asks to send a draft of an agent. It waits until the person reads and approves it in the web app. With the scope mail:send it leaves at once, if the person listed every recipient.',
  input: z.strictObject({ draft_id: idSchema }),
  run: async (agent, { draft_id }) => {
    await admitWrite(agent);
    const { env, user } = agent;
    const found = await readAgentDraft(agent, draft_id);
    const recipients = listRecipients(found.content);
    if (recipients.length === 0) throw new ToolError('The draft has no recipient.');
    if (found.content.bcc.length > 0) throw new ToolError('An agent cannot send with Bcc.');
    if (agent.has('mail:send') && (await areListed(agent, recipients))) {
      const messageId = orRefuse(await sendRevision(env, user, found));
      return `sent as ${messageId} to ${recipients.join(', ')}. The person can undo it for a few seconds.`;
    }
    if (found.content.agent?.waitingSince == null) {
      orRefuse(await setWaiting(env, user.userId, found, agent.now));
      agent.noticeWaiting();
    }
    return 'waits: the person has to approve it in the web app (Settings, Agents). Nothing was sent, and this connection cannot approve it.';
  },
});

async function areListed(agent: Agent, recipients: readonly string[]): Promise<boolean> {
  const { settings } = await agent.ask((mailbox) => mailbox.readProfile());
  const listed = new Set(settings.agentRecipients ?? []);
  return recipients.every((email) => listed.has(email));
}

/** Folders into which an agent moves nothing: from there mail disappears, or is sent. */
const CLOSED = new Set(['trash', 'junk', 'drafts', 'sent', 'all', 'flagged']);

export const update = tool({
  name: 'update',
  scope: 'mail:draft',
  isWrite: true,
  description: 'Marks, labels or moves messages. It cannot move to or from Trash or Junk, and erases nothing.',
  input: z.strictObject({
    message_ids: z.array(idSchema).min(1).max(MESSAGES_MAX),
    read: z.boolean().optional(),
    flagged: z.boolean().optional(),
    add_labels: z.array(labelSchema).max(10).optional(),
    remove_labels: z.array(labelSchema).max(10).optional(),
    folder_id: idSchema.optional(),
  }),
  run: async (agent, { message_ids, read, flagged, add_labels, remove_labels, folder_id }) => {
    if ([...(add_labels ?? []), ...(remove_labels ?? [])].some((label) => label.startsWith('$')))
      throw new ToolError('Labels that begin with $ are those of the service.');
    if (folder_id !== undefined) await checkMove(agent, message_ids, folder_id);
    const patch = {
      ...(read === undefined ? {} : { isRead: read }),
      ...(flagged === undefined ? {} : { isFlagged: flagged }),
      ...(add_labels === undefined ? {} : { addLabels: add_labels }),
      ...(remove_labels === undefined ? {} : { removeLabels: remove_labels }),
      ...(folder_id === undefined ? {} : { folderKey: folder_id }),
    };
    const results = await agent.ask((mailbox) => mailbox.patchMessages(message_ids, patch));
    return results.map(({ id, status }) => `${id} ${status}`).join('\n');
  },
});

async function checkMove(agent: Agent, messageIds: readonly string[], folderId: string): Promise<void> {
  const folders = await agent.ask((mailbox) => mailbox.listFolders());
  const target = folders.find(({ folder_id, role }) => folder_id === folderId || role === folderId.toLowerCase());
  if (!target) throw new ToolError('Unknown folder.');
  if (target.role !== null && CLOSED.has(target.role))
    throw new ToolError(`An agent cannot move mail to ${target.role}.`);
  const messages = await Promise.all(messageIds.map((id) => readMessage(agent, id)));
  const kept = messages.find(
    ({ folderRole, origin }) => origin === 'draft' || (folderRole !== null && CLOSED.has(folderRole)),
  );
  if (kept) throw new ToolError(`An agent cannot move mail from ${kept.folderRole ?? 'Drafts'}.`);
}
