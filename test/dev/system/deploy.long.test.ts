/** Tests deployments that take several uploads of the real wrangler. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { newScript } from '../../support/deploy/cloudflare-state.ts';
import { type DeployRun, HOSTS, listChanges, runDeploy } from '../../support/deploy/run.ts';
import { prepareCloudflare } from '../../support/deploy/test.ts';

const stage = prepareCloudflare();
type Options = Omit<Parameters<typeof runDeploy>[0], 'cloudflare' | 'directory'>;
const deploy = (variables: Record<string, string> = {}, options: Options = {}): Promise<DeployRun> =>
  runDeploy({ ...stage, variables, ...options });

describe('npm run deploy on a terminal', () => {
  const TO_ALL = /Update them to point to this script/;

  it('lets wrangler ask, and replaces nothing if the answer is no', async () => {
    stage.cloudflare.state.scripts.set('tessera', newScript());
    stage.cloudflare.state.records.push({ id: 'r', type: 'A', name: HOSTS.S3_HOST, content: '192.0.2.1' });
    const { status, output } = await deploy({}, { answers: [[TO_ALL, 'n']] });
    expect(output).toMatch(/DNS records that conflict[\s\S]*s3\.example\.com/);
    expect(status, output).not.toBe(0);
    expect(stage.cloudflare.domainWrites).toEqual([]);
  });

  it('replaces the domains if the answer is yes', async () => {
    stage.cloudflare.state.scripts.set('tessera', newScript());
    stage.cloudflare.state.domains.set(HOSTS.APP_HOST, 'shop');
    const { status, output } = await deploy({}, { answers: [[TO_ALL, 'y']] });
    expect(status, output).toBe(0);
    expect(output).toContain('used as a domain for "shop"');
    expect(stage.cloudflare.domainWrites).toMatchObject([
      { override_existing_origin: true, override_existing_dns_record: false },
    ]);
  });
});

describe('npm run deploy with JURISDICTION=eu', () => {
  const STAGING = ['--env', 'staging'];
  const EU = { JURISDICTION: 'eu', HOME_REGION: 'weur' };

  it('creates databases, buckets and queues in the EU, keeps them there, and deletes them', async () => {
    const first = await deploy(EU, { args: STAGING });
    expect(first.status, first.output).toBe(0);
    const { databases, buckets, queues, scripts } = stage.cloudflare.state;
    expect([...databases.values()].map(({ jurisdiction, region }) => [jurisdiction, region])).toEqual([
      ['eu', undefined],
      ['eu', undefined],
    ]);
    expect([...buckets].map(([name, { region }]) => [name, region])).toEqual([
      ['eu/tessera-staging-blobs', undefined],
      ['eu/tessera-staging-blobs-2', undefined],
    ]);
    expect(new Set([...queues.values()].map(({ jurisdiction }) => jurisdiction))).toEqual(new Set(['eu']));
    const bindings = scripts.get('tessera-staging')?.bindings ?? [];
    expect(bindings.filter(({ type }) => type === 'r2_bucket').map(({ jurisdiction }) => jurisdiction)).toEqual([
      'eu',
      'eu',
    ]);
    expect(bindings.find(({ name }) => name === 'JURISDICTION')).toMatchObject({ text: 'eu' });
    const second = await deploy(EU, { args: STAGING });
    expect(second.status, second.output).toBe(0);
    expect(second.output).not.toContain('created');
    expect(buckets.size).toBe(2);

    const changes = listChanges(stage.cloudflare).length;
    const other = await deploy({}, { args: STAGING });
    expect([other.status, other.output]).toEqual([1, expect.stringContaining('deployed with JURISDICTION=eu')]);
    expect(listChanges(stage.cloudflare).length).toBe(changes);

    const end = await deploy({ ...EU, TEARDOWN: 'tessera-staging' }, { args: [...STAGING, '--teardown'] });
    expect(end.status, end.output).toBe(0);
    expect([databases.size, buckets.size, queues.size, scripts.size]).toEqual([0, 0, 0, 0]);
  });
});

const readSecrets = () => parseEnv(readFileSync(join(stage.directory, '.deploy.secrets'), 'utf8'));

describe('npm run deploy after a kill', () => {
  it('completes runs that were killed between two buckets, while they upload the Worker and before they set the domains', async () => {
    const idsOf = () => [...stage.cloudflare.state.databases.values()].map(({ uuid }) => uuid);
    let ids: string[] | undefined;
    for (const killAt of [
      /^POST .*\/r2\/buckets$/,
      /^PUT .*\/workers\/scripts\/tessera$/,
      /^PUT .*\/domains\/records$/,
    ]) {
      const killed = await deploy({}, { killAt });
      expect(killed.status, killed.output).not.toBe(0);
      expect(stage.cloudflare.requests.some((request) => killAt.test(request))).toBe(true);
      ids ??= idsOf();
    }
    const { status, output } = await deploy();
    expect(status, output).toBe(0);
    expect(ids).toHaveLength(2);
    expect(idsOf()).toEqual(ids);
    expect(stage.cloudflare.state.buckets.size).toBe(2);
    expect([...stage.cloudflare.state.domains.keys()]).toEqual(Object.values(HOSTS));
    expect(existsSync(join(stage.directory, '.deploy.secrets.upload.json'))).toBe(false);
    expect(Object.fromEntries(stage.cloudflare.state.scripts.get('tessera')?.secrets ?? [])).toEqual(readSecrets());
  }, 240_000);
});
