/**
 * The tables of an object shard (`OBJECTS_n`). Ids are 16-byte BLOBs (UUIDs without their dashes), names are BLOBs of
 * UTF-8 (SQLite's text functions stop at NUL), times are milliseconds since 1970 UTC.
 *
 * Tables listed in drizzle.config.ts as `withoutRowid` are stored in the order of their primary key. A version costs
 * one row and one index row, and its name is stored twice instead of three times.
 */
import { sql } from 'drizzle-orm';
import { check, customType, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'blob' });

/**
 * The shard's copy of a bucket. Commits check it, so that nothing is written past a seal, a switch of versioning or a
 * move.
 */
export const bucket = sqliteTable('bucket', {
  /** Short name of the bucket inside this shard. */
  n: integer('n').primaryKey({ autoIncrement: true }),
  bucketId: text('bucket_id').notNull().unique(),
  name: text('name').notNull(),
  /** For a rebuild of DIRECTORY. */
  ownerId: text('owner_id').notNull().default(''),
  versioning: text('versioning').notNull().$type<'never' | 'enabled' | 'suspended'>(),
  versioningSeq: integer('versioning_seq').notNull(),
  /** Set while the bucket is being deleted, and permanently afterwards: `epoch:time:token`. */
  seal: text('seal'),
  /** 256 characters: `-` not here, `o` open, `s` sealed to be moved away, `i` coming in. */
  slots: text('slots').notNull(),
  /** The order of the newest version that was removed while it was young. Later versions must be above it. */
  newest: bytes('newest'),
});

export const version = sqliteTable(
  'version',
  {
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    /** The TIMEUUID, time first, inverted: the newest version of a name comes first. */
    ord: bytes('ord').notNull(),
    slot: integer('slot').notNull(),
    /** 1 for the newest version of a name unless it is a deletion marker. */
    live: integer('live').notNull(),
    /** S3's `null` version. */
    isNull: integer('is_null').notNull(),
    isMarker: integer('is_marker').notNull(),
    objectId: bytes('object_id').notNull(),
    size: integer('size').notNull(),
    etag: text('etag').notNull(),
    sha256: bytes('sha256'),
    /** `{"CRC32": "…"}`, Base64. */
    checksums: text('checksums'),
    checksumType: text('checksum_type'),
    partCount: integer('part_count'),
    metadata: text('metadata'),
    tags: text('tags'),
    acl: text('acl'),
    /** 1 while the operator keeps it from being read. */
    takenDown: integer('taken_down'),
  },
  (table) => [
    primaryKey({ columns: [table.bucket, table.name, table.ord] }),
    uniqueIndex('version_live').on(table.bucket, table.name).where(sql`live = 1`),
  ],
);

/** Bytes of a small object until they are packed, with the key of its version. */
export const inline = sqliteTable('inline', {
  objectId: bytes('object_id').primaryKey(),
  bucket: integer('bucket').notNull(),
  name: bytes('name').notNull(),
  ord: bytes('ord').notNull(),
  size: integer('size').notNull(),
  crc32: integer('crc32').notNull(),
  /** As in `change`: this row is its own change record. */
  epoch: integer('epoch').notNull().default(0),
  /** Base64, because text passes the binding faster than a BLOB. */
  data: text('data').notNull(),
});

/** A piece of an object (or of a part that is not yet an object): which bytes of which blob. */
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
export const blobRecord = sqliteTable('blob', {
  blobId: bytes('blob_id').primaryKey(),
  kind: text('kind').notNull().$type<'object' | 'part' | 'volume'>(),
  size: integer('size').notNull(),
  sha256: bytes('sha256').notNull(),
  /** CRC-32 of each segment of 256 KiB, four bytes each. */
  segments: bytes('segments').notNull(),
  /** Bits of the locations that hold it: 1 is BLOBS, 2 is BLOBS_2, … */
  locations: integer('locations').notNull(),
  createdAt: integer('created_at').notNull(),
  /** 1 when another shard may hold a record of the same blob (a slot was moved). */
  isShared: integer('is_shared').notNull().default(0),
  /** 1 when no location has a good copy. */
  isLost: integer('is_lost').notNull().default(0),
});

/** Blobs that lost a reference, and when. Reclamation and compaction read this table. */
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
    checksumAlgorithm: text('checksum_algorithm'),
    checksumType: text('checksum_type'),
    /**
     * `open`, or how it ended: `completed`, `aborted`. The row stays for 7 days afterwards, so that a repeated
     * completion is answered.
     */
    state: text('state').notNull().$type<'open' | 'completed' | 'aborted'>(),
    /** Of a completed upload: the SHA-256 of its list of parts, and the order of its version. */
    requestSha256: bytes('request_sha256'),
    ord: bytes('ord'),
    endedAt: integer('ended_at'),
    /** When background work is due: an open upload is aborted, an ended one is cleaned and later forgotten. */
    dueAt: integer('due_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.bucket, table.name, table.uploadId] }), index('upload_due').on(table.dueAt)],
);

export const part = sqliteTable(
  'part',
  {
    uploadId: text('upload_id').notNull(),
    partNumber: integer('part_number').notNull(),
    /** Its extents have this object id. */
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
 * (`n<order>`), an upload (`u<id>`), or a slot that was emptied and refilled (`s<slot>`). New inline objects need no
 * change record: their own row has the epoch.
 */
export const change = sqliteTable(
  'change',
  {
    /** The epoch of the journal that it belongs to: milliseconds of the database's clock, always increasing. */
    epoch: integer('epoch').notNull(),
    bucket: integer('bucket').notNull(),
    name: bytes('name').notNull(),
    key: text('key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.epoch, table.bucket, table.name, table.key] })],
);

/**
 * Versions that a batch of deletes removed, kept as long as the batch may be repeated. Without it, a repeated delete
 * could not be told from one that never happened.
 */
export const receipt = sqliteTable('receipt', {
  /** Time of the request (12 hex digits of milliseconds), then random digits. */
  receiptId: bytes('receipt_id').primaryKey(),
  /** `[[item of the batch, order of the version (hex), is_marker, is_null], …]` */
  removed: text('removed').notNull(),
});

/** Progress of background work, and its leases. */
export const task = sqliteTable('task', {
  name: text('name').primaryKey(),
  state: text('state').notNull(),
  updatedAt: integer('updated_at').notNull(),
});

/** Never holds a row. A commit that must not happen inserts its reason, and the violated constraint names it. */
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
] as const;
export type GuardReason = (typeof reasons)[number];

export const guard = sqliteTable('guard', { reason: text('reason').notNull() }, () =>
  reasons.map((reason) => check(reason, sql.raw(`reason <> '${reason}'`))),
);
