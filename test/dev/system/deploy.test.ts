import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ACCOUNT_ID, newDatabase, newScript } from '../../support/deploy/cloudflare-state.ts';
import { type DeployRun, HOSTS, listChanges, runDeploy } from '../../support/deploy/run.ts';
import { addDatabases, prepareCloudflare } from '../../support/deploy/test.ts';

const stage = prepareCloudflare();
type Options = Omit<Parameters<typeof runDeploy>[0], 'cloudflare' | 'directory'>;
const deploy = (variables: Record<string, string> = {}, options: Options = {}): Promise<DeployRun> =>
  runDeploy({ ...stage, variables, ...options });

const readSecrets = () => parseEnv(readFileSync(join(stage.directory, '.deploy.secrets'), 'utf8'));
const tablesOf = (name: string) =>
  stage.cloudflare.state.databases
    .get(name)
    ?.sql.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all() ?? [];
const addRecord = (name: string) =>
  stage.cloudflare.state.records.push({ id: 'r', type: 'A', name, content: '192.0.2.1' });
const STACK_TRACE = /^ {4}at /m;

describe('npm run deploy', () => {
  it('deploys into an empty account, and changes nothing that exists when it runs again', async () => {
    stage.cloudflare.state.requestsBeforeCertificate = 1;
    const first = await deploy({ HOME_REGION: 'weur' });
    expect(first.status, first.output).toBe(0);
    expect(first.output).toContain('Workers Paid');
    expect(first.output).toContain('Web app: https://tessera.example.com/_/');
    expect(first.output).toContain('Account > D1 > Edit');
    expect(first.output).toContain(ACCOUNT_ID);
    expect(first.output).toContain('Waiting for the certificate and the DNS record of tessera.example.com');
    expect(first.output).toContain('{"status":"ok"}');
    const { databases, buckets, queues, scripts, domains } = stage.cloudflare.state;
    expect([...databases.values()].map(({ name, region, replication }) => [name, region, replication])).toEqual([
      ['tessera-directory', 'weur', 'auto'],
      ['tessera-objects-0', 'weur', 'auto'],
    ]);
    expect([...buckets].map(([name, { region }]) => [name, region])).toEqual([
      ['tessera-blobs', 'weur'],
      ['tessera-blobs-2', 'eeur'],
    ]);
    expect([...queues.values()].map(({ queue_name, consumers }) => [queue_name, consumers.length]).sort()).toEqual([
      ['tessera-mail-events', 1],
      ['tessera-mail-events-dead', 0],
      ['tessera-mail-outbound', 1],
      ['tessera-mail-outbound-dead', 0],
      ['tessera-storage-events', 0],
      ['tessera-storage-tasks', 1],
      ['tessera-storage-tasks-dead', 0],
    ]);
    for (const name of databases.keys()) expect(tablesOf(name).length).toBeGreaterThan(3);
    expect([...domains]).toEqual(Object.values(HOSTS).map((host) => [host, 'tessera']));
    const script = scripts.get('tessera');
    expect(Object.fromEntries(script?.secrets ?? [])).toEqual(readSecrets());
    const ids = [...databases.values()].map(({ uuid }) => uuid);
    expect(script?.bindings.filter(({ type }) => type === 'd1').map(({ id }) => id)).toEqual(ids);
    expect(script?.bindings).toContainEqual({ name: 'LEADERBOARD_LOCATION', type: 'plain_text', text: 'weur' });

    const secretsBefore = readSecrets();
    stage.cloudflare.requests.splice(0);
    const second = await deploy({ HOME_REGION: 'weur', RSPAMD_PASSWORD: 'a-password-of-rspamd' });
    expect(second.status, second.output).toBe(0);
    expect(listChanges(stage.cloudflare).filter((request) => /\/(?:d1|r2)\/|\/queues$|^DELETE /.test(request))).toEqual(
      [],
    );
    expect(readSecrets()).toEqual(secretsBefore);
    expect(Object.fromEntries(script?.secrets ?? [])).toEqual({
      ...secretsBefore,
      RSPAMD_PASSWORD: 'a-password-of-rspamd',
    });
    expect(JSON.stringify(script?.bindings)).not.toContain('a-password-of-rspamd');
    expect(script?.uploads).toBe(2);
    // Cloudflare knows the tag of the object classes, so wrangler takes the path of a later deployment.
    expect(script?.migrationTag).toEqual(expect.any(String));
    const path = /^(?:PUT|POST) .*\/workers\/scripts\/tessera(\/versions|\/deployments)?$/;
    expect(stage.cloudflare.requests.flatMap((request) => path.exec(request)?.[1] ?? [])).toEqual([
      '/versions',
      '/deployments',
    ]);
    expect(existsSync(join(stage.directory, '.deploy.secrets.upload.json'))).toBe(false);
  });

  it('stops without host names, before it calls the account', async () => {
    const { status, output } = await deploy({ S3_HOST: '' });
    expect(status).toBe(2);
    expect(output).toContain('S3_HOST must be set');
    expect(stage.cloudflare.requests).toEqual([]);
  });

  it('rejects invalid values, unknown names and secrets among the variables, before it calls the account', async () => {
    writeFileSync(
      join(stage.directory, '.deploy.vars'),
      'MAIL_HOLD_SECOND=60\nRSPAMD_PASSWORD=a-password\nSEND_LIMIT_PER_HOUR=1k-not-to-show\n',
    );
    const { status, output } = await deploy({ LEADERBOARD_SHARDS: '0' });
    expect(status).toBe(2);
    expect(output).toContain('LEADERBOARD_SHARDS must be a whole number of shards from 1 to 256.');
    expect(output).toContain('SEND_LIMIT_PER_HOUR must be a whole number of recipients');
    expect(output).toContain('MAIL_HOLD_SECOND is not a setting. The closest name is MAIL_HOLD_SECONDS.');
    expect(output).toContain('RSPAMD_PASSWORD is a secret: move it from .deploy.vars to .deploy.secrets.');
    expect(output).not.toMatch(/a-password|not-to-show/);
    expect(stage.cloudflare.requests).toEqual([]);
  });
});

describe('npm run deploy with a token that lacks rights', () => {
  it.each([
    [/^GET .*\/d1\/database$/, 'Account > D1 > Edit'],
    [/^GET .*\/r2\/buckets$/, 'Account > Workers R2 Storage > Edit'],
    [/^GET .*\/queues$/, 'Account > Queues > Edit'],
    [/^GET .*\/secrets$/, 'Account > Workers Scripts > Edit'],
    [/^GET \/zones$/, 'Zone > Zone > Read'],
    [/^GET .*\/dns_records$/, 'Zone > DNS > Edit'],
    [/^POST .*\/d1\/database$/, 'Account > D1 > Edit'],
  ])('names the permission of %s in one sentence, and changes nothing', async (pattern, permission) => {
    stage.cloudflare.state.denied.push(pattern);
    const { status, output } = await deploy();
    expect([status, output]).toEqual([1, expect.stringContaining(`lacks the permission "${permission}".`)]);
    expect(output).not.toMatch(STACK_TRACE);
    expect(stage.cloudflare.state.databases.size).toBe(0);
  });

  it('names all missing permissions at once', async () => {
    stage.cloudflare.state.denied.push(/\/d1\//, /\/queues/);
    const { output } = await deploy();
    expect(output).toContain('lacks the permissions "Account > D1 > Edit", "Account > Queues > Edit".');
  });

  it('names the permission that wrangler misses', async () => {
    addDatabases(stage, 'tessera');
    stage.cloudflare.state.denied.push(/^(?:PUT|POST) .*\/workers\/scripts\/[^/]+(?:\/versions)?$/);
    const { status, output } = await deploy();
    expect(status).toBe(1);
    expect(output).toContain('lacks the permission "Account > Workers Scripts > Edit".');
    expect(output).not.toMatch(STACK_TRACE);
  });

  it('names a missing token and the accounts to choose from', async () => {
    const noToken = await deploy({ CLOUDFLARE_API_TOKEN: '' });
    expect([noToken.status, noToken.output]).toEqual([1, expect.stringContaining('CLOUDFLARE_API_TOKEN must be set')]);
    stage.cloudflare.state.accounts.push({ id: 'c'.repeat(32), name: 'Other' });
    const twoAccounts = await deploy();
    expect(twoAccounts.status).toBe(1);
    expect(twoAccounts.output).toContain('Set CLOUDFLARE_ACCOUNT_ID');
    expect(twoAccounts.output).toContain(`${ACCOUNT_ID}  Test`);
    const chosen = await deploy({ CLOUDFLARE_ACCOUNT_ID: ACCOUNT_ID }, { args: ['--dry-run'] });
    expect(chosen.status, chosen.output).toBe(0);
    const unknown = await deploy({ CLOUDFLARE_ACCOUNT_ID: 'd'.repeat(32) });
    expect([unknown.status, unknown.output]).toEqual([1, expect.stringContaining('does not see the account dddd')]);
    expect(unknown.output).toContain(`${ACCOUNT_ID}  Test`);
    for (const { output } of [noToken, twoAccounts, unknown]) expect(output).not.toMatch(STACK_TRACE);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });
});

describe('npm run deploy after a failure', () => {
  it('deploys nothing after a broken migration, says so, and continues when the cause is gone', async () => {
    const database = newDatabase('tessera-objects-0');
    stage.cloudflare.state.databases.set(database.name, database);
    const [{ name: table }] = readTableNames();
    database.sql.exec(`CREATE TABLE ${table} (conflict TEXT)`);
    const broken = await deploy();
    expect(broken.status).toBe(1);
    expect(broken.output).toContain('A migration of the database tessera-objects-0 failed, so no code was deployed.');
    expect(broken.output).toContain('already exists');
    expect(broken.output).not.toMatch(STACK_TRACE);
    expect(stage.cloudflare.state.scripts.size).toBe(0);
    const kept = readSecrets();
    database.sql.exec(`DROP TABLE ${table}`);
    const repeated = await deploy();
    expect(repeated.status, repeated.output).toBe(0);
    expect(Object.fromEntries(stage.cloudflare.state.scripts.get('tessera')?.secrets ?? [])).toEqual(kept);
  });
});

/** Reads the name of the first table that the first migration of an `OBJECTS_n` database creates. */
function readTableNames(): [{ name: string }] {
  const sql = readFileSync(join(import.meta.dirname, '../../../migrations/objects/0000_initial.sql'), 'utf8');
  return [{ name: /CREATE TABLE [`"]?(\w+)/.exec(sql)?.[1] ?? '' }];
}

describe('npm run deploy without a terminal', () => {
  it('refuses to take over a DNS record or the domain of another Worker, names both, and changes nothing', async () => {
    stage.cloudflare.state.scripts.set('tessera', newScript());
    stage.cloudflare.state.domains.set(HOSTS.APP_HOST, 'shop');
    addRecord(HOSTS.S3_HOST);
    const { status, output } = await deploy();
    expect(status).toBe(1);
    expect(output).toContain('tessera.example.com is a custom domain of the Worker "shop".');
    expect(output).toContain('s3.example.com has a DNS record.');
    expect(output).toContain('DEPLOY_TAKE_OVER=1');
    expect(output).not.toMatch(STACK_TRACE);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });

  it('does the same before the first deployment, when the Worker does not exist', async () => {
    addRecord(HOSTS.APP_HOST);
    const { status, output } = await deploy();
    expect([status, output]).toEqual([1, expect.stringContaining('tessera.example.com has a DNS record.')]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });

  it('refuses queues that deliver to another Worker, and changes nothing', async () => {
    const consumers = [{ consumer_id: 'c', type: 'worker', script: 'shop' }];
    stage.cloudflare.state.queues.set('tessera-mail-outbound', {
      queue_id: 'q',
      queue_name: 'tessera-mail-outbound',
      consumers,
    });
    const { status, output } = await deploy();
    expect([status, output]).toEqual([1, expect.stringContaining('delivers to the Worker "shop"')]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });
});

describe('npm run deploy in CI', () => {
  it('requires the secrets of a first deployment in the environment, before anything is created', async () => {
    writeFileSync(join(stage.directory, '.deploy.secrets'), `MASTER_KEY=${Buffer.alloc(32, 2).toString('base64')}\n`);
    const { status, output } = await deploy({ CI: 'true' });
    expect([status, output]).toEqual([
      1,
      expect.stringContaining('ROOT_TOKEN and MASTER_KEY must be in the environment'),
    ]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });

  it('uploads them, writes them to no file, and lets wrangler replace a DNS record if DEPLOY_TAKE_OVER=1', async () => {
    addDatabases(stage, 'tessera');
    addRecord(HOSTS.S3_HOST);
    const secrets = {
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      ROOT_TOKEN: 'root-token-of-ci-with-length-32-x',
    };
    const { status, output } = await deploy({ CI: 'true', DEPLOY_TAKE_OVER: '1', ...secrets });
    expect(status, output).toBe(0);
    expect(Object.fromEntries(stage.cloudflare.state.scripts.get('tessera')?.secrets ?? [])).toEqual(secrets);
    expect(existsSync(join(stage.directory, '.deploy.secrets'))).toBe(false);
    expect(output).not.toContain(secrets.ROOT_TOKEN);
    expect(stage.cloudflare.domainWrites).toMatchObject([{ override_existing_dns_record: true }]);
  });
});
