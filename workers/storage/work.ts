/** The background work of object storage, and of DIRECTORY in every deployment. */
import type { ProductWork } from '../shared/product.ts';
import { readBackupGauges } from './maintenance/backup-gauges.ts';
import { findDamagedObjects, readStorageGauges } from './maintenance/damaged-objects.ts';
import { findLostDatabases, findOlderDatabases, readOlderGauge } from './maintenance/lost-stores.ts';
import { findMissingCopies } from './maintenance/missing-copies.ts';
import { pullSecrets } from './maintenance/pull-secrets.ts';
import { consumeStorageTasks, runDirectorySchedule, runStorageSchedule } from './maintenance/schedule.ts';

export const work: ProductWork = {
  schedules: { storage: runStorageSchedule },
  consume: consumeStorageTasks,
  readGauges: readStorageGauges,
  secrets: [pullSecrets],
};

/** Its warnings come from stores that a deployment keeps when it stops serving object storage. */
export const directoryWork: ProductWork = {
  schedules: { directory: runDirectorySchedule },
  consume: consumeStorageTasks,
  readGauges: async (env) => (await Promise.all([readOlderGauge(env), readBackupGauges(env)])).flat(),
  findSilent: async (env) => (await Promise.all([findLostDatabases(env), findOlderDatabases(env)])).flat(),
  findWarnings: async (env) => (await Promise.all([findDamagedObjects(env), findMissingCopies(env)])).flat(),
};
