/** Gives each test of `npm run deploy` an empty account of the stand-in, and an empty folder for settings and secrets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type CloudflareStandIn, startCloudflare } from './cloudflare-api.ts';
import { newMigratedDatabases } from './cloudflare-state.ts';

export interface DeployStage {
  readonly cloudflare: CloudflareStandIn;
  readonly directory: string;
}

/** Makes both before each test of the calling file, and removes them. Only tests may use them. */
export function prepareCloudflare(): DeployStage {
  const stage = {} as { cloudflare: CloudflareStandIn; directory: string };
  const scratch = mkdtempSync(join(tmpdir(), 'tessera-deploy-'));
  beforeEach(async () => {
    stage.cloudflare = await startCloudflare();
    stage.directory = mkdtempSync(join(scratch, 'run-'));
  });
  afterEach(() => stage.cloudflare[Symbol.asyncDispose]());
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  return stage;
}

/** Adds the migrated databases of an earlier deployment. */
export function addDatabases({ cloudflare }: DeployStage, worker: string): void {
  for (const [name, database] of newMigratedDatabases(worker)) cloudflare.state.databases.set(name, database);
}
