CREATE TABLE `closing` (
	`id` integer PRIMARY KEY NOT NULL,
	`season` text NOT NULL,
	`shards` integer NOT NULL,
	`step` text NOT NULL,
	`attempt` text NOT NULL,
	`started_at` integer NOT NULL,
	`published_at` integer,
	`progress` text NOT NULL
);
