/** Gives each test of `npm run deploy` an empty account of the stand-in, and an empty folder for settings and secrets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type CloudflareStandIn, startCloudflare } from './cloudflare-api.ts';

export let cloudflare: CloudflareStandIn;
export let directory: string;

const scratch = mkdtempSync(join(tmpdir(), 'tessera-deploy-'));
beforeEach(async () => {
  cloudflare = await startCloudflare();
  directory = mkdtempSync(join(scratch, 'run-'));
});
afterEach(() => cloudflare[Symbol.asyncDispose]());
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
