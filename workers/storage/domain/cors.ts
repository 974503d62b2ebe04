/** Cross-origin rules of a bucket (Amazon S3 User Guide, "Using cross-origin resource sharing"). */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from './failure.ts';

export interface CorsRule {
  readonly id: string | null;
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods: readonly string[];
  readonly allowedHeaders: readonly string[];
  readonly exposeHeaders: readonly string[];
  readonly maxAgeSeconds: number | null;
}

export const CORS_RULES_MAX = 100;
const CORS_ID_LENGTH_MAX = 255;
const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'];

export function checkCorsRules(rules: readonly CorsRule[]): Result<null, S3Failure> {
  if (rules.length === 0 || rules.length > CORS_RULES_MAX) return err(s3Failure('MalformedXML'));
  for (const rule of rules) {
    if (rule.id !== null && rule.id.length > CORS_ID_LENGTH_MAX) return err(s3Failure('MalformedXML'));
    const exposed = rule.exposeHeaders.find((header) => header.includes('*'));
    if (exposed !== undefined) {
      return err(
        s3Failure(
          'InvalidRequest',
          `ExposeHeader "${exposed}" contains wildcard. We currently do not support wildcard for ExposeHeader.`,
        ),
      );
    }
    if (rule.allowedOrigins.length === 0 || rule.allowedMethods.length === 0) return err(s3Failure('MalformedXML'));
    const wrong = rule.allowedMethods.find((method) => !METHODS.includes(method));
    if (wrong !== undefined) {
      return err(
        s3Failure('InvalidRequest', `Found unsupported HTTP method in CORS config. Unsupported method is ${wrong}`),
      );
    }
    for (const origin of rule.allowedOrigins) {
      if (origin.split('*').length > 2) {
        return err(s3Failure('InvalidRequest', `AllowedOrigin "${origin}" can not have more than one wildcard.`));
      }
    }
    for (const header of rule.allowedHeaders) {
      if (header.split('*').length > 2) {
        return err(s3Failure('InvalidRequest', `AllowedHeader "${header}" can not have more than one wildcard.`));
      }
    }
  }
  return ok(null);
}

/** Whether a text matches a pattern of a CORS rule. @param pattern may have one `*`, which matches any characters. */
function matches(pattern: string, text: string): boolean {
  const star = pattern.indexOf('*');
  if (star < 0) return pattern === text;
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return text.length >= head.length + tail.length && text.startsWith(head) && text.endsWith(tail);
}

/**
 * Finds the CORS rule for a request or a preflight.
 * @param requestHeaders names of the headers that a preflight announces, in lower case. @returns the first rule that allows the
 * request.
 */
export function findCorsRule(
  rules: readonly CorsRule[],
  origin: string,
  method: string,
  requestHeaders: readonly string[] = [],
): CorsRule | null {
  const rule = rules.find(
    (candidate) =>
      candidate.allowedMethods.includes(method) &&
      candidate.allowedOrigins.some((pattern) => matches(pattern, origin)) &&
      requestHeaders.every((header) =>
        candidate.allowedHeaders.some((pattern) => matches(pattern.toLowerCase(), header)),
      ),
  );
  return rule ?? null;
}

/** CORS headers of the answer to an actual request (not a preflight). */
export function toCorsHeaders(rule: CorsRule, origin: string): Record<string, string> {
  const anyOrigin = rule.allowedOrigins.includes('*');
  return {
    'access-control-allow-origin': anyOrigin ? '*' : origin,
    ...(anyOrigin ? {} : { 'access-control-allow-credentials': 'true' }),
    'access-control-allow-methods': rule.allowedMethods.join(', '),
    ...(rule.exposeHeaders.length > 0 ? { 'access-control-expose-headers': rule.exposeHeaders.join(', ') } : {}),
    ...(rule.maxAgeSeconds === null ? {} : { 'access-control-max-age': String(rule.maxAgeSeconds) }),
    vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method',
  };
}

export function parseRequestHeaders(header: string | null): string[] {
  return (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
}
