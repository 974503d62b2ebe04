/**
 * The body of an upload: the stream for the engine, and the checks before the commit. A plain body passes unchanged; an
 * `aws-chunked` one is decoded chunk by chunk.
 */

import type { PayloadMode } from '../../../identity/index.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type AwsChunkedDecoder, createAwsChunkedDecoder } from '../../domain/aws-chunked.ts';
import {
  type ChecksumAlgorithm,
  type ChecksumClaim,
  isChecksumValue,
  parseChecksumClaim,
  toChecksumHeader,
} from '../../domain/checksums.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { BodyDigests, Checksums, Verdict } from '../../engine/model/contract.ts';
import { BodyFailure } from '../protocol/engine-failures.ts';
import type { S3Request } from '../protocol/request.ts';

export interface UploadBody {
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  /** Size of the decoded body in bytes; null if unknown (chunked transfer). */
  readonly size: number | null;
  readonly checksums: readonly ChecksumAlgorithm[];
  verify(digests: BodyDigests): Result<Verdict, S3Failure>;
}

/**
 * Opens the body of an upload.
 * @param mayLackSize whether the body is a form's file, a part of a larger body, so that its size is unknown until it ends.
 */
export function openUploadBody(
  request: Pick<S3Request, 'headers' | 'body'>,
  payload: PayloadMode,
  bytesMax: number,
  mayLackSize = false,
): Result<UploadBody, S3Failure> {
  const md5 = readContentMd5(request.headers);
  if (!md5.ok) return md5;
  const claim = parseChecksumClaim(request.headers);
  if (!claim.ok) return claim;
  const size = mayLackSize ? ok(null) : readSize(request, payload);
  if (!size.ok) return size;
  if (size.value !== null && size.value > bytesMax) {
    return err(
      s3Failure('EntityTooLarge', undefined, {
        details: { ProposedSize: String(size.value), MaxSizeAllowed: String(bytesMax) },
      }),
    );
  }
  let trailers: ReadonlyMap<string, string> | null = null;
  let body: UploadBody['body'] = request.body ?? new Uint8Array(0);
  if (payload.kind === 'streaming' && request.body !== null) {
    const decoder = createAwsChunkedDecoder(payload.chunks, payload.hasTrailer);
    body = decodeStream(request.body, decoder, size.value, (found) => {
      trailers = found;
    });
  }
  return ok({
    body,
    size: size.value,
    checksums: claim.value ? [claim.value.algorithm] : [],
    verify: (digests) => verifyDigests(digests, md5.value, payload, claim.value, trailers),
  });
}

/**
 * Gives an object that is uploaded without a checksum a CRC-64/NVME, as S3 does (User Guide, "Checking object integrity"). It covers
 * the bytes that arrived, so it is shown but was compared with nothing.
 */
export function withDefaultChecksum(body: UploadBody): UploadBody {
  if (body.checksums.length > 0) return body;
  return {
    ...body,
    checksums: ['CRC64NVME'],
    verify(digests) {
      const verdict = body.verify(digests);
      return verdict.ok ? ok({ checksums: { CRC64NVME: digests.checksums.CRC64NVME ?? '' } }) : verdict;
    },
  };
}

/** Reads the header Content-MD5. @returns the MD5 in hex, or null when the header is absent. */
function readContentMd5(headers: Headers): Result<string | null, S3Failure> {
  const text = headers.get('content-md5');
  if (text === null) return ok(null);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 16 || bytes.toString('base64') !== text.trim()) return err(s3Failure('InvalidDigest'));
  return ok(bytes.toString('hex'));
}

function readSize(
  request: Pick<S3Request, 'headers' | 'body'>,
  payload: PayloadMode,
): Result<number | null, S3Failure> {
  const name = payload.kind === 'streaming' ? 'x-amz-decoded-content-length' : 'content-length';
  const text = request.headers.get(name);
  if (text !== null && text !== '') {
    return /^\d{1,15}$/.test(text)
      ? ok(Number(text))
      : err(s3Failure('InvalidArgument', `${name} is not a valid length.`));
  }
  if (payload.kind === 'streaming') return err(s3Failure('MissingContentLength'));
  if (request.headers.get('transfer-encoding')?.toLowerCase().includes('chunked')) return ok(null);
  return err(s3Failure('MissingContentLength'));
}

function verifyDigests(
  digests: BodyDigests,
  md5: string | null,
  payload: PayloadMode,
  claim: ChecksumClaim | null,
  trailers: ReadonlyMap<string, string> | null,
): Result<Verdict, S3Failure> {
  if (payload.kind === 'signed' && digests.sha256 !== payload.sha256Hex) {
    return err(
      s3Failure('XAmzContentSHA256Mismatch', undefined, {
        details: { ClientComputedContentSHA256: payload.sha256Hex, S3ComputedContentSHA256: digests.sha256 },
      }),
    );
  }
  if (md5 !== null && digests.md5 !== md5) {
    return err(
      s3Failure('BadDigest', 'The Content-MD5 you specified did not match what we received.', {
        details: { ExpectedDigest: md5, CalculatedDigest: digests.md5 },
      }),
    );
  }
  const header = claim === null ? null : toChecksumHeader(claim.algorithm);
  // Whether a trailer was not announced by x-amz-trailer. Such a trailer is refused: it would not be verified, and accepting it
  // would suggest a check that never happened.
  const isUnannounced = (name: string) => name !== header || claim?.expected !== null;
  if (trailers && [...trailers.keys()].some(isUnannounced)) return err(s3Failure('MalformedTrailerError'));
  if (claim === null || header === null) return ok({});
  const expected = claim.expected ?? trailers?.get(header);
  if (expected === undefined) return err(s3Failure('MalformedTrailerError'));
  if (!isChecksumValue(claim.algorithm, expected)) {
    return err(s3Failure('InvalidRequest', `Value for ${header} trailing header is invalid.`));
  }
  const computed = digests.checksums[claim.algorithm];
  if (computed !== expected) {
    return err(s3Failure('BadDigest', `The ${claim.algorithm} you specified did not match the calculated checksum.`));
  }
  const checksums: Checksums = { [claim.algorithm]: computed };
  return ok({ checksums });
}

function decodeStream(
  source: ReadableStream<Uint8Array>,
  decoder: AwsChunkedDecoder,
  size: number | null,
  onTrailers: (trailers: ReadonlyMap<string, string>) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let received = 0;
  const fail = async (controller: ReadableStreamDefaultController<Uint8Array>, failure: S3Failure) => {
    controller.error(new BodyFailure(failure));
    await reader.cancel().catch(() => undefined);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) {
            const trailers = decoder.finish();
            if (!trailers.ok) return fail(controller, trailers.error);
            if (size !== null && received !== size) return fail(controller, s3Failure('IncompleteBody'));
            onTrailers(trailers.value);
            controller.close();
            return;
          }
          const pieces = decoder.push(value);
          if (!pieces.ok) return fail(controller, pieces.error);
          for (const piece of pieces.value) {
            received += piece.length;
            controller.enqueue(piece);
          }
          if (size !== null && received > size) return fail(controller, s3Failure('IncompleteBody'));
          if (pieces.value.length > 0) return;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
