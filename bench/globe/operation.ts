import type { Call, Globe, Measured, Sample } from './globe.ts';
import type { Region } from './world.ts';

export interface Operation {
  readonly operation: string;
  readonly from: Region;
  readonly warm: boolean;
  run(globe: Globe, samples: number): Promise<Measured>;
}

export const FROM: Region = 'syd';

export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

export const once =
  (call: Call): Sample =>
  async (send) =>
    void (await send(call));
