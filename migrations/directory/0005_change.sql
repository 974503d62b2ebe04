CREATE TABLE `player_erasure` (
	`erasure` text PRIMARY KEY NOT NULL,
	`board` text NOT NULL,
	`user_id` text NOT NULL,
	`season` text,
	`waiting` text,
	`is_found` integer NOT NULL,
	`attempts` integer NOT NULL,
	`created_at` integer NOT NULL,
	`due_at` integer,
	`finished_at` integer
);
--> statement-breakpoint
CREATE INDEX `player_erasure_by_due` ON `player_erasure` (`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `player_erasure_by_end` ON `player_erasure` (`finished_at`) WHERE finished_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `board` ADD `seasons_kept` integer;--> statement-breakpoint
ALTER TABLE `season` ADD `without` text;--> statement-breakpoint
CREATE INDEX `season_by_lack` ON `season` (`season`) WHERE without IS NOT NULL;