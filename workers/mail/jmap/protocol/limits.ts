/** Limits that the session announces to clients (RFC 8620 §2, RFC 8621 §1.3.1). The code that each limit concerns enforces it. */

/** Maximum size of an upload, and of a message to import. */
export const UPLOAD_BYTES_MAX = 40 * 1024 * 1024;
/** Maximum size of an upload without a Content-Length, which is held in memory. */
export const HELD_UPLOAD_BYTES_MAX = 8 * 1024 * 1024;
export const REQUEST_BYTES_MAX = 8 * 1024 * 1024;
export const CALLS_PER_REQUEST_MAX = 32;
/** Maximum depth of the JSON of a request. The parts of a new message, 20 deep, need about 50. */
export const REQUEST_DEPTH_MAX = 64;
/** Maximum of values in the JSON of a request. 500 new messages have about 50,000. */
export const REQUEST_VALUES_MAX = 200_000;
export const CALL_ID_LENGTH_MAX = 255;
/** Part of `ANSWER_BYTES_MAX` that is kept for errors, so that each call can be answered. */
export const ERRORS_BYTES = 300_000;
/** Bytes that must be left before a method that changes something runs. The answer about 500 new objects fits. */
export const CHANGE_ANSWER_BYTES = 1_000_000;
export const REFERENCES_PER_CALL_MAX = 16;
export const PROPERTIES_PER_CALL_MAX = 100;
export const SORT_PROPERTIES_MAX = 20;
export const OBJECTS_PER_GET_MAX = 500;
export const OBJECTS_PER_SET_MAX = 500;
/** Maximum of running requests and uploads, per user and isolate (`running-requests.ts`). */
export const CONCURRENT_REQUESTS = 10;
/** Of a user's requests, how many work at once. The others wait, so that one user's flood slows others by little. */
export const WORKING_REQUESTS = 2;
export const CONCURRENT_UPLOADS = 8;
/** Maximum of ids in one answer to a query. */
export const QUERY_LIMIT_MAX = 1_000;
export const CHANGES_LIMIT_MAX = 1_000;
export const MAILBOX_NAME_BYTES_MAX = 400;
export const MAILBOX_DEPTH_MAX = 10;
export const MAILBOXES_PER_EMAIL_MAX = 50;
/** Maximum of bytes of the body values of one message. They fit into `ANSWER_BYTES_MAX`. */
export const BODY_VALUES_BYTES_MAX = 8_000_000;
/** Maximum of bytes and sources of one Blob/upload or Blob/get (RFC 9404 §4). */
export const BLOB_BYTES_MAX = 5 * 1024 * 1024;
export const BLOB_SOURCES_MAX = 64;
