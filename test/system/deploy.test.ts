import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACCOUNT_ID, type CloudflareStandIn, startCloudflare } from '../support/cloudflare-api.ts';

const ROOT = join(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'tessera-deploy-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let cloudflare: CloudflareStandIn;
beforeEach(async () => {
  cloudflare = await startCloudflare();
});
afterEach(() => cloudflare[Symbol.asyncDispose]());

const HOSTS = { APP_HOST: 'tessera.example.com', S3_HOST: 's3.example.com' };
const RECORDER = { WRANGLER: join(ROOT, 'test/support/recording-wrangler.sh') };
let runs = 0;

interface Run {
  readonly status: number | null;
  readonly output: string;
  /** Calls that the recording wrangler wrote down. */
  readonly calls: string[];
}

/** @param answers are typed into a terminal, each line after its question appears. If omitted, there is no terminal. */
async function deploy(
  variables: Record<string, string>,
  answers?: readonly (readonly [RegExp, string])[],
): Promise<Run> {
  const record = join(scratch, `${++runs}.log`);
  const env = {
    ...process.env,
    CI: '',
    CLOUDFLARE_API_TOKEN: 'token-of-tests',
    CLOUDFLARE_API_BASE_URL: cloudflare.url,
    RECORD: record,
    OUTDIR: join(scratch, 'out'),
    DEPLOY_DIR: scratch,
    SKIP_HEALTH: '1',
    WRANGLER_SEND_METRICS: 'false',
    ...variables,
  };
  const command = answers
    ? ['script', '-qefc', `${process.execPath} dev/deploy.ts`, '/dev/null']
    : [process.execPath, 'dev/deploy.ts'];
  const child = spawn(command[0] ?? '', command.slice(1), { cwd: ROOT, env });
  const waiting = [...(answers ?? [])];
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
      if (waiting[0]?.[0].test(output)) child.stdin.write(waiting.shift()?.[1] ?? '');
    });
  if (!answers) child.stdin.end();
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const calls = existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : [];
  return { status, output, calls };
}

/** @returns the requests that change the account. */
const changes = () =>
  cloudflare.requests.filter((request) => !request.startsWith('GET ') && !request.endsWith('/domains/changeset'));

describe('npm run deploy', () => {
  it('stops without host names, before it calls the account', async () => {
    const { status, output, calls } = await deploy({ ...RECORDER, ACCOUNT: 'empty', APP_HOST: 'tessera.example.com' });
    expect(status).toBe(2);
    expect(output).toContain('S3_HOST must be set');
    expect([calls, cloudflare.requests]).toEqual([[], []]);
  });

  it('creates the resources in an empty account, migrates, then deploys a configuration that the real wrangler accepts', async () => {
    const { status, output, calls } = await deploy({ ...RECORDER, ...HOSTS, ACCOUNT: 'empty' });
    expect(status, output).toBe(0);
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

  it('changes no secret and creates no database when it runs again', async () => {
    const secretsBefore = readFileSync(join(scratch, '.deploy.secrets'), 'utf8');
    const { status, output, calls } = await deploy({ ...RECORDER, ...HOSTS, ACCOUNT: 'deployed' });
    expect(status, output).toBe(0);
    expect(calls.some((call) => call.startsWith('d1 create'))).toBe(false);
    expect(calls.find((call) => call.startsWith('deploy '))).not.toContain('--secrets-file');
    expect(readFileSync(join(scratch, '.deploy.secrets'), 'utf8')).toBe(secretsBefore);
  });

  it('rejects invalid values, unknown names and secrets among the variables, before it calls the account', async () => {
    const file = join(scratch, '.deploy.vars');
    writeFileSync(file, 'MAIL_HOLD_SECOND=60\nRSPAMD_PASSWORD=a-password\nSEND_LIMIT_PER_HOUR=1k-not-to-show\n');
    try {
      const { status, output, calls } = await deploy({
        ...RECORDER,
        ...HOSTS,
        ACCOUNT: 'empty',
        LEADERBOARD_SHARDS: '0',
      });
      expect(status).toBe(2);
      expect(output).toContain('LEADERBOARD_SHARDS must be a whole number of shards from 1 to 256.');
      expect(output).toContain('SEND_LIMIT_PER_HOUR must be a whole number of messages');
      expect(output).toContain('MAIL_HOLD_SECOND is not a setting. The closest name is MAIL_HOLD_SECONDS.');
      expect(output).toContain('RSPAMD_PASSWORD is a secret: move it from .deploy.vars to .deploy.secrets.');
      expect(output).not.toMatch(/a-password|not-to-show/);
      expect([calls, cloudflare.requests]).toEqual([[], []]);
    } finally {
      rmSync(file);
    }
  });

  it('uploads optional secrets as secrets, never as variables', async () => {
    const secret = { RSPAMD_PASSWORD: 'a-password-of-rspamd' };
    const { status, output, calls } = await deploy({ ...RECORDER, ...HOSTS, ...secret, ACCOUNT: 'deployed' });
    expect(status, output).toBe(0);
    expect(calls.find((call) => call.startsWith('deploy '))).toContain('--secrets-file');
    expect(readFileSync(join(ROOT, 'wrangler.deploy.toml'), 'utf8')).not.toContain('a-password-of-rspamd');
  });
});

describe('npm run deploy without a terminal', () => {
  it('refuses to take over a DNS record or the domain of another Worker, names both, and changes nothing', async () => {
    cloudflare.state.scripts.add('tessera');
    cloudflare.state.domains.set(HOSTS.APP_HOST, 'shop');
    cloudflare.state.records.add(HOSTS.S3_HOST);
    const { status, output } = await deploy(HOSTS);
    expect(status).toBe(1);
    expect(output).toContain('tessera.example.com is a custom domain of the Worker "shop".');
    expect(output).toContain('s3.example.com has a DNS record.');
    expect(output).toContain('DEPLOY_TAKE_OVER=1');
    expect(output).not.toMatch(/^ {4}at /m);
    expect(changes()).toEqual([]);
  });

  it('does the same before the first deployment, when the Worker does not exist', async () => {
    cloudflare.state.records.add(HOSTS.APP_HOST);
    const { status, output } = await deploy(HOSTS);
    expect([status, output]).toEqual([1, expect.stringContaining('tessera.example.com has a DNS record.')]);
    expect(changes()).toEqual([]);
  });

  it('lets the real wrangler replace them if DEPLOY_TAKE_OVER=1', async () => {
    cloudflare.state.scripts.add('tessera');
    cloudflare.state.records.add(HOSTS.S3_HOST);
    const real = { ...RECORDER, ACCOUNT: 'deployed', DEPLOY: 'real' };
    const { status, output } = await deploy({ ...HOSTS, ...real, DEPLOY_TAKE_OVER: '1' });
    expect(status, output).toBe(0);
    expect(cloudflare.domainWrites).toMatchObject([{ override_existing_dns_record: true }]);
  });

  it('deploys again to its own domains', async () => {
    cloudflare.state.scripts.add('tessera');
    for (const host of Object.values(HOSTS)) cloudflare.state.domains.set(host, 'tessera');
    const { status, output } = await deploy({ ...HOSTS, ...RECORDER, ACCOUNT: 'deployed' });
    expect(status, output).toBe(0);
  });

  it('names a missing token or account in a sentence', async () => {
    const noToken = await deploy({ ...HOSTS, CLOUDFLARE_API_TOKEN: '' });
    expect([noToken.status, noToken.output]).toEqual([1, expect.stringContaining('CLOUDFLARE_API_TOKEN must be set')]);
    cloudflare.state.accounts.push({ id: 'c'.repeat(32), name: 'Other' });
    const twoAccounts = await deploy(HOSTS);
    expect(twoAccounts.status).toBe(1);
    expect(twoAccounts.output).toContain('Set CLOUDFLARE_ACCOUNT_ID');
    expect(twoAccounts.output).toContain(ACCOUNT_ID);
    const noWrangler = await deploy({ ...HOSTS, CLOUDFLARE_ACCOUNT_ID: ACCOUNT_ID, WRANGLER: join(scratch, 'none') });
    expect([noWrangler.status, noWrangler.output]).toEqual([1, expect.stringContaining('Run npm ci first.')]);
    for (const { output } of [noToken, twoAccounts, noWrangler]) expect(output).not.toMatch(/^ {4}at /m);
    expect(changes()).toEqual([]);
  });
});

describe('npm run deploy on a terminal', () => {
  const real = { ...RECORDER, ACCOUNT: 'deployed', DEPLOY: 'real', CLOUDFLARE_ACCOUNT_ID: ACCOUNT_ID };

  it('lets wrangler ask, and replaces nothing if the answer is no', async () => {
    cloudflare.state.scripts.add('tessera');
    cloudflare.state.records.add(HOSTS.S3_HOST);
    const { status, output } = await deploy({ ...HOSTS, ...real }, [[/Update them to point to this script/, 'n']]);
    expect(output).toMatch(/DNS records that conflict[\s\S]*s3\.example\.com/);
    expect(status, output).not.toBe(0);
    expect(cloudflare.domainWrites).toEqual([]);
  });

  it('replaces the domains if the answer is yes', async () => {
    cloudflare.state.scripts.add('tessera');
    cloudflare.state.domains.set(HOSTS.APP_HOST, 'shop');
    const { status, output } = await deploy({ ...HOSTS, ...real }, [[/Update them to point to this script/, 'y']]);
    expect(status, output).toBe(0);
    expect(output).toContain('used as a domain for "shop"');
    expect(cloudflare.domainWrites).toMatchObject([
      { override_existing_origin: true, override_existing_dns_record: false },
    ]);
  });
});
