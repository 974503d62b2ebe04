/**
 * Stores a body: a small one in memory, to be committed inline, any other in blobs. Bytes are hashed while they stream;
 * at most a few chunks are in memory.
 *
 * A blob goes to every location. The upload fails if fewer than the quorum have it at the end; its blobs are then removed
 * at once if possible, otherwise they become orphans. A location that fails or is much slower than the quorum is given
 * up, and the record of the blob says that its copy is missing.
 */
import { at } from '../../../shared/pure/at.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { QuorumStream } from '../../../shared/stores/quorum-stream.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';
import { type EngineContext, toLocations } from '../model/context.ts';
import type { BodyDigests, BodyError, Unavailable } from '../model/contract.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';
import { BlobHasher, BodyHasher } from './digests.ts';
import { type BlobDescription, type Copies, putCopies, removeBlobs, settleStream, toBlobKey } from './locations.ts';

export interface WrittenBlob extends Copies {
  readonly blobId: string;
  readonly size: number;
  /** SHA-256 of the blob in hex. */
  readonly sha256: string;
  readonly segments: string;
  readonly md5: string;
  readonly writtenAt: number;
}

export interface WrittenBody {
  readonly digests: BodyDigests & { readonly crc32Value: number };
  /** Bytes of a small body, to be committed inline; null if the body is in `blobs`. */
  readonly inline: Uint8Array | null;
  readonly blobs: readonly WrittenBlob[];
}

export type WriteBodyError = BodyError | Unavailable;

export interface WriteBodyRequest {
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  readonly size: number | null;
  readonly checksums: readonly ChecksumAlgorithm[];
  readonly mayBeInline: boolean;
  /** Returns the custom metadata of a blob; `index` is the number of the blob in the body. */
  readonly describe: (index: number) => BlobDescription;
}

/** Thrown inside this module; `writeBody` converts it to a value. */
class WriteFailure extends Error {
  readonly failure: WriteBodyError;
  constructor(failure: WriteBodyError) {
    super(failure.kind);
    this.failure = failure;
  }
}

export async function writeBody(
  context: EngineContext,
  request: WriteBodyRequest,
): Promise<Result<WrittenBody, WriteBodyError>> {
  const writing = new BodyWriter(context, request);
  try {
    return ok(await writing.run());
  } catch (error) {
    const failure: WriteBodyError =
      error instanceof WriteFailure ? error.failure : { kind: 'body_failed', cause: error };
    await writing.undo(failure);
    return err(failure);
  }
}

class BodyWriter {
  readonly #context: EngineContext;
  readonly #request: WriteBodyRequest;
  readonly #source: ByteSource;
  readonly #hasher: BodyHasher;
  readonly #begun: string[] = [];
  readonly #blobs: WrittenBlob[] = [];
  /** Bytes that were read from the body and belong to the next blob. */
  #ahead: Uint8Array[] = [];
  #received = 0;
  #isAtEnd = false;

  constructor(context: EngineContext, request: WriteBodyRequest) {
    this.#context = context;
    this.#request = request;
    this.#source = createByteSource(request.body, { expectedBytes: request.size });
    const { inlineBytesMax, blobBytesMax } = context.limits;
    const { size } = request;
    const isInline = request.mayBeInline && size !== null && size <= inlineBytesMax;
    const isOneBlob = !isInline && size !== null && size > 0 && size <= blobBytesMax;
    this.#hasher = new BodyHasher(request.checksums, isOneBlob);
  }

  async run(): Promise<WrittenBody> {
    const { size, mayBeInline } = this.#request;
    const { inlineBytesMax, gatherBytesMax, blobBytesMax, unknownLengthBlobBytes } = this.#context.limits;
    let inline: Uint8Array | null = null;
    if (size !== null && size > gatherBytesMax) {
      for (let at = 0; at < size; at += blobBytesMax) await this.#streamBlob(Math.min(blobBytesMax, size - at));
    } else {
      const pieceBytesMax = size ?? unknownLengthBlobBytes;
      let piece = await this.#gather(pieceBytesMax);
      if (mayBeInline && piece.length <= inlineBytesMax && (await this.#isOver())) inline = piece;
      while (inline === null && piece.length > 0) {
        await this.#putBlob(piece);
        piece = size === null ? await this.#gather(pieceBytesMax) : new Uint8Array(0);
      }
    }
    if (!(await this.#isOver())) throw this.#incomplete();
    if (size !== null && this.#received !== size) throw this.#incomplete();
    this.#refuseOverdue();
    return { digests: this.#hasher.digest(this.#blobs[0]), inline, blobs: this.#blobs };
  }

  /**
   * Fails an upload after half the grace period. An uncommitted blob counts as an orphan after the whole of it, so the
   * other half is left for the commit.
   */
  #refuseOverdue(): void {
    const ageMs = this.#context.now() - (this.#blobs[0]?.writtenAt ?? this.#context.now());
    if (ageMs <= this.#context.limits.graceMs / 2) return;
    throw new WriteFailure({ kind: 'unavailable', reason: 'the upload took too long; send it in parts' });
  }

  #incomplete(): WriteFailure {
    return new WriteFailure({ kind: 'body_incomplete', received: this.#received, expected: this.#request.size ?? -1 });
  }

  async #read(): Promise<Uint8Array | null> {
    const waiting = this.#ahead.shift();
    if (waiting) return waiting;
    if (this.#isAtEnd) return null;
    const chunk = await this.#source.read();
    if (chunk === null) {
      this.#isAtEnd = true;
      return null;
    }
    this.#received += chunk.length;
    this.#hasher.update(chunk);
    return chunk;
  }

  /** Whether the body has no further bytes. Reads ahead if necessary. */
  async #isOver(): Promise<boolean> {
    while (this.#ahead.length === 0) {
      const chunk = await this.#read();
      if (chunk === null) return true;
      if (chunk.length > 0) this.#ahead.push(chunk);
    }
    return false;
  }

  /** Reads at most `max` bytes of the body into memory. */
  async #gather(max: number): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    while (length < max) {
      const chunk = await this.#read();
      if (chunk === null) break;
      const piece = this.#take(chunk, max - length);
      chunks.push(piece);
      length += piece.length;
    }
    return chunks.length === 1 ? at(chunks, 0) : Buffer.concat(chunks, length);
  }

  /** Returns the first `max` bytes of a chunk and keeps the rest for the next blob. */
  #take(chunk: Uint8Array, max: number): Uint8Array {
    if (chunk.length <= max) return chunk;
    this.#ahead.unshift(chunk.subarray(max));
    return chunk.subarray(0, max);
  }

  #begin(): { blobId: string; description: BlobDescription } {
    const blobId = crypto.randomUUID();
    const description = this.#request.describe(this.#begun.length);
    this.#begun.push(blobId);
    return { blobId, description };
  }

  async #putBlob(bytes: Uint8Array): Promise<void> {
    const { blobId, description } = this.#begin();
    const hasher = new BlobHasher();
    // The bytes are hashed while the locations store them. The digests are known before any location answers.
    const putting = putCopies(this.#context, blobId, bytes, () => facts.md5, description);
    hasher.update(bytes);
    const facts = hasher.digest();
    const copies = this.#require(await putting);
    this.#blobs.push({ blobId, ...facts, ...copies, writtenAt: this.#context.now() });
  }

  #require<T>(outcome: Result<T, Unavailable>): T {
    if (!outcome.ok) throw new WriteFailure(outcome.error);
    return outcome.value;
  }

  async #streamBlob(length: number): Promise<void> {
    const { blobId, description } = this.#begin();
    const options = { customMetadata: description };
    const stream = new QuorumStream(toLocations(this.#context), toBlobKey(blobId), length, options);
    const hasher = new BlobHasher();
    try {
      let sent = 0;
      while (sent < length) {
        const read = await this.#read();
        if (read === null) throw this.#incomplete();
        const chunk = this.#take(read, length - sent);
        if (chunk.length === 0) continue;
        hasher.update(chunk);
        sent += chunk.length;
        refuse(await stream.write(chunk));
      }
      refuse(await stream.close());
    } catch (error) {
      stream.abort(error);
      throw error;
    }
    const facts = hasher.digest();
    const copies = this.#require(await settleStream(this.#context, blobId, stream, length, facts.md5));
    this.#blobs.push({ blobId, ...facts, ...copies, writtenAt: this.#context.now() });
  }

  async undo(failure: WriteBodyError): Promise<void> {
    // The cancellation is not awaited, because the client's stream may never answer.
    void this.#source.cancel(failure.kind).catch(() => {});
    this.#context.waitUntil(removeBlobs(this.#context, this.#begun));
  }
}

function refuse(reason: string | null): void {
  if (reason !== null) throw new WriteFailure({ kind: 'unavailable', reason });
}
