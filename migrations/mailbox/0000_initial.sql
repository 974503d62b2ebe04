CREATE TABLE `change` (
	`state` integer PRIMARY KEY NOT NULL,
	`changed_at` integer NOT NULL,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `garbage` (
	`r2_key` text PRIMARY KEY NOT NULL,
	`since` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `mailbox` (
	`id` integer PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`account_type` text NOT NULL,
	`limit_bytes` integer NOT NULL,
	`state_floor` integer DEFAULT 0 NOT NULL,
	`settings` text DEFAULT '{}' NOT NULL,
	`sending` text DEFAULT '{}' NOT NULL,
	`refused` integer DEFAULT 0 NOT NULL,
	`published_ledger` text,
	`tidied_state` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `credential` (
	`secret_sha256` text PRIMARY KEY NOT NULL,
	`credential_id` text NOT NULL,
	`kind` text NOT NULL,
	`user_agent` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`confirmed_until` integer,
	`expires_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `holder` (
	`id` integer PRIMARY KEY NOT NULL,
	`user_name` text NOT NULL,
	`name` text NOT NULL,
	`email` text,
	`suspended_at` integer
);
--> statement-breakpoint
CREATE TABLE `draft` (
	`position` integer PRIMARY KEY NOT NULL,
	`content` text NOT NULL,
	`revision` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `erased_delivery` (
	`delivery_key` text PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`erased_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `folder` (
	`folder` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`folder_id` text NOT NULL,
	`name` text NOT NULL,
	`name_key` text NOT NULL,
	`role` text,
	`total` integer DEFAULT 0 NOT NULL,
	`unread` integer DEFAULT 0 NOT NULL,
	`total_elsewhere` integer DEFAULT 0 NOT NULL,
	`unread_elsewhere` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`sort_order` integer DEFAULT 0 NOT NULL,
	`is_subscribed` integer DEFAULT 1 NOT NULL,
	`delivered` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `folder_folder_id_unique` ON `folder` (`folder_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `folder_name_key_unique` ON `folder` (`name_key`);--> statement-breakpoint
CREATE UNIQUE INDEX `folder_role_unique` ON `folder` (`role`);--> statement-breakpoint
CREATE TABLE `kept_draft` (
	`idempotency_key` text PRIMARY KEY NOT NULL,
	`request_sha256` text NOT NULL,
	`message_id` text NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `message` (
	`position` integer PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`folder` integer NOT NULL,
	`also_in` text,
	`thread` integer NOT NULL,
	`origin` text NOT NULL,
	`is_read` integer NOT NULL,
	`is_flagged` integer NOT NULL,
	`is_answered` integer DEFAULT 0 NOT NULL,
	`is_forwarded` integer DEFAULT 0 NOT NULL,
	`is_visible` integer NOT NULL,
	`has_attachment` integer NOT NULL,
	`snoozed_until` integer,
	`expires_at` integer,
	`size_bytes` integer NOT NULL,
	`raw_key` text,
	`raw_sha256` text,
	`delivery_key` text,
	`received_at` integer NOT NULL,
	`sent_at` integer,
	`sender` text NOT NULL,
	`to_list` text NOT NULL,
	`cc_list` text NOT NULL,
	`bcc_list` text NOT NULL,
	`reply_to_list` text NOT NULL,
	`subject` text NOT NULL,
	`preview` text NOT NULL,
	`header_message_id` text,
	`in_reply_to` text,
	`reference_list` text NOT NULL,
	`authentication` text,
	`spam` text,
	`delivery` text
);
--> statement-breakpoint
CREATE INDEX `message_visible` ON `message` (`position`) WHERE is_visible = 1;--> statement-breakpoint
CREATE INDEX `message_unread` ON `message` (`position`) WHERE is_read = 0;--> statement-breakpoint
CREATE INDEX `message_flagged` ON `message` (`position`) WHERE is_flagged = 1;--> statement-breakpoint
CREATE INDEX `message_attachment` ON `message` (`position`) WHERE has_attachment = 1;--> statement-breakpoint
CREATE INDEX `message_thread` ON `message` (`thread`,`position`);--> statement-breakpoint
CREATE INDEX `message_expires` ON `message` (`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `message_snoozed` ON `message` (`snoozed_until`) WHERE snoozed_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX `message_sha256` ON `message` (`raw_sha256`);--> statement-breakpoint
CREATE TABLE `message_content` (
	`position` integer PRIMARY KEY NOT NULL,
	`attachments` text NOT NULL,
	`text_key` text,
	`html_key` text,
	`headers` text NOT NULL,
	`text` text NOT NULL,
	`html` text
);
--> statement-breakpoint
CREATE TABLE `message_folder` (
	`folder` integer NOT NULL,
	`position` integer NOT NULL,
	PRIMARY KEY(`folder`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `message_label` (
	`label` text NOT NULL,
	`position` integer NOT NULL,
	PRIMARY KEY(`label`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `label_of_message` ON `message_label` (`position`);--> statement-breakpoint
CREATE TABLE `muted_thread` (
	`thread` integer PRIMARY KEY NOT NULL,
	`muted_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sender` (
	`sender` text PRIMARY KEY NOT NULL,
	`sender_id` text NOT NULL,
	`status` text NOT NULL,
	`origin` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spam_lesson` (
	`message_id` text PRIMARY KEY NOT NULL,
	`label` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `spam_model` (
	`id` integer PRIMARY KEY NOT NULL,
	`model` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `thread_reference` (
	`reference` text PRIMARY KEY NOT NULL,
	`thread` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `upload` (
	`attachment_id` text PRIMARY KEY NOT NULL,
	`file_name` text NOT NULL,
	`content_type` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`r2_key` text NOT NULL,
	`created_at` integer NOT NULL,
	`draft_position` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `snapshot` (
	`page` text PRIMARY KEY NOT NULL,
	`r2_key` text NOT NULL,
	`sha256` text NOT NULL,
	`state` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `automatic_send` (
	`send_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`message_id` text NOT NULL,
	`recipient` text NOT NULL,
	`envelope_from` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `contact` (
	`email` text PRIMARY KEY NOT NULL,
	`contact_id` text NOT NULL,
	`name` text NOT NULL,
	`note` text DEFAULT '' NOT NULL,
	`is_saved` integer NOT NULL,
	`sent_count` integer DEFAULT 0 NOT NULL,
	`last_sent_at` integer,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `filter` (
	`filter_id` text PRIMARY KEY NOT NULL,
	`ordinal` integer NOT NULL,
	`rule` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `forward_invitation` (
	`invitation_id` integer PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `forward_target` (
	`email` text PRIMARY KEY NOT NULL,
	`code_sha256` text,
	`guesses` integer DEFAULT 0 NOT NULL,
	`confirmed_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `vacation_reply` (
	`email` text PRIMARY KEY NOT NULL,
	`replied_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `address_forward` (
	`email` text PRIMARY KEY NOT NULL,
	`targets` text NOT NULL,
	`keeps_copy` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `incoming` (
	`incoming_id` text PRIMARY KEY NOT NULL,
	`content_key` text NOT NULL,
	`accepted_at` integer NOT NULL,
	`raw_key` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`envelope_from` text NOT NULL,
	`envelope_to` text NOT NULL,
	`delivered_to` text NOT NULL,
	`client_ip` text,
	`helo` text,
	`origin` text NOT NULL,
	`verdicts` text,
	`attempts` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer,
	`detail` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outbox` (
	`outbox_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`position` integer,
	`header_message_id` text,
	`raw_key` text NOT NULL,
	`owns_raw` integer NOT NULL,
	`size_bytes` integer NOT NULL,
	`body_hash` text NOT NULL,
	`is_eight_bit` integer NOT NULL,
	`envelope_from` text NOT NULL,
	`queued_at` integer NOT NULL,
	`hold_until` integer NOT NULL,
	`verdicts` text,
	`warned_at` integer,
	`recipients` text NOT NULL,
	`next_attempt_at` integer,
	`version` integer NOT NULL,
	`published_version` integer DEFAULT 0 NOT NULL,
	`publish_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `submission` (
	`idempotency_key` text PRIMARY KEY NOT NULL,
	`request_sha256` text NOT NULL,
	`message_id` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `email_submission` (
	`submission_id` text PRIMARY KEY NOT NULL,
	`email_id` text NOT NULL,
	`thread` integer NOT NULL,
	`identity_id` text NOT NULL,
	`envelope` text NOT NULL,
	`send_at` integer NOT NULL,
	`is_canceled` integer DEFAULT 0 NOT NULL,
	`delivery` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `email_submission_email` ON `email_submission` (`email_id`);--> statement-breakpoint
CREATE TABLE `push_subscription` (
	`subscription_id` text PRIMARY KEY NOT NULL,
	`credential_id` text NOT NULL,
	`device_client_id` text NOT NULL,
	`url` text NOT NULL,
	`keys` text,
	`types` text,
	`code` text NOT NULL,
	`is_verified` integer NOT NULL,
	`is_code_sent` integer NOT NULL,
	`pushed_state` integer NOT NULL,
	`failures` integer NOT NULL,
	`next_at` integer NOT NULL,
	`expires_at` integer NOT NULL
);
