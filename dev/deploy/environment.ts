/** The environment variables that `npm start` and `npm run deploy` read. */
import { z } from 'zod';
import { choice, declare, httpUrl, number, optionalNumber, text } from '../../workers/shared/settings/setting-types.ts';
import { DIRECTORY_TOTALS } from './numbered-databases.ts';
import { REGIONS } from './plan.ts';

const PORT = { unit: 'TCP port', min: 1, max: 65_535 };
const anyText = (): boolean => true;

export const startSchema = z.object({
  PORT: number({ group: 'npm start', ...PORT, fallback: 8787, meaning: 'Port of the Worker.' }),
  SMTP_PORT: number({ group: 'npm start', ...PORT, fallback: 2525, meaning: 'Port of the inbound SMTP listener.' }),
  SINK_PORT: number({ group: 'npm start', ...PORT, fallback: 1025, meaning: 'Port of the local SMTP sink.' }),
  BRIDGE: choice(['', '0'], {
    group: 'npm start',
    fallback: '',
    meaning: 'The value 0 starts no bridge for mail programs. One is started if `mail` is among the products.',
  }),
  BRIDGE_IMAP_PORT: number({
    group: 'npm start',
    ...PORT,
    fallback: 1143,
    meaning: 'Port of IMAP, on this machine only.',
  }),
  BRIDGE_SMTP_PORT: number({
    group: 'npm start',
    ...PORT,
    fallback: 1587,
    meaning: 'Port of submission by mail programs, on this machine only.',
  }),
  STATE_DIR: text(
    { group: 'npm start', fallback: '.wrangler/state', meaning: 'Folder of the local state and of the sink.' },
    'a folder',
    anyText,
  ),
  DEV_VARS: text(
    { group: 'npm start', fallback: '.dev.vars', meaning: 'File with variables and secrets.' },
    'a file',
    anyText,
  ),
  LOG: choice(['text', 'json'], {
    group: 'npm start',
    fallback: 'text',
    meaning: 'Format of the log: lines for people, or the JSON that a deployment logs.',
  }),
  WORKER_BUNDLE: text(
    {
      group: 'npm start',
      shownFallback: 'the Worker, built at the start',
      meaning: 'Folder of a bundled Worker to run instead, for tests.',
    },
    'a folder',
    anyText,
  ),
  OBJECT_SHARDS: optionalNumber({
    group: 'npm start',
    unit: 'databases',
    min: 1,
    max: 64,
    fallback: 'as in wrangler.toml',
    meaning: 'Number of `OBJECTS_n` databases to bind.',
  }),
  DIRECTORIES: choice(DIRECTORY_TOTALS, {
    group: 'npm start',
    fallback: '1',
    meaning: 'Number of user databases to bind: `DIRECTORY`, `DIRECTORY_1`, …',
  }),
  RATE_LIMIT_AUTH: optionalNumber({
    group: 'npm start',
    unit: 'attempts per minute',
    min: 1,
    max: 1_000_000,
    fallback: 'as in wrangler.toml',
    meaning: 'Logins and registrations per client. Raise it for tests and scripts.',
  }),
});

export const deploySchema = z.object({
  CLOUDFLARE_API_TOKEN: declare(
    z.string().default(''),
    {
      group: 'npm run deploy',
      isSecret: true,
      meaning: 'API token of the account. Required without a terminal.',
    },
    'an API token',
    'the login of `wrangler login`',
  ),
  CLOUDFLARE_ACCOUNT_ID: text(
    { group: 'npm run deploy', shownFallback: 'the only account of the token', meaning: 'Account to deploy to.' },
    '32 hexadecimal digits',
    (value) => /^[0-9a-f]{32}$/i.test(value),
  ),
  CLOUDFLARE_API_BASE_URL: httpUrl({
    group: 'npm run deploy',
    shownFallback: 'https://api.cloudflare.com/client/v4',
    meaning: 'Base URL of the API, for tests.',
  }),
  DEPLOY_TAKE_OVER: choice(['', '1'], {
    group: 'npm run deploy',
    fallback: '',
    meaning: 'Replaces DNS records and custom domains of other Workers without asking.',
  }),
  DEPLOY_DIR: text(
    {
      group: 'npm run deploy',
      shownFallback: 'the repository',
      meaning: 'Folder of .deploy.vars and .deploy.secrets.',
    },
    'a folder',
    anyText,
  ),
  SKIP_HEALTH: choice(['', '1'], {
    group: 'npm run deploy',
    fallback: '',
    meaning: 'Skips the request to `/v1/health` after the deployment.',
  }),
  DEPLOY_CHECK_ORIGIN: httpUrl({
    group: 'npm run deploy',
    shownFallback: 'https:// and the host',
    meaning: 'Origin that answers for both hosts after the deployment, for tests.',
  }),
  HOME_REGION: choice(['', ...REGIONS], {
    group: 'npm run deploy',
    fallback: '',
    meaning:
      'Region of new databases, of the first bucket and, without LEADERBOARD_LOCATION, of new seasons. Empty: near the caller. Existing ones do not move.',
  }),
  SECOND_REGION: choice(['', ...REGIONS], {
    group: 'npm run deploy',
    fallback: '',
    meaning: 'Region of the second bucket. Empty: the nearest other region.',
  }),
  THIRD_REGION: choice(['', ...REGIONS], {
    group: 'npm run deploy',
    fallback: '',
    meaning: 'Asks for a third bucket, in this region. Once it exists it stays bound. See WRITE_QUORUM.',
  }),
  TEARDOWN: text(
    {
      group: 'npm run deploy',
      fallback: '',
      meaning: 'Name of the Worker that `--teardown` deletes, instead of the answer on a terminal.',
    },
    'the name of a Worker',
    anyText,
  ),
});

/**
 * Reads and checks environment variables. If any is invalid, prints every problem and exits with status 2.
 * @param defaults values of variables that the environment does not set.
 */
export function readEnvironment<T extends z.ZodType>(
  schema: T,
  defaults: Readonly<Record<string, string>> = {},
): z.output<T> {
  const given = Object.entries({ ...defaults, ...process.env }).flatMap(([name, value]) =>
    value?.trim() ? [[name, value.trim()]] : [],
  );
  const outcome = schema.safeParse(Object.fromEntries(given));
  if (outcome.success) return outcome.data;
  const sentences = outcome.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}.`);
  console.error(sentences.join('\n'));
  process.exit(2);
}
