/** The change log as clients receive it. */
import type { FlagColumn } from '../../../workers/mail/domain/message-flags.ts';

export interface Change extends Partial<Readonly<Record<FlagColumn, boolean>>> {
  readonly type:
    | 'message_created'
    | 'message_updated'
    | 'message_deleted'
    | 'folder_created'
    | 'folder_updated'
    | 'folder_deleted'
    | 'mailbox_updated'
    | 'filters_updated'
    | 'contacts_updated'
    | 'senders_updated'
    | 'thread_updated'
    | 'delivery_updated'
    | 'identity_created'
    | 'identity_updated'
    | 'identity_deleted'
    | 'submission_created'
    | 'submission_deleted';
  readonly message_id?: string;
  /** Id of the JMAP email; absent if it equals `message_id`. */
  readonly email_id?: string;
  /** Set if a draft was saved: the id of the JMAP email that the email `email_id` replaces. */
  readonly replaced_email_id?: string;
  readonly folder_id?: string;
  readonly thread_id?: string;
  /** The thread that a saved draft left for another one. */
  readonly left_thread_id?: string;
  readonly identity_id?: string;
  readonly submission_id?: string;
  /** Set if a message arrived by mail in a folder other than Junk and Trash, in a thread that is not muted. */
  readonly is_delivered?: true;
  /** Set if the snooze changed: its end as a time of RFC 3339, or null if the snooze ended. */
  readonly snoozed_until?: string | null;
  readonly is_muted?: boolean;
  readonly labels?: readonly string[];
  /** All folders of the message; absent if it is in only one. */
  readonly folder_ids?: readonly string[];
  /** Folders that the message left in this change. */
  readonly left_folder_ids?: readonly string[];
  /**
   * `began`: the message was the first of its thread. `ended`: it was the last. For a saved draft, `ended` refers to the thread
   * that it left.
   */
  readonly thread?: 'began' | 'ended';
}

export interface ChangePage {
  /** State after these changes, as a decimal number. The client passes it as the next `since`. */
  readonly state: string;
  readonly changes: readonly Change[];
  /** True if `since` is too old or of another mailbox. The client must then reload everything and continue from `state`. */
  readonly resync: boolean;
  /** True if the log has more changes after `state`. */
  readonly more: boolean;
}

export interface EventMessage {
  readonly state: string;
  readonly changes?: ChangePage['changes'];
  readonly resync?: true;
}
