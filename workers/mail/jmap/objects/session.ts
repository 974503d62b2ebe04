/** The session resource (RFC 8620 §2): it tells a client the capabilities, limits and URLs. */
import { createHash } from 'node:crypto';
import type { UserPrincipal } from '../../../identity/index.ts';
import { settingsOf } from '../../../shared/settings/settings.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { readDefaultFileBytes, readOutsideFileBytes } from '../../outbound/submission/size-of-way.ts';
import { readVapidKey } from '../../push/send-push.ts';
import {
  BLOB_BYTES_MAX,
  BLOB_SOURCES_MAX,
  CALLS_PER_REQUEST_MAX,
  CONCURRENT_REQUESTS,
  CONCURRENT_UPLOADS,
  MAILBOX_DEPTH_MAX,
  MAILBOX_NAME_BYTES_MAX,
  MAILBOXES_PER_EMAIL_MAX,
  OBJECTS_PER_GET_MAX,
  OBJECTS_PER_SET_MAX,
  REQUEST_BYTES_MAX,
  UPLOAD_BYTES_MAX,
} from '../protocol/limits.ts';
import { type Arguments, CAPABILITIES } from '../protocol/method.ts';
import { EMAIL_SORT_OPTIONS } from './email-query.ts';

/**
 * Maximum size of all files of one message, before Base64, if the way of mail to other servers has no lower one. A personal account has
 * a lower limit, which is checked when the message is sent.
 */
const ATTACHMENT_BYTES_MAX = 30 * 1024 * 1024;
/** Maximum time between submission and sending (RFC 8621 §1.3.2). */
export const DELAY_SECONDS_MAX = 365 * 24 * 3_600;

const CORE = {
  maxSizeUpload: UPLOAD_BYTES_MAX,
  maxConcurrentUpload: CONCURRENT_UPLOADS,
  maxSizeRequest: REQUEST_BYTES_MAX,
  maxConcurrentRequests: CONCURRENT_REQUESTS,
  maxCallsInRequest: CALLS_PER_REQUEST_MAX,
  maxObjectsInGet: OBJECTS_PER_GET_MAX,
  maxObjectsInSet: OBJECTS_PER_SET_MAX,
  collationAlgorithms: ['i;ascii-casemap', 'i;unicode-casemap'],
};

/** @param attachmentBytesMax size of all files of a message to other servers. Mail to a mailbox here may have more. */
const toAccountCapabilities = (attachmentBytesMax: number) => ({
  [CAPABILITIES.core]: {},
  [CAPABILITIES.mail]: {
    maxMailboxesPerEmail: MAILBOXES_PER_EMAIL_MAX,
    maxMailboxDepth: MAILBOX_DEPTH_MAX,
    maxSizeMailboxName: MAILBOX_NAME_BYTES_MAX,
    maxSizeAttachmentsPerEmail: attachmentBytesMax,
    emailQuerySortOptions: EMAIL_SORT_OPTIONS,
    mayCreateTopLevelMailbox: true,
  },
  [CAPABILITIES.submission]: { maxDelayedSend: DELAY_SECONDS_MAX, submissionExtensions: { FUTURERELEASE: [] } },
  [CAPABILITIES.vacation]: {},
  [CAPABILITIES.blob]: {
    maxSizeBlobSet: BLOB_BYTES_MAX,
    maxDataSources: BLOB_SOURCES_MAX,
    supportedTypeNames: ['Email'],
    supportedDigestAlgorithms: ['sha', 'sha-256', 'sha-512'],
  },
  [CAPABILITIES.quota]: {},
  [CAPABILITIES.masked]: {},
});

/** @returns the limit of the way of mail to other servers. If its settings cannot be read, that of the default way. */
async function readAttachmentBytesMax(env: Env, from: string): Promise<number> {
  const outside = await readOutsideFileBytes(env, from).catch((error: unknown) => {
    logError('session_limit_failed', error);
    return readDefaultFileBytes(env);
  });
  return Math.min(ATTACHMENT_BYTES_MAX, outside ?? ATTACHMENT_BYTES_MAX);
}

/**
 * @returns the address at which the client called. A proxy that ends TLS names the scheme in `X-Forwarded-Proto`. A client that
 * writes this header itself changes only its own session.
 */
function readOrigin(request: Request): string {
  const { host, protocol } = new URL(request.url);
  return request.headers.get('x-forwarded-proto') === 'https' ? `https://${host}` : `${protocol}//${host}`;
}

export async function toSession(env: Env, user: UserPrincipal, request: Request): Promise<Arguments> {
  const { APP_HOST: host } = settingsOf(env);
  const base = `${host === '' ? readOrigin(request) : `https://${host}`}/v1/jmap`;
  const empty = Object.fromEntries(Object.values(CAPABILITIES).map((uri) => [uri, {}]));
  const name = user.email ?? user.userName;
  const [{ publicKey }, attachmentBytesMax] = await Promise.all([
    readVapidKey(env),
    readAttachmentBytesMax(env, user.email ?? ''),
  ]);
  const accountCapabilities = toAccountCapabilities(attachmentBytesMax);
  const session = {
    capabilities: { ...empty, [CAPABILITIES.core]: CORE, [CAPABILITIES.vapid]: { applicationServerKey: publicKey } },
    accounts: {
      [user.userId]: { name, isPersonal: true, isReadOnly: false, accountCapabilities },
    },
    primaryAccounts: Object.fromEntries(Object.values(CAPABILITIES).map((uri) => [uri, user.userId])),
    username: name,
    apiUrl: `${base}/api`,
    downloadUrl: `${base}/download/{accountId}/{blobId}/{name}?type={type}`,
    uploadUrl: `${base}/upload/{accountId}`,
    eventSourceUrl: `${base}/event-source?types={types}&closeafter={closeafter}&ping={ping}`,
  };
  return { ...session, state: createHash('sha256').update(JSON.stringify(session)).digest('hex').slice(0, 16) };
}
