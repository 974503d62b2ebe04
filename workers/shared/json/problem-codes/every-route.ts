/** Problem codes that every route may return. */
import type { ProblemCodeTable } from './entry.ts';

export const SHARED_CODES = {
  bad_request: {
    statuses: [400],
    meaning: 'The body is not valid JSON, or ended before all of it had arrived.',
    action: 'Send valid JSON in UTF-8, or the upload again.',
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
  bridge_token_invalid: {
    statuses: [403],
    meaning: 'The token in `x-bridge-token` is not a valid token of the scope `bridge`.',
    action: 'Give the bridge a new token, or none.',
  },
  missing_scope: {
    statuses: [403],
    meaning: 'The token does not have the scope that the route needs.',
    action: 'Use a token with the scope that `detail` names.',
  },
  operator_only: {
    statuses: [403],
    meaning: 'Only an operator may call this route.',
    action: 'Log in as an operator, or use the root token or a token with the scope `admin`.',
  },
  root_only: {
    statuses: [403],
    meaning: 'Only root and operators with the role `admin` may call this route.',
    action: 'Use the root token, or log in as such an operator.',
  },
  https_required: {
    statuses: [403],
    meaning: 'A request that is not GET or HEAD came over plain HTTP.',
    action: 'Use `https://`, and replace the credential that was sent in the clear.',
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
  answer_too_large: {
    statuses: [413],
    meaning: 'The answer would have more than 10 MB.',
    action: 'Ask for less, for example with a smaller `limit`.',
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
    meaning: 'The token, account or client made too many requests.',
    action: 'Wait for `Retry-After`, then retry.',
  },
  internal_error: {
    statuses: [500],
    meaning: 'An unexpected failure of the service.',
    action: 'Retry once. If it repeats, give the operator the `request_id`.',
  },
  upgrade_pending: {
    statuses: [503],
    meaning: 'An object still runs the code of the release before and lacks what the route needs.',
    action: 'Retry after `Retry-After`. It takes at most five minutes after a deployment.',
  },
  unavailable: {
    statuses: [503],
    meaning: 'A database, a shard or the season object did not answer.',
    action: 'Retry after `Retry-After`, or after a second.',
  },
  store_older: {
    statuses: [503],
    meaning: 'A database or a mailbox was put back to an earlier state. Until it is replayed, it answers nothing.',
    action: 'Tell the operator, who replays it. Then retry.',
  },
  misconfigured: {
    statuses: [503],
    meaning: 'A setting that this request needs has a bad value.',
    action: 'Tell the operator; `GET /v1/health` names the setting.',
  },
} as const satisfies ProblemCodeTable;
