/** Problem codes of mail. */
import type { ProblemCodeTable } from './entry.ts';

export const MAIL_CODES = {
  bad_address: {
    statuses: [400],
    meaning: 'An address is not valid, or needs SMTPUTF8.',
    action: 'Correct the address that `errors` names.',
  },
  bad_attachment: {
    statuses: [400, 413],
    meaning: 'An attachment is not Base64, too large for the request, or names an unknown upload.',
    action: 'Upload the file with `POST /v1/attachments` and name its id.',
  },
  blocked_attachment: {
    statuses: [400],
    meaning: 'A file is of a kind that is never sent, such as a program.',
    action: 'Leave the file out.',
  },
  bookmark_refused: {
    statuses: [409],
    meaning: 'The platform has no state of the mailbox at that time or bookmark. It keeps 30 days.',
    action: 'Use another time, or a bookmark that `POST /v1/accounts/{user_id}/bookmark` answered.',
  },
  replay_first: {
    statuses: [409],
    meaning: 'The mailbox was put back to an earlier state and has not been replayed.',
    action: 'Call `POST /v1/accounts/{user_id}/replay` until `finished` is true.',
  },
  foreign_sender: {
    statuses: [400],
    meaning: '`from` is not an address of the caller.',
    action: 'Use an address of `GET /v1/me/addresses`.',
  },
  length_required: {
    statuses: [400, 411],
    meaning: 'An upload has no `Content-Length`. JMAP needs one only above 8 MiB.',
    action: 'Send the length, not a chunked body.',
  },
  no_envelope: {
    statuses: [400],
    meaning: 'An inbound message has no `x-envelope-to` or no body.',
    action: 'Send both.',
  },
  no_recipient: {
    statuses: [400],
    meaning: 'The message has no recipient.',
    action: 'Add one to `to`, `cc` or `bcc`.',
  },
  too_many_recipients: {
    statuses: [400],
    meaning: 'The message has more recipients than the service allows.',
    action: 'Send several messages; `detail` has the limit.',
  },
  wrong_code: {
    statuses: [400],
    meaning: 'The code that was mailed to a forward target or recovery address is wrong or expired.',
    action: 'Request another code.',
  },
  no_draft: {
    statuses: [404],
    meaning: 'The draft does not exist or was sent.',
    action: 'Look in Sent before you send it again.',
  },
  no_mailbox: { statuses: [404], meaning: 'The user has no mailbox.', action: 'Use the token of a mail account.' },
  no_such_account: { statuses: [404], meaning: 'No mail account has this id.', action: 'Check the id.' },
  domain_has_aliases: {
    statuses: [409],
    meaning: 'Other domains are aliases of this one.',
    action: 'Change or delete the aliases first.',
  },
  no_such_domain: {
    statuses: [404],
    meaning: 'The domain is not configured.',
    action: 'Add it with `POST /v1/domains`.',
  },
  no_such_folder: {
    statuses: [404],
    meaning: 'The folder does not exist, or is a view (All, Flagged) that holds no messages of its own.',
    action: 'Use a folder of `GET /v1/folders`.',
  },
  not_in_quarantine: {
    statuses: [404],
    meaning: 'The quarantine has no message with this id.',
    action: 'Check the id.',
  },
  not_queued: { statuses: [404], meaning: 'No queued or failed message has this id.', action: 'Check the id.' },
  draft_changed: {
    statuses: [409, 412],
    meaning: 'The draft was saved elsewhere meanwhile. Nothing was saved or sent.',
    action: 'Load the draft, merge, and save with its new revision.',
  },
  folder_exists: { statuses: [409], meaning: 'A folder of this name exists.', action: 'Choose another name.' },
  folder_fixed: {
    statuses: [409],
    meaning: 'A folder with a role, such as Inbox, keeps its name and place.',
    action: 'Create a folder of your own.',
  },
  idempotency_conflict: {
    statuses: [409],
    meaning: 'The `Idempotency-Key` was used for another message.',
    action: 'Use one key per message.',
  },
  nothing_to_retry: {
    statuses: [409],
    meaning: 'No recipient of the message waits or failed.',
    action: 'Nothing needs to be done.',
  },
  no_mail_token: {
    statuses: [409],
    meaning: 'The deployment has no `CLOUDFLARE_MAIL_TOKEN`, so the suppression list cannot be read.',
    action: 'Set the secret; docs/operations.md says which rights the token needs.',
  },
  suppression_read_only: {
    statuses: [409],
    meaning: 'Cloudflare lets nobody lift this entry of the suppression list.',
    action: 'Ask Cloudflare Support.',
  },
  no_such_suppression: {
    statuses: [404],
    meaning: 'The suppression list has no such entry. It may have ended.',
    action: 'Read the list again.',
  },
  reason_required: {
    statuses: [400],
    meaning: 'The recipient complained about mail, so lifting the entry needs a reason.',
    action: 'Send `reason`, such as when the recipient asked for mail again.',
  },
  suppressions_unavailable: {
    statuses: [502],
    meaning: "Cloudflare's API did not answer, or refused the token.",
    action: 'Retry later. If it lasts, check the rights of `CLOUDFLARE_MAIL_TOKEN`.',
  },
  too_late: { statuses: [409], meaning: 'The message has left and cannot be canceled.', action: 'Send a correction.' },
  too_many_folders: {
    statuses: [409],
    meaning: 'The mailbox has its maximum of folders.',
    action: 'Delete one first.',
  },
  attachment_too_large: {
    statuses: [413],
    meaning: 'An upload exceeds the attachment limit of the account.',
    action: 'Share the file with a link; `detail` has the limit.',
  },
  over_quota: {
    statuses: [413],
    meaning: 'The mailbox is full. Sending needs space too, for the copy in Sent.',
    action: 'Empty Trash and Junk.',
  },
  no_messages: {
    statuses: [400],
    meaning: 'An imported file has bytes, but no message.',
    action: 'Send an mbox file, not an archive of one, or a single message as `message/rfc822`.',
  },
  unsubscribe_unavailable: {
    statuses: [409],
    meaning: 'The message names no list, or only a page or an address that the service may not use.',
    action: 'Look at `unsubscribe` of the message: its page is opened by the user. Else block the sender.',
  },
  unsubscribe_failed: {
    statuses: [502],
    meaning: 'The server of the list did not accept the request.',
    action: 'Retry later, or block the sender.',
  },
  unsupported_type: {
    statuses: [415],
    meaning: 'An import is neither `application/mbox` nor `message/rfc822`.',
    action: 'Set the `Content-Type`.',
  },
  range_not_satisfiable: {
    statuses: [416],
    meaning: 'The `Range` starts after the last byte.',
    action: 'Use the size in `detail`.',
  },
  send_limit_reached: {
    statuses: [429],
    meaning: 'The account may not send to this many more recipients in this hour. The message is kept as a draft.',
    action: 'Wait for `Retry-After`, then send the draft.',
  },
  domain_send_limit_reached: {
    statuses: [429],
    meaning:
      'The accounts of the domain together sent to as many recipients as they may in an hour. The message is kept as a draft.',
    action: 'Wait for `Retry-After`, then send the draft. The operator can raise `DOMAIN_SEND_LIMIT_PER_HOUR`.',
  },
  mailbox_unavailable: {
    statuses: [503],
    meaning: 'The mailbox did not answer. Nothing is lost.',
    action: 'Retry after `Retry-After`.',
  },
} as const satisfies ProblemCodeTable;
