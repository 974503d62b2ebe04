CREATE TABLE `banned_player` (
	`board` text NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`board`, `user_id`)
);
--> statement-breakpoint
CREATE TABLE `quarantined_result` (
	`play` text PRIMARY KEY NOT NULL,
	`board` text NOT NULL,
	`user_id` text NOT NULL,
	`user_name` text,
	`points` integer NOT NULL,
	`data` text,
	`breach` text NOT NULL,
	`started_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`state` text NOT NULL,
	`decided_at` integer
);
--> statement-breakpoint
CREATE INDEX `quarantined_result_by_state` ON `quarantined_result` (`board`,`state`,`play`);--> statement-breakpoint
CREATE INDEX `quarantined_result_by_player` ON `quarantined_result` (`board`,`user_id`);--> statement-breakpoint
CREATE INDEX `quarantined_result_by_end` ON `quarantined_result` (`decided_at`) WHERE decided_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `board` ADD `is_signed` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `board` ADD `decimals` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `board` ADD `sessions` text;--> statement-breakpoint
ALTER TABLE `board` ADD `data_bytes_max` integer;--> statement-breakpoint
ALTER TABLE `board` ADD `seconds_between` integer;--> statement-breakpoint
CREATE TRIGGER `journal_quarantined_result_insert` AFTER INSERT ON `quarantined_result` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'quarantined_result' AS t, json_array(NEW.`play`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_quarantined_result_update` AFTER UPDATE ON `quarantined_result` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'quarantined_result' AS t, json_array(OLD.`play`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'quarantined_result' AS t, json_array(NEW.`play`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_quarantined_result_delete` AFTER DELETE ON `quarantined_result` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'quarantined_result' AS t, json_array(OLD.`play`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_banned_player_insert` AFTER INSERT ON `banned_player` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'banned_player' AS t, json_array(NEW.`board`, NEW.`user_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_banned_player_update` AFTER UPDATE ON `banned_player` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'banned_player' AS t, json_array(OLD.`board`, OLD.`user_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'banned_player' AS t, json_array(NEW.`board`, NEW.`user_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_banned_player_delete` AFTER DELETE ON `banned_player` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'banned_player' AS t, json_array(OLD.`board`, OLD.`user_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;