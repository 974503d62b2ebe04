CREATE TABLE `entry_data` (
	`slot` integer PRIMARY KEY NOT NULL,
	`data` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `last_post` (
	`slot` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
);