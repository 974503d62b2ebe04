import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** The Worker under the rules of the platform: `worker.ts`, bundled. */
export const PLATFORM_BUNDLE = join(ROOT, 'dist/platform');
export const PLATFORM_ENTRY = join(ROOT, 'test/support/platform/worker.ts');
