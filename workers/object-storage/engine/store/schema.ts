/**
 * The tables of an object shard (`OBJECTS_n`). Ids are 16-byte BLOBs (UUIDs without their dashes), names are BLOBs of
 * UTF-8 (SQLite's text functions stop at NUL), times are milliseconds since 1970 UTC.
 *
 * Tables listed in drizzle.config.ts as `withoutRowid` are stored in the order of their primary key.
 */
import { sql } from 'drizzle-orm';
import { check, customType, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'blob' });

/** The shard's copy of a bucket. Commits check it, so that no write ignores a seal, a switch of versioning or a move. */
export const bucket = sqliteTable(
  'bucket',
  {
    /** Short name of the bucket inside this shard. */
    n: integer('n').primaryKey({ autoIncrement: true }),
    bucketId: text('bucket_id').notNull().unique(),
    name: text('name').notNull(),
    /** Needed for a rebuild of DIRECTORY. */
    ownerId: text('owner_id').notNull().default(''),
    versioning: text('versioning').notNull().$type<'never' | 'enabled' | 'suspended'>(),
    versioningSeq: integer('versioning_seq').notNull(),
    /** Set while the bucket is being deleted, and permanently afterwards: `epoch:time:token`. */
    seal: text('seal'),
    /** 256 characters: `-` not here, `o` open, `s` sealed to be moved away, `i` coming in. */
    slots: text('slots').notNull(),
    /** The order of the newest version that was removed within a minute of its creation. Later versions must be above it. */
    newest: bytes('newest'),
    /**
     * Raised before a change of the bucket's configuration is acknowledged. A configuration of this generation or a later
     * one is current. Null: unknown, after a rebuild; the configuration must come from DIRECTORY's primary.
     */
    generation: integer('generation'),
    /** Object lock: null if it is not enabled, else the default retention, `{}` or `{"mode": "GOVERNANCE", "days": 30}`. */
    objectLock: text('object_lock'),
  },
  // A read may find the bucket by its name, before DIRECTORY has answered with its id.
  (table) => [index('bucket_name').on(table.name)],
);

/** Object lock of a version, or of the version that an upload will become. */
const lockColumns = {
  lockMode: text('lock_mode').$type<'GOVERNANCE' | 'COMPLIANCE'>(),
  retainUntil: integer('retain_until'),
  /** 1 while a legal hold is on, 2 once it is off, 0 if it was never set. */
  legalHold: integer('legal_hold').notNull().default(0),
};

/**
 * One version of one name, or a deletion marker, with its data. The newest version of a name is the first in the order
 * of the key, so no column marks it. Data has one place: `data` until the object is packed, `blob_id` and `blob_start`
 * if it is a range of one blob, else rows of `extent` with its `object_id`.
 *
 * A row costs two written rows, itself and its key. It is stored in the order of `id`, because SQLite compares a key
 * with a whole row of a table WITHOUT ROWID, inline bytes included.
 */
export const version = sqliteTable(
  'version',
  {
    /** Ascending ids, 1,000 per millisecond of the journal's epoch (`version-ids.ts`). Valid in this shard only. */
    id: integer('id').primaryKey(),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    /** The TIMEUUID, time first, inverted: the newest version of a name comes first. */
    ord: bytes('ord').notNull(),
    slot: integer('slot').notNull(),
    /** 1 for S3's `null` version. */
    isNull: integer('is_null').notNull(),
    isMarker: integer('is_marker').notNull(),
    objectId: bytes('object_id').notNull(),
    size: integer('size').notNull(),
    etag: text('etag').notNull(),
    sha256: bytes('sha256'),
    /** `{"CRC32": "…"}`, values in Base64. */
    checksums: text('checksums'),
    checksumType: text('checksum_type'),
    partCount: integer('part_count'),
    metadata: text('metadata'),
    tags: text('tags'),
    acl: text('acl'),
    /** 1 while the version is taken down by the operator. */
    takenDown: integer('taken_down'),
    ...lockColumns,
    /** The blob that holds the whole object, and the offset in it. */
    blobId: bytes('blob_id'),
    blobStart: integer('blob_start'),
    /** CRC-32 of the whole object if it is inline or packed; null if the segments of its blobs are checked instead. */
    crc32: integer('crc32'),
    /** Bytes of a small object until it is packed. Base64, because text passes the binding faster than a BLOB. */
    data: text('data'),
  },
  (table) => [
    uniqueIndex('version_key').on(table.bucket, table.name, table.ord),
    // Used by reclamation and compaction.
    index('version_blob').on(table.blobId).where(sql`blob_id IS NOT NULL`),
  ],
);

/** A piece of an object that was uploaded in parts or has several blobs, or of a part that is not yet an object. */
export const extent = sqliteTable(
  'extent',
  {
    objectId: bytes('object_id').notNull(),
    /** Offset in the object. */
    start: integer('start').notNull(),
    length: integer('length').notNull(),
    blobId: bytes('blob_id').notNull(),
    blobStart: integer('blob_start').notNull(),
    /** CRC-32 of the whole extent; null if the blob's segments are checked instead. */
    crc32: integer('crc32'),
    /** The part number in a multipart object. */
    part: integer('part'),
    /** On the first extent of a part: `{"etag": "…", "checksums": {…}, "modifiedAt": …}`. */
    partFacts: text('part_facts'),
  },
  (table) => [primaryKey({ columns: [table.objectId, table.start] }), index('extent_blob').on(table.blobId)],
);

/** An R2 object, written once under this id to every location. */
export const blobRecord = sqliteTable(
  'blob',
  {
    blobId: bytes('blob_id').primaryKey(),
    kind: text('kind').notNull().$type<'object' | 'part' | 'volume'>(),
    size: integer('size').notNull(),
    sha256: bytes('sha256').notNull(),
    /** CRC-32 of each segment of 256 KiB, four bytes each. */
    segments: bytes('segments').notNull(),
    /** Bit mask of the locations that hold the blob: 1 is BLOBS, 2 is BLOBS_2, … */
    locations: integer('locations').notNull(),
    createdAt: integer('created_at').notNull(),
    /** 1 if another shard may have a record of the same blob, because a slot was moved. */
    isShared: integer('is_shared').notNull().default(0),
    /** 1 when no location has an intact copy. */
    isLost: integer('is_lost').notNull().default(0),
    /** Bit mask of the locations that still need a copy: the durable task of `maintenance/missing-copies.ts`. */
    missing: integer('missing').notNull().default(0),
  },
  (table) => [index('blob_missing').on(table.blobId).where(sql`missing <> 0`)],
);

/** Blobs that lost a reference, and the time. Reclamation and compaction read this table. */
export const reclaim = sqliteTable(
  'reclaim',
  {
    blobId: bytes('blob_id').primaryKey(),
    since: integer('since').notNull(),
  },
  (table) => [index('reclaim_since').on(table.since)],
);

export const upload = sqliteTable(
  'upload',
  {
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    /** A TIMEUUID, time first, as its 32 hex digits. */
    uploadId: text('upload_id').notNull(),
    slot: integer('slot').notNull(),
    initiatedAt: integer('initiated_at').notNull(),
    metadata: text('metadata').notNull(),
    tags: text('tags'),
    acl: text('acl'),
    ...lockColumns,
    checksumAlgorithm: text('checksum_algorithm'),
    checksumType: text('checksum_type'),
    /**
     * `open`, or how it ended: `completed`, `aborted`. The row stays for 7 days afterwards, so that a repeated
     * completion is answered.
     */
    state: text('state').notNull().$type<'open' | 'completed' | 'aborted'>(),
    /** Set for a completed upload: the SHA-256 of its list of parts, and the order of its version. */
    requestSha256: bytes('request_sha256'),
    ord: bytes('ord'),
    endedAt: integer('ended_at'),
    /** Time at which background work is due: an open upload is aborted, an ended one is cleaned up and later forgotten. */
    dueAt: integer('due_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.bucket, table.name, table.uploadId] }), index('upload_due').on(table.dueAt)],
);

export const part = sqliteTable(
  'part',
  {
    uploadId: text('upload_id').notNull(),
    partNumber: integer('part_number').notNull(),
    /** Object id of the part's extents. */
    objectId: bytes('object_id').notNull(),
    size: integer('size').notNull(),
    etag: text('etag').notNull(),
    checksums: text('checksums'),
    modifiedAt: integer('modified_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.uploadId, table.partNumber] })],
);

/**
 * Changes since the journal was last written (`maintenance/journal.ts`): a version (`v<order>`), a removed null version
 * (`n<order>`), an upload (`u<id>`), or a slot that was emptied and refilled (`s<slot>`). New versions need no change
 * record: their `id` has the epoch.
 */
export const change = sqliteTable(
  'change',
  {
    /** The epoch of the journal that the change belongs to: milliseconds of the database's clock, always increasing. */
    epoch: integer('epoch').notNull(),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    key: text('key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.epoch, table.bucket, table.name, table.key] })],
);

/**
 * Versions that a batch of deletes removed, kept as long as the batch may be repeated. Without it, a repeated delete could not be
 * distinguished from one that was never executed.
 */
export const receipt = sqliteTable('receipt', {
  /** Time of the request (12 hex digits of milliseconds), then random digits. */
  receiptId: bytes('receipt_id').primaryKey(),
  /** `[[item of the batch, order of the version (hex), is_marker, is_null], …]` */
  removed: text('removed').notNull(),
});

/**
 * The limits and the use of a bucket or a user in this shard. A row exists only if there is a quota. The limits are in DIRECTORY,
 * which leases shares of them to the shards.
 */
export const quota = sqliteTable(
  'quota',
  {
    kind: text('kind').notNull().$type<'bucket' | 'user'>(),
    /** Id of the bucket or the user. */
    subject: text('subject').notNull(),
    bytesUsed: integer('bytes_used').notNull(),
    objectsUsed: integer('objects_used').notNull(),
    /** The share leased to this shard; null for unlimited. Never less than the use. */
    bytesShare: integer('bytes_share'),
    objectsShare: integer('objects_share'),
    /** Number of the lease. DIRECTORY increases it with every change of the share, so that a late change has no effect. */
    lease: integer('lease').notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.subject] })],
);

/** Event notifications to send, written with the change that they report. Deleted once they are sent. */
export const event = sqliteTable(
  'event',
  {
    /** Ascends in the order of the commits (`event-store.ts`). AUTOINCREMENT remembers the last one of an empty table. */
    id: integer('id').primaryKey({ autoIncrement: true }),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    /** AWS's name, without `s3:`: `ObjectCreated:Put`. */
    kind: text('kind').notNull(),
    occurredAt: integer('occurred_at').notNull(),
    /** Facts of the message that have no column, and its destinations (`domain/notifications.ts`). */
    facts: text('facts').notNull(),
    attempts: integer('attempts').notNull().default(0),
    dueAt: integer('due_at').notNull(),
  },
  (table) => [index('event_name').on(table.bucket, table.name)],
);

/** A run of a bucket's lifecycle rules in this shard. Each day adds a row for each bucket with rules; its end removes it. */
export const lifecycle = sqliteTable('lifecycle', {
  bucket: integer('bucket').primaryKey(),
  startedAt: integer('started_at').notNull(),
  /** The last version or upload that was examined (`maintenance/lifecycle.ts`); null before the first. */
  cursor: text('cursor'),
  /** Counts of the run, for its audit row. */
  counts: text('counts').notNull(),
});

/**
 * A single row. `generation` is that of the latest revocation of a key, token, user or policy that this shard knows. A look-up of
 * credentials in a replica counts only if the replica's generation is at least this. Without a row it is unknown, as after a
 * rebuild; credentials must then come from DIRECTORY's primary.
 */
export const identity = sqliteTable('identity', {
  one: integer('one').primaryKey(),
  generation: integer('generation').notNull(),
});

/** Progress of background work, and its leases. */
export const task = sqliteTable('task', {
  name: text('name').primaryKey(),
  state: text('state').notNull(),
  updatedAt: integer('updated_at').notNull(),
});

/** Accepts no row. A batch that must not be committed inserts its reason, and the name of the violated constraint reports it. */
const reasons = [
  'already_committed',
  'no_bucket',
  'bucket_sealed',
  'slot_moved',
  'slot_sealed',
  'versioning_changed',
  'no_such_key',
  'no_such_version',
  'no_such_upload',
  'precondition_failed',
  'order_lost',
  'source_gone',
  'parts_changed',
  'still_referenced',
  'not_empty',
  'stale_configuration',
  'stale_identity',
  'object_locked',
  'quota_exceeded',
] as const;
export type GuardReason = (typeof reasons)[number];

export const guard = sqliteTable('guard', { reason: text('reason').notNull() }, () =>
  reasons.map((reason) => check(reason, sql.raw(`reason <> '${reason}'`))),
);
