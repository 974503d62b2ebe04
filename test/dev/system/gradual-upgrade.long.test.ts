/** Tests gradual upgrades and the way back, with the real wrangler. The environment has a configuration file of its own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Script } from '../../support/deploy/cloudflare-state.ts';
import { listChanges, runDeploy } from '../../support/deploy/run.ts';
import { addDeployment, MIGRATION_TAG, prepareCloudflare } from '../../support/deploy/test.ts';

const ROOT = join(import.meta.dirname, '../../..');
const WORKER = 'tessera-gradual';
const stage = prepareCloudflare();
const deploy = (...args: string[]) => runDeploy({ ...stage, args: [...args, '--env', 'gradual'] });
const upgrade = (...args: string[]) => deploy('--upgrade', '--share', '10', '--watch', '0', ...args);

/** Adds the version that runs before the upgrade. @returns the Worker in the account. */
const deployFirst = (): Script => addDeployment(stage, WORKER, MIGRATION_TAG);

/** The shares of the traffic after each step, oldest first, as `version:percentage`. */
const stepsOf = ({ deployments }: Script): string[] =>
  deployments
    .map(({ versions }) => versions.map(({ version_id, percentage }) => `${version_id}:${percentage}`).join(' '))
    .reverse();

/** Runs a command that an upgrade printed, such as `npx wrangler rollback …`, in the folder of the repository. */
function runPrinted(output: string, pattern: RegExp) {
  const [command = 'none', ...args] = (pattern.exec(output)?.[0] ?? '').replace('npx wrangler ', '').split(' ');
  const env = {
    ...process.env,
    CI: '1',
    CLOUDFLARE_API_TOKEN: 'token-of-tests',
    CLOUDFLARE_ACCOUNT_ID: stage.cloudflare.state.accounts[0]?.id ?? '',
    CLOUDFLARE_API_BASE_URL: stage.cloudflare.url,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_LOG_PATH: join(stage.directory, 'logs'),
  };
  return new Promise<{ status: number | null; output: string }>((resolve) => {
    const wrangler = join(ROOT, 'node_modules/.bin/wrangler');
    const child = execFile(wrangler, [command, ...args], { cwd: ROOT, env }, (error, out, err) =>
      resolve({ status: error ? Number(error.code ?? 1) : 0, output: out + err }),
    );
    child.stdin?.end();
  });
}

describe('npm run upgrade -- --share', () => {
  it('gives the new version no traffic until it is well, then a share, then all; the printed rollback goes back', async () => {
    const script = deployFirst();
    const { status, output } = await upgrade();
    expect(status, output).toBe(0);
    expect(stepsOf(script)).toEqual([
      'version-1:100',
      'version-1:100 version-2:0',
      'version-1:90 version-2:10',
      'version-2:100',
    ]);
    expect(output).toContain('The health of the new version: {"status":"ok","version_id":"version-2"}');
    expect(output).toContain('new version: 0 of 0 requests failed');
    const back = await runPrinted(output, /npx wrangler rollback \S+ --name \S+/);
    expect(back.status, back.output).toBe(0);
    expect(stepsOf(script).at(-1)).toBe('version-1:100');

    // The platform refuses a rollback across a migration of object classes.
    script.migrationTag = 'v9';
    const refused = await runPrinted(output, /npx wrangler rollback \S+ --name \S+/);
    expect([refused.status, refused.output]).toEqual([1, expect.stringContaining('migration has occurred')]);
  });

  it.each([
    ['is not well', { status: 503, body: '{"status":"unavailable","version_id":"version-2"}' }, []],
    [
      'fails more often',
      undefined,
      [
        { version: 'version-1', outcome: 'ok', count: 900 },
        { version: 'version-2', outcome: 'ok', count: 90 },
        { version: 'version-2', outcome: 'failed', count: 10 },
      ],
    ],
  ])('gives all traffic back if the new version %s', async (_, health, counted) => {
    const script = deployFirst();
    if (health) stage.cloudflare.state.healthOf.set('version-2', health);
    stage.cloudflare.state.counted = counted;
    const { status, output } = await upgrade();
    expect(status, output).toBe(1);
    expect(output).toContain(health ? '"unavailable"' : '10 of 100 requests failed in the new version');
    expect(output).toContain('The version before (version-1) has all traffic again.');
    expect(stepsOf(script).at(-1)).toBe('version-1:100');
    expect(stepsOf(script)).not.toContain('version-2:100');
    expect(stepsOf(script).includes('version-1:90 version-2:10')).toBe(health === undefined);
  });

  it('is refused, before it changes anything, if the platform or the version before do not allow it', async () => {
    const script = deployFirst();
    const changes = listChanges(stage.cloudflare).length;
    const tag = script.migrationTag;
    script.migrationTag = 'v1';
    const classes = await upgrade();
    expect([classes.status, classes.output]).toEqual([1, expect.stringContaining('new object classes')]);
    script.migrationTag = tag;
    script.deployments.unshift({
      id: 'split',
      versions: [
        { version_id: 'version-0', percentage: 10 },
        { version_id: 'version-1', percentage: 90 },
      ],
    });
    const split = await upgrade();
    expect([split.status, split.output]).toEqual([1, expect.stringContaining('rollback version-1')]);
    script.deployments.shift();
    stage.cloudflare.state.buckets.delete(`${WORKER}-blobs-2`);
    const added = await upgrade();
    expect([added.status, added.output]).toEqual([1, expect.stringContaining('does not know bucket')]);
    expect(listChanges(stage.cloudflare).length).toBe(changes);
  });

  it.each([
    [['--share', '10'], 'is an option of npm run upgrade'],
    [['--upgrade', '--share', '100'], 'from 1 to 99'],
    [['--upgrade', '--watch', '5'], '--watch needs --share'],
    [['--upgrade', '--share', '5', '--shards', '2'], 'excludes'],
  ])('refuses %j', async (args, reason) => {
    const { status, output } = await deploy(...args);
    expect([status, output]).toEqual([2, expect.stringContaining(reason)]);
  });
});
