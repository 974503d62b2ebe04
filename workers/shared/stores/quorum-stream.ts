/** Streams one object into the locations, at the pace of the slowest location that has not been given up. */

import { inTime } from '../concurrency/in-time.ts';
import { at } from '../pure/at.ts';
import { err, ok, type Result } from '../pure/result.ts';
import { countLocations, type Locations, settleQuorum } from './quorum.ts';

type Writer = WritableStreamDefaultWriter<Uint8Array>;
export type StreamedPut = Promise<Result<R2Object | null, unknown>>;

export class QuorumStream {
  readonly #target: Locations;
  /** Writers of the streams, by location; null for locations that were given up. */
  readonly #writers: (Writer | null)[];
  readonly #puts: readonly StreamedPut[];
  /**
   * One promise per location, which resolves when the location's put fails. A failed put no longer reads its stream, so a write to
   * that stream would never end.
   */
  readonly #failures: readonly Promise<false>[];
  /** Message of the first error of a location. */
  failure: string | null = null;
  /** Time left in milliseconds to wait for locations that are slower than the quorum. */
  #patienceMs: number;

  constructor(target: Locations, key: string, length: number, options: R2PutOptions = {}) {
    this.#target = target;
    this.#patienceMs = target.lateMs;
    const streams = target.locations.map(() => new FixedLengthStream(length));
    this.#writers = streams.map((stream) => stream.writable.getWriter());
    // A put takes as long as the body, so the time limit applies only after its last byte.
    this.#puts = target.locations.map((bucket, location) =>
      bucket.put(key, at(streams, location).readable, options).then(ok, (error: unknown) => err(error)),
    );
    this.#failures = this.#puts.map((put) => this.#watch(put));
  }

  #watch(put: StreamedPut): Promise<false> {
    return new Promise((resolve) => {
      void put.then((outcome) => {
        if (outcome.ok) return;
        this.failure ??= outcome.error instanceof Error ? outcome.error.message : String(outcome.error);
        resolve(false);
      });
    });
  }

  /**
   * Writes a chunk to every location that is not given up.
   * @returns an error text if fewer locations than the quorum remain, else null.
   */
  write(chunk: Uint8Array): Promise<string | null> {
    return this.#each((writer) => writer.write(chunk));
  }

  /** Ends the streams after the last byte. @returns an error text if fewer locations than the quorum remain, else null. */
  close(): Promise<string | null> {
    return this.#each((writer) => writer.close());
  }

  /** Runs a step in every location. Locations that fail or are late are given up, as long as a quorum remains. */
  async #each(step: (writer: Writer) => Promise<void>): Promise<string | null> {
    const { locations, quorum, timeoutMs } = this.#target;
    const steps = this.#writers.map((writer, location) => {
      const failed = at(this.#failures, location);
      const taken =
        writer &&
        step(writer).then(
          () => true,
          // A write fails because the put fails, so this waits for the put, which has the reason.
          () => failed,
        );
      return taken && Promise.race([taken, failed]);
    });
    const settling = settleQuorum(locations, steps, quorum, this.#patienceMs);
    const { held: done, waitedMs } = await inTime(settling, timeoutMs, { held: 0, waitedMs: 0 });
    this.#patienceMs = Math.max(0, this.#patienceMs - waitedMs);
    if (countLocations(done) < quorum) return this.failure ?? 'a location did not accept bytes in time';
    for (const [location, writer] of this.#writers.entries()) {
      if (writer === null || ((done >> location) & 1) === 1) continue;
      this.#writers[location] = null;
      void writer.abort(new Error('the location is late')).catch(() => {});
    }
    return null;
  }

  /** Cancels the writes, so that no location stores the object. */
  abort(error: unknown): void {
    for (const writer of this.#writers) void writer?.abort(error).catch(() => {});
  }

  /** Outcomes of the puts, by location; null for locations that were given up. */
  get puts(): readonly (StreamedPut | null)[] {
    return this.#puts.map((put, location) => (this.#writers[location] === null ? null : put));
  }
}
