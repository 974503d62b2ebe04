ALTER TABLE `board` ADD `points_per_day_max` integer;--> statement-breakpoint
ALTER TABLE `board` ADD `points_per_day_before` integer;--> statement-breakpoint
ALTER TABLE `board` ADD `rules_from` integer DEFAULT 0 NOT NULL;