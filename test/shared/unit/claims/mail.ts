import { toFileBytesMax } from '../../../../workers/mail/domain/transport-choice.ts';
import { USAGE } from '../../../../workers/shared/telemetry/prices.ts';
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

const WORKER = 'workers/mail';
const MAILBOX = 'durable-objects/mail';
const guess = (name: string) => numberOf('workers/identity/login/guesses.ts', name);
const retry = (name: string) => numberOf(`${WORKER}/domain/recipient-state.ts`, name);
const pull = (name: string) => numberOf(`${MAILBOX}/incoming/pull-store.ts`, name);
const target = (name: string) => numberOf(`${MAILBOX}/rules/forward-target-store.ts`, name);
const imap = (name: string) => numberOf(`${WORKER}/imap/schemas.ts`, name);
const parse = (name: string) => numberOf(`${WORKER}/mime/parse.ts`, name);
const refusal = (name: string) => numberOf(`${WORKER}/outbound/submission/refusal.ts`, name);
const JUNK_DAYS = days(numberOf(`${MAILBOX}/messages/message-store.ts`, 'HIDDEN_MAIL_AGE_MAX_MS'));
const SERVICE_BYTES = numberOf(`${WORKER}/domain/transport-choice.ts`, 'EMAIL_SERVICE_BYTES_MAX');
/** Files of a message through Email Service, beside the text that the composer allows for. */
const SERVICE_FILES_MB =
  Math.floor(
    toFileBytesMax(SERVICE_BYTES, numberOf(`${WORKER}/outbound/submission/size-of-way.ts`, 'TEXT_BYTES')) / 1e5,
  ) / 10;
const SHARE = numberOf(`${WORKER}/outbound/submission/send-room.ts`, 'SHARE_RECIPIENTS');
const KEY_DAYS = days(numberOf(`${MAILBOX}/outbox/submission-store.ts`, 'KEY_AGE_MAX_MS'));
const percent = (name: string) =>
  numberIn(`${WORKER}/domain/send-limit.ts`, new RegExp(`${name} = .*share: ([\\d.]+)`)) * 100;

export const MAIL: PageClaims = {
  page: 'docs/mail.md',
  claims: [
    // Guarantees
    `Retries: after ${retry('firstDelayMs') === 60_000 ? '1 minute' : ''}, doubling to ${hours(retry('HOUR_MS') * 4)} hours, for ${numberIn(`${WORKER}/domain/recipient-state.ts`, /expiresAfterMs: (\d+) \* 24/)} days, each shortened at random by up to a quarter. A warning after ${numberIn(`${WORKER}/domain/recipient-state.ts`, /warnAfterMs: (\d+) \* HOUR_MS/)} hours`,
    `Events may be late, repeated or out of order, for ${numberOf(`${MAILBOX}/outbox/reported-delivery-store.ts`, 'DAYS_KEPT')} days.`,
    'a soft bounce puts it there for 24 hours, a hard one for 7 days',
    `Attempts that are more than ${hours(retry('HINT_DELAY_MS_MAX'))} hours away have no hint.`,
    `A page has the mail of ${Math.floor(2 ** 41 / 86_400e6)} days`,
    'with changes to two pages in ten hours of a day, 40 rows and 40 object requests',
    `A message received costs at most ${USAGE.mail_in.rowWritten} rows and ${USAGE.mail_in.objectRequest} object requests, one sent ${USAGE.mail_out.rowWritten} rows and ${USAGE.mail_out.objectRequest} object requests`,
    `its deletion after ${numberOf(`${MAILBOX}/outbox/reported-delivery-store.ts`, 'DAYS_KEPT')} days`,
    // Limits
    `| attachments of a message, sent or received | ${mib(defaultOf('PERSONAL_ATTACHMENT_BYTES'))} MiB personal, ${mib(defaultOf('BUSINESS_ATTACHMENT_BYTES'))} MiB business (decoded); text and headers of a received message may add ${mib(numberOf(`${WORKER}/inbound/accept/resolve-recipient.ts`, 'MESSAGE_OVERHEAD_BYTES'))} MiB |`,
    `| mailbox | ${gib(defaultOf('PERSONAL_QUOTA_BYTES'))} GiB personal, ${gib(defaultOf('BUSINESS_QUOTA_BYTES'))} GiB business |`,
    `| recipients | ${defaultOf('MAIL_RECIPIENTS_MAX')} per message (\`MAIL_RECIPIENTS_MAX\`); incoming, ${numberOf(`${WORKER}/inbound/accept/accept-message.ts`, 'RECIPIENTS_PER_MESSAGE_MAX')} per SMTP transaction |`,
    `| sending | ${defaultOf('SEND_LIMIT_PER_HOUR')} recipients per hour and account (\`SEND_LIMIT_PER_HOUR\`); ${defaultOf('SEND_LIMIT_FIRST_DAY')} on the first day of an account, ${defaultOf('SEND_LIMIT_FIRST_WEEK')} in its first week |`,
    `| sending, all accounts of a domain | ${count(defaultOf('DOMAIN_SEND_LIMIT_PER_HOUR'))} recipients per clock hour (\`DOMAIN_SEND_LIMIT_PER_HOUR\`) |`,
    `| sending through Email Service, the whole installation | ${count(defaultOf('MAIL_OUT_PER_MONTH'))} recipients per calendar month (\`MAIL_OUT_PER_MONTH\`); further ones wait |`,
    `| forwards and vacation replies | ${defaultOf('AUTOMATIC_LIMIT_PER_HOUR')} per hour and account (\`AUTOMATIC_LIMIT_PER_HOUR\`); further ones wait |`,
    '| Cloudflare Email Routing, in | 25 MiB raw, about 18 MiB of files |',
    `| Cloudflare Email Service, out | ${mib(SERVICE_BYTES)} MiB encoded, about ${SERVICE_FILES_MB} MB of files. A larger message is 413`,
    `| inline attachment in JSON | ${mib(numberOf(`${WORKER}/outbound/submission/attached-files.ts`, 'INLINE_FILE_BYTES_MAX'))} MiB; upload larger files |`,
    `| recipients in a list of messages | ${count(numberOf(`${MAILBOX}/messages/message-read-store.ts`, 'LISTED_RECIPIENTS_LENGTH_MAX'))} characters; the message itself has up to ${count(parse('ADDRESSES_MAX'))} addresses and ${count(parse('ADDRESSES_LENGTH_MAX'))} characters per field, its raw bytes all |`,
    `| bodies of a message in JSON | ${mb(numberOf('workers/shared/pure/request-budget.ts', 'ANSWER_BYTES_MAX') - numberOf(`${WORKER}/routes/message-json.ts`, 'FIELDS_BYTES'))} MB; beyond it`,
    `So is a message with HTML of more than ${mb(numberOf(`${WORKER}/mime/clean-html.ts`, 'HTML_LENGTH_MAX'))} million characters: \`body\` has at most ${count(numberOf(`${WORKER}/domain/cut-text.ts`, 'SHOWN_LENGTH_MAX'))} characters of its text`,
    `| page of a thread | ${mb(numberOf(`${MAILBOX}/messages/message-read-store.ts`, 'THREAD_BYTES_MAX'))} MB; a message with a body over ${mb(numberOf(`${WORKER}/inbound/process/delivery.ts`, 'INLINE_TEXT_BYTES_MAX'))} MB is alone on its page |`,
    `| text of a message | over ${mib(numberOf(`${WORKER}/mime/lean-reader.ts`, 'LEAN_BYTES_MAX'))} MiB it is kept with a note and marked "not scanned" |`,
    `| scanning | an isolate scans ${mib(numberOf(`${WORKER}/mime/memory-budget.ts`, 'BUDGET_BYTES'))} MiB of mail at once; more waits |`,
    `| app tokens, access keys of a user, forward targets of an account | ${numberOf('workers/identity/users/user-tokens.ts', 'TOKENS_PER_USER_MAX')}, ${numberOf('workers/identity/users/user-access-keys.ts', 'KEYS_PER_USER_MAX')}, ${target('TARGETS_MAX')} |`,
    `| trusted and blocked senders | ${count(numberOf(`${MAILBOX}/messages/sender-store.ts`, 'SENDERS_MAX'))} |`,
    `and at least ${word(numberOf(`${WORKER}/domain/send-limit.ts`, 'FAILURES_MIN'))}, failed for good`,
    `From ${word(numberOf(`${WORKER}/domain/send-limit.ts`, 'min'))} complaints and ${percent('COMPLAINTS_LOWERED')} % of the recipients of the last ${numberOf(`${MAILBOX}/rules/send-limit-store.ts`, 'DAYS_COUNTED')} days on`,
    `From ${word(numberIn(`${WORKER}/domain/send-limit.ts`, /COMPLAINTS_HELD = \{ min: (\d+)/))} and ${percent('COMPLAINTS_HELD')} % on`,
    `Each mailbox takes a share of at most ${SHARE} recipients in advance`,
    `A mailbox takes a share of at most ${numberOf(`${WORKER}/outbound/month-limit.ts`, 'SHARE_RECIPIENTS')} recipients for ${word(numberOf(`${MAILBOX}/outbox/service-share-store.ts`, 'DAYS_VALID'))} days.`,
    `Attachments of a message over ${mib(numberOf(`${WORKER}/checks/opened-message.ts`, 'HELD_BYTES_MAX'))} MiB are streamed`,
    // An account
    `holds for ${word(minutes(numberOf(`${WORKER}/routes/confirmed.ts`, 'CONFIRMED_MS')))} minutes`,
    `A key of storage that ends within ${hours(numberOf(`${WORKER}/routes/me-access-keys.ts`, 'NEW_SESSION_KEY_MS_MAX'))} hours needs none`,
    `other sessions made in the last ${days(numberOf('workers/identity/login/password-reset.ts', 'ENDS_SINCE_MS'))} days`,
    `at most ${word(numberOf(`${WORKER}/accounts/security-notices.ts`, 'max'))} of a kind per hour`,
    `Keep the ${word(numberOf('workers/identity/secrets/totp.ts', 'RECOVERY_CODES'))} recovery codes`,
    `${numberIn('wrangler.toml', /RATE_LIMIT_AUTH[\s\S]*?limit = (\d+)/)} a minute per client (IPv4 address or IPv6 /64 network), ${guess('GUESSES_PER_PLACE_MAX')} in ${minutes(guess('PLACE_WINDOW_MS'))} minutes per place, and ${guess('GUESSES_PER_ADDRESS_MAX')} an hour per address`,
    `admits the next ${word(minutes(numberOf('workers/identity/login/challenges.ts', 'PASSED_MS')))} minutes from that place`,
    'the possible `challenges`: `turnstile`, `recovery_code_mail`, `proof_of_work`',
    `sends a code to the confirmed recovery address, ${word(numberOf(`${WORKER}/accounts/recovery.ts`, 'max'))} an hour at most`,
    `does not answer within ${word((numberOf('workers/identity/login/turnstile.ts', 'TIMEOUT_MS') * numberOf('workers/identity/login/turnstile.ts', 'ATTEMPTS')) / 1_000)} seconds`,
    `It works after ${hours(numberOf('workers/identity/login/recovery-address.ts', 'WAIT_MS'))} hours`,
    `Up to ${numberOf('workers/identity/login/passkeys.ts', 'PASSKEYS_PER_USER_MAX')} per account.`,
    // Read, search, send
    `which are emptied after ${JUNK_DAYS} days`,
    `The newest ${numberOf(`${MAILBOX}/search/search-store.ts`, 'RANKED_HITS_MAX')} hits are ranked`,
    `Words of ${word(numberOf(`${WORKER}/domain/search-text.ts`, 'BEGINNING_LENGTH_MIN'))} characters or more match words that begin with them`,
    `A state older than ${days(numberOf(`${MAILBOX}/database/change-store.ts`, 'CHANGE_AGE_MAX_MS'))} days gets \`resync: true\``,
    `winmail.dat (up to ${mib(parse('WINMAIL_BYTES_MAX'))} MiB)`,
    `take part in that thread, within ${word(days(numberOf(`${MAILBOX}/messages/thread-store.ts`, 'SUBJECT_AGE_MAX_MS')))} days`,
    `\`MAIL_HOLD_SECONDS\` (${defaultOf('MAIL_HOLD_SECONDS')})`,
    // Forwarding, masked addresses
    `${target('INVITATIONS_PER_ACCOUNT_MAX')} per account and ${target('INVITATIONS_PER_TARGET_MAX')} per target and account within a day, and at most ${word(numberOf(`${WORKER}/accounts/forward-invitations.ts`, 'ACCOUNTS_PER_TARGET_MAX'))} accounts may invite one address`,
    `valid for ${word(numberOf(`${WORKER}/domain/return-path.ts`, 'DAYS_VALID') / 7)} weeks`,
    `\`MAX_MASKED_ADDRESSES_PER_ACCOUNT\` (${defaultOf('MAX_MASKED_ADDRESSES_PER_ACCOUNT')})`,
    // Pulls
    `then what is new every ${minutes(pull('PASS_PAUSE_MS'))} minutes, until the user ends it or for ${days(pull('PULL_AGE_MAX_MS'))} days.`,
    `Progress is saved every ${word(seconds(numberOf(`${WORKER}/inbound/pull/pull-mail.ts`, 'SAVE_MS')))} seconds.`,
    `messages over ${mib(numberOf(`${WORKER}/inbound/process/import-mail.ts`, 'IMPORTED_MESSAGE_BYTES_MAX'))} MiB`,
    // Routes of a bridge
    `size, time, MODSEQ; up to ${count(imap('LISTED_MAX'))} per page`,
    `parts of up to ${imap('FETCHED_MAX')} messages`,
    `up to ${count(imap('CHANGED_MAX'))} messages; \`$deleted\``,
    `Its \`Idempotency-Key\` is kept for ${KEY_DAYS} days.`,
    // Operators
    `the request up to ${kib(refusal('REQUEST_BYTES_MAX'))} KiB, for ${days(numberOf(`${WORKER}/outbound/old-errors.ts`, 'AGE_MAX_MS'))} days`,
    `${refusal('REFUSALS_PER_HOUR_MAX') === 100 ? 'a hundred' : ''} per hour and account are only counted`,
    `waits for over ${word(minutes(retry('DUE_LAG_MS_HEALTHY')))} minutes`,
    `if it was not sent ${word(seconds(numberOf(`${MAILBOX}/outbox/outbox-store.ts`, 'PUBLISH_AFTER_MS')))} seconds after its hold`,
    `a score from ${numberOf(`${WORKER}/checks/spam/index.ts`, 'JUNK_SCORE')} to ${numberOf(`${WORKER}/checks/spam/newsletters.ts`, 'NEWSLETTER_SCORE_MAX')} stays in the Inbox`,
    `\`authentication.unproven_hosted_domain\` and ${word(numberOf(`${WORKER}/inbound/process/process-incoming.ts`, 'HOSTED_CLAIM_POINTS'))} point more`,
  ],
};

const limitOf = (name: string) => numberOf(`${WORKER}/jmap/protocol/limits.ts`, name);

export const JMAP: PageClaims = {
  page: 'docs/jmap.md',
  claims: [
    `| bytes of all answers, plus bytes that result references bring | ${mb(numberOf('workers/shared/pure/request-budget.ts', 'ANSWER_BYTES_MAX'))} MB |`,
    `| filter | ${numberOf(`${WORKER}/jmap/protocol/filter.ts`, 'CONDITIONS_MAX')} conditions, ${numberOf(`${WORKER}/jmap/protocol/filter.ts`, 'DEPTH_MAX')} deep |`,
    `| ids of \`inMailboxOtherThan\` | ${limitOf('OBJECTS_PER_GET_MAX')} |`,
    `for the ${limitOf('OBJECTS_PER_GET_MAX')} messages that one \`Email/get\` may name`,
    `${mb(numberOf('workers/shared/pure/request-budget.ts', 'ANSWER_BYTES_MAX'))} MB are about ${Math.floor(numberOf('workers/shared/pure/request-budget.ts', 'ANSWER_BYTES_MAX') / 35_000 / 10) * 10} messages with bodies of 35 KB`,
    `servers: ${(toFileBytesMax(SERVICE_BYTES, 0) / 1e6).toFixed(1)} MB through Email Service, else ${mib(numberOf(`${WORKER}/jmap/objects/session.ts`, 'ATTACHMENT_BYTES_MAX'))} MiB.`,
    `| room for the answer before a \`set\`, \`import\` or \`upload\` runs | ${mb(limitOf('CHANGE_ANSWER_BYTES'))} MB of the ${mb(numberOf('workers/shared/pure/request-budget.ts', 'ANSWER_BYTES_MAX'))} MB |`,
    `| body values of one message | ${mb(limitOf('BODY_VALUES_BYTES_MAX'))} MB |`,
    `| depth of the JSON | ${limitOf('REQUEST_DEPTH_MAX')} levels |`,
    `| values in the JSON | ${count(limitOf('REQUEST_VALUES_MAX'))} |`,
    `| characters of a method call id | ${limitOf('CALL_ID_LENGTH_MAX')} |`,
    `| result references of one call | ${limitOf('REFERENCES_PER_CALL_MAX')} |`,
    `| \`properties\`, \`bodyProperties\` of one call | ${limitOf('PROPERTIES_PER_CALL_MAX')} each |`,
    `| properties of a sort | ${limitOf('SORT_PROPERTIES_MAX')} |`,
  ],
};

const session = (name: string) => numberOf('bridge/session/session.ts', name);
const bridge = (name: string) => numberOf('bridge/start-bridge.ts', name);
const PER_TOKEN = numberOf('bridge/session/commands/opening.ts', 'CONNECTIONS_PER_TOKEN_MAX');
/** Ports of a bridge with a certificate and without one. */
const port = (name: string, at: string) => numberIn('bridge/settings.ts', new RegExp(`BRIDGE_${name}_PORT', ${at}`));
const [IMAP, SMTP] = [port('IMAP', 'certificate \\? (\\d+)'), port('SMTP', 'certificate \\? (\\d+)')];
const [PLAIN_IMAP, PLAIN_SMTP] = [port('IMAP', '.* : (\\d+)\\)'), port('SMTP', '.* : (\\d+)\\)')];

export const BRIDGE: PageClaims = {
  page: 'docs/bridge.md',
  claims: [
    `ports ${PLAIN_IMAP} (IMAP) and ${PLAIN_SMTP} (SMTP)`,
    `| incoming | IMAP, \`127.0.0.1\`, port ${PLAIN_IMAP}, no encryption |`,
    `| outgoing | SMTP, \`127.0.0.1\`, port ${PLAIN_SMTP}, no encryption, with log-in |`,
    `| ${IMAP}, ${SMTP}; ${PLAIN_IMAP}, ${PLAIN_SMTP} without a certificate |`,
    `| ${port('IMAPS', '(\\d+)')}, ${port('SMTPS', '(\\d+)')} |`,
    `Raise it if many people share one. | ${bridge('CONNECTIONS_PER_ADDRESS_MAX')} |`,
    `Open IMAP connections of one app token. | ${PER_TOKEN} |`,
    `| line of a command | ${count(numberOf('bridge/session/wire.ts', 'LINE_BYTES_MAX'))} bytes |`,
    `| literal, other than a message | ${count(numberOf('bridge/session/command.ts', 'LITERAL_BYTES_MAX'))} bytes |`,
    `| connections | ${count(bridge('CONNECTIONS_MAX'))}; ${bridge('CONNECTIONS_PER_ADDRESS_MAX')} per address, ${PER_TOKEN} per app token |`,
    `| without a command | ${minutes(session('AUTOLOGOUT_MS'))} minutes, ${minutes(session('LOGIN_MS'))} minute before the log-in |`,
    `| select a folder for the first time | 1 per ${count(numberOf('bridge/session/account-api.ts', 'ROWS_PER_PAGE'))} messages |`,
    `| change a flag; of 500 messages | 1 per ${count(numberOf('bridge/session/account-api.ts', 'MESSAGES_PER_CHANGE'))} messages |`,
    `| list folders with the status of each | 1 in ${word(seconds(numberOf('bridge/session/account.ts', 'OVERVIEW_MS')))} seconds |`,
    `| IDLE, an hour without changes | 0, and ${Math.floor(3_600_000 / numberOf('bridge/session/account.ts', 'PING_MS'))} pings that wake nothing |`,
  ],
};

const tool = (name: string) => numberOf(`${WORKER}/mcp/read-tools.ts`, name);

export const AGENTS: PageClaims = {
  page: 'docs/agents.md',
  claims: [
    `at most ${tool('HITS_MAX')} hits; Junk and Trash only if \`in:\` names them`,
    `at most ${tool('FILE_BYTES_MAX') / 1_000} KB |`,
    `at most ${word(numberOf(`${WORKER}/accounts/security-notices.ts`, 'max'))} an hour. The person sees recipients`,
    `machine-made mail of the last ${hours(numberOf(`${WORKER}/mcp/reading.ts`, 'WITHHELD_MS'))} hours from an address`,
    `the ${hours(numberOf(`${WORKER}/mcp/reading.ts`, 'WITHHELD_MS'))} hours are the fence`,
    `An agent's writes are at most ${numberOf(`${WORKER}/mcp/write-tools.ts`, 'max')} an hour for each account`,
  ],
};
