ALTER TABLE `board` ADD `schedule` text;--> statement-breakpoint
ALTER TABLE `board` ADD `resets` text;