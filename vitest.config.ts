import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { configDefaults, defineConfig } from 'vitest/config';
import { listDatabases } from './dev/deploy/numbered-databases.ts';
import { DIRECTORIES } from './test/support/directories.ts';
import { RuntimeLog } from './test/support/runtime-log.ts';
import { bundledWorker, bundleRules, compiledWasm } from './test/support/workerd-bundle.ts';
import { PREACT_ALIAS } from './web/preact-alias.ts';

// Wrangler warns while it reads wrangler.toml for the ring `objects`, before the reporters begin.
if (process.env.TESSERA_TEST_LOG) {
  const log = new RuntimeLog(process.env.TESSERA_TEST_LOG);
  for (const stream of [process.stdout, process.stderr]) log.divert(stream);
}

const isLong = process.env.TESSERA_LONG === '1';

/** `*.long.test.ts` files take many minutes. Only `npm run test:long` runs them. */
/** @param rings folders of the rings in each product's folder of tests. */
const files = (...rings: string[]) => ({
  include: rings.map((ring) => `test/*/${ring}/**/*${isLong ? '.long' : ''}.test.ts`),
  exclude: isLong ? configDefaults.exclude : [...configDefaults.exclude, '**/*.long.test.ts'],
});
const timeoutMs = isLong ? 3_600_000 : 120_000;

/** Tests wait too, so six files at once fill two cores. Long tests kill servers, fill stores and measure, so each runs alone. */
const maxWorkers = isLong ? 1 : 6;

/** On a busy machine, a condition that a test waits for takes more than the default of a second. */
const poll = { timeout: 60_000, interval: 50 };

const migrations = {
  directory: await readD1Migrations('migrations/directory'),
  objects: await readD1Migrations('migrations/objects'),
};

/** Copies of DIRECTORY in eight regions, for the histories. */
const REPLICAS = ['SYD', 'NRT', 'SIN', 'BOM', 'FRA', 'IAD', 'PDX', 'GRU'].map((region) => `REPLICA_${region}`);

/** Further user databases, and copies of two of them in two places, for the histories. */
const HOMES = ['HOME_1', 'HOME_2', 'HOME_3', 'HOME_4', 'HOME_1_SYD', 'HOME_1_FRA', 'HOME_2_SYD', 'HOME_2_FRA'];

const FURTHER_DIRECTORIES = listDatabases('DIRECTORY', DIRECTORIES).slice(1);

/**
 * Three rings and a browser: pure code in plain Node, code inside workerd, and the running Worker tested from outside with real
 * clients and with Chromium.
 */
export default defineConfig({
  test: {
    projects: [
      {
        plugins: [compiledWasm()],
        resolve: { alias: PREACT_ALIAS },
        test: {
          name: 'unit',
          ...files('unit'),
          // To start a process and to load the modules again for each file would be half of the processor time of this ring.
          isolate: false,
          testTimeout: isLong ? timeoutMs : 60_000,
          maxWorkers,
        },
      },
      {
        plugins: [
          bundledWorker(),
          cloudflareTest({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              modulesRules: bundleRules(),
              bindings: {
                LOCAL: '1',
                LOG_SAMPLE_PERCENT: '100',
                ROOT_TOKEN: 'root-of-tests',
                MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
                MAIL_DOMAINS: 'example.test',
                REGISTRATION: 'open',
                MIGRATIONS: migrations,
                // Repeats a random run. workerd sees the environment only through bindings.
                ...(process.env.SEED ? { SEED: process.env.SEED } : {}),
              },
              // Tests with three locations bind it as BLOBS_3.
              r2Buckets: ['SPARE_BLOBS'],
              d1Databases: [
                'OBJECTS_1',
                'OBJECTS_2',
                ...REPLICAS,
                ...HOMES,
                ...FURTHER_DIRECTORIES.map(({ binding }) => binding),
              ],
            },
          }),
        ],
        test: {
          name: 'objects',
          ...files('objects'),
          expect: { poll },
          setupFiles: ['test/support/workerd-setup.ts'],
          // A kept stub would be one of an earlier bundle, which had other files.
          fsModuleCache: false,
          // A test that runs into its limit inside workerd can keep the run from ending.
          testTimeout: 3 * timeoutMs,
          hookTimeout: timeoutMs,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'system',
          ...files('system', 'security'),
          isolate: false,
          expect: { poll },
          testTimeout: timeoutMs,
          hookTimeout: timeoutMs,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'browser',
          ...files('browser'),
          // The files that run in one process share a Chromium (test/web/browser/chromium.ts).
          isolate: false,
          expect: { poll },
          // Longer than the minute that one step may take, so that a failure names the step that timed out.
          testTimeout: 2 * timeoutMs,
          hookTimeout: timeoutMs,
          maxWorkers,
        },
      },
    ],
  },
});
