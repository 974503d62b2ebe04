/** Reads the parameters of listings, and encodes names in their answers. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { encodeUri } from '../../../shared/pure/uri-encoding.ts';
import { invalidArgument, type S3Failure } from '../../domain/failure.ts';
import { nameAfter, nameAfterPrefix } from '../../domain/name-order.ts';
import { parseLimit } from '../protocol/list-limit.ts';
import type { S3Request } from '../protocol/request.ts';

export interface ListingParameters {
  readonly prefix: string;
  readonly delimiter: string;
  /**
   * Maximum number of entries of the page, at most `LIST_KEYS_MAX`. If the client requests more, the answer shows `LIST_KEYS_MAX`.
   */
  readonly limit: number;
  readonly isUrlEncoded: boolean;
  /** Encodes a name for the answer, as `encoding-type` requests. */
  show(name: string): string;
}

/**
 * Reads the parameters of a listing.
 * @param limitName name of the parameter with the limit: `max-keys`, `max-uploads` or `max-parts`.
 */
export function parseListing(request: S3Request, limitName: string): Result<ListingParameters, S3Failure> {
  const encoding = request.query.get('encoding-type');
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'url') {
    return err(invalidArgument('encoding-type', encoding, 'Invalid Encoding Method specified in Request'));
  }
  const limit = parseLimit(request, limitName);
  if (!limit.ok) return limit;
  const isUrlEncoded = encoding?.toLowerCase() === 'url';
  return ok({
    prefix: request.query.get('prefix') ?? '',
    delimiter: request.query.get('delimiter') ?? '',
    limit: limit.value,
    isUrlEncoded,
    show: (name) => (isUrlEncoded ? encodeUri(name, true) : name),
  });
}

/**
 * The lower bound of the names after a marker: past the name, or past the whole common prefix if the marker is one or begins with
 * one.
 * @returns the bound; '' without a marker; null if no name can follow.
 */
export function toStart(marker: string, prefix: string, delimiter: string): string | null {
  if (marker === '') return '';
  if (delimiter !== '' && marker.startsWith(prefix)) {
    const at = marker.indexOf(delimiter, prefix.length);
    if (at >= 0) return nameAfterPrefix(marker.slice(0, at + delimiter.length));
  }
  return nameAfter(marker);
}
