/** Reads the maximum number of entries that a listing returns. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure } from '../../domain/failure.ts';
import type { S3Request } from './request.ts';

export const LIST_KEYS_MAX = 1000;

/**
 * Reads the limit of a listing.
 * @param name `max-keys`, `max-uploads` or `max-parts`.
 * @returns the limit that applies: at most `LIST_KEYS_MAX`, which is also the default.
 */
export function parseLimit(request: S3Request, name: string): Result<number, S3Failure> {
  const text = request.query.get(name);
  if (text === undefined || text === '') return ok(LIST_KEYS_MAX);
  if (!/^\d{1,10}$/.test(text) || Number(text) > 2_147_483_647) {
    const message = /^-\d+$/.test(text)
      ? `Argument ${name} must be an integer between 0 and 2147483647`
      : `Provided ${name} not an integer or within integer range`;
    return err(invalidArgument(name, text, message));
  }
  return ok(Math.min(Number(text), LIST_KEYS_MAX));
}
