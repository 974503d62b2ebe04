/** Tests that a deployment has two locations, and a third one if it is requested or exists. */
import { expect, it } from 'vitest';
import { countLocations, planDeployment, type Region, type WorkerConfig } from '../../../dev/deploy/plan.ts';
import { readRawConfig } from '../../../dev/local/worker-options.ts';

const config = (await readRawConfig()) as unknown as WorkerConfig;

function plan(regions: readonly (Region | '')[], existingLocations = 2, variables: Record<string, string> = {}) {
  const [homeRegion = '', secondRegion = '', thirdRegion = ''] = regions;
  const about = {
    environment: 'staging',
    accountId: 'a'.repeat(32),
    databases: { OBJECTS: 1, DIRECTORY: 1 },
    rateLimits: {},
  };
  const made = planDeployment(config, {
    ...about,
    homeRegion,
    secondRegion,
    thirdRegion,
    existingLocations,
    variables,
  });
  const bindings = made.config.r2_buckets.map(({ binding }) => binding);
  return { bindings, buckets: made.buckets, regions: made.config.vars.LOCATION_REGIONS };
}

it('binds a third bucket in the region that was asked for, and tells the Worker where each is', () => {
  expect(plan(['enam', '', 'weur'])).toEqual({
    bindings: ['BLOBS', 'BLOBS_2', 'BLOBS_3'],
    buckets: [
      { name: 'tessera-staging-blobs', region: 'enam' },
      { name: 'tessera-staging-blobs-2', region: 'wnam' },
      { name: 'tessera-staging-blobs-3', region: 'weur' },
    ],
    regions: 'enam,wnam,weur',
  });
  expect(plan(['enam', 'weur'])).toMatchObject({ bindings: ['BLOBS', 'BLOBS_2'], regions: 'enam,weur' });
});

it('keeps an existing third bucket bound, even if it is not asked for', () => {
  const existing = countLocations(new Set(['tessera-staging-blobs-3']), 'staging');
  const { bindings, regions } = plan(['enam'], existing);
  expect(bindings).toEqual(['BLOBS', 'BLOBS_2', 'BLOBS_3']);
  expect(regions).toBe('');
  expect(countLocations(new Set(['tessera-staging-blobs-3']), '')).toBe(2);
});

it('names no regions in a jurisdiction', () => {
  const { bindings, buckets, regions } = plan(['enam', '', 'weur'], 2, { JURISDICTION: 'eu' });
  expect(bindings.length).toBe(3);
  expect(buckets.map(({ region }) => region)).toEqual([undefined, undefined, undefined]);
  expect(regions).toBe('');
});
