CREATE TABLE `player_name` (
	`slot` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `player_name_by_name` ON `player_name` (`name`);--> statement-breakpoint
ALTER TABLE `board` ADD `has_names` integer DEFAULT 0 NOT NULL;