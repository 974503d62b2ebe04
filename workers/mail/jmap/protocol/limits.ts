/** Limits that the session announces to clients (RFC 8620 §2, RFC 8621 §1.3.1). The code that each limit concerns enforces it. */

/** Maximum size of an upload, and of a message to import. */
export const UPLOAD_BYTES_MAX = 40 * 1024 * 1024;
export const REQUEST_BYTES_MAX = 8 * 1024 * 1024;
export const CALLS_PER_REQUEST_MAX = 32;
export const OBJECTS_PER_GET_MAX = 500;
export const OBJECTS_PER_SET_MAX = 500;
/** Maximum of running requests and uploads, per user and isolate (`running-requests.ts`). */
export const CONCURRENT_REQUESTS = 10;
export const CONCURRENT_UPLOADS = 8;
/** Maximum of ids in one answer to a query. */
export const QUERY_LIMIT_MAX = 1_000;
export const CHANGES_LIMIT_MAX = 1_000;
export const MAILBOX_NAME_BYTES_MAX = 400;
export const MAILBOX_DEPTH_MAX = 10;
export const MAILBOXES_PER_EMAIL_MAX = 50;
/** Maximum of characters of all body values in one answer. An isolate has 128 MB for all its requests. */
export const BODY_VALUES_LENGTH_MAX = 8_000_000;
/** Maximum of bytes and sources of one Blob/upload or Blob/get (RFC 9404 §4). */
export const BLOB_BYTES_MAX = 5 * 1024 * 1024;
export const BLOB_SOURCES_MAX = 64;
