/** Object storage's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const bucket = sqliteTable(
  'bucket',
  {
    name: text('name').primaryKey(),
    bucketId: text('bucket_id').notNull().unique(),
    ownerId: text('owner_id').notNull(),
    createdAt: integer('created_at').notNull(),
    region: text('region'),
    versioning: text('versioning').notNull().$type<'never' | 'enabled' | 'suspended'>(),
    /** Number of switches of versioning, so that a shard never replaces a newer state by an older one. */
    versioningSeq: integer('versioning_seq').notNull(),
    /** Advanced before the seal of a dead delete is broken. The delete then fails at its last step. */
    sealEpoch: integer('seal_epoch').notNull(),
    /** Shard number of each of the 256 slots, as two hex digits each. */
    slots: text('slots').notNull(),
    slotsVersion: integer('slots_version').notNull(),
    /**
     * Generation of the row. Each change raises it, after the shards have the new value. If a shard has a higher one than a copy of
     * the row, the copy is out of date.
     */
    generation: integer('generation').notNull().default(0),
    /** The bucket's configuration documents of the S3 API, one text per kind: `{"acl": "…", "policy": "…"}`. */
    configuration: text('configuration').notNull(),
  },
  (table) => [
    index('bucket_owner').on(table.ownerId, table.name),
    // Index of the buckets with lifecycle rules, for the daily runs of the rules.
    index('bucket_lifecycle').on(table.bucketId).where(sql`json_extract(configuration, '$.lifecycle') IS NOT NULL`),
  ],
);

/** A slot that is moving to another shard. The row is removed when the move is complete. */
export const slotMove = sqliteTable(
  'slot_move',
  {
    bucketId: text('bucket_id').notNull(),
    slot: integer('slot').notNull(),
    fromShard: integer('from_shard').notNull(),
    toShard: integer('to_shard').notNull(),
    phase: text('phase').notNull().$type<'copying' | 'switched'>(),
    startedAt: integer('started_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.bucketId, table.slot] })],
);

/**
 * The storage limits of a bucket or a user. The shards that hold the data have shares of the limits. The row of a removed quota
 * stays, without limits, so that a late change of a share is refused.
 */
export const storageQuota = sqliteTable(
  'storage_quota',
  {
    kind: text('kind').notNull().$type<'bucket' | 'user'>(),
    /** Id of the bucket or of the user that the quota limits. */
    subject: text('subject').notNull(),
    /** Limits in bytes and objects; null for unlimited. */
    bytes: integer('bytes'),
    objects: integer('objects'),
    /** Number of distributions of shares. A shard accepts shares from the latest distribution only. */
    lease: integer('lease').notNull(),
    /** End of the lease in milliseconds. Until then the worker that took it distributes the shares, and others wait. */
    busyUntil: integer('busy_until').notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.subject] })],
);

/** A job over a bucket or a prefix. Rows of ended jobs are kept for 30 days. */
export const storageJob = sqliteTable(
  'storage_job',
  {
    /** Id of the job. Later jobs have greater ids. */
    jobId: text('job_id').primaryKey(),
    bucketId: text('bucket_id').notNull(),
    /** The user with whose rights the job runs; null for an operator's job, which rights do not limit. */
    userId: text('user_id'),
    /** The job's order (`domain/jobs.ts`) and the scopes of the token that requested it. */
    job: text('job').notNull(),
    state: text('state').notNull().$type<'waiting' | 'running' | 'done' | 'failed' | 'cancelled'>(),
    createdAt: integer('created_at').notNull(),
    endedAt: integer('ended_at'),
    /** Phase and position from which the next step continues; null before the first step. */
    cursor: text('cursor'),
    /** Counts and examples of the job so far. */
    report: text('report').notNull(),
    /** Problem code of a failed job; null for other jobs. */
    error: text('error'),
    /** Id of the worker that runs the job. No other worker takes the job before `lease_until` (`job-store.ts`). */
    holder: text('holder'),
    leaseUntil: integer('lease_until').notNull(),
  },
  (table) => [
    index('storage_job_open').on(table.jobId).where(sql`ended_at IS NULL`),
    index('storage_job_user').on(table.userId, table.jobId),
    index('storage_job_bucket').on(table.bucketId, table.jobId),
    index('storage_job_ended').on(table.endedAt),
  ],
);

/** Links by which people without a credential read an object or a prefix, in the database of the user who made them. */
export const shareLink = sqliteTable(
  'share_link',
  {
    /** Id of the link in lists. Later links have greater ids. */
    linkId: text('link_id').primaryKey(),
    /** SHA-256 of the secret in the link's path. */
    secretSha256: text('secret_sha256').notNull().unique(),
    userId: text('user_id').notNull(),
    /** The access key or token with which the user made the link. */
    madeWith: text('made_with').notNull(),
    bucket: text('bucket').notNull(),
    /** Id of the bucket of that name when the link was made. Another bucket of the same name is not opened. */
    bucketId: text('bucket_id').notNull(),
    /** Key of the object, or prefix of the keys. */
    name: text('name').notNull(),
    isPrefix: integer('is_prefix', { mode: 'boolean' }).notNull(),
    /** The shared version; null for the newest one at the time of each opening. */
    versionId: text('version_id'),
    /** Hash of the password; null if the link needs none. */
    passwordHash: text('password_hash'),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    /** Number of openings. Beyond a hundred it is approximate, because one of ten is counted. */
    openings: integer('openings').notNull().default(0),
    lastOpenedAt: integer('last_opened_at'),
  },
  (table) => [index('share_link_user').on(table.userId, table.linkId)],
);
