CREATE TABLE `day_points` (
	`slot` integer PRIMARY KEY NOT NULL,
	`day` integer NOT NULL,
	`points` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `board` ADD `rules` text;