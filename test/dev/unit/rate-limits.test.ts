/** Tests that the limits of wrangler.toml's rate limiters equal those of the settings, and what settings limit the consumers of queues. */
import { expect, it } from 'vitest';
import { planDeployment, type WorkerConfig } from '../../../dev/deploy/plan.ts';
import { readRateLimits } from '../../../dev/deploy/rate-limits.ts';
import { readRawConfig } from '../../../dev/local/worker-options.ts';
import { RATE_POLICIES } from '../../../workers/shared/json/request-rates.ts';

const INPUT = {
  environment: '',
  accountId: 'a'.repeat(32),
  databases: { OBJECTS: 1, DIRECTORY: 1 },
  variables: {},
  homeRegion: '',
  secondRegion: '',
  thirdRegion: '',
  existingLocations: 2,
  rateLimits: {},
} as const;
const config = (await readRawConfig()) as unknown as WorkerConfig;

it('wrangler.toml has a limiter with the default quota and the period of each policy', () => {
  const { ratelimits, vars } = config;
  const defaults = readRateLimits(vars);
  for (const { limiter, periodSeconds } of Object.values(RATE_POLICIES)) {
    const found = ratelimits.find((binding) => binding.name === limiter);
    expect(found?.simple, limiter).toEqual({ limit: defaults[limiter], period: periodSeconds });
  }
});

it('a deployment limits the consumers of outgoing mail if a setting says so, and no other queue', () => {
  const consumersOf = (variables: Record<string, string>) =>
    planDeployment(config, { ...INPUT, environment: 'staging', variables }).config.queues.consumers;
  const limited = consumersOf({ MAIL_CONSUMERS: '20' });
  expect(limited.map((each) => [each.queue, each.max_concurrency])).toEqual([
    ['tessera-staging-mail-outbound', 20],
    ['tessera-staging-storage-tasks', undefined],
    ['tessera-staging-mail-events', undefined],
  ]);
  expect(consumersOf({}).some((each) => 'max_concurrency' in each)).toBe(false);
});

it('a deployment writes the quotas of its settings into the limiters, and no others', () => {
  const rateLimits = readRateLimits({
    REQUESTS_PER_BUCKET: '7',
    REQUESTS_PER_USER: '8000',
    REQUESTS_PER_ACCESS_KEY: '1001',
    SCORE_POSTS_PER_TOKEN: '995',
  });
  const { ratelimits } = planDeployment(config, { ...INPUT, rateLimits }).config;
  const limitOf = (name: string) => ratelimits.find((limiter) => limiter.name === name)?.simple.limit;
  expect([limitOf('RATE_LIMIT_BUCKET'), limitOf('RATE_LIMIT_USER')]).toEqual([7, 8000]);
  // From 1,000 on, the limiters of access keys, buckets and score posts count tens, from 10,000 on hundreds.
  expect([limitOf('RATE_LIMIT_ACCESS_KEY'), limitOf('RATE_LIMIT_SCORES')]).toEqual([101, 995]);
  expect([limitOf('RATE_LIMIT_AUTH'), limitOf('RATE_LIMIT_CLIENT')]).toEqual([30, 5000]);
});
