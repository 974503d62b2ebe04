CREATE TABLE `sealed_page` (
	`place` integer PRIMARY KEY NOT NULL,
	`score` real NOT NULL,
	`reached` real NOT NULL,
	`slots` blob NOT NULL,
	`keys` blob NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sealed_page_by_key` ON `sealed_page` (`score`,`reached`);--> statement-breakpoint
ALTER TABLE `board` ADD `sealed_players` integer;--> statement-breakpoint
ALTER TABLE `board` ADD `copies` integer DEFAULT 0 NOT NULL;