/**
 * `npm run rescue -- --from s3://bucket/prefix --endpoint URL`: rebuilds a whole Tessera from its S3 location, into the empty local state of
 * `npm start`, or with `--to URL` into an empty deployment that has the same S3_LOCATION. Can be interrupted and repeated.
 * docs/operations.md has the runbook. Exit status: 0 if everything was restored, 1 if something is lost, 2 for wrong arguments.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { S3Location } from '../../workers/shared/s3-location/client.ts';
import { OWNER_KEY } from '../../workers/shared/s3-location/owner.ts';
import { readEnvironment, startSchema } from '../deploy/environment.ts';
import { DIRECTORY_TOTALS } from '../deploy/numbered-databases.ts';
import { buildAll, ROOT } from './build.ts';
import { readDevVars } from './dev-vars.ts';
import { startLocalServer } from './local-server.ts';
import { toReadableLine } from './readable-log.ts';
import { type Call, type RescueCounts, rescue } from './rescue-steps.ts';

const USAGE = `Usage: npm run rescue -- --from s3://bucket/prefix --endpoint https://s3.example [--region us-east-1]
         [--until 2026-11-28T12:00:00Z] [--take-over] [--to https://app.example.com]
The credential comes from S3_LOCATION_KEY_ID and S3_LOCATION_SECRET. --to also needs ROOT_TOKEN.`;

function readArguments() {
  const text = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      options: { from: text, endpoint: text, region: text, until: text, to: text, 'take-over': { type: 'boolean' } },
    });
    const { S3_LOCATION_KEY_ID: keyId = '', S3_LOCATION_SECRET: secret = '' } = process.env;
    const { from, endpoint, region = 'us-east-1' } = values;
    if (from?.startsWith('s3://') && endpoint && URL.canParse(endpoint) && keyId && secret)
      return { ...values, vars: toVars(from, endpoint, region, [keyId, secret]) };
  } catch (error) {
    console.error(String(error));
  }
  console.error(USAGE);
  process.exit(2);
}

const toVars = (from: string, endpoint: string, region: string, [keyId, secret]: readonly [string, string]) => ({
  S3_LOCATION: from,
  S3_LOCATION_ENDPOINT: endpoint,
  S3_LOCATION_REGION: region,
  S3_LOCATION_KEY_ID: keyId,
  S3_LOCATION_SECRET: secret,
});

/** Counts the databases by the owner ids in the S3 location. */
async function countDatabases(vars: ReturnType<typeof toVars>): Promise<RescueCounts> {
  const location = new S3Location({
    url: vars.S3_LOCATION,
    endpoint: vars.S3_LOCATION_ENDPOINT,
    region: vars.S3_LOCATION_REGION,
    accessKeyId: vars.S3_LOCATION_KEY_ID,
    secretAccessKey: vars.S3_LOCATION_SECRET,
  });
  const keys: string[] = [];
  for (let after = ''; ; ) {
    const { objects, isLast } = await location.list(after, 'owners/');
    keys.push(...objects.map(({ key }) => key).filter((key) => key !== OWNER_KEY));
    after = objects.at(-1)?.key ?? '';
    if (isLast) break;
  }
  const highest = (pattern: RegExp) =>
    Math.max(-1, ...keys.flatMap((key) => (pattern.exec(key) ?? []).slice(1).map((number) => Number(number || 0))));
  const directories = highest(/^owners\/directory(?:-(\d+))?$/) + 1;
  if (directories === 0) throw new Error('the S3 location has no snapshot of DIRECTORY, so nothing can be rebuilt');
  return { directories, shards: highest(/^owners\/objects-(\d+)$/) + 1 };
}

const toCall =
  (url: string, token: string): Call =>
  async (method, path, body) => {
    const answer = await fetch(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
  };

const { vars, until, to, 'take-over': isTakenOver = false } = readArguments();
const counts = await countDatabases(vars);
const options = { isTakenOver, print: (line: string) => console.log(line), ...(until === undefined ? {} : { until }) };
console.log(`The S3 location has ${counts.directories} user databases and ${counts.shards} databases of objects.`);

async function rescueHere(): Promise<string[]> {
  const environment = readEnvironment(startSchema);
  const devVars = readDevVars(resolve(ROOT, environment.DEV_VARS), join(ROOT, '.dev.vars.example'));
  if (devVars.isNew)
    console.warn(
      `MASTER_KEY in ${environment.DEV_VARS} is new: access keys and DKIM keys stay sealed without the old one.`,
    );
  buildAll();
  const directories = DIRECTORY_TOTALS.map(Number).find((total) => total >= counts.directories) ?? counts.directories;
  const server = await startLocalServer({
    host: '127.0.0.1',
    port: environment.PORT,
    stateDirectory: resolve(ROOT, environment.STATE_DIR),
    vars: { ...devVars.vars, ...vars, LOCAL: '1' },
    printLog: (message) => console.log(toReadableLine(message)),
    withoutCron: true,
    directories,
    ...(counts.shards > 0 ? { objectShards: counts.shards } : {}),
  });
  try {
    const losses = await rescue(toCall(server.url, devVars.vars.ROOT_TOKEN ?? ''), counts, options);
    console.log(`Start it: OBJECT_SHARDS=${Math.max(1, counts.shards)} DIRECTORIES=${directories} npm start`);
    return losses;
  } finally {
    await server.stop();
  }
}

const losses =
  to === undefined ? await rescueHere() : await rescue(toCall(to, process.env.ROOT_TOKEN ?? ''), counts, options);
for (const loss of losses) console.error(`LOST ${loss}`);
process.exit(losses.length > 0 ? 1 : 0);
