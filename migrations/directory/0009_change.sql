CREATE TABLE `mail_masked_address` (
	`email` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`state` text NOT NULL,
	`note` text NOT NULL,
	`for_domain` text NOT NULL,
	`url` text,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_message_at` integer
);
--> statement-breakpoint
CREATE INDEX `mail_masked_address_user` ON `mail_masked_address` (`user_id`);--> statement-breakpoint
CREATE TRIGGER `journal_mail_masked_address_insert` AFTER INSERT ON `mail_masked_address` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'mail_masked_address' AS t, json_array(NEW.`email`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_mail_masked_address_update` AFTER UPDATE ON `mail_masked_address` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'mail_masked_address' AS t, json_array(OLD.`email`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'mail_masked_address' AS t, json_array(NEW.`email`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_mail_masked_address_delete` AFTER DELETE ON `mail_masked_address` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'mail_masked_address' AS t, json_array(OLD.`email`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;