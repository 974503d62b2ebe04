/** The copies of one blob while its bytes stream: at the pace of the slowest location that still takes part. */
import { at } from '../../../shared/at.ts';
import { countLocations, settleQuorum } from '../../../shared/quorum.ts';
import { err, ok, type Result } from '../../../shared/result.ts';
import { type EngineContext, inTime } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { askLocation, type BlobDescription, type Copies, checkStored, settleCopies, toBlobKey } from './locations.ts';

export class StreamedCopies {
  readonly #context: EngineContext;
  readonly #blobId: string;
  readonly #length: number;
  /** By location; null: given up. */
  readonly #writers: (WritableStreamDefaultWriter<Uint8Array> | null)[];
  readonly #puts: readonly Promise<Result<R2Object | null, unknown>>[];
  /** For locations that are slower than the quorum. */
  readonly #patience: { leftMs: number };

  constructor(context: EngineContext, blobId: string, length: number, description: BlobDescription) {
    this.#context = context;
    this.#blobId = blobId;
    this.#length = length;
    this.#patience = { leftMs: context.limits.lateLocationMs };
    const streams = context.locations.map(() => new FixedLengthStream(length));
    this.#writers = streams.map((stream) => stream.writable.getWriter());
    // A put lasts as long as the body, so the time limit applies only after its last byte.
    this.#puts = context.locations.map((bucket, location) =>
      settle(bucket.put(toBlobKey(blobId), at(streams, location).readable, { customMetadata: description })),
    );
  }

  write(chunk: Uint8Array): Promise<Result<null, Unavailable>> {
    return this.#each((writer) => writer.write(chunk));
  }

  close(): Promise<Result<null, Unavailable>> {
    return this.#each((writer) => writer.close());
  }

  /** Gives up locations that fail or are late, as long as a quorum takes part. */
  async #each(
    step: (writer: WritableStreamDefaultWriter<Uint8Array>) => Promise<void>,
  ): Promise<Result<null, Unavailable>> {
    const { locations, quorum, limits } = this.#context;
    const steps = this.#writers.map((writer) => (writer === null ? null : isDone(step(writer))));
    const done = await inTime(settleQuorum(locations, steps, quorum, this.#patience), limits.locationTimeoutMs, 0);
    if (countLocations(done) < quorum) {
      const reason = await inTime(firstFailure(this.#puts), 50, null);
      return err({ kind: 'unavailable', reason: reason ?? 'a location did not accept bytes in time' });
    }
    for (const [location, writer] of this.#writers.entries()) {
      if (writer === null || ((done >> location) & 1) === 1) continue;
      this.#writers[location] = null;
      void writer.abort(new Error('the location is late')).catch(() => {});
    }
    return ok(null);
  }

  abort(error: unknown): void {
    for (const writer of this.#writers) void writer?.abort(error).catch(() => {});
  }

  /** Compares what the locations stored. */
  settle(md5: string): Promise<Result<Copies, Unavailable>> {
    const copies = this.#puts.map(async (put, location) => {
      const answer = await askLocation(this.#context, location, async () => {
        const outcome = await put;
        if (!outcome.ok) throw outcome.error;
        return outcome.value;
      });
      return answer.ok ? checkStored(answer.value, this.#length, md5) : answer;
    });
    const open = copies.map((copy, location) => (this.#writers[location] === null ? null : copy));
    return settleCopies(this.#context, this.#blobId, open);
  }
}

const isDone = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const settle = <T>(work: Promise<T>): Promise<Result<T, unknown>> => work.then(ok, (error: unknown) => err(error));

async function firstFailure(puts: readonly Promise<Result<unknown, unknown>>[]): Promise<string | null> {
  for (const put of puts) {
    const outcome = await put;
    if (!outcome.ok) return outcome.error instanceof Error ? outcome.error.message : String(outcome.error);
  }
  return null;
}
