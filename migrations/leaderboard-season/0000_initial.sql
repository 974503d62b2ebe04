CREATE TABLE `archive_file` (
	`kind` text NOT NULL,
	`shard` integer NOT NULL,
	`number` integer NOT NULL,
	`begin` text NOT NULL,
	PRIMARY KEY(`kind`, `shard`, `number`)
);
--> statement-breakpoint
CREATE TABLE `closing` (
	`id` integer PRIMARY KEY NOT NULL,
	`season` text NOT NULL,
	`shards` integer NOT NULL,
	`step` text NOT NULL,
	`archive` text NOT NULL,
	`sealed_at` integer NOT NULL,
	`progress` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `snapshot` (
	`shard` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`bits` integer NOT NULL,
	`buckets` blob NOT NULL,
	`top` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `view` (
	`name` text PRIMARY KEY NOT NULL
);
