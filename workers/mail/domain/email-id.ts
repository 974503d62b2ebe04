/**
 * Ids of JMAP emails, whose content never changes (RFC 8621 §4.1.1). An email has the id of its message. A draft of the app keeps one id
 * through all its saves, so from its second revision on its email id ends in `-` and the revision. Pure.
 */
export interface EmailId {
  readonly messageId: string;
  readonly revision: number;
}

const EMAIL_ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-([1-9]\d{0,8}))?$/i;

export const toEmailId = ({ messageId, revision }: EmailId): string =>
  revision > 1 ? `${messageId}-${revision}` : messageId;

/** @returns null if the text is not an email id. */
export function parseEmailId(text: string): EmailId | null {
  const [, messageId, revision = '1'] = EMAIL_ID.exec(text) ?? [];
  return messageId === undefined ? null : { messageId, revision: Number(revision) };
}
