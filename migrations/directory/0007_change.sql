CREATE TABLE `directory_task` (
	`name` text PRIMARY KEY NOT NULL,
	`state` text,
	`lease_until` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `health_verdict` (
	`version_id` text PRIMARY KEY NOT NULL,
	`judged_at` integer NOT NULL,
	`claimed_at` integer NOT NULL,
	`cron_at` integer NOT NULL,
	`findings` text NOT NULL
);