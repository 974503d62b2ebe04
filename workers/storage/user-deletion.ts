import { createClock } from '../shared/settings/clock.ts';
import { userDatabaseOf } from '../shared/stores/directories.ts';
import { forgetQuota } from './engine/actions/quotas.ts';
import { createEngine, createEngineContext } from './engine/index.ts';
import { forgetJobs } from './engine/store/job-store.ts';
import { removeShareLinksOf } from './engine/store/share-link-store.ts';

/** Object storage's part in the deletion of users. A user cannot be deleted while it owns buckets. */
export const bucketObligation = {
  async findObstacle(userId: string, env: Env): Promise<string | null> {
    const engine = createEngine(env, createClock(env), { waitUntil: () => {} });
    const owned = await engine.listBuckets({ ownerId: userId, limit: 1 });
    if (!owned.ok) return 'The buckets of the user could not be read. Try again.';
    const [bucket] = owned.value.buckets;
    return bucket ? `The user owns buckets, for example ${bucket.name}. Delete them first.` : null;
  },
  async erase(userId: string, env: Env): Promise<void> {
    const context = createEngineContext(env, createClock(env), { waitUntil: () => {} });
    await forgetJobs(context, userId);
    await removeShareLinksOf(userDatabaseOf(env, userId), userId);
    await forgetQuota(context, { kind: 'user', subject: userId });
  },
};
