/** The mailbox as a whole: its row, its settings, and the errors that most calls share. */

export type NoMailbox = { readonly kind: 'no_mailbox' };

export type NotFound = { readonly kind: 'not_found' };

export type ReadError = NoMailbox | NotFound;

export interface MailboxSettings {
  readonly signature: string;
  readonly vacation: VacationSettings | null;
  /** Identities of JMAP: the settings that clients made for each address, and the identities that clients added. */
  readonly identities: readonly StoredIdentity[];
  /** Addresses in lower case to which an agent with the scope `mail:send` sends without asking; absent for none. */
  readonly agentRecipients?: readonly string[];
}

export interface StoredIdentity {
  readonly id: string;
  readonly email: string;
  readonly name?: string | undefined;
  readonly replyTo?: readonly { readonly name: string | null; readonly email: string }[] | null | undefined;
  readonly bcc?: readonly { readonly name: string | null; readonly email: string }[] | null | undefined;
  readonly textSignature?: string | undefined;
  readonly htmlSignature?: string | undefined;
  /** True for an identity that a client added; false for settings of an address's own identity. */
  readonly isAdded?: boolean;
}

export interface VacationSettings {
  readonly isEnabled: boolean;
  readonly subject: string;
  readonly body: string;
  /** HTML of the reply, as a JMAP client set it. The reply itself is sent as plain text. */
  readonly htmlBody?: string | null;
  /** First and last time at which messages are answered, milliseconds since 1970; null for no limit. */
  readonly startsAt: number | null;
  readonly endsAt: number | null;
  /** The user's own addresses when the reply was set. Only messages with one of them in To or Cc are answered. */
  readonly addresses: readonly string[];
}

export interface MailboxRow {
  readonly userId: string;
  readonly accountType: string;
  readonly limitBytes: number;
  readonly usedBytes: number;
  readonly settings: MailboxSettings;
}

export interface NewMailbox {
  readonly userId: string;
  readonly accountType: string;
  readonly limitBytes: number;
}

export interface MailboxProfile extends MailboxRow {
  readonly state: string;
}

/**
 * Owner record that identifies the namespace of the mailbox objects. The collector uses it to tell whether bytes of mail belong to
 * this namespace.
 */
export interface NamespaceOwner {
  /** Random id of the namespace, a UUID. */
  readonly id: string;
  /** Number of runs of the collector, plus one for the claim. 0 in the object means that a location may lack the id. */
  readonly runs: number;
}
