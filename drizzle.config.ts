import { defineConfig } from 'drizzle-kit';

/** Tables with a journal, and the columns of their keys. */
type JournaledTables = Readonly<Record<string, readonly string[]>>;

/**
 * Tables of a user database whose changes are in its journal, so that a database which was put back gets them again. The others are
 * counts, queues and progress, which are made again or pass.
 */
const JOURNALED: JournaledTables = {
  user: ['user_id'],
  access_key: ['access_key_id'],
  token: ['token_id'],
  connection: ['token_id'],
  policy: ['user_id', 'name'],
  identity_generation: ['one'],
  password: ['user_id'],
  second_factor: ['user_id'],
  one_time_secret: ['secret_sha256'],
  recovery_address: ['user_id'],
  passkey: ['passkey_id'],
  operator: ['operator_id'],
  operator_session: ['session_id'],
  sign_in: ['issuer', 'subject', 'kind'],
  provider_session: ['issuer', 'sid'],
  bucket: ['name'],
  storage_quota: ['kind', 'subject'],
  slot_move: ['bucket_id', 'slot'],
  share_link: ['link_id'],
  board: ['board'],
  deleted_board: ['ref'],
  board_logo: ['board'],
  board_webhook: ['board'],
  quarantined_result: ['play'],
  banned_player: ['board', 'user_id'],
  season: ['season'],
  mail_account: ['user_id'],
  mail_address: ['email'],
  mail_masked_address: ['email'],
  directory_group: ['one'],
  mail_invite: ['invite_sha256'],
  mail_erased_account: ['user_id'],
  mail_domain: ['domain'],
  mail_dkim_key: ['domain', 'selector'],
  audit_entry: ['at', 'entry_id'],
};

/** Schema files of each D1 database and each Durable Object class. `npm run generate` runs drizzle-kit for each entry. */
export const DATABASES: Record<
  string,
  { schema: string[]; driver?: 'durable-sqlite'; withoutRowid?: string[]; journaled?: JournaledTables }
> = {
  directory: {
    schema: [
      'workers/identity/store/schema.ts',
      'workers/identity/store/connection-schema.ts',
      'workers/identity/store/recovery-schema.ts',
      'workers/identity/store/passkey-schema.ts',
      'workers/identity/store/operator-schema.ts',
      'workers/identity/store/sign-in-schema.ts',
      'workers/storage/engine/store/directory-schema.ts',
      'workers/leaderboard/records/schema.ts',
      'workers/mail/store/account-schema.ts',
      'workers/mail/store/domain-schema.ts',
      'workers/shared/collectors/schema.ts',
      'workers/shared/audit/audit-schema.ts',
      'workers/shared/stores/age-schema.ts',
      'workers/shared/stores/verdict-schema.ts',
    ],
    withoutRowid: ['directory_change'],
    journaled: JOURNALED,
  },
  objects: {
    schema: ['workers/storage/engine/store/schema.ts'],
    // drizzle-kit cannot express WITHOUT ROWID, so `npm run generate` adds it to these tables.
    withoutRowid: ['extent', 'blob', 'reclaim', 'upload', 'part', 'change', 'receipt', 'quota'],
  },
  'leaderboard-shard': { schema: ['durable-objects/leaderboard/shard/schema.ts'], driver: 'durable-sqlite' },
  mailbox: {
    schema: [
      'durable-objects/mail/database/schema.ts',
      'durable-objects/mail/credentials/schema.ts',
      'durable-objects/mail/messages/schema.ts',
      'durable-objects/mail/messages/snapshot-schema.ts',
      'durable-objects/mail/rules/schema.ts',
      'durable-objects/mail/rules/address-forward-schema.ts',
      'durable-objects/mail/rules/card-schema.ts',
      'durable-objects/mail/incoming/schema.ts',
      'durable-objects/mail/outbox/schema.ts',
      'durable-objects/mail/jmap/schema.ts',
    ],
    driver: 'durable-sqlite',
    // One row instead of two per insert: the table is its key's index.
    withoutRowid: [
      'message_folder',
      'thread_reference',
      'message_label',
      'erased_delivery',
      'garbage',
      'credential',
      'upload',
      'contact',
      'sender',
      'vacation_reply',
      'address_forward',
      'snapshot',
      'incoming',
      'outbox',
      'accepted_recipient',
      'submission',
      'kept_draft',
      'card_email',
    ],
  },
};

const name = process.env.DATABASE ?? 'directory';
const database = DATABASES[name];
if (!database) throw new Error(`DATABASE=${name} is unknown. Use one of ${Object.keys(DATABASES).join(', ')}.`);

export default defineConfig({
  dialect: 'sqlite',
  schema: database.schema,
  out: process.env.MIGRATIONS_OUT ?? `migrations/${name}`,
  ...(database.driver ? { driver: database.driver } : {}),
});
