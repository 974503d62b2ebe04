import { defineConfig } from 'drizzle-kit';

/** The schema files of each database and each object class; `npm run generate` runs drizzle-kit over every one. */
export const DATABASES: Record<string, { schema: string[]; driver?: 'durable-sqlite'; withoutRowid?: string[] }> = {
  directory: {
    schema: [
      'workers/identity/schema.ts',
      'workers/object-storage/engine/store/directory-schema.ts',
      'workers/leaderboard/schema.ts',
      'workers/mail/schema.ts',
      'workers/mail/domains/schema.ts',
      'workers/collectors/schema.ts',
    ],
  },
  objects: {
    schema: ['workers/object-storage/engine/store/schema.ts'],
    // drizzle-kit has no word for it, so `npm run generate` adds it to the tables named here.
    withoutRowid: ['version', 'inline', 'extent', 'blob', 'reclaim', 'upload', 'part', 'change', 'receipt'],
  },
  'leaderboard-shard': { schema: ['durable-objects/leaderboard-shard/schema.ts'], driver: 'durable-sqlite' },
  'leaderboard-season': { schema: ['durable-objects/leaderboard-season/schema.ts'], driver: 'durable-sqlite' },
  mailbox: { schema: ['durable-objects/mailbox/schema.ts'], driver: 'durable-sqlite' },
};

const name = process.env.DATABASE ?? 'directory';
const database = DATABASES[name];
if (!database) throw new Error(`DATABASE=${name} is none of ${Object.keys(DATABASES).join(', ')}`);

export default defineConfig({
  dialect: 'sqlite',
  schema: database.schema,
  out: process.env.MIGRATIONS_OUT ?? `migrations/${name}`,
  ...(database.driver ? { driver: database.driver } : {}),
});
