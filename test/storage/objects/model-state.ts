/** The state of the model of a bucket: its versions and their events. */
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';

export interface ModelVersion {
  readonly id: string;
  readonly isNull: boolean;
  /** Content of the version; null for a delete marker. */
  readonly content: Uint8Array | null;
  /** Whether the version is under a legal hold. */
  isHeld?: boolean;
}

/** The model of a bucket: versions by name, newest first. */
export type Model = Map<string, ModelVersion[]>;

export interface World {
  readonly engine: Engine;
  readonly context: EngineContext;
  readonly model: Model;
  readonly clock: { offsetMs: number };
  /** Events that the outbox must have, by name and in order. */
  readonly events: Map<string, string[]>;
  bucket: Bucket;
}

export const versionsOf = (model: Model, key: string): ModelVersion[] => {
  const found = model.get(key) ?? [];
  model.set(key, found);
  return found;
};

/** Adds a version to the model by the rules of S3: a null version replaces the previous null version. */
export function addVersion(world: World, key: string, version: ModelVersion): void {
  const versions = versionsOf(world.model, key);
  const kept = version.isNull ? versions.filter((old) => !old.isNull) : versions;
  world.model.set(key, [version, ...kept]);
}

export function addEvent({ events }: World, key: string, kind: string): void {
  events.set(key, [...(events.get(key) ?? []), kind]);
}
