CREATE TABLE `board` (
	`board` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`title` text NOT NULL,
	`sort` text NOT NULL,
	`operator` text NOT NULL,
	`period` text NOT NULL,
	`is_public` integer NOT NULL,
	`points_max` integer NOT NULL,
	`created_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
ALTER TABLE `season` ADD `board` text NOT NULL;--> statement-breakpoint
ALTER TABLE `season` ADD `ends_at` integer NOT NULL;--> statement-breakpoint
CREATE INDEX `season_by_board` ON `season` (`board`,`season`);