ALTER TABLE `token` ADD `made_by` text;--> statement-breakpoint
CREATE INDEX `token_made_by` ON `token` (`made_by`) WHERE made_by IS NOT NULL;