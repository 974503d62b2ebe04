import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'tessera-deploy-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function deploy(account: 'empty' | 'deployed', variables: Record<string, string>) {
  const record = join(scratch, `${account}-${Object.keys(variables).length}.log`);
  const { status, stderr } = spawnSync(process.execPath, ['dev/deploy.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: {
      ...process.env,
      ...variables,
      WRANGLER: join(ROOT, 'test/support/recording-wrangler.sh'),
      RECORD: record,
      ACCOUNT: account,
      OUTDIR: join(scratch, 'out'),
      DEPLOY_DIR: scratch,
      SKIP_HEALTH: '1',
    },
  });
  const calls = existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : [];
  return { status, stderr, calls };
}

const HOSTS = { APP_HOST: 'tessera.example.com', S3_HOST: 's3.example.com' };

describe('npm run deploy', () => {
  it('refuses to go without hostnames, before it touches the account', () => {
    const { status, stderr, calls } = deploy('empty', { APP_HOST: 'tessera.example.com' });
    expect(status).toBe(2);
    expect(stderr).toContain('S3_HOST must be set');
    expect(calls).toEqual([]);
  });

  it('makes what an empty account lacks, migrates, then deploys a configuration that the real wrangler accepts', () => {
    const { status, stderr, calls } = deploy('empty', HOSTS);
    expect(status, stderr).toBe(0);
    expect(calls.filter((call) => call.includes('create')).sort()).toEqual([
      'd1 create tessera-directory',
      'd1 create tessera-objects-0',
      'queues create tessera-mail-inbound',
      'queues create tessera-mail-inbound-dead',
      'queues create tessera-mail-outbound',
      'queues create tessera-mail-outbound-dead',
      'queues create tessera-storage-tasks',
      'queues create tessera-storage-tasks-dead',
      'r2 bucket create tessera-blobs',
      'r2 bucket create tessera-blobs-2',
    ]);
    const lastMigration = calls.findLastIndex((call) => call.startsWith('d1 migrations apply'));
    const deployment = calls.findIndex((call) => call.startsWith('deploy '));
    expect(deployment).toBeGreaterThan(lastMigration);
    expect(calls[deployment]).toContain('--secrets-file');
    expect(existsSync(join(scratch, 'out/index.js'))).toBe(true);
  });

  it('changes no secret and makes no database a second time', () => {
    const secretsBefore = readFileSync(join(scratch, '.deploy.secrets'), 'utf8');
    const { status, stderr, calls } = deploy('deployed', HOSTS);
    expect(status, stderr).toBe(0);
    expect(calls.some((call) => call.startsWith('d1 create'))).toBe(false);
    expect(calls.find((call) => call.startsWith('deploy '))).not.toContain('--secrets-file');
    expect(readFileSync(join(scratch, '.deploy.secrets'), 'utf8')).toBe(secretsBefore);
  });
});
