CREATE TABLE `directory_group` (
	`one` integer PRIMARY KEY NOT NULL,
	`groups` integer NOT NULL
);
