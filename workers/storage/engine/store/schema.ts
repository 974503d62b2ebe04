/**
 * The tables of an object shard (`OBJECTS_n`). Ids are 16-byte BLOBs (UUIDs without their dashes), names are BLOBs of
 * UTF-8 (SQLite's text functions stop at NUL), times are milliseconds since 1970 UTC.
 *
 * Tables listed in drizzle.config.ts as `withoutRowid` are stored in the order of their primary key.
 */
import { sql } from 'drizzle-orm';
import { check, customType, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'blob' });

/** The shard's copy of a bucket. Commits check it, so that no write ignores a seal, a switch of versioning or a slot move. */
export const bucket = sqliteTable(
  'bucket',
  {
    /** Number of the bucket in this shard. Other tables refer to the bucket by it. */
    n: integer('n').primaryKey({ autoIncrement: true }),
    bucketId: text('bucket_id').notNull().unique(),
    name: text('name').notNull(),
    /** User who owns the bucket. A rebuild of DIRECTORY reads it. */
    ownerId: text('owner_id').notNull().default(''),
    versioning: text('versioning').notNull().$type<'never' | 'enabled' | 'suspended'>(),
    versioningSeq: integer('versioning_seq').notNull(),
    /** Seal of the bucket, `epoch:time:token`. Set while the bucket is being deleted, and permanently afterwards. */
    seal: text('seal'),
    /** State of each of the 256 slots: `-` not in this shard, `o` open, `s` sealed to be moved away, `i` coming in. */
    slots: text('slots').notNull(),
    /**
     * Order of the newest version that was removed within a minute of its creation. Later versions of the bucket must be above it.
     */
    newest: bytes('newest'),
    /**
     * Generation of the bucket, raised before a change of its configuration is acknowledged. A configuration of this generation or a
     * later one is current. Null: unknown, after a rebuild; the configuration must come from DIRECTORY's primary.
     */
    generation: integer('generation'),
    /**
     * Object Lock configuration of the bucket: null if Object Lock is not enabled, else the default retention, `{}` or `{"mode":
     * "GOVERNANCE", "days": 30}`.
     */
    objectLock: text('object_lock'),
  },
  // A read may look up the bucket by its name, before DIRECTORY has answered with its id.
  (table) => [index('bucket_name').on(table.name)],
);

/** Columns of the Object Lock of a version, or of the version that an upload will become. */
const lockColumns = {
  lockMode: text('lock_mode').$type<'GOVERNANCE' | 'COMPLIANCE'>(),
  retainUntil: integer('retain_until'),
  /** Legal hold: 1 while it is on, 2 once it is off, 0 if it was never set. */
  legalHold: integer('legal_hold').notNull().default(0),
};

/**
 * One version of one name, or a delete marker, with its data. The newest version of a name is the first in the order
 * of the key, so no column marks it. Data has one place: `data` until the object is packed, `blob_id` and `blob_start`
 * if it is a range of one blob, else rows of `extent` with its `object_id`.
 *
 * A row costs two written rows, itself and its key. It is stored in the order of `id`, because SQLite compares a key
 * with a whole row of a table WITHOUT ROWID, inline bytes included.
 */
export const version = sqliteTable(
  'version',
  {
    /**
     * Row id. Ids ascend, with 1,000 per millisecond of the journal's epoch (`version-ids.ts`). They are valid in this shard only.
     * Negative while no intact copy of a small object is known (`small-store.ts`).
     */
    id: integer('id').primaryKey(),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    /** Order of the version: its TIMEUUID, time first, inverted, so that the newest version of a name comes first. */
    ord: bytes('ord').notNull(),
    slot: integer('slot').notNull(),
    /** 1 if this is S3's `null` version. */
    isNull: integer('is_null').notNull(),
    isMarker: integer('is_marker').notNull(),
    objectId: bytes('object_id').notNull(),
    size: integer('size').notNull(),
    etag: text('etag').notNull(),
    sha256: bytes('sha256'),
    /** Checksums of the object by algorithm, in Base64: `{"CRC32": "…"}`. */
    checksums: text('checksums'),
    checksumType: text('checksum_type'),
    partCount: integer('part_count'),
    metadata: text('metadata'),
    tags: text('tags'),
    acl: text('acl'),
    /** 1 while the operator has taken the version down. */
    takenDown: integer('taken_down'),
    ...lockColumns,
    /** The blob that holds the whole object, and the object's offset in it (`blob_start`). */
    blobId: bytes('blob_id'),
    blobStart: integer('blob_start'),
    /** CRC-32 of the whole object if it is inline or packed; null if the segments of its blobs are checked instead. */
    crc32: integer('crc32'),
    /** Inline data: the bytes of a small object until it is packed. Base64, because text passes the binding faster than a BLOB. */
    data: text('data'),
  },
  (table) => [
    uniqueIndex('version_key').on(table.bucket, table.name, table.ord),
    // Index of versions by blob, for reclamation and compaction.
    index('version_blob').on(table.blobId).where(sql`blob_id IS NOT NULL`),
  ],
);

/** An extent of an object that was uploaded in parts or has several blobs, or of a part that is not yet an object. */
export const extent = sqliteTable(
  'extent',
  {
    objectId: bytes('object_id').notNull(),
    /** Offset of the extent in the object. */
    start: integer('start').notNull(),
    length: integer('length').notNull(),
    blobId: bytes('blob_id').notNull(),
    blobStart: integer('blob_start').notNull(),
    /** CRC-32 of the whole extent; null if the segments of its blob are checked instead. */
    crc32: integer('crc32'),
    /** Number of the part to which the extent belongs, in a multipart object. */
    part: integer('part'),
    /** Facts of a part, on its first extent: `{"etag": "…", "checksums": {…}, "modifiedAt": …}`. */
    partFacts: text('part_facts'),
  },
  (table) => [primaryKey({ columns: [table.objectId, table.start] }), index('extent_blob').on(table.blobId)],
);

/** A blob record: an R2 object that is written once under this id to every location. */
export const blobRecord = sqliteTable(
  'blob',
  {
    blobId: bytes('blob_id').primaryKey(),
    kind: text('kind').notNull().$type<'object' | 'part' | 'volume'>(),
    size: integer('size').notNull(),
    sha256: bytes('sha256').notNull(),
    /** CRC-32 of each segment of 256 KiB of the blob, four bytes each. */
    segments: bytes('segments').notNull(),
    /** Bit mask of the locations that hold the blob: 1 is BLOBS, 2 is BLOBS_2, … */
    locations: integer('locations').notNull(),
    createdAt: integer('created_at').notNull(),
    /** 1 if another shard may have a record of the same blob, as after a slot move. */
    isShared: integer('is_shared').notNull().default(0),
    /** 1 if no location has an intact copy of the blob. */
    isLost: integer('is_lost').notNull().default(0),
    /** Bit mask of the locations that still need a copy of the blob. `maintenance/missing-copies.ts` writes these copies. */
    missing: integer('missing').notNull().default(0),
  },
  (table) => [index('blob_missing').on(table.blobId).where(sql`missing <> 0`)],
);

/** Blobs that lost a reference, with the time of the loss. Reclamation and compaction read this table. */
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
    /** Id of the upload: its time of creation, then random digits, as hex. */
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
     * State of the upload: `open`, `completed` or `aborted`. The row stays for 7 days after the end, so that a repeated completion
     * is answered.
     */
    state: text('state').notNull().$type<'open' | 'completed' | 'aborted'>(),
    /** SHA-256 of the list of parts, and order of the created version (`version_ord`). Set for a completed upload. */
    requestSha256: bytes('request_sha256'),
    ord: bytes('ord'),
    endedAt: integer('ended_at'),
    /**
     * Time at which background work on the upload is due: an open upload is aborted, an ended one is cleaned up and later
     * forgotten.
     */
    dueAt: integer('due_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.bucket, table.name, table.uploadId] }), index('upload_due').on(table.dueAt)],
);

export const part = sqliteTable(
  'part',
  {
    uploadId: text('upload_id').notNull(),
    partNumber: integer('part_number').notNull(),
    /** Object id to which the part's extents belong until completion. */
    objectId: bytes('object_id').notNull(),
    size: integer('size').notNull(),
    etag: text('etag').notNull(),
    checksums: text('checksums'),
    modifiedAt: integer('modified_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.uploadId, table.partNumber] })],
);

/**
 * Change records since the journal was last written (`maintenance/journal.ts`). The key tells what changed: a version (`v<order>`),
 * a removed null version (`n<order>`), an upload (`u<id>`), or a slot that was emptied and refilled (`s<slot>`). New versions need
 * no change record, because their row id has the epoch.
 */
export const change = sqliteTable(
  'change',
  {
    /** Epoch of the journal to which the change belongs: milliseconds of the database's clock, always increasing. */
    epoch: integer('epoch').notNull(),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    key: text('key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.epoch, table.bucket, table.name, table.key] })],
);

/**
 * Receipts of batches of deletes: the versions that each removed. Kept as long as a batch may be repeated. Without its receipt, a
 * repeated batch could not be distinguished from one that was never executed.
 */
export const receipt = sqliteTable('receipt', {
  /** Id of the batch: time of the request (12 hex digits of milliseconds), then random digits. */
  receiptId: bytes('receipt_id').primaryKey(),
  /** The removed versions: `[[item of the batch, order of the version (hex), is_marker, is_null], …]` */
  removed: text('removed').notNull(),
});

/**
 * The limits and the use of a bucket or a user in this shard. A row exists only if the bucket or user has a quota. The limits are
 * in DIRECTORY, which leases shares of them to the shards.
 */
export const quota = sqliteTable(
  'quota',
  {
    kind: text('kind').notNull().$type<'bucket' | 'user'>(),
    /** Id of the bucket or of the user that the quota limits. */
    subject: text('subject').notNull(),
    bytesUsed: integer('bytes_used').notNull(),
    objectsUsed: integer('objects_used').notNull(),
    /** The share of the limit that is leased to this shard; null for unlimited. Never less than the use. */
    bytesShare: integer('bytes_share'),
    objectsShare: integer('objects_share'),
    /**
     * Number of the lease of the share. DIRECTORY increases it with every distribution, so that a late change of a share has no
     * effect.
     */
    lease: integer('lease').notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.subject] })],
);

/** Event notifications that are still to be sent, written in the batch of their change. Deleted once they are sent. */
export const event = sqliteTable(
  'event',
  {
    /**
     * Id of the event. Ids ascend in the order of the commits (`event-store.ts`). AUTOINCREMENT remembers the last id even if the
     * table is empty.
     */
    id: integer('id').primaryKey({ autoIncrement: true }),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    /** AWS's name of the event, without `s3:`: `ObjectCreated:Put`. */
    kind: text('kind').notNull(),
    occurredAt: integer('occurred_at').notNull(),
    /** JSON of the event's facts that have no column of their own, and of its destinations (`domain/notifications.ts`). */
    facts: text('facts').notNull(),
    attempts: integer('attempts').notNull().default(0),
    dueAt: integer('due_at').notNull(),
  },
  (table) => [index('event_name').on(table.bucket, table.name)],
);

/**
 * A run of a bucket's lifecycle rules in this shard. Each day adds a row for each bucket with rules; the row is removed when the
 * run ends.
 */
export const lifecycle = sqliteTable('lifecycle', {
  bucket: integer('bucket').primaryKey(),
  startedAt: integer('started_at').notNull(),
  /** The last version or upload that the run examined (`maintenance/lifecycle.ts`); null before the first. */
  cursor: text('cursor'),
  /** Counts of the run so far, for its audit row. */
  counts: text('counts').notNull(),
});

/**
 * The shard's generations of identity, one row for each user database. `generation` is that of the latest revocation of a
 * key, token, user or policy that this shard knows. A look-up of credentials in a replica counts only if the replica's generation
 * is at least this. Without a row (after a rebuild) the generation is unknown, and credentials must come from the primary.
 */
export const identity = sqliteTable('identity', {
  /** Number of the database plus 1: 1 for DIRECTORY. */
  one: integer('one').primaryKey(),
  generation: integer('generation').notNull(),
});

/** Progress of background work, and the leases of the workers that do it. */
export const task = sqliteTable('task', {
  name: text('name').primaryKey(),
  state: text('state').notNull(),
  updatedAt: integer('updated_at').notNull(),
});

/**
 * The guard table, which accepts no row. A batch that must not be committed inserts its reason here, and the name of the violated
 * constraint reports it.
 */
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
