CREATE TABLE `blob` (
	`blob_id` blob PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`size` integer NOT NULL,
	`sha256` blob NOT NULL,
	`segments` blob NOT NULL,
	`locations` integer NOT NULL,
	`created_at` integer NOT NULL,
	`is_shared` integer DEFAULT 0 NOT NULL,
	`is_lost` integer DEFAULT 0 NOT NULL,
	`missing` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `blob_missing` ON `blob` (`blob_id`) WHERE missing <> 0;--> statement-breakpoint
CREATE TABLE `bucket` (
	`n` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`bucket_id` text NOT NULL,
	`name` text NOT NULL,
	`owner_id` text DEFAULT '' NOT NULL,
	`versioning` text NOT NULL,
	`versioning_seq` integer NOT NULL,
	`seal` text,
	`slots` text NOT NULL,
	`newest` blob,
	`generation` integer,
	`object_lock` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bucket_bucket_id_unique` ON `bucket` (`bucket_id`);--> statement-breakpoint
CREATE TABLE `change` (
	`epoch` integer NOT NULL,
	`bucket` integer NOT NULL,
	`name` blob NOT NULL,
	`key` text NOT NULL,
	PRIMARY KEY(`epoch`, `bucket`, `name`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `event` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`bucket` integer NOT NULL,
	`name` blob NOT NULL,
	`kind` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`facts` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`due_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `event_name` ON `event` (`bucket`,`name`);--> statement-breakpoint
CREATE TABLE `extent` (
	`object_id` blob NOT NULL,
	`start` integer NOT NULL,
	`length` integer NOT NULL,
	`blob_id` blob NOT NULL,
	`blob_start` integer NOT NULL,
	`crc32` integer,
	`part` integer,
	`part_facts` text,
	PRIMARY KEY(`object_id`, `start`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `extent_blob` ON `extent` (`blob_id`);--> statement-breakpoint
CREATE TABLE `guard` (
	`reason` text NOT NULL,
	CONSTRAINT "already_committed" CHECK(reason <> 'already_committed'),
	CONSTRAINT "no_bucket" CHECK(reason <> 'no_bucket'),
	CONSTRAINT "bucket_sealed" CHECK(reason <> 'bucket_sealed'),
	CONSTRAINT "slot_moved" CHECK(reason <> 'slot_moved'),
	CONSTRAINT "slot_sealed" CHECK(reason <> 'slot_sealed'),
	CONSTRAINT "versioning_changed" CHECK(reason <> 'versioning_changed'),
	CONSTRAINT "no_such_key" CHECK(reason <> 'no_such_key'),
	CONSTRAINT "no_such_version" CHECK(reason <> 'no_such_version'),
	CONSTRAINT "no_such_upload" CHECK(reason <> 'no_such_upload'),
	CONSTRAINT "precondition_failed" CHECK(reason <> 'precondition_failed'),
	CONSTRAINT "order_lost" CHECK(reason <> 'order_lost'),
	CONSTRAINT "source_gone" CHECK(reason <> 'source_gone'),
	CONSTRAINT "parts_changed" CHECK(reason <> 'parts_changed'),
	CONSTRAINT "still_referenced" CHECK(reason <> 'still_referenced'),
	CONSTRAINT "not_empty" CHECK(reason <> 'not_empty'),
	CONSTRAINT "stale_configuration" CHECK(reason <> 'stale_configuration'),
	CONSTRAINT "stale_identity" CHECK(reason <> 'stale_identity'),
	CONSTRAINT "object_locked" CHECK(reason <> 'object_locked'),
	CONSTRAINT "quota_exceeded" CHECK(reason <> 'quota_exceeded')
);
--> statement-breakpoint
CREATE TABLE `identity` (
	`one` integer PRIMARY KEY NOT NULL,
	`generation` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `lifecycle` (
	`bucket` integer PRIMARY KEY NOT NULL,
	`started_at` integer NOT NULL,
	`cursor` text,
	`counts` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `part` (
	`upload_id` text NOT NULL,
	`part_number` integer NOT NULL,
	`object_id` blob NOT NULL,
	`size` integer NOT NULL,
	`etag` text NOT NULL,
	`checksums` text,
	`modified_at` integer NOT NULL,
	PRIMARY KEY(`upload_id`, `part_number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `quota` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`bytes_used` integer NOT NULL,
	`objects_used` integer NOT NULL,
	`bytes_share` integer,
	`objects_share` integer,
	`lease` integer NOT NULL,
	PRIMARY KEY(`kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `receipt` (
	`receipt_id` blob PRIMARY KEY NOT NULL,
	`removed` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `reclaim` (
	`blob_id` blob PRIMARY KEY NOT NULL,
	`since` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `reclaim_since` ON `reclaim` (`since`);--> statement-breakpoint
CREATE TABLE `task` (
	`name` text PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `upload` (
	`bucket` integer NOT NULL,
	`name` blob NOT NULL,
	`upload_id` text NOT NULL,
	`slot` integer NOT NULL,
	`initiated_at` integer NOT NULL,
	`metadata` text NOT NULL,
	`tags` text,
	`acl` text,
	`lock_mode` text,
	`retain_until` integer,
	`legal_hold` integer DEFAULT 0 NOT NULL,
	`checksum_algorithm` text,
	`checksum_type` text,
	`state` text NOT NULL,
	`request_sha256` blob,
	`ord` blob,
	`ended_at` integer,
	`due_at` integer NOT NULL,
	PRIMARY KEY(`bucket`, `name`, `upload_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `upload_due` ON `upload` (`due_at`);--> statement-breakpoint
CREATE TABLE `version` (
	`id` integer PRIMARY KEY NOT NULL,
	`bucket` integer NOT NULL,
	`name` blob NOT NULL,
	`ord` blob NOT NULL,
	`slot` integer NOT NULL,
	`is_null` integer NOT NULL,
	`is_marker` integer NOT NULL,
	`object_id` blob NOT NULL,
	`size` integer NOT NULL,
	`etag` text NOT NULL,
	`sha256` blob,
	`checksums` text,
	`checksum_type` text,
	`part_count` integer,
	`metadata` text,
	`tags` text,
	`acl` text,
	`taken_down` integer,
	`lock_mode` text,
	`retain_until` integer,
	`legal_hold` integer DEFAULT 0 NOT NULL,
	`blob_id` blob,
	`blob_start` integer,
	`crc32` integer,
	`data` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `version_key` ON `version` (`bucket`,`name`,`ord`);--> statement-breakpoint
CREATE INDEX `version_blob` ON `version` (`blob_id`) WHERE blob_id IS NOT NULL;