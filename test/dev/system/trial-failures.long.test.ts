/** Tests `npm run trial` against a local server and the stand-in of Cloudflare's API: as a whole, and with each step failing once. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PLATFORM_STEPS } from '../../../dev/trial/platform-steps.ts';
import { PRODUCT_STEPS } from '../../../dev/trial/product-steps.ts';
import { listOwned, removeOwned } from '../../../dev/trial/remove.ts';
import { runTrial } from '../../../dev/trial/run.ts';
import type { Step } from '../../../dev/trial/world.ts';
import { listChanges } from '../../support/deploy/run.ts';
import { prepareCloudflare } from '../../support/deploy/test.ts';
import { listAccount, makeDeployment, startTrialServer, toAccount, toWorld, ZONE } from '../../support/deploy/trial.ts';
import type { TestServer } from '../../support/server.ts';

const ROOT = join(import.meta.dirname, '../../..');
const STEPS = [...PRODUCT_STEPS, ...PLATFORM_STEPS];
const stage = prepareCloudflare();
let server: TestServer;
let trials = 0;
beforeAll(async () => {
  server = await startTrialServer();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Options {
  readonly confirm?: (names: readonly string[]) => Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** Runs a trial in an account that has something else. */
async function run(steps: readonly Step[], { confirm = async () => true, ...options }: Options = {}) {
  const name = `trial00000${++trials}`;
  const { cloudflare } = stage;
  makeDeployment(cloudflare, 'shop');
  const before = listAccount(cloudflare);
  // The second deployment is the upgrade, which makes nothing.
  const deploy = async (args: readonly string[]) => {
    if (args.length > 0) return;
    makeDeployment(cloudflare, name);
  };
  const world = toWorld({ cloudflare, server, name, deploy, ...options });
  const account = toAccount(cloudflare);
  const report = await runTrial(world, steps, () => removeOwned(() => listOwned(account, ZONE, name), confirm));
  const left = listAccount(cloudflare).filter((each) => !before.includes(each));
  const lost = before.filter((each) => !listAccount(cloudflare).includes(each));
  return { name, report, left, lost };
}

it('does every step, and removes all that it made and nothing else', async () => {
  const sum = { requests: 1e6, errors: 0, rowsRead: 5, rowsWritten: 3 };
  stage.cloudflare.state.usage = { viewer: { accounts: [{ workers: [{ sum }], databases: [{ sum }, { sum }] }] } };
  const { report, left, lost } = await run(STEPS);
  expect(report.steps.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(report.is_ok).toBe(true);
  expect([left, lost, report.left]).toEqual([[], [], []]);
  const facts = Object.fromEntries(report.steps.map(({ step, facts }) => [step, facts]));
  expect(facts.deploy).toMatchObject({ health: { status: 'ok', version_id: 'local' } });
  expect(facts.mail).toEqual({ out: 'sent' });
  expect(facts.restore).toEqual({ noticed_ms: expect.any(Number), served_again_ms: expect.any(Number) });
  expect(facts.upgrade).toMatchObject({ failed: 0 });
  for (const operation of ['put_4k', 'get_4k', 'post', 'mail'])
    expect(facts.measure).toHaveProperty(operation, expect.objectContaining({ p50_ms: expect.any(Number) }));
  expect(facts.analytics).toMatchObject({ counted: { requests: 1e6, rowsRead: 10, rowsWritten: 6 } });
}, 240_000);

describe('after a failure', () => {
  /** Steps that restart the server or take samples do not run before a later one that fails. */
  const isCheap = (name: string) => !['restore', 'measure', 'analytics'].includes(name);

  it.each(STEPS.map(({ name }) => name))('of the step %s everything that it made is removed', async (failing) => {
    const steps = STEPS.filter(({ name }) => name === failing || isCheap(name)).map((step) =>
      step.name !== failing
        ? step
        : ({
            name: failing,
            run: async (world, known) => {
              // The expensive steps make nothing in the account, so they fail before their work.
              if (isCheap(failing)) await step.run(world, known);
              throw new Error('it was made to fail');
            },
          } satisfies Step),
    );
    const { report, left, lost } = await run(steps);
    const failed = report.steps.filter(({ outcome }) => outcome === 'failed');
    expect(failed).toMatchObject([{ step: failing, reason: 'it was made to fail' }]);
    expect(report.is_ok).toBe(false);
    const after = report.steps.slice(report.steps.findIndex(({ step }) => step === failing) + 1);
    expect(new Set(after.map((each) => each.outcome))).toEqual(new Set(['not run']));
    expect([left, lost, report.left]).toEqual([[], [], []]);
  });

  it.each([
    [/^DELETE .*\/workers\/domains\//, 'custom domain'],
    [/^DELETE .*\/event_subscriptions\//, 'event subscription'],
    [/^DELETE .*\/email\/sending\//, 'sending domain'],
    [/^DELETE .*\/workers\/scripts\//, 'Worker'],
    [/^DELETE .*\/queues\/[^/]+$/, 'queue'],
    [/^DELETE .*\/d1\/database\//, 'database'],
    [/^DELETE .*\/r2\/buckets\/[^/]+\/objects\//, 'bucket'],
    [/^DELETE .*\/dns_records\//, 'DNS record'],
  ])('of the removal by %s it is listed by name', async (denied, kind) => {
    stage.cloudflare.state.denied.push(denied);
    const { name, report, left } = await run(PRODUCT_STEPS.slice(0, 1));
    expect(report.left.length).toBeGreaterThan(0);
    expect(new Set(report.left.map((what) => what.startsWith(`${kind} `) && what.includes(name)))).toEqual(
      new Set([true]),
    );
    expect(report.left.length).toBe(left.length);
    expect(report.is_ok).toBe(false);
  });

  it('of the lists it says that everything with its name may be left', async () => {
    stage.cloudflare.state.denied.push(/^GET .*\/queues$/);
    const { name, report } = await run(PRODUCT_STEPS.slice(0, 1));
    expect(report.left).toEqual([expect.stringContaining(`everything with "${name}" in its name`)]);
  });
});

it('asks before the removal with every name, and lists what is left if the answer is no', async () => {
  let asked: readonly string[] = [];
  const { report, left } = await run(PRODUCT_STEPS.slice(0, 1), {
    confirm: async (names) => {
      asked = names;
      return false;
    },
  });
  expect(report.left).toEqual(asked);
  for (const what of left) expect(asked.some((name) => name.includes(what))).toBe(true);
});

it('ends itself when its time is over, and removes what it made', async () => {
  const time = new AbortController();
  const slow: Step = {
    name: 'slow',
    run: async ({ pause }) => {
      time.abort(new Error('25 minutes are over'));
      await pause(60_000);
      return {};
    },
  };
  const { report, left } = await run([...PRODUCT_STEPS.slice(0, 1), slow], { signal: time.signal });
  expect(report.steps[1]).toMatchObject({ outcome: 'failed', reason: 'the trial ended: 25 minutes are over' });
  expect([left, report.left]).toEqual([[], []]);
});

describe('npm run trial', () => {
  const start = (args: readonly string[]) => {
    const env = {
      ...process.env,
      CLOUDFLARE_API_TOKEN: 'token-of-tests',
      CLOUDFLARE_API_BASE_URL: stage.cloudflare.url,
    };
    const child = spawn(process.execPath, ['dev/trial/trial.ts', ...args], { cwd: ROOT, env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
    return new Promise<{ status: number | null; output: string }>((resolve) =>
      child.once('close', (status) => resolve({ status, output })),
    );
  };

  it('says what it costs and takes, and makes nothing without a yes', async () => {
    const { status, output } = await start(['--zone', 'example.com']);
    expect(status).toBe(1);
    expect(output).toMatch(
      /This deploys "tessera-trial[0-9a-f]{6}"[\s\S]*at most \$[\s\S]*minutes[\s\S]*Nothing was made/,
    );
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });

  it('refuses a zone that the account lacks, and wrong options', async () => {
    const foreign = await start(['--zone', 'elsewhere.example', '--yes']);
    expect([foreign.status, foreign.output]).toEqual([1, expect.stringContaining('is not in any zone')]);
    const wrong = await start(['--mail-to', 'a@b.test']);
    expect([wrong.status, wrong.output]).toEqual([2, expect.stringContaining('--zone must be a domain.')]);
    expect(listChanges(stage.cloudflare)).toEqual([]);
  });
});
