CREATE TABLE `connection` (
	`token_id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_challenge` text NOT NULL,
	`code_sha256` text NOT NULL,
	`family_sha256` text,
	`refresh_sha256` text,
	`ends_at` integer NOT NULL,
	FOREIGN KEY (`token_id`) REFERENCES `token`(`token_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `connection_code_sha256_unique` ON `connection` (`code_sha256`);--> statement-breakpoint
CREATE UNIQUE INDEX `connection_family_sha256_unique` ON `connection` (`family_sha256`);--> statement-breakpoint
CREATE INDEX `connection_ends` ON `connection` (`ends_at`);--> statement-breakpoint
CREATE TRIGGER `journal_connection_insert` AFTER INSERT ON `connection` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'connection' AS t, json_array(NEW.`token_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_connection_update` AFTER UPDATE ON `connection` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'connection' AS t, json_array(OLD.`token_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'connection' AS t, json_array(NEW.`token_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;--> statement-breakpoint
CREATE TRIGGER `journal_connection_delete` AFTER DELETE ON `connection` BEGIN INSERT INTO directory_change(number, table_name, key) SELECT c.n, c.t, c.k FROM (SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS n, 'connection' AS t, json_array(OLD.`token_id`) AS k) c WHERE NOT EXISTS (SELECT 1 FROM directory_change d WHERE d.number = c.n AND d.table_name = c.t AND d.key = c.k); END;