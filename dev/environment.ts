/** What the tools of this repository read from the process environment: ports and folders of `npm start`, and `npm run deploy`. */
import { z } from 'zod';
import { choice, declare, httpUrl, number, optionalNumber, text } from '../workers/shared/setting-types.ts';

const PORT = { unit: 'TCP port', min: 1, max: 65_535 };
const anyText = (): boolean => true;

export const startSchema = z.object({
  PORT: number({ group: 'npm start', ...PORT, fallback: 8787, meaning: 'Port of the Worker.' }),
  SMTP_PORT: number({ group: 'npm start', ...PORT, fallback: 2525, meaning: 'Port of the inbound SMTP listener.' }),
  SINK_PORT: number({ group: 'npm start', ...PORT, fallback: 1025, meaning: 'Port of the local SMTP sink.' }),
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
  OBJECT_SHARDS: optionalNumber({
    group: 'npm start',
    unit: 'databases',
    min: 1,
    max: 64,
    fallback: 'those of wrangler.toml',
    meaning: 'Databases `OBJECTS_n` to bind.',
  }),
  RATE_LIMIT_AUTH: optionalNumber({
    group: 'npm start',
    unit: 'attempts per minute',
    min: 1,
    max: 1_000_000,
    fallback: 'that of wrangler.toml',
    meaning: 'Logins and registrations per client. Tests and scripts make more than people do.',
  }),
});

export const deploySchema = z.object({
  CLOUDFLARE_API_TOKEN: declare(
    z.string().default(''),
    {
      group: 'npm run deploy',
      isSecret: true,
      meaning: 'API token of the account. Required unless a person runs wrangler.',
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
    meaning: 'Another API, for tests.',
  }),
  DEPLOY_TAKE_OVER: choice(['', '1'], {
    group: 'npm run deploy',
    fallback: '',
    meaning: 'Replaces DNS records and custom domains of other Workers without a question.',
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
    meaning: 'Leaves out the request to `/v1/health` after the deployment.',
  }),
  WRANGLER: text(
    { group: 'npm run deploy', shownFallback: 'the installed one', meaning: 'Another wrangler command, for tests.' },
    'a command',
    anyText,
  ),
});

/** Reads a tool's part of the process environment. Prints every problem and ends the process with 2 if there is one. */
export function readEnvironment<T extends z.ZodType>(schema: T): z.output<T> {
  const given = Object.entries(process.env).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : []));
  const outcome = schema.safeParse(Object.fromEntries(given));
  if (outcome.success) return outcome.data;
  const sentences = outcome.error.issues.map((issue) => `${String(issue.path[0])} ${issue.message}.`);
  console.error(sentences.join('\n'));
  process.exit(2);
}
