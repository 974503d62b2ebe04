/** Tests that a deployment lets pages of buckets run scripts only if they share no registrable domain with the app. */
import { expect, it } from 'vitest';
import { planDeployment, type WorkerConfig } from '../../../dev/deploy/plan.ts';
import { isWebsiteApart } from '../../../dev/deploy/website-hosts.ts';
import { readRawConfig } from '../../../dev/local/worker-options.ts';

it.each([
  ['app.example.com', 's3.example.com', false],
  ['app.example.com', 'example-files.com', true],
  ['app.example.co.uk', 's3.example.co.uk', false],
  ['app.example.co.uk', 's3.other.co.uk', true],
  ['a.workers.dev', 'b.workers.dev', true],
  ['app.internal', 's3', false],
  ['app.example.com', '', false],
])('pages of buckets are apart from an app at %s, if storage is at %s: %s', (app, storage, isApart) => {
  expect(isWebsiteApart(app, storage)).toBe(isApart);
});

const config = (await readRawConfig()) as unknown as WorkerConfig;
const APART = { APP_HOST: 'app.example.com', S3_HOST: 'example-files.com' };

it.each<[string, Record<string, string>, string]>([
  ['on for hosts that are apart', APART, 'true'],
  ['off for hosts of one domain', { ...APART, S3_HOST: 's3.example.com' }, ''],
  ['off without hosts', {}, ''],
  ['as the operator says, off', { ...APART, WEBSITE_SCRIPTS: 'false' }, 'false'],
  ['as the operator says, on', { ...APART, S3_HOST: 's3.example.com', WEBSITE_SCRIPTS: 'true' }, 'true'],
])('a deployment has WEBSITE_SCRIPTS %s', (_, variables, wanted) => {
  const { config: rendered } = planDeployment(config, {
    environment: 'staging',
    accountId: 'a'.repeat(32),
    databases: { OBJECTS: 1, DIRECTORY: 1 },
    rateLimits: {},
    homeRegion: '',
    secondRegion: '',
    thirdRegion: '',
    existingLocations: 2,
    variables,
  });
  expect(rendered.vars.WEBSITE_SCRIPTS).toBe(wanted);
});
