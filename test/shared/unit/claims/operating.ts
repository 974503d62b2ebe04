import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRICES, priceOfSending } from '../../../../workers/shared/telemetry/prices.ts';
import {
  count,
  days,
  defaultOf,
  gib,
  hours,
  kib,
  mb,
  mib,
  minutes,
  numberIn,
  numberOf,
  type PageClaims,
  seconds,
  word,
} from '../../../support/claims.ts';
import { ROOT } from '../../../support/markdown.ts';

const verdict = (name: string) => numberOf('workers/shared/stores/health-verdict.ts', name);
const pass = (name: string) => numberOf('workers/shared/s3-location/pass.ts', name);
const plan = (name: string) => numberOf('workers/shared/s3-location/pass-plan.ts', name);
const engine = (name: string) => numberOf('workers/storage/engine/model/context.ts', name);
const rounds = (name: string) => numberOf('workers/shared/collectors/orphan-rounds.ts', name);
const collectors = (name: string) => numberOf('workers/shared/collectors/limits.ts', name);
const port = (name: string) =>
  numberIn('dev/deploy/environment.ts', new RegExp(`\\b${name}: number[^\\n]*fallback: (\\d+)`));
const DATABASE_BYTES = numberOf('workers/shared/stores/probe-store.ts', 'DATABASE_BYTES_MAX');
const FULL = numberOf('workers/shared/stores/probe-store.ts', 'FULL_WARNING');
const KEPT_FULL = numberOf('workers/storage/maintenance/directory-snapshot.ts', 'KEPT_FULL');
const SHARD_SNAPSHOTS = numberOf('workers/storage/maintenance/snapshot.ts', 'KEPT');
const JOURNAL_DAYS = numberOf('workers/storage/maintenance/directory-journal.ts', 'KEPT_NUMBERS') / (24 * 60);
const WARNED = numberOf('workers/mail/outbound/month-limit.ts', 'WARNED_SHARE') * 100;
const AUDIT_DAYS = days(numberOf('workers/shared/audit/audit.ts', 'RETENTION_MS'));
const OPERATOR_HOURS = hours(numberOf('workers/identity/operators/operators.ts', 'OPERATOR_SESSION_MS'));
const EVENT_HOURS = hours(numberOf('durable-objects/leaderboard/protocol.ts', 'EVENT_RETENTION_MS'));
const SESSION_DAYS = days(numberOf('workers/mail/accounts/credentials.ts', 'SESSION_AGE_MAX_MS'));
const DELETE_DAYS = defaultOf('S3_LOCATION_DELETE_DAYS');
const FEE = (PRICES.recipient / 1_000).toFixed(2);
const RECHECK = defaultOf('OIDC_RECHECK_MINUTES');
const SIGN_IN = 'workers/identity/sign-in';
const SETS: readonly number[] = [1, 4, 16, 64];
const DATABASES = SETS.map((_, at) => SETS.slice(0, at + 1).reduce((sum, size) => sum + size, 0));

export const README: PageClaims = {
  page: 'README.md',
  claims: [
    `<http://localhost:${port('PORT')}/_/>`,
    `| \`127.0.0.1:${port('SMTP_PORT')}\` | inbound SMTP |`,
    `| \`127.0.0.1:${port('SINK_PORT')}\` | sink for outgoing mail, kept in \`.wrangler/state/sink\` |`,
    `Objects of up to ${kib(engine('inlineBytesMax'))} KiB`,
    'Without `exact=1`, an answer may be up to a second old.',
  ],
};

export const SECURITY: PageClaims = {
  page: 'SECURITY.md',
  claims: [
    `other sessions made in the last ${days(numberOf('workers/identity/login/password-reset.ts', 'ENDS_SINCE_MS'))} days`,
    `a new recovery address works after ${hours(numberOf('workers/identity/login/recovery-address.ts', 'WAIT_MS'))} hours`,
    'HTTPS at port 443 or 8443',
    `Objects of up to ${kib(engine('inlineBytesMax'))} KiB have their copies within a minute of the upload, with \`SMALL_COPIES=now\` before its acknowledgement`,
    `as long as their bucket's tag allows, ${numberOf('workers/storage/s3/public-cache.ts', 'SECONDS_MAX') === 3_600 ? 'an hour' : ''} at most`,
  ],
};

export const API_STABILITY: PageClaims = {
  page: 'docs/api-stability.md',
  claims: [
    `| body | ${mib(numberOf('workers/shared/json/json-api.ts', 'JSON_BYTES_MAX'))} MiB; ${kib(numberOf('workers/shared/json/json-api.ts', 'OPEN_JSON_BYTES_MAX'))} KiB without a credential; ${mib(numberOf('workers/mail/api.ts', 'MESSAGE_JSON_BYTES_MAX'))} MiB for a message or draft; ${mib(numberOf('workers/leaderboard/contract.ts', 'BATCH_BODY_BYTES_MAX'))} MiB for a batch of scores |`,
    `| depth of the body | ${numberOf('workers/shared/json/json-bounds.ts', 'JSON_DEPTH_MAX')} levels |`,
    `| values in the body | ${count(numberOf('workers/shared/json/json-bounds.ts', 'JSON_VALUES_MAX'))} |`,
    `| answer | ${mb(numberOf('workers/shared/pure/request-budget.ts', 'ANSWER_BYTES_MAX'))} MB |`,
  ],
};

const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const LOCK: Record<string, { dev?: boolean; devOptional?: boolean }> = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
).packages;
const DIRECT = Object.keys(MANIFEST.dependencies).length;
const RUNNING = new Set(
  Object.entries(LOCK)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/'))),
).size;

export const DEPENDENCIES: PageClaims = {
  page: 'docs/dependencies.md',
  claims: [`${RUNNING} packages run in production: ${DIRECT} above, and ${RUNNING - DIRECT} that they bring.`],
};

export const DEPLOY: PageClaims = {
  page: 'docs/deploy.md',
  claims: [
    `- **How many**: ${DATABASES.slice(0, -1).join(', ')} or ${DATABASES.at(-1)}, because user databases come in sets of ${SETS.slice(0, -1).join(', ')} and ${SETS.at(-1)}.`,
    `messages over ${mib(numberOf('workers/mail/domain/transport-choice.ts', 'EMAIL_SERVICE_BYTES_MAX'))} MiB`,
    `Email Service costs $${FEE} per 1,000 recipients after ${count(numberOf('workers/shared/telemetry/prices.ts', 'RECIPIENTS_INCLUDED'))} a month; \`MAIL_OUT_PER_MONTH\` limits them (${count(defaultOf('MAIL_OUT_PER_MONTH'))}, $${Math.round(priceOfSending(defaultOf('MAIL_OUT_PER_MONTH')))};`,
    `the platform starts up to ${numberIn('workers/shared/settings/settings-schema-mail.ts', /MAIL_CONSUMERS[\s\S]*?max: (\d+)/)}.`,
  ],
};

export const OPERATIONS: PageClaims = {
  page: 'docs/operations.md',
  claims: [
    '| each day, 03:17 UTC |',
    `uploads that were abandoned for ${days(engine('abandonedUploadMs'))} days are ended`,
    `a bearer token of ${word(OPERATOR_HOURS)} hours`,
    `A verdict over ${minutes(verdict('FRESH_MS'))} minutes old, or one over ${seconds(verdict('UNWELL_FRESH_MS'))} seconds old that names something, is not used`,
    `databases that are over ${FULL * 100}% full`,
    `that no consumer attempts for ${word(minutes(numberOf('workers/mail/domain/recipient-state.ts', 'DUE_LAG_MS_HEALTHY')))} minutes`,
    `the month's mail from ${WARNED} % of its limit on`,
    `Health warns from ${WARNED} % on`,
    `Entries are kept for ${AUDIT_DAYS} days.`,
    `One of ${word(numberOf('workers/shared/telemetry/counters.ts', 'SAMPLED_OF'))} requests that went well is written`,
    `expr: tessera_database_bytes > ${(DATABASE_BYTES * FULL) / 1e9}e9`,
    `Adapt the limit to SCRUB_DAYS, which is ${defaultOf('SCRUB_DAYS')}.`,
    `${word(KEPT_FULL)} daily snapshots, the hours between, and a journal of each minute for ${JOURNAL_DAYS} days`,
    `the bytes go after \`S3_LOCATION_DELETE_DAYS\` (${DELETE_DAYS})`,
    `If over ${count(plan('DELETIONS_MIN'))} keys and ${plan('DELETIONS_SHARE_MAX') === 0.2 ? 'a fifth' : ''} of all are gone`,
    `An object over ${mb(pass('WHOLE_BYTES_MAX'))} MB is a stream`,
    `${word(pass('STREAMS_AT_ONCE'))} run at a time. Smaller ones are read whole first, ${word(pass('WHOLE_AT_ONCE'))} at a time.`,
    `A blob has at most ${gib(engine('blobBytesMax'))} GiB, so each is one PutObject.`,
    `an object of at most ${kib(engine('inlineBytesMax'))} KiB do not match their CRC-32`,
    `Objects over ${kib(engine('inlineBytesMax'))} KiB of that minute come back without tags`,
    `names up to ${numberOf('workers/storage/maintenance/fsck-report.ts', 'EXAMPLES_MAX')};`,
    `Other isolates serve the shard again within ${word(seconds(numberOf('workers/shared/stores/store-age.ts', 'FRESH_MS')))} seconds.`,
    `503 for at least ${word(seconds(numberOf('workers/mail/maintenance/restore-mailbox.ts', 'KNOWN_EVERYWHERE_MS')))} seconds`,
    `D1 ends at ${DATABASE_BYTES / 1e9} GB`,
    `it costs $${FEE} per 1,000 recipients`,
    `lists the steps of the last ${days(numberOf('workers/mail/routes/trace.ts', 'TRACED_MS'))} days`,
    `(\`REQUESTS_PER_…\` per ${numberOf('workers/shared/json/request-rates.ts', 'periodSeconds')} seconds, \`SCORE_POSTS_PER_TOKEN\` per minute)`,
    `for 30 minutes (by default ${word(numberOf('dev/deploy/options.ts', 'WATCH_MINUTES'))})`,
    `If at least ${numberOf('dev/deploy/version-errors.ts', 'FAILED_MIN')} requests fail in it, and by over ${numberOf('dev/deploy/version-errors.ts', 'MORE_FAILED_MAX') === 0.01 ? 'a percentage point' : ''} more`,
    'After four days, delete `MASTER_KEY_PREVIOUS`',
  ],
};

export const COLLECTORS: PageClaims = {
  page: 'docs/collectors.md',
  claims: [
    `that is \`S3_LOCATION_DELETE_DAYS\` old | another owner id; a location that does not answer; over ${count(plan('DELETIONS_MIN'))} keys and a fifth of all gone in one pass |`,
    `blob and record, ${engine('graceMs') === 3_600_000 ? 'an hour' : ''} after the last reference went`,
    `parts of ended uploads, then the row after ${days(engine('endedUploadMs'))} days`,
    `all but the newest ${word(SHARD_SNAPSHOTS)} snapshots, and the journal before them`,
    `all but the newest ${word(KEPT_FULL)} full ones and the hours since the oldest of them`,
    `${numberOf('workers/storage/engine/store/delete-store.ts', 'RECEIPT_AGE_MAX_MS') === 3_600_000 ? 'receipts older than an hour' : ''}`,
    `the shards of a season that 0.2.0 archived, ${EVENT_HOURS} hours after it was sealed`,
    `final for less than ${word(days(numberOf('workers/leaderboard/boards/board-deletion.ts', 'KEPT_MS_MIN')))} days`,
    `entries older than ${days(numberOf('workers/mail/outbound/old-errors.ts', 'AGE_MAX_MS'))} days, daily`,
    `entries older than ${AUDIT_DAYS} days, daily, at most ${count(numberOf('workers/shared/audit/audit.ts', 'DELETES_PER_RUN_MAX') * numberOf('workers/shared/audit/audit-store.ts', 'ROWS_PER_DELETE_MAX'))} a day`,
    `an earlier round that are ${collectors('ORPHAN_WAIT_MS') === 86_400_000 ? 'a day' : ''} old are looked up once more`,
    `If a round finds more than ${collectors('REMOVED_SHARE_MAX') * 100}% of what it scanned, it deletes nothing and raises an alarm. Up to ${collectors('REMOVED_MIN')} objects are always allowed`,
    `one crash leaves more than ${collectors('REMOVED_SHARE_MAX') * 100}%`,
    `A round records at most ${count(rounds('ORPHANS_RECORDED_MAX'))} candidates`,
    `A run scans ${count(numberOf('workers/mail/maintenance/orphans.ts', 'PAGES_PER_RUN') * numberOf('workers/mail/maintenance/orphans.ts', 'PAGE_KEYS'))} keys of mail and asks at most about ${count(numberOf('workers/mail/maintenance/orphans.ts', 'MAILBOXES_PER_RUN'))} mailboxes; one run a minute is ${(numberOf('workers/mail/maintenance/orphans.ts', 'PAGES_PER_RUN') * 1_000 * 1_440) / 1e6} million keys a day.`,
  ],
};

export const DATA_PROTECTION: PageClaims = {
  page: 'docs/data-protection.md',
  claims: [
    `until deleted; sessions ${word(OPERATOR_HOURS)} hours`,
    `hashes | ${word(minutes(numberOf('workers/identity/login/passkeys.ts', 'CHALLENGE_AGE_MS')))} minutes to a day; pruned daily`,
    `ids of sessions ${days(numberOf(`${SIGN_IN}/sign-ins.ts`, 'PROVIDER_SESSION_AGE_MS'))} days |`,
    `sealed | ${word(minutes(numberOf(`${SIGN_IN}/proof.ts`, 'PROOF_AGE_MS')))} minutes; pruned daily |`,
    `| sessions ${SESSION_DAYS} days; tokens until revoked or expired |`,
    `hashes | ${minutes(numberOf('workers/identity/login/guesses.ts', 'PLACE_WINDOW_MS'))} minutes to ${days(numberOf('workers/identity/login/guesses.ts', 'KNOWN_PLACE_AGE_MS'))} days; pruned daily |`,
    `until deleted; Junk and Trash ${days(numberOf('durable-objects/mail/messages/message-store.ts', 'HIDDEN_MAIL_AGE_MAX_MS'))} days |`,
    `as the message; uploads without a draft ${numberOf('durable-objects/mail/messages/upload-store.ts', 'UPLOAD_AGE_MAX_MS') === 86_400_000 ? 'one day' : ''} |`,
    `the password until the pull ends, at most ${days(numberOf('durable-objects/mail/incoming/pull-store.ts', 'PULL_AGE_MAX_MS'))} days |`,
    `until the session or token ends, at most ${days(numberOf('workers/mail/routes/push-subscriptions.ts', 'AGE_MS'))} days |`,
    `| delivery keys, change log, idempotency keys | mailbox | ${numberOf('durable-objects/mail/database/change-store.ts', 'DELIVERY_AGE_MAX_MS') / 86_400_000}, ${days(numberOf('durable-objects/mail/database/change-store.ts', 'CHANGE_AGE_MAX_MS'))} and ${days(numberOf('durable-objects/mail/outbox/submission-store.ts', 'KEY_AGE_MAX_MS'))} days |`,
    `| mailbox | ${numberOf('durable-objects/mail/outbox/reported-delivery-store.ts', 'DAYS_KEPT')} days, then with the next alarm |`,
    `event ids ${EVENT_HOURS} hours |`,
    `decided results ${days(numberOf('workers/leaderboard/plays/quarantine.ts', 'KEPT_MS'))} days`,
    `reasons of operators | \`DIRECTORY\` | ${AUDIT_DAYS} days |`,
    `snapshots of \`DIRECTORY\` (${word(KEPT_FULL)} days), its journal (${JOURNAL_DAYS} days), snapshots and journals of shards (${word(SHARD_SNAPSHOTS)} days)`,
    `\`S3_LOCATION_DELETE_DAYS\` (${DELETE_DAYS})`,
    `what became of one's mail of the last ${days(numberOf('workers/mail/routes/trace.ts', 'TRACED_MS'))} days`,
  ],
};

export const SIGN_IN_PAGE: PageClaims = {
  page: 'docs/sign-in.md',
  claims: [
    `| all of these | within \`OIDC_RECHECK_MINUTES\` (${RECHECK}) |`,
    `gets temporary keys of ${numberOf(`${SIGN_IN}/storage-sign-in-routes.ts`, 'MINUTES') === 60 ? 'an hour' : ''} on the storage page`,
    `| the provider does not answer for ${numberOf(`${SIGN_IN}/recheck.ts`, 'SILENCE_MS_MAX') === 86_400_000 ? 'a day' : ''},`,
    `times (${numberOf(`${SIGN_IN}/provider.ts`, 'CLOCK_TOLERANCE_SECONDS')} seconds of tolerance)`,
    `at most ${word(numberOf(`${SIGN_IN}/log-out.ts`, 'TOKEN_AGE_SECONDS_MAX') / 60)} minutes old, each once`,
    `host-only cookie (\`Lax\`) of ${word(minutes(numberOf(`${SIGN_IN}/code-flow.ts`, 'BEGUN_AGE_MS')))} minutes`,
    '| scopes | `openid profile email offline_access` |',
  ],
};
