import {
  count,
  days,
  defaultOf,
  hours,
  kib,
  minutes,
  numberIn,
  numberOf,
  type PageClaims,
  seconds,
  word,
} from '../../../support/claims.ts';

const OBJECTS = 'durable-objects/leaderboard';
const protocol = (name: string) => numberOf(`${OBJECTS}/protocol.ts`, name);
const contract = (name: string) => numberOf('workers/leaderboard/contract.ts', name);
const rule = (name: string, bound: string) =>
  numberIn('workers/leaderboard/contract.ts', new RegExp(`${name}: [^\\n]*\\.${bound}\\((\\d[\\d_]*)\\)`));
const logo = (name: string) => numberOf('workers/leaderboard/domain/board-logo.ts', name);
const webhook = (name: string) => numberOf('workers/shared/json/webhook.ts', name);
const silence = (name: string) => numberOf('workers/leaderboard/silence.ts', name);
const VIEWERS = numberOf(`${OBJECTS}/view/viewers.ts`, 'VIEWERS_MAX');
const VIEWS = numberOf('workers/leaderboard/routes/standings-routes.ts', 'VIEWS_PER_REGION_MAX');
const SEALED_PAGE = numberOf(`${OBJECTS}/shard/sealed-index.ts`, 'PLAYERS_PER_SEALED_PAGE');
const SHARDS = defaultOf('LEADERBOARD_SHARDS');
/** Players of a shard in a season of 25 million. */
const SHARD_PLAYERS = 25_000_000 / SHARDS;

export const LEADERBOARD: PageClaims = {
  page: 'docs/leaderboard.md',
  claims: [
    // Guarantees
    `all others' at most a second ago while every shard answers`,
    `An \`event_id\` counts once for at least ${Number(hours(protocol('EVENT_RETENTION_MS'))) - 1} hours, also across the end of a month.`,
    // Limits
    `| \`user_id\` | 1 to ${numberIn('workers/leaderboard/contract.ts', /USER_ID = .*\{1,(\d+)\}/)} of \`A-Z a-z 0-9 . _ : @ -\`, but not \`.\` or \`..\` |`,
    `| \`user_name\`, \`event_id\` | 1 to ${numberIn('workers/leaderboard/contract.ts', /user_name: \w*\(?textOf\((\d+)/)}, 1 to ${numberIn('workers/leaderboard/contract.ts', /event_id: textOf\((\d+)/)} characters |`,
    `| batch | ${count(contract('BATCH_UPDATES_MAX'))} updates |`,
    `| posts per token | ${count(defaultOf('SCORE_POSTS_PER_TOKEN'))} a minute and location (\`SCORE_POSTS_PER_TOKEN\`), checked on every hundredth post; a batch is one post |`,
    `| public reads of a client | ${count(defaultOf('REQUESTS_PER_CLIENT'))} per ${numberOf('workers/shared/json/request-rates.ts', 'periodSeconds')} seconds and location (\`REQUESTS_PER_CLIENT\`) |`,
    `| live connections of a client to a view | ${defaultOf('LIVE_VIEWERS_PER_CLIENT')} (\`LIVE_VIEWERS_PER_CLIENT\`) |`,
    `| live connections | ${count(VIEWERS * VIEWS)} per region |`,
    `| score | ${count(Number.MAX_SAFE_INTEGER)} |`,
    `| shard | ${count(SHARD_PLAYERS)} players with the filter of 3.2 million events take 41 MiB of memory; the events of ${hours(protocol('EVENT_RETENTION_MS'))} hours are in SQLite |`,
    `| list with a silent shard | its players are in the top ${protocol('TOP_ENTRIES')} only |`,
    `| correction of a past season | the shard loads its index and writes its list again: ${Math.ceil(SHARD_PLAYERS / SEALED_PAGE) + 1} pages for ${count(SHARD_PLAYERS)} players |`,
    `| boards beside \`default\` | ${count(defaultOf('LEADERBOARD_BOARDS'))} (\`LEADERBOARD_BOARDS\`), and those that other isolates make within ${seconds(numberOf('workers/leaderboard/boards/boards.ts', 'BOARD_KNOWN_MS'))} seconds |`,
    `| shards per season | \`LEADERBOARD_SHARDS\` (${SHARDS}), fixed when the season begins; ${SHARDS} are for 25 million players |`,
    `Above ${count(numberOf(`${OBJECTS}/domain/score-buckets.ts`, 'BUCKETS_MAX'))} different scores, the read of a rank`,
    // Guide
    `an integer from 0 to ${count(protocol('POINTS_MAX'))}.`,
    `at most ${1_000 / protocol('PUSH_INTERVAL_MS')} times a second`,
    `at most ${numberOf('workers/leaderboard/domain/distribution.ts', 'RANGES_MAX')} ranges of one round width`,
    `A final season is kept for ${word(days(numberOf('workers/leaderboard/boards/board-deletion.ts', 'KEPT_MS_MIN')))} days in any case.`,
    `\`max_points_per_post\` holds within ${word(seconds(numberOf('workers/leaderboard/boards/boards.ts', 'BOARD_KNOWN_MS')))} seconds of a change.`,
    `changed limit holds ${seconds(numberOf('workers/leaderboard/boards/boards.ts', 'RULES_AFTER_MS'))} seconds later in every shard`,
    `\`negative\` allows points from −${count(-protocol('SIGNED_POINTS_MIN'))} to ${count(-protocol('SIGNED_POINTS_MIN') - 1)}`,
    `scores of ±${count(numberOf('workers/leaderboard/domain/score-rules.ts', 'RAISED_BY') - 1)}`,
    `\`decimals\` (${rule('decimals', 'min')} to ${rule('decimals', 'max')})`,
    `at most \`max_points_per_post\` (at most ${count(protocol('BOARD_POINTS_MAX'))})`,
    `a PNG or WebP of at most ${kib(logo('LOGO_BYTES_MAX'))} KiB and ${logo('LOGO_PIXELS_MAX')} by ${logo('LOGO_PIXELS_MAX')} pixels`,
    `\`max_data_bytes\` (at most ${count(contract('DATA_BYTES_MAX'))}) in UTF-8`,
    `the earlier secret signs beside the new one for ${hours(numberOf('workers/leaderboard/boards/webhooks.ts', 'ROTATION_MS'))} hours`,
    `An answer other than 2xx within ${seconds(webhook('TIMEOUT_MS'))} seconds is a failed attempt. It is repeated after ${seconds(webhook('RETRY_MS_MIN'))} seconds, then after twice the time, up to an hour. After ${word(days(webhook('WEBHOOK_AGE_MS_MAX')))} days the message is dropped`,
    `Posts that arrive within ${numberOf(`${OBJECTS}/shard/index.ts`, 'ROUND_MS')} ms share one commit.`,
    `Every ${count(numberOf(`${OBJECTS}/shard/shard-board.ts`, 'LOG_ROWS_MAX'))} log rows`,
    `event pages (${count(numberOf(`${OBJECTS}/domain/event-page.ts`, 'EVENTS_PER_PAGE'))} events per row)`,
    `The events themselves are in SQLite for ${hours(protocol('EVENT_RETENTION_MS'))} hours.`,
    `the shard exchanges first, for at most ${protocol('REFRESH_MS')} ms`,
    `Above ${count(numberOf(`${OBJECTS}/domain/score-buckets.ts`, 'BUCKETS_MAX'))} different scores, counts are per range`,
    `more than a tenth missing`,
    `within ${seconds(numberOf(`${OBJECTS}/season/season-counts.ts`, 'SNAPSHOT_AFTER_MS'))} seconds of a change`,
    `is forgotten when nobody did for ${word(seconds(numberOf(`${OBJECTS}/view/index.ts`, 'UNUSED_MS')))} seconds`,
    `A view takes ${count(VIEWERS)} viewers; more go to the next one of the region, at most ${VIEWS}.`,
    `A read waits up to ${seconds(silence('READ_MS'))} seconds for an object, and a post up to ${seconds(silence('POST_MS'))}, or ${seconds(silence('SHORT_POST_MS'))} for a shard that was late before.`,
    `then wait ${silence('SHORT_MS') / 1_000} seconds, and one every ${word(seconds(silence('PROBE_MS')))} seconds waits as long as the first`,
    `A sealed shard stores its list in pages of ${count(SEALED_PAGE)} players`,
    `A view begins at most ${word(1_000 / numberOf(`${OBJECTS}/view/index.ts`, 'PULL_INTERVAL_MS'))} pulls a second for marks.`,
    `hourly while it changes, ${minutes(numberOf(`${OBJECTS}/shard/index.ts`, 'COPY_AFTER_MS')) === '1' ? 'a minute' : ''} after it is sealed`,
    `A deployment has at most ${numberOf('workers/leaderboard/routes/board-routes.ts', 'SHARDED_BOARDS_MAX')} boards with several shards`,
    `One shard takes ${protocol('ONE_SHARD_POSTS_PER_SECOND')} posts a second, or ${count(protocol('ONE_SHARD_POSTS_PER_SECOND') * protocol('UPDATES_PER_POST'))} updates in batches, and ${count(SHARD_PLAYERS)} players.`,
    `A board that refused posts in ${numberOf(`${OBJECTS}/domain/post-rate.ts`, 'BUSY_SECONDS_MAX')} seconds of an hour, or has ${count(protocol('ONE_SHARD_PLAYERS_MAX'))} players`,
    `a batch counts as one for each ${protocol('UPDATES_PER_POST')} updates`,
    `Event ids are kept for ${hours(protocol('EVENT_RETENTION_MS'))} hours.`,
  ],
};
