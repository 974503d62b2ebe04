CREATE TABLE `access_key` (
	`access_key_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`secret_sealed` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `access_key_user` ON `access_key` (`user_id`);--> statement-breakpoint
CREATE TABLE `identity_generation` (
	`one` integer PRIMARY KEY NOT NULL,
	`generation` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `login_guard` (
	`guard_key` text PRIMARY KEY NOT NULL,
	`count` integer NOT NULL,
	`ends_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `login_guard_ends` ON `login_guard` (`ends_at`);--> statement-breakpoint
CREATE TABLE `password` (
	`user_id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`changed_at` integer NOT NULL,
	`needs_passkey` integer DEFAULT false NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `policy` (
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`document` text NOT NULL,
	PRIMARY KEY(`user_id`, `name`),
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `second_factor` (
	`user_id` text PRIMARY KEY NOT NULL,
	`seed_sealed` text NOT NULL,
	`confirmed_at` integer,
	`last_step` integer NOT NULL,
	`recovery_sha256` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `token` (
	`token_id` text PRIMARY KEY NOT NULL,
	`token_sha256` text,
	`name` text NOT NULL,
	`user_id` text,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `token_token_sha256_unique` ON `token` (`token_sha256`);--> statement-breakpoint
CREATE INDEX `token_user` ON `token` (`user_id`);--> statement-breakpoint
CREATE TABLE `user` (
	`user_id` text PRIMARY KEY NOT NULL,
	`user_name` text NOT NULL,
	`name` text NOT NULL,
	`email` text,
	`created_at` integer NOT NULL,
	`suspended_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `user_user_name` ON `user` (lower("user_name"));--> statement-breakpoint
CREATE UNIQUE INDEX `user_email` ON `user` (`email`);--> statement-breakpoint
CREATE TABLE `one_time_secret` (
	`secret_sha256` text PRIMARY KEY NOT NULL,
	`purpose` text NOT NULL,
	`user_id` text,
	`detail` text,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `one_time_secret_user` ON `one_time_secret` (`user_id`,`purpose`);--> statement-breakpoint
CREATE INDEX `one_time_secret_expires` ON `one_time_secret` (`expires_at`);--> statement-breakpoint
CREATE TABLE `recovery_address` (
	`user_id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`confirmed_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `passkey` (
	`passkey_id` text PRIMARY KEY NOT NULL,
	`user_id` text,
	`operator_id` text,
	`name` text NOT NULL,
	`public_key` text NOT NULL,
	`counter` integer NOT NULL,
	`transports` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `user`(`user_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`operator_id`) REFERENCES `operator`(`operator_id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "passkey_owner" CHECK(("passkey"."user_id" IS NULL) <> ("passkey"."operator_id" IS NULL))
);
--> statement-breakpoint
CREATE INDEX `passkey_user` ON `passkey` (`user_id`);--> statement-breakpoint
CREATE INDEX `passkey_operator` ON `passkey` (`operator_id`);--> statement-breakpoint
CREATE TABLE `operator` (
	`operator_id` text PRIMARY KEY NOT NULL,
	`login` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`password_hash` text NOT NULL,
	`seed_sealed` text NOT NULL,
	`last_step` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operator_login` ON `operator` (lower("login"));--> statement-breakpoint
CREATE TABLE `operator_session` (
	`session_id` text PRIMARY KEY NOT NULL,
	`secret_sha256` text NOT NULL,
	`operator_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`operator_id`) REFERENCES `operator`(`operator_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operator_session_secret_sha256_unique` ON `operator_session` (`secret_sha256`);--> statement-breakpoint
CREATE INDEX `operator_session_operator` ON `operator_session` (`operator_id`);--> statement-breakpoint
CREATE TABLE `bucket` (
	`name` text PRIMARY KEY NOT NULL,
	`bucket_id` text NOT NULL,
	`owner_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`region` text,
	`versioning` text NOT NULL,
	`versioning_seq` integer NOT NULL,
	`seal_epoch` integer NOT NULL,
	`slots` text NOT NULL,
	`slots_version` integer NOT NULL,
	`generation` integer DEFAULT 0 NOT NULL,
	`configuration` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bucket_bucket_id_unique` ON `bucket` (`bucket_id`);--> statement-breakpoint
CREATE INDEX `bucket_owner` ON `bucket` (`owner_id`,`name`);--> statement-breakpoint
CREATE INDEX `bucket_lifecycle` ON `bucket` (`bucket_id`) WHERE json_extract(configuration, '$.lifecycle') IS NOT NULL;--> statement-breakpoint
CREATE TABLE `slot_move` (
	`bucket_id` text NOT NULL,
	`slot` integer NOT NULL,
	`from_shard` integer NOT NULL,
	`to_shard` integer NOT NULL,
	`phase` text NOT NULL,
	`started_at` integer NOT NULL,
	PRIMARY KEY(`bucket_id`, `slot`)
);
--> statement-breakpoint
CREATE TABLE `storage_job` (
	`job_id` text PRIMARY KEY NOT NULL,
	`bucket_id` text NOT NULL,
	`user_id` text,
	`job` text NOT NULL,
	`state` text NOT NULL,
	`created_at` integer NOT NULL,
	`ended_at` integer,
	`cursor` text,
	`report` text NOT NULL,
	`error` text,
	`holder` text,
	`lease_until` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `storage_job_open` ON `storage_job` (`job_id`) WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX `storage_job_user` ON `storage_job` (`user_id`,`job_id`);--> statement-breakpoint
CREATE INDEX `storage_job_bucket` ON `storage_job` (`bucket_id`,`job_id`);--> statement-breakpoint
CREATE INDEX `storage_job_ended` ON `storage_job` (`ended_at`);--> statement-breakpoint
CREATE TABLE `storage_quota` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`bytes` integer,
	`objects` integer,
	`lease` integer NOT NULL,
	`busy_until` integer NOT NULL,
	PRIMARY KEY(`kind`, `subject`)
);
--> statement-breakpoint
CREATE TABLE `board` (
	`board` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`title` text NOT NULL,
	`sort` text NOT NULL,
	`operator` text NOT NULL,
	`period` text NOT NULL,
	`is_public` integer NOT NULL,
	`points_max` integer NOT NULL,
	`logo` text,
	`created_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE TABLE `board_logo` (
	`board` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`type` text NOT NULL,
	`image` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `board_webhook` (
	`board` text PRIMARY KEY NOT NULL,
	`url` text NOT NULL,
	`secrets_sealed` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `season` (
	`season` text PRIMARY KEY NOT NULL,
	`board` text NOT NULL,
	`ends_at` integer NOT NULL,
	`shards` integer NOT NULL,
	`created_at` integer NOT NULL,
	`archive` text,
	`players` integer,
	`players_seen` integer DEFAULT 0 NOT NULL,
	`closed_at` integer,
	`erased_at` integer,
	`due_at` integer,
	`silent_at` integer
);
--> statement-breakpoint
CREATE INDEX `season_by_board` ON `season` (`board`,`season`);--> statement-breakpoint
CREATE INDEX `season_by_due` ON `season` (`due_at`);--> statement-breakpoint
CREATE INDEX `season_by_silence` ON `season` (`silent_at`) WHERE silent_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `season_notice` (
	`season` text PRIMARY KEY NOT NULL,
	`board` text NOT NULL,
	`created_at` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`due_at` integer NOT NULL,
	`status` integer
);
--> statement-breakpoint
CREATE INDEX `season_notice_by_due` ON `season_notice` (`due_at`);--> statement-breakpoint
CREATE INDEX `season_notice_by_board` ON `season_notice` (`board`);--> statement-breakpoint
CREATE TABLE `mail_account` (
	`user_id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`account_type` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mail_account_email_unique` ON `mail_account` (`email`);--> statement-breakpoint
CREATE TABLE `mail_address` (
	`email` text PRIMARY KEY NOT NULL,
	`user_id` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mail_address_user` ON `mail_address` (`user_id`);--> statement-breakpoint
CREATE TABLE `mail_erased_account` (
	`user_id` text PRIMARY KEY NOT NULL,
	`erased_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `mail_forward_invitation` (
	`email_sha256` text NOT NULL,
	`user_id` text NOT NULL,
	`ends_at` integer NOT NULL,
	PRIMARY KEY(`email_sha256`, `user_id`)
);
--> statement-breakpoint
CREATE INDEX `mail_forward_invitation_ends` ON `mail_forward_invitation` (`ends_at`);--> statement-breakpoint
CREATE TABLE `mail_invite` (
	`invite_sha256` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer
);
--> statement-breakpoint
CREATE TABLE `mail_dkim_key` (
	`domain` text NOT NULL,
	`selector` text NOT NULL,
	`algorithm` text NOT NULL,
	`public_key` text NOT NULL,
	`private_key_sealed` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`domain`, `selector`)
);
--> statement-breakpoint
CREATE TABLE `mail_domain` (
	`domain` text PRIMARY KEY NOT NULL,
	`is_hosted` integer NOT NULL,
	`alias_of` text,
	`catch_all_user_id` text,
	`transport` text,
	`is_held` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mail_domain_alias` ON `mail_domain` (`alias_of`);--> statement-breakpoint
CREATE TABLE `mail_error` (
	`error_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`kind` text NOT NULL,
	`code` text NOT NULL,
	`detail` text NOT NULL,
	`recipients` text NOT NULL,
	`outbox_id` text,
	`request_key` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mail_error_age` ON `mail_error` (`created_at`);--> statement-breakpoint
CREATE INDEX `mail_error_user` ON `mail_error` (`user_id`);--> statement-breakpoint
CREATE TABLE `mail_ledger` (
	`user_id` text PRIMARY KEY NOT NULL,
	`accepted` integer NOT NULL,
	`pending` integer NOT NULL,
	`deferred` integer NOT NULL,
	`oldest_pending_at` integer,
	`inbox` integer NOT NULL,
	`junk` integer NOT NULL,
	`folder` integer NOT NULL,
	`quarantine` integer NOT NULL,
	`refused` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `mail_quarantine` (
	`incoming_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`envelope_from` text NOT NULL,
	`envelope_to` text NOT NULL,
	`subject` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`reasons` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mail_quarantine_age` ON `mail_quarantine` (`created_at`);--> statement-breakpoint
CREATE INDEX `mail_quarantine_user` ON `mail_quarantine` (`user_id`);--> statement-breakpoint
CREATE TABLE `mail_queue` (
	`outbox_id` text NOT NULL,
	`destination` text NOT NULL,
	`user_id` text NOT NULL,
	`kind` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`queued_at` integer NOT NULL,
	`held` integer NOT NULL,
	`queued` integer NOT NULL,
	`deferred` integer NOT NULL,
	`next_attempt_at` integer,
	`last_reply` text,
	PRIMARY KEY(`outbox_id`, `destination`)
);
--> statement-breakpoint
CREATE INDEX `mail_queue_destination` ON `mail_queue` (`destination`);--> statement-breakpoint
CREATE INDEX `mail_queue_user` ON `mail_queue` (`user_id`);--> statement-breakpoint
CREATE TABLE `mail_refusal` (
	`day` text NOT NULL,
	`smtp_code` integer NOT NULL,
	`reason` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`day`, `smtp_code`, `reason`)
);
--> statement-breakpoint
CREATE TABLE `mail_send_grant` (
	`domain` text PRIMARY KEY NOT NULL,
	`hour` integer NOT NULL,
	`recipients` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `collector` (
	`name` text PRIMARY KEY NOT NULL,
	`round` integer DEFAULT 1 NOT NULL,
	`cursor` text DEFAULT '' NOT NULL,
	`scanned` integer DEFAULT 0 NOT NULL,
	`unrecorded` integer DEFAULT 0 NOT NULL,
	`finished_at` integer,
	`owner` text,
	`alarm` text,
	`alarm_at` integer,
	`alarm_scanned` integer,
	`alarm_found` integer,
	`approved` integer DEFAULT 0 NOT NULL,
	`take_over` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `orphan` (
	`collector` text NOT NULL,
	`key` text NOT NULL,
	`stored_at` integer NOT NULL,
	`found_at` integer NOT NULL,
	`found_round` integer NOT NULL,
	`seen_round` integer NOT NULL,
	`is_given_up` integer NOT NULL,
	`removed_at` integer,
	PRIMARY KEY(`collector`, `key`)
);
--> statement-breakpoint
CREATE TABLE `audit_entry` (
	`at` integer NOT NULL,
	`entry_id` text NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text NOT NULL,
	`action` text NOT NULL,
	`target_type` text NOT NULL,
	`target_id` text NOT NULL,
	`network` text,
	`user_agent_digest` text,
	`request_id` text,
	`details` text NOT NULL,
	PRIMARY KEY(`at`, `entry_id`)
);
--> statement-breakpoint
CREATE INDEX `audit_entry_action` ON `audit_entry` (`action`,`at`);--> statement-breakpoint
CREATE INDEX `audit_entry_actor` ON `audit_entry` (`actor_id`,`at`);--> statement-breakpoint
CREATE INDEX `audit_entry_target` ON `audit_entry` (`target_id`,`at`);