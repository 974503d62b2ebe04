/** Naming rules of buckets and keys. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from './failure.ts';

/** Maximum length of an object's key in bytes of UTF-8 (Amazon S3 User Guide, "Object key naming"). */
export const KEY_BYTES_MAX = 1024;

const encoder = new TextEncoder();

export function checkKey(key: string): Result<null, S3Failure> {
  if (key.length * 3 > KEY_BYTES_MAX && encoder.encode(key).length > KEY_BYTES_MAX) {
    return err(
      s3Failure('KeyTooLongError', undefined, {
        details: { Size: String(encoder.encode(key).length), MaxSizeAllowed: String(KEY_BYTES_MAX) },
      }),
    );
  }
  return ok(null);
}

/**
 * Whether a name is valid for a bucket (Amazon S3 User Guide, "General purpose bucket naming rules"). `v1` and `_` cannot be
 * buckets, because names have at least 3 characters. Requests for `/cdn-cgi/` never reach a Worker.
 */
export function isBucketName(name: string): boolean {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name)) return false;
  if (/\.\.|\.-|-\./.test(name)) return false;
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(name)) return false;
  if (/^(xn--|sthree-|amzn-s3-demo-)/.test(name)) return false;
  if (name === 'cdn-cgi') return false;
  return !/(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/.test(name);
}
