/**
 * Verifies the signatures inside an `aws-chunked` body. The signature of each chunk covers that of the previous chunk; the first
 * one covers that of the request (Amazon S3 API Reference, sigv4-streaming and sigv4-streaming-trailers).
 */
import { equalInConstantTime } from '../../shared/pure/constant-time.ts';
import { type CredentialScope, EMPTY_SHA256, hmacSha256Hex, sha256Hex, toScopeText } from './sigv4.ts';

export interface ChunkVerifier {
  /** Verifies the signature of a chunk. @param dataSha256Hex SHA-256 of the chunk's data, without its header line. */
  verifyChunk(signature: string, dataSha256Hex: string): boolean;
  /** Verifies the signature of the trailers. @param trailers trailers in the order sent, with names in lower case. */
  verifyTrailer(signature: string, trailers: readonly (readonly [name: string, value: string])[]): boolean;
}

export function createChunkVerifier(
  signingKey: Uint8Array,
  amzDate: string,
  scope: CredentialScope,
  seedSignature: string,
): ChunkVerifier {
  let previous = seedSignature;
  const advance = (signature: string, stringToSign: string): boolean => {
    const expected = hmacSha256Hex(signingKey, stringToSign);
    previous = expected;
    return equalInConstantTime(expected, signature);
  };
  const scopeText = toScopeText(scope);
  return {
    verifyChunk: (signature, dataSha256Hex) =>
      advance(
        signature,
        ['AWS4-HMAC-SHA256-PAYLOAD', amzDate, scopeText, previous, EMPTY_SHA256, dataSha256Hex].join('\n'),
      ),
    verifyTrailer: (signature, trailers) => {
      const canonical = trailers.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
      return advance(
        signature,
        ['AWS4-HMAC-SHA256-TRAILER', amzDate, scopeText, previous, sha256Hex(canonical)].join('\n'),
      );
    },
  };
}
