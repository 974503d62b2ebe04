/**
 * Stores a body: a small one in memory, to be committed inline, any other in blobs in every location. Bytes are hashed
 * while they stream; at most a few chunks are in memory.
 *
 * By design: if one location fails, the upload fails. Blobs of a failed upload are removed at once if possible;
 * otherwise they become orphans.
 */
import { at } from '../../../shared/at.ts';
import { err, ok, type Result } from '../../../shared/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';
import { type EngineContext, inTime } from '../model/context.ts';
import type { BodyDigests, BodyError, Unavailable } from '../model/contract.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';
import { BlobHasher, BodyHasher } from './digests.ts';
import { askLocation, type BlobDescription, checkStored, putBytes, removeBlobs, toBlobKey } from './locations.ts';

export interface WrittenBlob {
  readonly blobId: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  readonly segments: string;
  readonly md5: string;
  readonly writtenAt: number;
}

export interface WrittenBody {
  readonly digests: BodyDigests & { readonly crc32Value: number };
  /** Set for a small body; then there are no blobs. */
  readonly inline: Uint8Array | null;
  readonly blobs: readonly WrittenBlob[];
}

export type WriteBodyError = BodyError | Unavailable;

export interface WriteBodyRequest {
  readonly body: ReadableStream<Uint8Array> | Uint8Array;
  readonly size: number | null;
  readonly checksums: readonly ChecksumAlgorithm[];
  readonly mayBeInline: boolean;
  /** Custom metadata of each blob; the index tells the blobs apart. */
  readonly describe: (index: number) => BlobDescription;
}

/** Thrown internally; `writeBody` turns it into a value. */
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

/** Writes one body. */
class BodyWriter {
  readonly #context: EngineContext;
  readonly #request: WriteBodyRequest;
  readonly #source: ByteSource;
  readonly #hasher: BodyHasher;
  readonly #begun: string[] = [];
  readonly #blobs: WrittenBlob[] = [];
  /** Bytes read that belong to the next blob. */
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

  /** Whether the body ends here. Reads ahead if necessary. */
  async #isOver(): Promise<boolean> {
    while (this.#ahead.length === 0) {
      const chunk = await this.#read();
      if (chunk === null) return true;
      if (chunk.length > 0) this.#ahead.push(chunk);
    }
    return false;
  }

  /** Reads at most `max` bytes into memory. */
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

  /** Returns the first `max` bytes and keeps the rest for the next blob. */
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
    hasher.update(bytes);
    const facts = hasher.digest();
    const outcomes = await Promise.all(
      this.#context.locations.map((_, location) =>
        putBytes(this.#context, location, blobId, bytes, facts.md5, description),
      ),
    );
    for (const outcome of outcomes) if (!outcome.ok) throw new WriteFailure(outcome.error);
    this.#blobs.push({ blobId, ...facts, writtenAt: this.#context.now() });
  }

  async #streamBlob(length: number): Promise<void> {
    const { blobId, description } = this.#begin();
    const streams = this.#context.locations.map(() => new FixedLengthStream(length));
    const writers = streams.map((stream) => stream.writable.getWriter());
    // A put lasts as long as the body, so the time limit applies only after its last byte.
    const puts = this.#context.locations.map((bucket, location) =>
      settle(
        bucket.put(toBlobKey(blobId), at(streams, location).readable, {
          customMetadata: description,
        }),
      ),
    );
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
        await this.#writeAll(writers, chunk);
      }
      await this.#withinTime(Promise.all(writers.map((writer) => writer.close())));
    } catch (error) {
      for (const writer of writers) void writer.abort(error).catch(() => {});
      const failed = await inTime(firstFailure(puts), 50, null);
      if (error instanceof WriteFailure && error.failure.kind !== 'unavailable') throw error;
      if (error instanceof LocationFailed || error instanceof WriteFailure) {
        throw new WriteFailure({ kind: 'unavailable', reason: failed ?? error.message });
      }
      throw error;
    }
    const facts = hasher.digest();
    for (const [location, put] of puts.entries()) {
      const answer = await askLocation(this.#context, location, async () => {
        const outcome = await put;
        if (!outcome.ok) throw outcome.error;
        return outcome.value;
      });
      const checked = answer.ok ? checkStored(answer.value, length, facts.md5) : answer;
      if (!checked.ok) throw new WriteFailure(checked.error);
    }
    this.#blobs.push({ blobId, ...facts, writtenAt: this.#context.now() });
  }

  async #writeAll(writers: WritableStreamDefaultWriter<Uint8Array>[], chunk: Uint8Array): Promise<void> {
    await this.#withinTime(Promise.all(writers.map((writer) => writer.write(chunk))));
  }

  /** A failure or timeout here is the location's, not the body's. */
  async #withinTime(work: Promise<unknown>): Promise<void> {
    const done = work.then(
      () => null,
      (error: unknown) => new LocationFailed(error instanceof Error ? error.message : String(error)),
    );
    const failure = await inTime(
      done,
      this.#context.limits.locationTimeoutMs,
      new LocationFailed('a location did not accept bytes in time'),
    );
    if (failure !== null) throw failure;
  }

  async undo(failure: WriteBodyError): Promise<void> {
    // Not awaited, because the client's stream may never answer.
    void this.#source.cancel(failure.kind).catch(() => {});
    this.#context.waitUntil(removeBlobs(this.#context, this.#begun));
  }
}

class LocationFailed extends Error {}

const settle = <T>(work: Promise<T>): Promise<Result<T, unknown>> => work.then(ok, (error: unknown) => err(error));

async function firstFailure(puts: Promise<Result<unknown, unknown>>[]): Promise<string | null> {
  for (const put of puts) {
    const outcome = await put;
    if (!outcome.ok) return outcome.error instanceof Error ? outcome.error.message : String(outcome.error);
  }
  return null;
}
