/**
 * Every `code` of a problem: its statuses, what it means and what a client does about it. `docs/errors.md` is generated
 * from this table; `problem()` accepts no other code. Only types are used at run time, so the texts are not deployed.
 */

export interface ProblemCodeEntry {
  readonly statuses: readonly number[];
  readonly meaning: string;
  readonly action: string;
}

const SHARED = {
  bad_request: {
    statuses: [400],
    meaning: 'The body is not valid JSON.',
    action: 'Send valid JSON in UTF-8.',
  },
  invalid_cursor: {
    statuses: [400],
    meaning: 'The cursor does not come from this collection.',
    action: 'Start again without `cursor`.',
  },
  invalid_request: {
    statuses: [400],
    meaning: 'A member or a query parameter is missing, unknown or has a wrong value.',
    action: 'Correct what `errors` lists; each entry has a path.',
  },
  unauthenticated: {
    statuses: [401],
    meaning: 'The request has no credential, and the route needs one.',
    action: 'Send `Authorization: Bearer <token>`.',
  },
  invalid_credential: {
    statuses: [401],
    meaning: 'The credential is unknown, revoked or expired.',
    action: 'Log in again, or use another token.',
  },
  foreign_origin: {
    statuses: [403],
    meaning: 'A session cookie came with the `Origin` of another site.',
    action: 'Use a bearer token outside the web app.',
  },
  missing_scope: {
    statuses: [403],
    meaning: 'The token does not have the scope that the route needs.',
    action: 'Use a token with the scope that `detail` names.',
  },
  operator_only: {
    statuses: [403],
    meaning: 'Only an operator may call this route.',
    action: 'Use the root token or a token with the scope `admin`.',
  },
  root_only: {
    statuses: [403],
    meaning: 'Only root may call this route.',
    action: 'Use the root token.',
  },
  no_service_worker: {
    statuses: [403],
    meaning: 'A browser asked for a service worker script outside `/_/`.',
    action: 'Serve service workers from a host of your own.',
  },
  not_found: {
    statuses: [404],
    meaning: 'The path is unknown, or no message, draft or other item of the caller has this id.',
    action: 'Check the path and the id.',
  },
  method_not_allowed: {
    statuses: [405],
    meaning: 'The path exists, but not with this method.',
    action: 'Use a method of the `Allow` header.',
  },
  conflict: {
    statuses: [409],
    meaning: 'The item changed, or another one has the same identity.',
    action: 'Read the item again and decide again.',
  },
  too_many: {
    statuses: [409],
    meaning: 'A list of limited length is full.',
    action: 'Delete an entry first; `detail` has the limit.',
  },
  request_too_large: {
    statuses: [413],
    meaning: 'The JSON of the request exceeds the limit of the route.',
    action: 'Send less at once; `detail` has the limit.',
  },
  too_large: {
    statuses: [413],
    meaning: 'A body, an imported message or the attachments of a message exceed their limit.',
    action: 'Send less at once; `detail` has the limit.',
  },
  unsupported_media_type: {
    statuses: [415],
    meaning: 'The `Content-Type` is not the one that the route takes.',
    action: 'Send `application/json`.',
  },
  rate_limited: {
    statuses: [429],
    meaning: 'The token or account made too many requests.',
    action: 'Wait for `Retry-After`, then retry.',
  },
  internal_error: {
    statuses: [500],
    meaning: 'An unexpected failure of the service.',
    action: 'Retry once. If it repeats, give the operator the `request_id`.',
  },
  unavailable: {
    statuses: [503],
    meaning: 'A database, a shard or the season object did not answer.',
    action: 'Retry after `Retry-After`, or after a second.',
  },
  misconfigured: {
    statuses: [503],
    meaning: 'A setting that this request needs has a bad value.',
    action: 'Tell the operator; `GET /v1/health` names the setting.',
  },
} as const satisfies Readonly<Record<string, ProblemCodeEntry>>;

const IDENTITY = {
  invalid_policy: {
    statuses: [400],
    meaning: 'The policy document cannot be evaluated.',
    action: 'Correct what `errors` lists.',
  },
  second_factor_required: {
    statuses: [401],
    meaning: 'The password is right, and the account has a second factor.',
    action: 'Log in again with `totp` or `recovery_code`.',
  },
  wrong_login: {
    statuses: [401],
    meaning: 'The address is unknown or the password is wrong; the answer does not tell which.',
    action: 'Check both.',
  },
  wrong_second_factor: {
    statuses: [400, 401],
    meaning: 'The code is wrong or was used before.',
    action: 'Wait for the next code, and check the clock of the device.',
  },
  invite_required: {
    statuses: [403],
    meaning: 'Registration needs an invitation that was not used.',
    action: 'Ask the operator for an invitation.',
  },
  registration_closed: {
    statuses: [403],
    meaning: 'Only the operator creates accounts and addresses here.',
    action: 'Ask the operator.',
  },
  address_reserved: {
    statuses: [403],
    meaning: 'The local part, such as `postmaster`, belongs to the operator.',
    action: 'Choose another address.',
  },
  session_only: {
    statuses: [403],
    meaning: 'The route takes a session, not an app token.',
    action: 'Log in, and use the token of the login.',
  },
  wrong_password: {
    statuses: [403],
    meaning: 'The current password in the request is wrong.',
    action: 'Send the current password.',
  },
  no_such_access_key: { statuses: [404], meaning: 'No access key has this id.', action: 'Check the id.' },
  no_such_policy: {
    statuses: [404],
    meaning: 'The user has no policy of this name.',
    action: 'List the policies of the user.',
  },
  no_such_token: { statuses: [404], meaning: 'No token has this id.', action: 'Check the id.' },
  no_such_user: { statuses: [404], meaning: 'No user has this id.', action: 'Check the id.' },
  access_key_exists: {
    statuses: [409],
    meaning: 'An imported access key has an id that is in use.',
    action: 'Choose another id, or leave it out.',
  },
  address_taken: {
    statuses: [409],
    meaning: 'The address was issued before. Addresses are never issued twice.',
    action: 'Choose another address.',
  },
  email_taken: {
    statuses: [409],
    meaning: 'Another user or mail account has this email.',
    action: 'Choose another email.',
  },
  primary_address: {
    statuses: [409],
    meaning: 'The address of the login cannot be deleted.',
    action: 'Delete another address, or the account.',
  },
  totp_already_on: {
    statuses: [409],
    meaning: 'The account has a second factor.',
    action: 'Turn it off first to set up another one.',
  },
  totp_not_begun: {
    statuses: [409],
    meaning: 'No second factor waits for its first code.',
    action: 'Call `POST /v1/me/totp` first.',
  },
  user_in_use: {
    statuses: [409],
    meaning: 'The user still owns something, such as a bucket.',
    action: 'Delete what `detail` names first.',
  },
  user_name_taken: {
    statuses: [409],
    meaning: 'Another user has this `user_name`.',
    action: 'Choose another one, or leave it out.',
  },
  policy_too_large: {
    statuses: [413],
    meaning: 'The policy document exceeds its limit.',
    action: 'Shorten it, or split it into several policies.',
  },
  too_many_guesses: {
    statuses: [429],
    meaning: 'Too many passwords or codes were tried.',
    action: 'Wait for `Retry-After`.',
  },
  too_many_logins: {
    statuses: [503],
    meaning: 'Too many logins run at once.',
    action: 'Retry after `Retry-After`.',
  },
} as const satisfies Readonly<Record<string, ProblemCodeEntry>>;

const STORAGE = {
  no_such_bucket: { statuses: [404, 409], meaning: 'No bucket has this name.', action: 'Check the name.' },
  no_such_shard: {
    statuses: [404, 409],
    meaning: 'No `OBJECTS_n` database has this number.',
    action: 'Use a number that `GET /v1/storage/stats` lists.',
  },
  bucket_sealed: {
    statuses: [409],
    meaning: 'The bucket is being deleted, so no slot of it moves.',
    action: 'Retry if the bucket still exists a minute later.',
  },
  copy_differs: {
    statuses: [409],
    meaning: 'The copy of a slot differs from its source, so the move was given up. The source stays in use.',
    action: 'Run `POST /v1/storage/fsck`, then retry.',
  },
  not_empty: {
    statuses: [409],
    meaning: 'Only an empty database can be rebuilt.',
    action: 'Bind a new, empty database and apply the migrations.',
  },
  snapshot_refused: {
    statuses: [409],
    meaning: 'No snapshot was written, because the database is not the one that the stored bytes belong to.',
    action: 'Follow the alarm in `GET /v1/collectors`.',
  },
  taken_over: {
    statuses: [409],
    meaning: 'Another request took over the move of the slot.',
    action: 'Wait, then check with `GET /v1/storage/stats`.',
  },
  under_way: {
    statuses: [409],
    meaning: 'A rebuild of this shard is already running.',
    action: 'Wait for the other request.',
  },
} as const satisfies Readonly<Record<string, ProblemCodeEntry>>;

const LEADERBOARD = {
  unknown_player: {
    statuses: [404],
    meaning: 'The player has no score in this season.',
    action: 'Check the id and the season.',
  },
  unknown_season: { statuses: [404], meaning: 'The season does not exist.', action: 'Use a season of `/v1/seasons`.' },
  event_conflict: {
    statuses: [409],
    meaning: 'The player used this `event_id` before, with other points. Nothing was counted.',
    action: 'Use one `event_id` per event.',
  },
  not_archived: {
    statuses: [409],
    meaning: 'The month is over, and its archive is not finished.',
    action: 'Retry a minute later.',
  },
  not_current: {
    statuses: [409],
    meaning: 'Only the current season can be changed or watched.',
    action: 'Leave out `season`.',
  },
  score_overflow: {
    statuses: [409],
    meaning: 'The score would exceed 9007199254740991.',
    action: 'Do not repeat the request.',
  },
  season_closing: {
    statuses: [409],
    meaning: 'The season is being archived.',
    action: 'Retry a minute later.',
  },
  season_running: { statuses: [409], meaning: 'The month is not over.', action: 'Close it after its end.' },
  season_sealed: {
    statuses: [409],
    meaning: 'The season is closed and takes no new scores.',
    action: 'Leave out `season` to count the score in the current month.',
  },
} as const satisfies Readonly<Record<string, ProblemCodeEntry>>;

const MAIL = {
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
  foreign_sender: {
    statuses: [400],
    meaning: '`from` is not an address of the caller.',
    action: 'Use an address of `GET /v1/me/addresses`.',
  },
  length_required: {
    statuses: [400],
    meaning: 'An upload has no `Content-Length`.',
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
    meaning: 'The code that was mailed to a forward target is wrong or expired.',
    action: 'Request another code.',
  },
  no_draft: {
    statuses: [404],
    meaning: 'The draft does not exist or was sent.',
    action: 'Look in Sent before you send it again.',
  },
  no_mailbox: { statuses: [404], meaning: 'The user has no mailbox.', action: 'Use the token of a mail account.' },
  no_such_account: { statuses: [404], meaning: 'No mail account has this id.', action: 'Check the id.' },
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
    meaning: 'The account sent as many messages as it may in an hour. The message is kept as a draft.',
    action: 'Wait for `Retry-After`, then send the draft.',
  },
  mailbox_unavailable: {
    statuses: [503],
    meaning: 'The mailbox did not answer. Nothing is lost.',
    action: 'Retry after `Retry-After`.',
  },
} as const satisfies Readonly<Record<string, ProblemCodeEntry>>;

/** By part of the service, in the order of the page. */
export const PROBLEM_CODES_BY_PART = {
  'Every route': SHARED,
  'Identity, login and account': IDENTITY,
  'Operating storage': STORAGE,
  Leaderboard: LEADERBOARD,
  Mail: MAIL,
} as const;

type ProblemCodes = typeof SHARED & typeof IDENTITY & typeof STORAGE & typeof LEADERBOARD & typeof MAIL;

export type ProblemCode = keyof ProblemCodes;

/** The statuses that a code may have. */
export type StatusOf<C extends ProblemCode> = ProblemCodes[C]['statuses'][number];
