CREATE TABLE `board` (
	`id` integer PRIMARY KEY NOT NULL,
	`season` text NOT NULL,
	`shard` integer NOT NULL,
	`shards` integer NOT NULL,
	`sealed_at` integer
);
--> statement-breakpoint
CREATE TABLE `event_page` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`slots` blob NOT NULL,
	`events` blob NOT NULL,
	`user_names` text
);
--> statement-breakpoint
CREATE TABLE `player` (
	`slot` integer PRIMARY KEY NOT NULL,
	`score` integer NOT NULL,
	`reached` integer NOT NULL,
	`is_hidden` integer DEFAULT 0 NOT NULL,
	`user_id` text NOT NULL,
	`user_name` text,
	`events` blob
);
--> statement-breakpoint
CREATE UNIQUE INDEX `player_user_id_unique` ON `player` (`user_id`);