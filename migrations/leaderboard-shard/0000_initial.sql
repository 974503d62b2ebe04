CREATE TABLE `board` (
	`id` integer PRIMARY KEY NOT NULL,
	`season` text NOT NULL,
	`shard` integer NOT NULL,
	`shards` integer NOT NULL,
	`sealed_at` integer
);
--> statement-breakpoint
CREATE TABLE `event` (
	`id` integer PRIMARY KEY NOT NULL,
	`slot` integer NOT NULL,
	`hash` blob NOT NULL,
	`user_name` text,
	`points` integer NOT NULL,
	`score` integer NOT NULL,
	`rank` integer NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `player` (
	`slot` integer PRIMARY KEY NOT NULL,
	`score` integer NOT NULL,
	`reached` integer NOT NULL,
	`is_hidden` integer DEFAULT 0 NOT NULL,
	`is_spilled` integer DEFAULT 0 NOT NULL,
	`user_id` text NOT NULL,
	`user_name` text,
	`events` blob
);
--> statement-breakpoint
CREATE UNIQUE INDEX `player_user_id_unique` ON `player` (`user_id`);