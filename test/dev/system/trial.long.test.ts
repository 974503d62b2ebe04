/** A trial whose deployment and upgrade run the real wrangler against the stand-in of Cloudflare's API. */
import { expect, it } from 'vitest';
import { PLATFORM_STEPS } from '../../../dev/trial/platform-steps.ts';
import { PRODUCT_STEPS } from '../../../dev/trial/product-steps.ts';
import { listOwned, removeOwned } from '../../../dev/trial/remove.ts';
import { runTrial } from '../../../dev/trial/run.ts';
import { prepareCloudflare } from '../../support/deploy/test.ts';
import { listAccount, startTrialServer, toAccount, toWorld, ZONE } from '../../support/deploy/trial.ts';

const stage = prepareCloudflare();

it('deploys, upgrades step by step under traffic, and removes everything', async () => {
  const { cloudflare } = stage;
  await using server = await startTrialServer();
  const name = 'trial4f9a02';
  const world = toWorld({ cloudflare, server, name });
  // An upgrade notes bookmarks. The server goes on meanwhile, as databases do.
  cloudflare.setTimeTravel({ onBookmark: async () => undefined, onRestore: async () => undefined });
  // The steps that need no deployment run in the short test.
  const wanted = ['deploy', 'storage', 'upgrade'];
  const steps = [...PRODUCT_STEPS, ...PLATFORM_STEPS].filter((step) => wanted.includes(step.name));
  const report = await runTrial(world, steps, async () => {
    const made = listAccount(cloudflare);
    expect(made).toEqual(
      expect.arrayContaining([`tessera-${name}`, `tessera-${name}-directory`, `mail-${name}.example.com`]),
    );
    expect(cloudflare.state.scripts.get(`tessera-${name}`)?.deployments.map(({ versions }) => versions.length)).toEqual(
      [1, 2, 2, 1],
    );
    return removeOwned(
      () => listOwned(toAccount(cloudflare), ZONE, name),
      async () => true,
    );
  });
  expect(report).toMatchObject({ is_ok: true, left: [] });
  expect(listAccount(cloudflare)).toEqual([]);
}, 600_000);
