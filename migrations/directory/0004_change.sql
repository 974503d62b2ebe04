ALTER TABLE `access_key` ADD `made_in` text;--> statement-breakpoint
ALTER TABLE `password` ADD `review` text;--> statement-breakpoint
ALTER TABLE `token` ADD `made_by` text;--> statement-breakpoint
CREATE INDEX `token_made_by` ON `token` (`made_by`) WHERE made_by IS NOT NULL;--> statement-breakpoint
ALTER TABLE `recovery_address` ADD `works_from` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `recovery_address` ADD `former_email` text;--> statement-breakpoint
ALTER TABLE `passkey` ADD `made_in` text;