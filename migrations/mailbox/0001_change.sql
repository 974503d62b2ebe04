CREATE TABLE `accepted_recipient` (
	`day` integer NOT NULL,
	`reference` text NOT NULL,
	`delivery` text NOT NULL,
	`message` text NOT NULL,
	PRIMARY KEY(`day`, `reference`)
) WITHOUT ROWID;
