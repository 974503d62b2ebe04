/** Reads a whole body that is a document (XML or JSON), limits its size, and verifies its declared digests. */
import { createHash } from 'node:crypto';
import type { PayloadMode } from '../../../identity/index.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { createHasher } from '../../domain/checksums.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { BodyDigests, Checksums } from '../../engine/model/contract.ts';
import { BodyFailure } from '../protocol/engine-failures.ts';
import type { S3Request } from '../protocol/request.ts';
import { openUploadBody } from './upload-body.ts';

/** Maximum size of a document. A lifecycle configuration of 1,000 rules has about 300 KB. */
export const DOCUMENT_BYTES_MAX = 512 * 1024;
/** Maximum size of a document that is a list: 10,000 parts with checksums, or 1,000 fully escaped keys of 1,024 bytes. */
export const LIST_BYTES_MAX = 8 * 1024 ** 2;

/** Documents that have been read, keyed by the stream of their body. */
const documents = new WeakMap<ReadableStream, Promise<Result<string, S3Failure>>>();

/** Whether the body is a document that has been read. Such a request can run again. */
export const isReadDocument = ({ body }: S3Request): boolean => body !== null && documents.has(body);

/** Reads the document in a request's body. @returns the text; empty if there is no body. A repeated call returns the same text. */
export async function readDocument(
  request: S3Request,
  payload: PayloadMode,
  bytesMax = DOCUMENT_BYTES_MAX,
): Promise<Result<string, S3Failure>> {
  if (request.body === null) return ok('');
  const known = documents.get(request.body);
  if (known) return await known;
  const begunAt = Date.now();
  const document = readOnce(request, payload, bytesMax);
  documents.set(request.body, document);
  const read = await document;
  return read.ok && Date.now() - begunAt >= SLOW_DOCUMENT_MS ? err(SLOW_DOCUMENT) : read;
}

/**
 * If reading a document takes longer than this, the request is authorised again, because the key or the right may have been revoked
 * meanwhile.
 */
const SLOW_DOCUMENT_MS = 1_000;
const SLOW_DOCUMENT = s3Failure('RequestTimeout');

/** Whether reading the document took so long that the request must run again, with the text that has been read. */
export const isSlowDocument = (failure: S3Failure): boolean => failure === SLOW_DOCUMENT;

async function readOnce(
  request: S3Request,
  payload: PayloadMode,
  bytesMax: number,
): Promise<Result<string, S3Failure>> {
  const opened = openUploadBody(request, payload, bytesMax);
  if (!opened.ok) return opened;
  const { body, checksums, size } = opened.value;
  const bytes = body instanceof Uint8Array ? ok(body) : await collect(body, bytesMax);
  if (!bytes.ok) return bytes;
  if (size !== null && bytes.value.length !== size) return err(s3Failure('IncompleteBody'));
  const verdict = opened.value.verify(toDigests(bytes.value, checksums));
  if (!verdict.ok) return verdict;
  try {
    return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.value));
  } catch {
    return err(s3Failure('MalformedXML'));
  }
}

async function collect(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<Result<Uint8Array, S3Failure>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of stream) {
      size += piece.length;
      if (size > bytesMax) return err(s3Failure('MaxMessageLengthExceeded'));
      pieces.push(piece);
    }
  } catch (error) {
    return err(error instanceof BodyFailure ? error.failure : s3Failure('IncompleteBody'));
  }
  return ok(Buffer.concat(pieces));
}

function toDigests(
  bytes: Uint8Array,
  algorithms: Parameters<typeof createHasher>[0][] | readonly Parameters<typeof createHasher>[0][],
): BodyDigests {
  const checksums: Record<string, string> = {};
  for (const algorithm of algorithms) {
    const hasher = createHasher(algorithm);
    hasher.update(bytes);
    checksums[algorithm] = hasher.digest();
  }
  return {
    size: bytes.length,
    md5: createHash('md5').update(bytes).digest('hex'),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    crc32: '',
    checksums: checksums as Checksums,
  };
}
