/** Sends the answer to an invitation. It may wait for the network, and be tried again, with the same request. */
import { ApiError, call, callJson } from '../../shared/api.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { attachmentPath, type Outgoing, sendMessage } from './api.ts';
import { type Answer, answerFileName, writeAnswer } from './invitation-answer.ts';

export interface InvitationReply {
  messageId: string;
  /** The file of the invitation, which the answer repeats in parts. */
  fileName: string;
  /** The address that was invited. */
  email: string;
  answer: Answer;
  /** RFC 3339. */
  answeredAt: string;
  letter: Omit<Outgoing, 'attachments'>;
  idempotencyKey: string;
  /** The uploaded answer. Only the same id makes the same request, which the server recognises by its key. */
  attachmentId: string | null;
}

async function uploadAnswer({ messageId, fileName, email, answer, answeredAt }: InvitationReply): Promise<string> {
  const calendar = await (await call(attachmentPath(messageId, fileName))).text();
  const file = writeAnswer(calendar, email, answer, new Date(answeredAt));
  if (file === null) throw new Error(mailTexts.invitation.unreadable);
  const path = `/v1/attachments?file_name=${encodeURIComponent(answerFileName(answer))}`;
  const headers = { 'content-type': 'text/calendar; method=reply; charset=utf-8' };
  return (await callJson<{ attachment_id: string }>(path, { headers, rawBody: new Blob([file]) })).attachment_id;
}

/** @param keep stores the reply on this device. @throws ApiError if the server refuses it or cannot be reached. */
export async function sendInvitationReply(
  reply: InvitationReply,
  keep: (reply: InvitationReply) => Promise<unknown>,
): Promise<void> {
  const isUploaded = reply.attachmentId !== null;
  const attachmentId = reply.attachmentId ?? (await uploadAnswer(reply));
  if (!isUploaded) await keep({ ...reply, attachmentId });
  try {
    await sendMessage({ ...reply.letter, attachments: [{ attachment_id: attachmentId }] }, reply.idempotencyKey);
  } catch (error) {
    // The server deletes an upload that no message uses after a day. A message that was sent is found before its files are read.
    const isExpired = isUploaded && error instanceof ApiError && error.code === 'bad_attachment';
    if (!isExpired) throw error;
    await sendInvitationReply({ ...reply, attachmentId: null }, keep);
  }
}
