/**
 * Tests runs with `--env staging`. Their configuration file differs from that of deploy.test.ts, which may run at the same time.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DKIM_RECORD } from '../../support/deploy/cloudflare-api.ts';
import { newDatabase, newScript } from '../../support/deploy/cloudflare-state.ts';
import { type DeployRun, HOSTS, listChanges, runDeploy } from '../../support/deploy/run.ts';
import { addDatabases, addDeployment, MIGRATION_TAG, prepareCloudflare } from '../../support/deploy/test.ts';

const stage = prepareCloudflare();
type Options = Omit<Parameters<typeof runDeploy>[0], 'cloudflare' | 'directory' | 'args' | 'variables'>;
const deploy = (args: string[], variables: Record<string, string> = {}, options: Options = {}): Promise<DeployRun> =>
  runDeploy({ ...stage, args, variables, ...options });

/** Lists the names and ids of everything that the configuration of a deployment binds or owns. */
function readNames(file: string): string[] {
  const config = JSON.parse(readFileSync(join(import.meta.dirname, '../../..', file), 'utf8'));
  return [
    config.name,
    ...config.d1_databases.flatMap((row: { database_name: string; database_id: string }) => [
      row.database_name,
      row.database_id,
    ]),
    ...config.r2_buckets.map((row: { bucket_name: string }) => row.bucket_name),
    ...config.queues.consumers.flatMap((row: { queue: string; dead_letter_queue: string }) => [
      row.queue,
      row.dead_letter_queue,
    ]),
    ...config.queues.producers.map((row: { queue: string }) => row.queue),
    ...config.ratelimits.map((row: { namespace_id: string }) => row.namespace_id),
  ];
}

const readCommit = (name: string) =>
  execFileSync('git', ['rev-parse', '--short=12', name], { encoding: 'utf8' }).trim();

describe('npm run deploy -- --env', () => {
  it('deploys staging beside production and shares nothing with it', async () => {
    const production = await deploy(['--dry-run']);
    expect(production.status, production.output).toBe(0);
    const ofProduction = [...production.output.matchAll(/would create \w+ (\S+)/g)].map(([, name]) => name);
    expect(ofProduction).toContain('tessera-blobs');
    writeFileSync(join(stage.directory, '.deploy.vars'), 'APP_HOST=production.example.com\n');
    addDatabases(stage, 'tessera-staging');
    const staging = await deploy(['--env', 'staging', '--shards', '2']);
    expect(staging.status, staging.output).toBe(0);
    const names = readNames('wrangler.deploy.staging.json');
    expect(names.filter((name) => ofProduction.includes(name) || /^100\d$/.test(name))).toEqual([]);
    expect([...stage.cloudflare.state.databases.keys()]).toEqual([
      'tessera-staging-directory',
      'tessera-staging-objects-0',
      'tessera-staging-objects-1',
    ]);
    expect([...stage.cloudflare.state.scripts.keys()]).toEqual(['tessera-staging']);
    const bindings = stage.cloudflare.state.scripts.get('tessera-staging')?.bindings.map(({ name }) => name);
    expect(bindings).toEqual(expect.arrayContaining(['OBJECTS_0', 'OBJECTS_1']));
    expect(stage.cloudflare.state.scripts.get('tessera-staging')?.versions.at(-1)?.tag).toBe(readCommit('HEAD'));
    const secrets = readFileSync(join(stage.directory, '.deploy.staging.secrets'), 'utf8');
    expect(secrets).toContain('MASTER_KEY=');

    const fewer = await deploy(['--env', 'staging', '--shards', '1']);
    expect([fewer.status, fewer.output]).toEqual([1, expect.stringContaining('--shards must be at least 2')]);
    const same = await deploy(['--env', 'staging', '--dry-run']);
    expect(same.output).not.toContain('would create');
  });

  it.each([
    [['--env', 'Production!'], '--env must be'],
    [['--env', 'production'], '--env must be'],
    [['--shards', '0'], '--shards must be a whole number from 1 to 64.'],
    [['--directories', '3'], '--directories must be 1, 5, 21 or 85.'],
    [['--teardown', '--upgrade'], 'exclude each other'],
    [['--unknown'], '--unknown'],
  ])('refuses %j before it calls the account', async (args, reason) => {
    const { status, output } = await deploy(args);
    expect([status, output]).toEqual([2, expect.stringContaining(reason)]);
    expect(stage.cloudflare.requests).toEqual([]);
  });
});

describe('npm run deploy -- --directories', () => {
  it('creates, migrates and binds the user databases; an upgrade shows the changes, keeps them and explains how to roll back', async () => {
    const environment = ['--env', 'staging'];
    const first = await deploy([...environment, '--directories', '5'], { HOME_REGION: 'weur' });
    expect(first.status, first.output).toBe(0);
    const { databases, scripts } = stage.cloudflare.state;
    const people = [...databases.values()].filter(({ name }) => name.includes('directory'));
    expect(people.map(({ name, region, replication }) => [name, region, replication])).toEqual(
      ['', '-1', '-2', '-3', '-4'].map((end) => [`tessera-staging-directory${end}`, 'weur', 'auto']),
    );
    const [schema = [], ...others] = people.map(({ sql }) =>
      sql.prepare('SELECT name, sql FROM sqlite_master ORDER BY name').all(),
    );
    expect(schema.length).toBeGreaterThan(10);
    for (const other of others) expect(other).toEqual(schema);
    const { requests } = stage.cloudflare;
    expect(requests.findLastIndex((request) => request.endsWith('/query'))).toBeLessThan(
      requests.findIndex((request) => /^(?:PUT|POST) .*\/workers\/scripts\/[^/]+(?:\/versions)?$/.test(request)),
    );
    const listBound = () =>
      (scripts.get('tessera-staging')?.bindings ?? [])
        .filter(({ type }) => type === 'd1')
        .map(({ name, id }) => [name, id]);
    const bound = listBound();
    expect(bound).toHaveLength(6);
    for (const [n, { uuid }] of people.entries())
      expect(bound).toContainEqual([n === 0 ? 'DIRECTORY' : `DIRECTORY_${n}`, uuid]);

    requests.splice(0);
    const fewer = await deploy([...environment, '--directories', '1']);
    expect([fewer.status, fewer.output]).toEqual([
      1,
      expect.stringContaining('5 user databases exist, so --directories must be at least 5.'),
    ]);
    expect(listChanges(stage.cloudflare)).toEqual([]);

    const script = scripts.get('tessera-staging');
    const [deployed] = script?.versions ?? [];
    if (deployed) deployed.tag = readCommit('HEAD~1');
    const upgrade = await deploy(['--upgrade', '--shards', '2', ...environment]);
    expect(upgrade.status, upgrade.output).toBe(0);
    expect([script?.uploads, script?.versions.at(-1)?.tag]).toEqual([2, readCommit('HEAD')]);
    expect(upgrade.output).toContain(execFileSync('git', ['log', '-1', '--format=%s'], { encoding: 'utf8' }).trim());
    expect(upgrade.output).toContain('npx wrangler rollback version-1 --name tessera-staging');
    expect(upgrade.output).toContain(
      'npx wrangler d1 time-travel restore tessera-staging-objects-0 --bookmark=bookmark-of-tessera-staging-objects-0 --config wrangler.deploy.staging.json',
    );
    expect(upgrade.output).toContain('Durable Objects (mailboxes, leaderboards) cannot be rolled back');
    for (const end of ['directory', 'directory-4'])
      expect(upgrade.output).toContain(`Migrations of tessera-staging-${end}: none`);
    expect(upgrade.output).toContain('time-travel restore tessera-staging-directory-4 ');
    expect(upgrade.output).toContain('The version before does not have OBJECTS_1. Do not go back once data is in them');
    expect(listBound()).toEqual(expect.arrayContaining(bound));
    const teardown = await deploy(['--teardown', '--dry-run', ...environment]);
    for (const { name } of databases.values()) expect(teardown.output).toContain(`  database ${name}\n`);
  }, 240_000);

  it('refuses to add them while an older version runs, which does not know them', async () => {
    const directory = newDatabase('tessera-directory');
    directory.sql.exec('CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT, applied_at TEXT)');
    directory.sql.exec("INSERT INTO d1_migrations (name) VALUES ('0000_initial.sql')");
    stage.cloudflare.state.databases.set('tessera-directory', directory);
    const { status, output } = await deploy(['--directories', '5']);
    expect([status, output]).toEqual([1, expect.stringContaining('Deploy without --directories first')]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
    directory.sql.exec("INSERT INTO d1_migrations (name) VALUES ('0001_change.sql')");
    const later = await deploy(['--directories', '5', '--dry-run']);
    expect(later.status, later.output).toBe(0);
    expect(later.output).toContain('would create database tessera-directory-4');
  });

  it('completes a group whose creation was interrupted', async () => {
    for (const name of ['tessera-staging-directory', 'tessera-staging-directory-1'])
      stage.cloudflare.state.databases.set(name, newDatabase(name));
    const { status, output } = await deploy(['--env', 'staging', '--dry-run']);
    expect(status, output).toBe(0);
    expect([...output.matchAll(/would create database (\S+)/g)].map(([, name]) => name)).toEqual([
      'tessera-staging-objects-0',
      'tessera-staging-directory-2',
      'tessera-staging-directory-3',
      'tessera-staging-directory-4',
    ]);
  });
});

describe('npm run deploy -- --dry-run', () => {
  it('prints what it would do and changes nothing', async () => {
    stage.cloudflare.state.databases.set('tessera-directory', newDatabase('tessera-directory'));
    const { status, output } = await deploy(['--dry-run'], { HOME_REGION: 'apac' });
    expect(status, output).toBe(0);
    expect(output).not.toContain('would create database tessera-directory');
    expect(output).toContain('would create database tessera-objects-0 in apac');
    expect(output).toContain('would create bucket tessera-blobs-2 in oc');
    expect(output).toContain('would set the secret MASTER_KEY');
    expect(output).toContain('would apply the migration 0000_initial.sql to tessera-directory');
    expect(output).toContain(
      'would deploy the Worker tessera with the custom domains tessera.example.com and s3.example.com',
    );
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });
});

describe('npm run deploy -- --teardown', () => {
  function addDeployment(prefix: string): void {
    const { state } = stage.cloudflare;
    state.scripts.set(prefix, newScript());
    state.domains.set(`${prefix}.example.com`, prefix);
    state.databases.set(`${prefix}-directory`, newDatabase(`${prefix}-directory`));
    for (const name of [`${prefix}-blobs`, `${prefix}-blobs-2`])
      state.buckets.set(name, { region: undefined, objects: 0 });
    const consumers = [{ consumer_id: 'c', type: 'worker', script: prefix }];
    const queue_name = `${prefix}-mail-outbound`;
    state.queues.set(queue_name, { queue_id: crypto.randomUUID(), queue_name, consumers });
  }
  const listNames = () => {
    const { scripts, domains, databases, buckets, queues } = stage.cloudflare.state;
    return [scripts, domains, databases, buckets, queues].flatMap((store) => [...store.keys()]);
  };

  it('refuses without a terminal unless TEARDOWN names the Worker', async () => {
    addDeployment('tessera');
    const unnamed = await deploy(['--teardown']);
    expect([unnamed.status, unnamed.output]).toEqual([1, expect.stringContaining('needs TEARDOWN=tessera')]);
    const other = await deploy(['--teardown'], { TEARDOWN: 'tessera-staging' });
    expect([other.status, other.output]).toEqual([1, expect.stringContaining('Nothing was deleted.')]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });

  it('asks for the name on a terminal and deletes nothing if it differs', async () => {
    addDeployment('tessera');
    const { status, output } = await deploy(['--teardown'], {}, { answers: [[/Type tessera to delete/, 'yes\n']] });
    expect([status, output]).toEqual([1, expect.stringContaining('The name differs. Nothing was deleted.')]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });

  it('deletes one deployment, leaves the other and buckets that are not empty', async () => {
    addDeployment('tessera');
    addDeployment('tessera-staging');
    const production = listNames().filter((name) => !name.startsWith('tessera-staging'));
    const bucket = stage.cloudflare.state.buckets.get('tessera-staging-blobs-2');
    if (bucket) bucket.objects = 1;
    const args = ['--teardown', '--env', 'staging'];
    const first = await deploy(args, { TEARDOWN: 'tessera-staging' });
    expect([first.status, first.output]).toEqual([
      1,
      expect.stringContaining('not empty: bucket tessera-staging-blobs-2'),
    ]);
    expect(listNames().filter((name) => !production.includes(name))).toEqual(['tessera-staging-blobs-2']);
    if (bucket) bucket.objects = 0;
    const second = await deploy(args, { TEARDOWN: 'tessera-staging' });
    expect(second.status, second.output).toBe(0);
    expect(listNames()).toEqual(production);
  });
});

describe('an option without -- before it', () => {
  it('is refused, because npm keeps it for itself', async () => {
    const { status, output } = await deploy([], { npm_config_dry_run: 'true' });
    expect([status, output]).toEqual([2, expect.stringContaining('npm run deploy -- --dry-run')]);
    expect(stage.cloudflare.requests).toEqual([]);
  });
});

describe('npm run upgrade', () => {
  it('limits the mail of a month to twice that of the last 30 days, if it is more than the default and not set', async () => {
    addDeployment(stage, 'tessera-staging', MIGRATION_TAG);
    const upgrade = (variables: Record<string, string> = {}) =>
      deploy(['--upgrade', '--env', 'staging'], { MAIL_DOMAINS: 'example.com', ...variables });
    const readLimit = () =>
      stage.cloudflare.state.scripts.get('tessera-staging')?.bindings.find(({ name }) => name === 'MAIL_OUT_PER_MONTH')
        ?.text;
    Object.assign(stage.cloudflare.state.mailOfMonth, { recipients: 0, messages: 50_000 });
    expect((await upgrade()).status).toBe(0);
    expect(readLimit()).toBeUndefined();

    Object.assign(stage.cloudflare.state.mailOfMonth, { recipients: 81_000, messages: 50_000 });
    const set = await upgrade();
    expect(set.output).toContain(
      'MAIL_OUT_PER_MONTH=162000 (twice the mail of the last 30 days) is in .deploy.staging.vars.',
    );
    expect(readLimit()).toBe('162000');
    // The file has it for later deployments, and for later upgrades.
    expect(readFileSync(join(stage.directory, '.deploy.staging.vars'), 'utf8')).toContain(
      'MAIL_OUT_PER_MONTH=162000\n',
    );
  });

  it('says what to set if it may not read what was sent', async () => {
    addDeployment(stage, 'tessera-staging', MIGRATION_TAG);
    stage.cloudflare.state.denied.push(/analytics_engine/);
    const { status, output } = await deploy(['--upgrade', '--env', 'staging']);
    expect([status, output]).toEqual([0, expect.stringContaining('Set MAIL_OUT_PER_MONTH if')]);
  });

  it('refuses if the Worker was never deployed', async () => {
    const never = await deploy(['--upgrade', '--env', 'staging']);
    expect([never.status, never.output]).toEqual([
      1,
      expect.stringContaining('is not deployed. Run npm run deploy first.'),
    ]);
  });
});

describe('mail and storage settings of the zone', () => {
  const MAIL = { MAIL_DOMAINS: 'example.com', RAW_TARGET_HEADER: 'x-tessera-raw-target' };
  const contentOf = (name: string) =>
    stage.cloudflare.state.records
      .find((record) => record.name === name)
      ?.content.replaceAll('" "', '')
      .replaceAll('"', '');

  it('are set once, without the right are skipped with a sentence and a link, and foreign mail is left alone', async () => {
    const args = ['--env', 'staging'];
    addDatabases(stage, 'tessera-staging');
    stage.cloudflare.state.denied.push(/\/email\/routing\/rules/, /\/email\/sending/, /^PUT .*\/url_normalization$/);
    const mx = { id: 'mx', type: 'MX', name: 'example.com', content: 'mail.elsewhere.example' };
    stage.cloudflare.state.records.push(mx);
    const limited = await deploy(args, MAIL);
    expect(limited.status, limited.output).toBe(0);
    expect(limited.output).toContain(
      'Email Routing of example.com: skipped, because mail of example.com goes to mail.elsewhere.example.',
    );
    expect(limited.output).toMatch(
      /Catch-all rule of example\.com: skipped, because .* By hand: https:\/\/dash\.cloudflare\.com\//,
    );
    expect(limited.output).toContain(
      'URL normalization of example.com off: skipped, because the token lacks "Zone > Zone Settings > Edit".',
    );
    expect(limited.output).toContain('DNS records of example.com: done');
    expect(limited.output).toMatch(
      /Sending from example\.com: skipped, because the token lacks "Account > Email Sending > Edit"\. By hand: https:/,
    );
    expect(limited.output).toMatch(
      /Delivery events of example\.com: skipped, because .* not an enabled sending domain/,
    );
    expect(contentOf('s1._domainkey.example.com')).toBe(DKIM_RECORD);
    expect(contentOf('_dmarc.example.com')).toBe('v=DMARC1; p=quarantine');
    expect(stage.cloudflare.state.records).toContainEqual(
      expect.objectContaining({
        ...{ type: 'SRV', name: '_imaps._tcp.example.com' },
        data: { priority: 0, weight: 1, port: 993, target: 'bridge.example.com' },
      }),
    );

    stage.cloudflare.state.denied.splice(0);
    stage.cloudflare.state.records.splice(stage.cloudflare.state.records.indexOf(mx), 1);
    const records = [...stage.cloudflare.state.records];
    const complete = await deploy(args, MAIL);
    expect(complete.status, complete.output).toBe(0);
    expect(stage.cloudflare.state.emailRouting).toMatchObject({
      isEnabled: true,
      catchAll: { enabled: true, actions: [{ type: 'worker', value: ['tessera-staging'] }] },
    });
    expect(complete.output).toContain('Sending from example.com: done');
    expect(complete.output).toContain('Delivery events of example.com: done');
    const queue = stage.cloudflare.state.queues.get('tessera-staging-mail-events');
    expect(stage.cloudflare.state.subscriptions).toMatchObject([{ destination: { queue_id: queue?.queue_id } }]);
    expect(stage.cloudflare.state.urlNormalization.scope).toBe('none');
    const { rules } = stage.cloudflare.state;
    expect(rules.get('http_response_compression')).toMatchObject([
      { action: 'compress_response', action_parameters: { algorithms: [{ name: 'none' }] } },
    ]);
    expect(rules.get('http_request_late_transform')).toMatchObject([
      {
        expression: `http.host eq "${HOSTS.S3_HOST}"`,
        action_parameters: {
          headers: { 'x-tessera-raw-target': { operation: 'set', expression: 'raw.http.request.uri' } },
        },
      },
    ]);
    expect(stage.cloudflare.state.records).toEqual(records);
  });
});

describe('npm run deploy with PRODUCTS', () => {
  it('needs no host for storage if storage is not served', async () => {
    const { status, output } = await deploy(['--env', 'staging', '--dry-run'], {
      PRODUCTS: 'leaderboard',
      S3_HOST: '',
    });
    expect(status, output).toBe(0);
    expect(output).toContain(`with the custom domains ${HOSTS.APP_HOST}\n`);
    const other = await deploy(['--env', 'staging', '--dry-run'], { PRODUCTS: 'storage', S3_HOST: '' });
    expect([other.status, other.output]).toEqual([2, expect.stringContaining('S3_HOST must be set')]);
  });
});
