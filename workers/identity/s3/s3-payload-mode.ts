/** Reads `x-amz-content-sha256`, which says how a request's body is signed and sent. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { authFailure, type S3AuthFailure } from '../domain/s3-auth-failure.ts';
import type { ChunkVerifier } from '../domain/sigv4-streaming.ts';

/** How the body is signed and sent, according to `x-amz-content-sha256`. */
export type PayloadMode =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'signed'; readonly sha256Hex: string }
  | { readonly kind: 'streaming'; readonly chunks: ChunkVerifier | null; readonly hasTrailer: boolean };

export const UNSIGNED: PayloadMode = { kind: 'unsigned' };

/**
 * Parses the value of `x-amz-content-sha256`.
 * @param chunks verifier of signed chunks; null if the request's signature cannot cover chunks.
 */
export function readPayloadMode(content: string, chunks: ChunkVerifier | null): Result<PayloadMode, S3AuthFailure> {
  switch (content) {
    case 'UNSIGNED-PAYLOAD':
      return ok(UNSIGNED);
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
      return chunks ? ok({ kind: 'streaming', chunks, hasTrailer: false }) : err(unsignedChunks());
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return chunks ? ok({ kind: 'streaming', chunks, hasTrailer: true }) : err(unsignedChunks());
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return ok({ kind: 'streaming', chunks: null, hasTrailer: true });
    case 'STREAMING-UNSIGNED-PAYLOAD':
      return ok({ kind: 'streaming', chunks: null, hasTrailer: false });
    case 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD':
    case 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER':
      return err(authFailure('NotImplemented', 'Signature Version 4A is not supported. Please use AWS4-HMAC-SHA256.'));
    default:
      if (/^[0-9a-f]{64}$/i.test(content)) return ok({ kind: 'signed', sha256Hex: content.toLowerCase() });
      return err(
        authFailure(
          'InvalidArgument',
          'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value.',
          { ArgumentName: 'x-amz-content-sha256', ArgumentValue: content },
        ),
      );
  }
}

const unsignedChunks = () =>
  authFailure(
    'InvalidRequest',
    'A body with signed chunks needs a request that is signed in its Authorization header.',
  );
