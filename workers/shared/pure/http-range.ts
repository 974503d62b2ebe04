/** Parses Range and checks If-Range (RFC 9110 §14), with one range per request. Pure. */

/** A byte range. First and last byte are both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export type RangeDecision =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly range: ByteRange }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: RangeDecision = { kind: 'whole' };

/**
 * Decides what a Range header selects. Ignores one that is malformed or has several ranges, as RFC 9110 §14.2 allows and S3 does.
 * @param header value of `Range`, or null.
 * @param sizeBytes size of the whole representation.
 */
export function decideRange(header: string | null, sizeBytes: number): RangeDecision {
  const match = header === null ? null : /^bytes=(\d*)-(\d*)$/i.exec(header.trim());
  if (!match || (match[1] === '' && match[2] === '')) return WHOLE;
  if (match[1] === '') {
    const suffixBytes = Number(match[2]);
    if (suffixBytes === 0 || sizeBytes === 0) return { kind: 'unsatisfiable' };
    return { kind: 'part', range: { first: Math.max(0, sizeBytes - suffixBytes), last: sizeBytes - 1 } };
  }
  const first = Number(match[1]);
  const last = match[2] === '' ? Number.POSITIVE_INFINITY : Number(match[2]);
  if (last < first) return WHOLE;
  if (first >= sizeBytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', range: { first, last: Math.min(last, sizeBytes - 1) } };
}

/**
 * Whether `If-Range` lets a `Range` apply (RFC 9110 §13.1.5): an ETag must be strong and equal, a date must equal the time of last
 * modification.
 * @param etag quoted. @param lastModifiedMs cut to whole seconds here, as HTTP dates are.
 */
export function doesIfRangeHold(header: string | null, etag: string, lastModifiedMs: number): boolean {
  if (header === null) return true;
  if (header.startsWith('"')) return header.trim() === etag;
  const date = Date.parse(header);
  return !Number.isNaN(date) && Math.floor(lastModifiedMs / 1000) * 1000 === date;
}

/** The value of `Content-Range`, such as `bytes 0-9/100`. */
export const toContentRange = (range: ByteRange, sizeBytes: number): string =>
  `bytes ${range.first}-${range.last}/${sizeBytes}`;
