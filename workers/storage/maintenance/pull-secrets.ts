/** The sealed secrets of open pulls, for the rotation of MASTER_KEY. */
import type { SecretKeeper } from '../../identity/index.ts';
import { toPullContext } from '../domain/pulls.ts';
import { listPullSecrets, replacePullSecret } from '../engine/store/pull-store.ts';

export const pullSecrets: SecretKeeper = {
  name: 'pull_jobs',
  async list({ DIRECTORY }, after, limit) {
    const rows = await listPullSecrets(DIRECTORY, after, limit);
    return rows.map(({ job_id: key, sealed }) => ({ key, context: toPullContext(key), sealed }));
  },
  replace: ({ DIRECTORY }, key, before, after) => replacePullSecret(DIRECTORY, key, before, after),
};
