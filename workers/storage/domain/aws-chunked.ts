/**
 * Decodes `aws-chunked` bodies while they stream, and verifies the signatures of chunks and trailer. Buffers no data,
 * so a body of any size needs the memory of one read.
 *
 * Form: `<hex-size>[;chunk-signature=<hex>]\\r\
 * <data>\\r\
 *  … 0[;chunk-signature=…]\\r\
 * [trailers]\\r\
 * ` (Amazon S3 API Reference, sigv4-streaming and sigv4-streaming-trailers).
 */
import { createHash, type Hash } from 'node:crypto';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from './failure.ts';

/** Verifies the signatures inside a body. Identity creates it with the signing key of the request. */
export interface ChunkSignatures {
  verifyChunk(signature: string, dataSha256Hex: string): boolean;
  verifyTrailer(signature: string, trailers: readonly (readonly [name: string, value: string])[]): boolean;
}

/** Minimum length of a signed chunk that is not the last one (sigv4-streaming). */
export const SIGNED_CHUNK_BYTES_MIN = 8192;
const HEADER_BYTES_MAX = 1024;
const TRAILER_BYTES_MAX = 16 * 1024;

export interface AwsChunkedDecoder {
  /** Decodes the next bytes of the body. @returns the decoded data in `bytes`, as views of that buffer. */
  push(bytes: Uint8Array): Result<Uint8Array[], S3Failure>;
  /** Must be called when the body has ended. @returns the trailers, with names in lower case. */
  finish(): Result<ReadonlyMap<string, string>, S3Failure>;
}

type State = 'header' | 'data' | 'data-end' | 'trailer';

export function createAwsChunkedDecoder(signatures: ChunkSignatures | null, hasTrailer: boolean): AwsChunkedDecoder {
  let state: State = 'header';
  let line = '';
  let remaining = 0;
  let signature = '';
  let hash: Hash | null = null;
  let shortChunk = false;

  function readHeader(text: string): S3Failure | null {
    const match = /^([0-9a-fA-F]{1,12})(?:;(.*))?$/.exec(text);
    if (!match) return s3Failure('IncompleteBody', 'The chunk header is not well-formed.');
    remaining = Number.parseInt(match[1] ?? '', 16);
    if (signatures === null) {
      state = remaining === 0 ? 'trailer' : 'data';
      return null;
    }
    signature = /^chunk-signature=([0-9a-fA-F]{64})$/.exec(match[2]?.trim() ?? '')?.[1] ?? '';
    if (signature === '') return s3Failure('IncompleteBody', 'The chunk header holds no chunk-signature.');
    if (shortChunk && remaining > 0) return s3Failure('InvalidChunkSizeError');
    shortChunk = remaining < SIGNED_CHUNK_BYTES_MIN;
    hash = createHash('sha256');
    if (remaining > 0) {
      state = 'data';
      return null;
    }
    state = 'trailer';
    return endChunk();
  }

  function endChunk(): S3Failure | null {
    if (signatures === null || hash === null) return null;
    return signatures.verifyChunk(signature, hash.digest('hex')) ? null : s3Failure('SignatureDoesNotMatch');
  }

  return {
    push(bytes) {
      const pieces: Uint8Array[] = [];
      let i = 0;
      while (i < bytes.length) {
        if (state === 'data') {
          const piece = bytes.subarray(i, i + remaining);
          hash?.update(piece);
          pieces.push(piece);
          remaining -= piece.length;
          i += piece.length;
          if (remaining === 0) {
            const failure = endChunk();
            if (failure) return err(failure);
            state = 'data-end';
          }
          continue;
        }
        if (state === 'trailer') {
          line += Buffer.from(bytes.buffer, bytes.byteOffset + i, bytes.length - i).toString('latin1');
          if (line.length > TRAILER_BYTES_MAX) return err(s3Failure('MalformedTrailerError'));
          break;
        }
        const newline = bytes.indexOf(0x0a, i);
        const end = newline < 0 ? bytes.length : newline + 1;
        line += Buffer.from(bytes.buffer, bytes.byteOffset + i, end - i).toString('latin1');
        if (line.length > HEADER_BYTES_MAX) return err(s3Failure('IncompleteBody', 'The chunk header is too long.'));
        i = end;
        if (newline < 0) break;
        const text = line.replace(/\r?\n$/, '');
        line = '';
        if (state === 'header') {
          const failure = readHeader(text);
          if (failure) return err(failure);
        } else {
          if (text !== '') return err(s3Failure('IncompleteBody', 'A chunk is longer than its header says.'));
          state = 'header';
        }
      }
      return ok(pieces);
    },

    finish() {
      if (state !== 'trailer') return err(s3Failure('IncompleteBody'));
      const trailers: (readonly [string, string])[] = [];
      let trailerSignature: string | null = null;
      for (const text of line.split(/\r?\n/)) {
        if (text.trim() === '') continue;
        const at = text.indexOf(':');
        if (at < 1) return err(s3Failure('MalformedTrailerError'));
        const name = text.slice(0, at).trim().toLowerCase();
        const value = text.slice(at + 1).trim();
        if (name === 'x-amz-trailer-signature') trailerSignature = value;
        else trailers.push([name, value]);
      }
      if (!hasTrailer && trailers.length > 0) return err(s3Failure('MalformedTrailerError'));
      if (hasTrailer && signatures !== null) {
        if (trailerSignature === null) return err(s3Failure('MalformedTrailerError'));
        if (!signatures.verifyTrailer(trailerSignature, trailers)) return err(s3Failure('SignatureDoesNotMatch'));
      }
      return ok(new Map(trailers));
    },
  };
}
