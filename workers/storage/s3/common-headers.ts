/** Adds the headers that every S3 answer has: date, request ids, browser protection and CORS. */
import { settingsOf } from '../../shared/settings/settings.ts';
import { findCorsRule, toCorsHeaders } from '../domain/cors.ts';
import type { Bucket } from '../engine/model/contract.ts';
import { corsOf } from './access/bucket-configuration.ts';
import { isAppOrigin, toAppCorsHeaders } from './protocol/app-cors.ts';

/** What the headers of an answer depend on besides its request. */
interface Answering {
  /** Bucket of the request; null while it is unknown or if there is none. */
  readonly bucket: Bucket | null;
  /** Whether the host has the name of the bucket. */
  readonly isOnBucketHost: boolean;
}

/** Adds the common headers to an answer. */
export function addCommonHeaders(
  headers: Headers,
  request: Request,
  { env, now, requestId }: { readonly env: Env; readonly now: number; readonly requestId: string },
  { bucket, isOnBucketHost }: Answering,
): void {
  // After the error RequestTimeTooSkewed, clients correct their clocks by this header.
  headers.set('date', new Date(now).toUTCString());
  headers.set('x-amz-request-id', requestId);
  headers.set('x-amz-id-2', requestId);
  headers.set('x-request-id', requestId);
  headers.set('x-content-type-options', 'nosniff');
  // The sandbox keeps a stored page from acting for this origin. A bucket's own host has nothing to act for, if no other site shares
  // its registrable domain.
  if (!isOnBucketHost || !settingsOf(env).WEBSITE_SCRIPTS) headers.set('content-security-policy', 'sandbox');
  const origin = request.headers.get('origin');
  if (origin === null) return;
  const cors = appCorsOf(request, env) ?? bucketCorsOf(request, origin, bucket);
  for (const [name, value] of Object.entries(cors ?? {})) headers.set(name, value);
}

/** CORS headers for the web app. @returns null unless the web app sent the request. */
export function appCorsOf(request: Request, env: Env): Record<string, string> | null {
  const origin = request.headers.get('origin');
  if (origin === null || !isAppOrigin(origin, settingsOf(env).APP_HOST, request.url)) return null;
  return toAppCorsHeaders(request, origin);
}

/** CORS headers by the bucket's rules for an actual request. PreflightObject answers preflights itself. */
function bucketCorsOf(request: Request, origin: string, bucket: Bucket | null): Record<string, string> | null {
  if (request.method === 'OPTIONS') return null;
  // If Access-Control-Request-Method is present, S3 matches the rules against it, even for an actual request.
  const method = request.headers.get('access-control-request-method') ?? request.method;
  const rules = bucket && corsOf(bucket);
  const rule = rules && findCorsRule(rules, origin, method);
  return rule && toCorsHeaders(rule, origin);
}
