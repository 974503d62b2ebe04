/** What the Worker knows of object storage. `index.ts` answers S3 requests. */
import { type Product, READS } from '../shared/product.ts';
import type { StorageTask } from './maintenance/schedule.ts';
import { witnessRevocation } from './revocation-witness.ts';
import { bucketObligation } from './user-deletion.ts';

/** The queue of both products below. `maintenance/schedule.ts` handles its messages. */
const QUEUE_SUFFIX = '-storage-tasks';

const isDirectoryTask = ({ body }: Message): boolean => (body as Partial<StorageTask>).kind === 'directory';

export const storage = {
  name: 'storage',
  operations: [
    { operation: 'storage_read', destination: 'storage', methods: READS },
    { operation: 'storage_delete', destination: 'storage', methods: ['DELETE'] },
    { operation: 'storage_write', destination: 'storage' },
  ],
  pages: ['storage'],
  obligation: bucketObligation,
  witness: witnessRevocation,
  queue: { suffix: QUEUE_SUFFIX, owns: (message) => !isDirectoryTask(message) },
  load: () => import('./api.ts'),
  work: async () => (await import('./work.ts')).work,
} satisfies Product;

/** What the engine of object storage does for every deployment, because all products use DIRECTORY: snapshots, and its rebuild. */
export const directory = {
  name: 'directory',
  queue: { suffix: QUEUE_SUFFIX, owns: isDirectoryTask },
  load: async () => ({ createApi: (await import('./api.ts')).createDirectoryApi }),
  work: async () => (await import('./work.ts')).directoryWork,
} satisfies Product;
