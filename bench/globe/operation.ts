import type { Call, Globe, Measured, Sample } from './globe.ts';
import type { Region } from './world.ts';

export interface Operation {
  readonly operation: string;
  readonly from: Region;
  readonly warm: boolean;
  /** Number of samples of a full run, if it is not the usual one. */
  readonly samples?: number;
  run(globe: Globe, samples: number): Promise<Measured>;
}

export const FROM: Region = 'syd';
/** A client far from the primaries without a replica of D1 near it: D1 has none in South America. */
export const FROM_WITHOUT_REPLICA: Region = 'gru';
/** Samples of the operations whose 99th percentile is printed. Fewer samples have none. */
export const SAMPLES_FOR_P99 = 100;

export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

export const once =
  (call: Call): Sample =>
  async (send) =>
    void (await send(call));
