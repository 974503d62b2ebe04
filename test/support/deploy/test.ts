/** Gives each test of `npm run deploy` an empty account of the stand-in, and an empty folder for settings and secrets. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type CloudflareStandIn, startCloudflare } from './cloudflare-api.ts';
import { newMigratedDatabases, newScript, type Script } from './cloudflare-state.ts';
import { HOSTS } from './run.ts';

/** Tag of the newest migration of object classes in wrangler.toml. */
export const MIGRATION_TAG =
  /tag = "(v\d+)"(?![\s\S]*tag = "v)/.exec(
    readFileSync(join(import.meta.dirname, '../../../wrangler.toml'), 'utf8'),
  )?.[1] ?? '';

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

/** Adds an earlier deployment with everything that it has, as `npm run deploy` leaves it. A run of wrangler for it takes seconds. */
export function addDeployment(stage: DeployStage, worker: string, migrationTag: string): Script {
  addDatabases(stage, worker);
  const { state } = stage.cloudflare;
  for (const end of ['blobs', 'blobs-2']) state.buckets.set(`${worker}-${end}`, { region: undefined, objects: 0 });
  for (const end of ['mail-outbound', 'storage-tasks', 'storage-events', 'mail-events']) {
    for (const queue_name of [`${worker}-${end}`, ...(end === 'storage-events' ? [] : [`${worker}-${end}-dead`])]) {
      const isConsumed = queue_name.endsWith(end) && end !== 'storage-events';
      const consumers = isConsumed ? [{ consumer_id: crypto.randomUUID(), type: 'worker', script: worker }] : [];
      state.queues.set(queue_name, { queue_id: crypto.randomUUID(), queue_name, consumers });
    }
  }
  const script: Script = { ...newScript(), uploads: 1, migrationTag };
  script.versions.push({ id: 'version-1', tag: undefined, migrationTag });
  script.deployments.push({ id: 'deployment-1', versions: [{ version_id: 'version-1', percentage: 100 }] });
  for (const secret of ['ROOT_TOKEN', 'MASTER_KEY']) script.secrets.set(secret, 'kept');
  state.scripts.set(worker, script);
  for (const host of Object.values(HOSTS)) state.domains.set(host, worker);
  return script;
}
