import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** Path of the bundle of `worker.ts`: the Worker under the rules of the production platform. */
export const PLATFORM_BUNDLE = join(ROOT, 'dist/platform');
export const PLATFORM_ENTRY = join(ROOT, 'test/support/platform/worker.ts');

/** Modules that the tests' builds replace, by the text with which the Worker imports them. */
export const TEST_MODULES = {
  './password-cost.ts': join(ROOT, 'test/support/platform/password-cost.ts'),
};
