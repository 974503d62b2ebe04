CREATE TABLE `card` (
	`card_name` text PRIMARY KEY NOT NULL,
	`uid` text NOT NULL,
	`state` integer NOT NULL,
	`size_bytes` integer NOT NULL,
	`vcard` text
);
--> statement-breakpoint
CREATE INDEX `card_by_state` ON `card` (`state`,`card_name`);--> statement-breakpoint
CREATE INDEX `card_by_uid` ON `card` (`uid`);--> statement-breakpoint
CREATE TABLE `card_email` (
	`email` text NOT NULL,
	`card_name` text NOT NULL,
	PRIMARY KEY(`email`, `card_name`)
) WITHOUT ROWID;