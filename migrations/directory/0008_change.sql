CREATE TABLE `share_link` (
	`link_id` text PRIMARY KEY NOT NULL,
	`secret_sha256` text NOT NULL,
	`user_id` text NOT NULL,
	`made_with` text NOT NULL,
	`bucket` text NOT NULL,
	`bucket_id` text NOT NULL,
	`name` text NOT NULL,
	`is_prefix` integer NOT NULL,
	`version_id` text,
	`password_hash` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`openings` integer DEFAULT 0 NOT NULL,
	`last_opened_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `share_link_secret_sha256_unique` ON `share_link` (`secret_sha256`);--> statement-breakpoint
CREATE INDEX `share_link_user` ON `share_link` (`user_id`,`link_id`);--> statement-breakpoint
CREATE TRIGGER `journal_share_link_insert` AFTER INSERT ON `share_link` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'share_link' AS t, json_array(NEW.`link_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_share_link_update` AFTER UPDATE ON `share_link` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'share_link' AS t, json_array(OLD.`link_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'share_link' AS t, json_array(NEW.`link_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_share_link_delete` AFTER DELETE ON `share_link` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'share_link' AS t, json_array(OLD.`link_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;