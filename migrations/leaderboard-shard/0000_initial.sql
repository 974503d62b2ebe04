CREATE TABLE `board` (
	`id` integer PRIMARY KEY NOT NULL,
	`season` text NOT NULL,
	`shard` integer NOT NULL,
	`shards` integer NOT NULL,
	`sealed_at` integer,
	`checkpoint` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `event_page` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`slots` blob NOT NULL,
	`words` blob NOT NULL,
	`records` blob NOT NULL,
	`user_names` text
);
--> statement-breakpoint
CREATE TABLE `hidden` (
	`slot` integer PRIMARY KEY NOT NULL,
	`score` real NOT NULL,
	`reached` real NOT NULL
);
--> statement-breakpoint
CREATE TABLE `log` (
	`place` integer PRIMARY KEY NOT NULL,
	`number` integer NOT NULL,
	`moves` blob NOT NULL,
	`slots` blob NOT NULL,
	`records` blob NOT NULL,
	`user_names` text
);
--> statement-breakpoint
CREATE TABLE `player` (
	`slot` integer PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`user_name` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `player_user_id_unique` ON `player` (`user_id`);--> statement-breakpoint
CREATE TABLE `score_page` (
	`id` integer PRIMARY KEY NOT NULL,
	`keys` blob NOT NULL
);
