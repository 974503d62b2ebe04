ALTER TABLE `mailbox` ADD `uid_validity` integer;--> statement-breakpoint
ALTER TABLE `draft` ADD `uid_revision` integer;--> statement-breakpoint
ALTER TABLE `folder` ADD `uid_next` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `message_content` ADD `structure` text;--> statement-breakpoint
ALTER TABLE `message_folder` ADD `uid` integer;--> statement-breakpoint
ALTER TABLE `message_folder` ADD `is_deleted` integer DEFAULT 0 NOT NULL;