/** Drafts, and the files uploaded for them. */
import type { HeaderField, Importance } from '../../../workers/mail/domain/written-fields.ts';
import type { MailAddress } from './delivered-message.ts';

export interface Upload {
  readonly attachmentId: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** R2 key of the file. Its bytes are in a quorum of the locations. */
  readonly r2Key: string;
}

export type UploadError =
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

export interface DraftContent {
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly subject: string;
  readonly body: string;
  /** HTML of the body, cleaned by the caller. Drafts of earlier versions have it as the author wrote it. */
  readonly html: string | null;
  readonly attachmentIds: readonly string[];
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly replyTo?: readonly MailAddress[];
  readonly headers?: readonly HeaderField[];
  readonly importance?: Importance;
  /** Id of the message that the draft forwards. */
  readonly forwardOf?: string | null;
  /** Why the message came back to Drafts: the words of the check that refused it. The next save removes it. */
  readonly refusal?: string | null;
  /** Set while the draft is as an agent wrote it. The next save by the person removes it. */
  readonly agent?: AgentMark;
}

/** The agent that wrote a draft, and whether the draft waits for the person. */
export interface AgentMark {
  /** Id of the agent's token. */
  readonly tokenId: string;
  /** Time at which the agent asked to send it, in milliseconds since 1970; null if it did not. */
  readonly waitingSince: number | null;
}

export interface Draft {
  readonly messageId: string;
  readonly revision: number;
  readonly updatedAt: number;
  readonly content: DraftContent;
  readonly attachments: readonly Upload[];
}

export type DraftError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'draft_changed'; readonly revision: number }
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'bad_request'; readonly path: string; readonly message: string };

/** An Idempotency-Key, and the hash of the request that had it. */
export interface Idempotency {
  readonly key: string;
  readonly requestSha256: string;
}

export interface KeptMessage {
  readonly content: DraftContent;
  /** HTML of the content, cleaned so that it is safe to show. */
  readonly cleanedHtml: string | null;
  readonly idempotency: Idempotency | null;
}
