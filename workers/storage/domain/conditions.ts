/** Conditional requests, with the precedence of RFC 9110 §13.2.2. Pure. */

/** The facts about an object with which conditions are compared. Times are milliseconds since 1970 UTC. */
export interface Validators {
  /** ETag without its quotes. */
  readonly etag: string;
  readonly lastModifiedMs: number;
}

export interface ReadConditions {
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  readonly ifModifiedSince: string | null;
  readonly ifUnmodifiedSince: string | null;
}

/**
 * Reads the conditions of a read from the headers.
 * @param prefix `x-amz-copy-source-` for the conditions on the source of a copy.
 */
export function readConditionsFrom(headers: { get(name: string): string | null }, prefix = ''): ReadConditions {
  return {
    ifMatch: headers.get(`${prefix}if-match`),
    ifNoneMatch: headers.get(`${prefix}if-none-match`),
    ifModifiedSince: headers.get(`${prefix}if-modified-since`),
    ifUnmodifiedSince: headers.get(`${prefix}if-unmodified-since`),
  };
}

export type ReadDecision = 'proceed' | 'not_modified' | 'precondition_failed';

export function decideRead(conditions: ReadConditions, target: Validators): ReadDecision {
  if (conditions.ifMatch !== null) {
    if (!doesEtagListMatch(conditions.ifMatch, target.etag)) return 'precondition_failed';
  } else if (isAfter(target, conditions.ifUnmodifiedSince) === true) return 'precondition_failed';
  if (conditions.ifNoneMatch !== null) {
    return doesEtagListMatch(conditions.ifNoneMatch, target.etag) ? 'not_modified' : 'proceed';
  }
  return isAfter(target, conditions.ifModifiedSince) === false ? 'not_modified' : 'proceed';
}

/**
 * Whether a list of entity tags has this tag. Stored tags are always strong, and a weak form of the same tag counts as equal,
 * because S3 clients and proxies weaken tags.
 */
export function doesEtagListMatch(header: string, etag: string): boolean {
  return header
    .split(',')
    .map((item) => toBareEtag(item))
    .some((item) => item === '*' || item === etag);
}

/** An ETag without its quotes, weak mark (`W/`) and surrounding blanks. */
export const toBareEtag = (text: string): string =>
  text
    .trim()
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/s, '$1');

/**
 * Whether the target changed after the date in a header; null if the header is absent or its date is invalid, which RFC 9110
 * §13.1.3 ignores.
 */
function isAfter(target: Validators, httpDate: string | null): boolean | null {
  if (httpDate === null) return null;
  const date = Date.parse(httpDate);
  if (Number.isNaN(date)) return null;
  return Math.floor(target.lastModifiedMs / 1000) * 1000 > date;
}
