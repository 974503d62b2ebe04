/** Range and If-Range (RFC 9110 §14), one range per request. Pure. */

/** First and last byte, both included. */
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
 * Ignores a header that is malformed or has several ranges, as RFC 9110 §14.2 allows and S3 does.
 * @param header value of `Range`, or null.
 * @param sizeBytes of the whole representation.
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
 * Whether a `Range` still holds (RFC 9110 §13.1.5): an entity tag must be strong and equal, a date exactly the last modification.
 * @param etag quoted. @param lastModifiedMs cut to whole seconds here, as HTTP dates are.
 */
export function doesIfRangeHold(header: string | null, etag: string, lastModifiedMs: number): boolean {
  if (header === null) return true;
  if (header.startsWith('"')) return header.trim() === etag;
  const date = Date.parse(header);
  return !Number.isNaN(date) && Math.floor(lastModifiedMs / 1000) * 1000 === date;
}

/** `bytes 0-9/100` */
export const toContentRange = (range: ByteRange, sizeBytes: number): string =>
  `bytes ${range.first}-${range.last}/${sizeBytes}`;
