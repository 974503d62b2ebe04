/**
 * Every setting of the Worker: type, unit, range, default and meaning. `settings.ts` parses an environment with it;
 * `npm run generate` writes `docs/configuration.md` from it. A new setting also needs a line in wrangler.toml, unless it is
 * a secret.
 */
import { z } from 'zod';
import { choice, hostname, httpUrl, number, subset, text, token } from './setting-types.ts';
import { mailSettings } from './settings-schema-mail.ts';
import { signInSettings } from './settings-schema-sign-in.ts';
import { storageSettings } from './settings-schema-storage.ts';

export const PRODUCT_NAMES = ['storage', 'leaderboard', 'mail'] as const;
export type ProductName = (typeof PRODUCT_NAMES)[number];

const YEAR_SECONDS = 366 * 86_400;
/** Unit and range of the request rates. Requests are counted at each Cloudflare location. */
const REQUESTS_PER_PERIOD = { unit: 'requests', min: 1, max: 1_000_000_000 };

const isMasterKey = (value: string): boolean =>
  /^[A-Za-z0-9+/_-]+=*$/.test(value) && Buffer.from(value, 'base64').length === 32;

export const settingsSchema = z.object({
  LOCAL: choice(['', '1'], {
    group: 'Service',
    fallback: '',
    meaning: 'Marks a local server. `npm start` sets it; a deployment leaves it empty.',
    isLocal: true,
  }),
  LOG_SAMPLE_PERCENT: number({
    group: 'Service',
    unit: 'percent',
    min: 0,
    max: 100,
    fallback: 1,
    meaning:
      'Share of the requests that are logged. Failed requests always are, and of slow ones up to 10 per second and isolate. A local server logs all if this is empty.',
  }),
  ANALYTICS_TOKEN: token({
    group: 'Service',
    isSecret: true,
    meaning:
      'API token with Account Analytics > Read. `GET /v1/metrics` and the estimate of costs read the counters with it.',
  }),
  ANALYTICS_URL: httpUrl({
    group: 'Service',
    meaning: 'SQL API of Analytics Engine. `npm run deploy` sets it.',
  }),
  ANALYTICS_DATASET: text(
    {
      group: 'Service',
      fallback: 'tessera_counters',
      meaning: 'Dataset of the counters, as it is bound in wrangler.toml. `npm run deploy` sets it.',
    },
    'letters, digits and underscores',
    (value) => /^[A-Za-z_]\w{0,95}$/.test(value),
  ),
  COST_ALARM_DOLLARS: number({
    group: 'Service',
    unit: 'US dollars',
    min: 0,
    max: 1_000_000,
    fallback: 0,
    meaning: 'Estimated cost of a day over which `cost_alarm` is logged as an error. 0 never logs it.',
  }),
  CLOCK_OFFSET_SECONDS: number({
    group: 'Service',
    unit: 'seconds',
    min: -100 * YEAR_SECONDS,
    max: 100 * YEAR_SECONDS,
    fallback: 0,
    meaning: 'Moves the clock for tests.',
    isLocal: true,
  }),
  PRODUCTS: subset(PRODUCT_NAMES, {
    group: 'Service',
    meaning:
      'Products that this deployment serves. The others have no routes, pages and background work; what they stored is kept.',
  }),
  APP_HOST: hostname({
    group: 'Service',
    meaning:
      'Host of the web app and of `/v1`. Other hosts then serve storage only, and every host HTTPS only. If it is empty, every host serves all.',
  }),
  JURISDICTION: choice(['', 'eu'], {
    group: 'Service',
    fallback: '',
    meaning:
      'Keeps mailboxes, leaderboards, databases, buckets and queues in the EU. Decided by the first deployment; it cannot change later.',
  }),
  S3_HOST: hostname({
    group: 'Service',
    meaning: 'Host of storage. Buckets also answer at `bucket.S3_HOST`.',
  }),
  ROOT_TOKEN: token({
    group: 'Service',
    isSecret: true,
    shownFallback: 'required',
    meaning: "The operator's bearer token.",
  }),
  MASTER_KEY: text(
    {
      group: 'Service',
      isSecret: true,
      shownFallback: 'required',
      meaning: 'Encrypts the secrets that Tessera stores.',
    },
    '32 bytes in base64',
    isMasterKey,
  ),
  MASTER_KEY_PREVIOUS: text(
    {
      group: 'Service',
      isSecret: true,
      meaning: 'The master key before the current one. Needed until every secret is sealed again.',
    },
    '32 bytes in base64',
    isMasterKey,
  ),
  REGISTRATION: choice(['closed', 'invite', 'open'], {
    group: 'Service',
    fallback: 'closed',
    meaning: 'Who may create an account: only the operator, people with an invitation, or anyone.',
  }),
  TURNSTILE_SITE_KEY: text(
    {
      group: 'Service',
      meaning: 'Site key of a Turnstile widget, for registrations, and for logins after many wrong passwords.',
    },
    'letters, digits, dots, dashes and underscores',
    (value) => /^[\w.-]{1,100}$/.test(value),
  ),
  TURNSTILE_SECRET: token({ group: 'Service', isSecret: true, meaning: 'Secret key of the Turnstile widget.' }),
  TURNSTILE_VERIFY_URL: text(
    { group: 'Service', isLocal: true, meaning: 'Stand-in for the service that verifies Turnstile tokens, for tests.' },
    'an http URL on a loopback address',
    (value) =>
      URL.canParse(value) && /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?\//.test(new URL(value).href),
  ),

  REQUESTS_PER_USER: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 10_000,
    meaning: 'Requests of one user to the JSON routes, per 10 seconds.',
  }),
  REQUESTS_PER_CLIENT: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 5_000,
    meaning:
      'Requests without a credential of one client (IPv4 address or IPv6 /64) to the leaderboard, and as many to storage, per 10 seconds.',
  }),
  REQUESTS_PER_ACCESS_KEY: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 50_000,
    meaning:
      'S3 requests of one access key or token, per 10 seconds. Counted in tens from 1,000 on, in hundreds from 10,000 on.',
  }),
  REQUESTS_PER_BUCKET: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 100_000,
    meaning: 'S3 requests to one bucket, per 10 seconds. Counted in tens from 1,000 on, in hundreds from 10,000 on.',
  }),
  SCORE_POSTS_PER_TOKEN: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 1_000_000,
    meaning:
      'Score posts of one token, per minute. Counted in tens from 1,000 on, in hundreds from 10,000 on; a batch is one post.',
  }),
  PLAYS_PER_CLIENT: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 60,
    meaning: 'Plays that one client (IPv4 address or IPv6 /64) begins on boards with sessions, per minute.',
  }),
  PLAYS_PER_PLAYER: number({
    group: 'Request rates',
    ...REQUESTS_PER_PERIOD,
    fallback: 10,
    meaning: 'Plays that one player begins on boards with sessions, per minute.',
  }),
  LIVE_VIEWERS_PER_CLIENT: number({
    group: 'Request rates',
    unit: 'connections',
    min: 1,
    max: 30_000,
    fallback: 200,
    meaning:
      'Live connections (WebSockets and event streams) of one client to a view of the leaderboard at the same time.',
  }),

  ...storageSettings,
  LEADERBOARD_SHARDS: number({
    group: 'Leaderboard',
    unit: 'shards',
    min: 1,
    max: 256,
    fallback: 32,
    meaning: 'Shards of a new season. Existing seasons keep theirs.',
  }),
  LEADERBOARD_BOARDS: number({
    group: 'Leaderboard',
    unit: 'boards',
    min: 1,
    max: 10_000_000,
    fallback: 100_000,
    meaning: 'Boards of the deployment beside `default`. A post or PUT that would make one more is refused.',
  }),
  LEADERBOARD_LOCATION: choice(['', 'wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me'], {
    group: 'Leaderboard',
    fallback: '',
    meaning: 'Region of the objects of a new season (Durable Objects location hint). Empty: near the first request.',
  }),
  ...mailSettings,
  ...signInSettings,
});

export type Settings = Readonly<z.output<typeof settingsSchema>>;
