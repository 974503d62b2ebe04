/** A trial against a local server and the stand-in of Cloudflare's API. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Account } from '../../../dev/deploy/resources.ts';
import { type TrialPlatform, toCloudflare } from '../../../dev/trial/platform.ts';
import { countRequests, type TrialWorld } from '../../../dev/trial/world.ts';
import { findFiles } from '../disaster/restore.ts';
import { startServer, type TestServer } from '../server.ts';
import type { CloudflareStandIn } from './cloudflare-api.ts';
import { ACCOUNT_ID, ZONE_ID } from './cloudflare-state.ts';
import { HOSTS } from './run.ts';
import { addDeployment } from './test.ts';

export const ZONE = { id: ZONE_ID, name: 'example.com' };
/** The mail domain is a setting of the server, so it is the same in each trial. */
const MAIL_DOMAIN = 'mail-trial.example.com';

export const startTrialServer = (): Promise<TestServer> =>
  startServer({
    vars: { MAIL_DOMAINS: MAIL_DOMAIN, REGISTRATION: 'invite', MAIL_HOLD_SECONDS: '0' },
    withoutRules: true,
  });

export const toAccount = ({ url }: CloudflareStandIn): Account => ({
  access: { baseUrl: url, token: 'token-of-tests' },
  accountId: ACCOUNT_ID,
});

/** Makes the parts of a deployment with mail in the account, as `npm run deploy` does. A run of wrangler takes seconds. */
export function makeDeployment(cloudflare: CloudflareStandIn, name: string): void {
  const worker = `tessera-${name}`;
  const { state } = cloudflare;
  const domain = `mail-${name}.example.com`;
  addDeployment({ cloudflare, directory: '' }, worker, 'v2');
  for (const host of Object.values(HOSTS)) state.domains.delete(host);
  for (const host of [`${name}.example.com`, `s3-${name}.example.com`]) state.domains.set(host, worker);
  for (const bucket of state.buckets.values()) bucket.objects = 25;
  state.sendingDomains.add(domain);
  state.records.push({ id: `record-${name}`, type: 'TXT', name: domain, content: 'v=spf1 ~all' });
  state.subscriptions.push({
    id: `subscription-${name}`,
    name: `${worker}-mail-events ${domain}`,
    enabled: true,
    events: [],
    source: { type: 'email.sending', zone_id: ZONE_ID, domain },
    destination: { type: 'queues.queue', queue_id: 'q' },
  });
}

/** What exists in the account, as names. */
export function listAccount({ state }: CloudflareStandIn): string[] {
  const { scripts, domains, databases, buckets, queues, sendingDomains, records, subscriptions } = state;
  const keys = [scripts, domains, databases, buckets, queues, sendingDomains].flatMap((store) => [...store.keys()]);
  return [...keys, ...records.map((each) => each.name), ...subscriptions.map((each) => each.name)];
}

interface WorldOptions {
  readonly cloudflare: CloudflareStandIn;
  readonly server: TestServer;
  readonly name: string;
  readonly signal?: AbortSignal;
  /** Replaces `npm run deploy`. */
  readonly deploy?: TrialPlatform['deploy'];
}

/** Makes the world of a trial. Time Travel of a database puts back the file of the server's shard. */
export function toWorld({
  cloudflare,
  server,
  name,
  signal = new AbortController().signal,
  deploy,
}: WorldOptions): TrialWorld {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-bookmark-'));
  const move = async (isBack: boolean) => {
    await server.stop();
    const [file = ''] = findFiles(server, 'SELECT 1 FROM version');
    for (const end of ['', '-shm', '-wal']) {
      const [from, to] = isBack ? [join(folder, `file${end}`), file + end] : [file + end, join(folder, `file${end}`)];
      rmSync(to, { force: true });
      if (existsSync(from)) cpSync(from, to);
    }
    await server.start();
  };
  cloudflare.setTimeTravel({
    onBookmark: () => move(false),
    onRestore: () => move(true).finally(() => rmSync(folder, { recursive: true, force: true })),
  });
  const environment = {
    CI: '',
    CLOUDFLARE_API_TOKEN: 'token-of-tests',
    CLOUDFLARE_ACCOUNT_ID: ACCOUNT_ID,
    CLOUDFLARE_API_BASE_URL: cloudflare.url,
    DEPLOY_CHECK_ORIGIN: cloudflare.url,
    DEPLOY_DIR: server.directory,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_LOG_PATH: join(server.directory, 'logs'),
    APP_HOST: `${name}.example.com`,
    S3_HOST: `s3-${name}.example.com`,
    MAIL_DOMAINS: `mail-${name}.example.com`,
    ROOT_TOKEN: server.rootToken,
  };
  const platform = toCloudflare(toAccount(cloudflare), name, environment);
  return {
    name,
    appOrigin: server.url,
    storageOrigin: server.url,
    mailDomain: MAIL_DOMAIN,
    mailTo: 'someone@far.test',
    rootToken: server.rootToken,
    platform: deploy ? { ...platform, deploy } : platform,
    signal,
    requests: countRequests(),
    pause: (ms) => setTimeout(ms, undefined, { signal }),
  };
}
