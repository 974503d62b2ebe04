/**
 * Ids of JMAP emails. The content of an email never changes (RFC 8621 §4.1.1). The id of an email is the id of its message. A draft
 * of the app keeps its message id when it is saved, so from its second revision on, its email id ends in `-` and the revision.
 * Pure.
 */
export interface EmailId {
  readonly messageId: string;
  readonly revision: number;
}

const EMAIL_ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-([1-9]\d{0,8}))?$/i;

export const toEmailId = ({ messageId, revision }: EmailId): string =>
  revision > 1 ? `${messageId}-${revision}` : messageId;

/** @returns the parts of an email id; null if the text is not one. */
export function parseEmailId(text: string): EmailId | null {
  const [, messageId, revision = '1'] = EMAIL_ID.exec(text) ?? [];
  return messageId === undefined ? null : { messageId, revision: Number(revision) };
}
