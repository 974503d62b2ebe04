CREATE TABLE `deleted_board` (
	`ref` text PRIMARY KEY NOT NULL,
	`board` text NOT NULL,
	`deleted_at` integer NOT NULL,
	`open_until` integer
);
--> statement-breakpoint
CREATE INDEX `deleted_board_by_name` ON `deleted_board` (`board`);--> statement-breakpoint
CREATE INDEX `deleted_board_by_time` ON `deleted_board` (`deleted_at`);--> statement-breakpoint
ALTER TABLE `board` ADD `shards` integer;--> statement-breakpoint
ALTER TABLE `board` ADD `makes` text;--> statement-breakpoint
CREATE INDEX `board_by_makes` ON `board` (`makes`) WHERE makes IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER `journal_deleted_board_insert` AFTER INSERT ON `deleted_board` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'deleted_board' AS t, json_array(NEW.`ref`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_deleted_board_update` AFTER UPDATE ON `deleted_board` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'deleted_board' AS t, json_array(OLD.`ref`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'deleted_board' AS t, json_array(NEW.`ref`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_deleted_board_delete` AFTER DELETE ON `deleted_board` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'deleted_board' AS t, json_array(OLD.`ref`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;