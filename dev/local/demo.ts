/**
 * `npm run demo`: fills the running local server (`npm start`) with data for each product that it serves. Repeatable: data of an
 * earlier run is found and kept.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { readEnvironment, startSchema } from '../deploy/environment.ts';
import { ROOT } from './build.ts';

const { PORT: port, DEV_VARS: devVars } = readEnvironment(startSchema);
const url = `http://localhost:${port}`;
const rootToken = parseEnv(readFileSync(resolve(ROOT, devVars), 'utf8')).ROOT_TOKEN ?? '';
const PASSWORD = 'correct horse battery';
const PEOPLE = 'Ada Grace Linus Margaret Edsger Barbara Donald Radia Ken Frances Alan Katherine'.split(' ');
const PLAYERS = 400;

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each caller knows the members it reads
type Json = any;

/** Calls the API. @param accepted statuses that count as success too, for data of an earlier run. */
async function call(
  token: string | null,
  path: string,
  body?: unknown,
  accepted: readonly number[] = [],
): Promise<Json> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok && !accepted.includes(response.status))
    throw new Error(`${path} answers ${response.status}: ${text}`);
  return text === '' ? null : JSON.parse(text);
}

async function fillLeaderboard(): Promise<string> {
  const { token } = await call(rootToken, '/v1/iam/tokens', { name: 'demo game', scopes: ['scores:write'] });
  const season = new Date().toISOString().slice(0, 7);
  for (let from = 0; from < PLAYERS; from += 100) {
    const updates = Array.from({ length: 100 }, (_, index) => {
      const n = from + index;
      return {
        user_id: `player-${n}`,
        user_name: `${PEOPLE[n % PEOPLE.length]} ${n}`,
        // The distribution is skewed: many players have medium scores, a few have high ones.
        points: Math.max(1, Math.round(2_000 / (1 + ((n * 37) % PLAYERS) / 20))),
        event_id: `demo-${season}-${n}`,
      };
    });
    await call(token, '/v1/scores/batch', { updates });
  }
  return `leaderboard: ${PLAYERS} players, ${url}/_/leaderboard`;
}

/** Registers a demo account, or signs in if it exists. @returns the token of a session. */
async function openAccount(name: string): Promise<string> {
  const email = `${name.toLowerCase()}@${(await call(null, '/_/config.json')).mail_domains[0]}`;
  const registered = await call(null, '/v1/auth/register', { email, password: PASSWORD, name }, [409]);
  return registered.token ?? (await call(null, '/v1/auth/login', { email, password: PASSWORD })).token;
}

const LETTERS: readonly (readonly [from: string, subject: string, body: string])[] = [
  [
    'Grace',
    'The lake house, 12 to 14 June',
    'The house is ours from Friday noon. Five beds and a rowing boat. Bring a pullover.',
  ],
  ['Linus', 'Your draft', 'I have read it twice. The third part is the best one; may I cut the second?'],
  ['Linus', 'Re: Your draft', 'On second thoughts: keep it all.'],
  ['Margaret', 'Tickets for Thursday', 'Row 7, in the middle. Yours is attached.'],
  ['Radia', 'A tree of bridges', 'I found the page that I spoke of: https://www.rfc-editor.org/rfc/rfc5556'],
  [
    'Barbara',
    'Minutes of Monday',
    '1. The abstraction stays.\n2. Names are decided on Friday.\n3. Nobody wants the old printer.',
  ],
];

async function fillMail(): Promise<string> {
  const ada = await openAccount('Ada');
  const { email } = await call(ada, '/v1/me');
  const there = new Set((await call(ada, '/v1/messages?limit=200')).data.map(({ subject }: Json) => subject));
  for (const [from, subject, body] of LETTERS) {
    if (there.has(subject)) continue;
    const ticket = {
      file_name: 'ticket.txt',
      content_type: 'text/plain',
      content: Buffer.from('Row 7').toString('base64'),
    };
    const attachments = subject.startsWith('Tickets') ? { attachments: [ticket] } : {};
    const to = [{ name: 'Ada', email }];
    await call(await openAccount(from), '/v1/messages', { to, subject, body, ...attachments });
  }
  return `mail: sign in as ${email} with the password "${PASSWORD}", ${url}/_/mail`;
}

const FILES: readonly (readonly [key: string, type: string, body: string | Buffer])[] = [
  ['readme.md', 'text/markdown', '# Album\n\nPictures and notes of the demo.\n'],
  ['notes/monday.txt', 'text/plain', 'The abstraction stays.\n'],
  ['notes/friday.txt', 'text/plain', 'Names are decided.\n'],
  ['data/points.csv', 'text/csv', `x,y\n${Array.from({ length: 200 }, (_, x) => `${x},${x * x}`).join('\n')}\n`],
  ['data/large.bin', 'application/octet-stream', Buffer.alloc(2_000_000, 'tessera ')],
  [
    'pictures/square.svg',
    'image/svg+xml',
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>',
  ],
];

async function fillStorage(): Promise<string> {
  const users = (await call(rootToken, '/v1/iam/users?limit=200')).data as Json[];
  const known = users.find(({ name }) => name === 'demo');
  const { user_id } = known ?? (await call(rootToken, '/v1/iam/users', { name: 'demo' }));
  const key = await call(rootToken, `/v1/iam/users/${user_id}/access-keys`, {});
  const credentials = { accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key };
  const s3 = new S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials });
  const Bucket = `album-${user_id}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  for (const [Key, ContentType, Body] of FILES) await s3.send(new PutObjectCommand({ Bucket, Key, ContentType, Body }));
  return `storage: bucket ${Bucket} with ${FILES.length} objects, ${url}/_/storage\n  access key ${key.access_key_id}\n  secret     ${key.secret_access_key}`;
}

const FILL = { storage: fillStorage, leaderboard: fillLeaderboard, mail: fillMail };

const config: Json = await call(null, '/_/config.json').catch(() => null);
if (config === null) {
  console.error(`No server answers at ${url}. Run npm start in another shell first.`);
  process.exit(1);
}
for (const product of config.products as (keyof typeof FILL)[]) console.log(await FILL[product]());
