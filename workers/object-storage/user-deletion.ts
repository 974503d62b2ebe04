import { createClock } from '../shared/clock.ts';
import { createEngine } from './engine/index.ts';

/** What object storage holds for a user: its buckets. While it owns one, it cannot be deleted. */
export const bucketObligation = {
  async findObstacle(userId: string, env: Env): Promise<string | null> {
    const engine = createEngine(env, createClock(env), { waitUntil: () => {} });
    const owned = await engine.listBuckets({ ownerId: userId, limit: 1 });
    if (!owned.ok) return 'Whether the user owns buckets cannot be told now: try again.';
    const [bucket] = owned.value.buckets;
    return bucket ? `The user owns buckets, ${bucket.name} among them: delete these first.` : null;
  },
  async erase(): Promise<void> {},
};
