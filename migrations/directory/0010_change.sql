CREATE TABLE `provider_session` (
	`issuer` text NOT NULL,
	`sid` text NOT NULL,
	`subject` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`issuer`, `sid`)
);
--> statement-breakpoint
CREATE INDEX `provider_session_expires` ON `provider_session` (`expires_at`);--> statement-breakpoint
CREATE TABLE `sign_in` (
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`kind` text NOT NULL,
	`owner_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`refresh_sealed` text,
	`check_at` integer,
	`confirmed_at` integer,
	PRIMARY KEY(`issuer`, `subject`, `kind`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sign_in_owner` ON `sign_in` (`kind`,`owner_id`,`issuer`);--> statement-breakpoint
CREATE INDEX `sign_in_check` ON `sign_in` (`check_at`) WHERE check_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `user` ADD `suspended_by` text;--> statement-breakpoint
CREATE TRIGGER `journal_sign_in_insert` AFTER INSERT ON `sign_in` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'sign_in' AS t, json_array(NEW.`issuer`, NEW.`subject`, NEW.`kind`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_sign_in_update` AFTER UPDATE ON `sign_in` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'sign_in' AS t, json_array(OLD.`issuer`, OLD.`subject`, OLD.`kind`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'sign_in' AS t, json_array(NEW.`issuer`, NEW.`subject`, NEW.`kind`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_sign_in_delete` AFTER DELETE ON `sign_in` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'sign_in' AS t, json_array(OLD.`issuer`, OLD.`subject`, OLD.`kind`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_provider_session_insert` AFTER INSERT ON `provider_session` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'provider_session' AS t, json_array(NEW.`issuer`, NEW.`sid`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_provider_session_update` AFTER UPDATE ON `provider_session` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'provider_session' AS t, json_array(OLD.`issuer`, OLD.`sid`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'provider_session' AS t, json_array(NEW.`issuer`, NEW.`sid`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_provider_session_delete` AFTER DELETE ON `provider_session` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'provider_session' AS t, json_array(OLD.`issuer`, OLD.`sid`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;