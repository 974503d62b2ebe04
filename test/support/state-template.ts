/**
 * A folder of local state with migrated, empty databases. A test's server starts from a copy of it, which saves seconds of each
 * start.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../dev/local/build.ts';
import { claimLocalState, readMigrations } from '../../dev/local/local-state.ts';
import { DIRECTORIES } from './directories.ts';

const TEMPLATE = join(ROOT, 'dist/state');

export async function makeStateTemplate(): Promise<void> {
  rmSync(TEMPLATE, { recursive: true, force: true });
  mkdirSync(TEMPLATE, { recursive: true });
  claimLocalState(TEMPLATE);
  // Import only here: this module loads wrangler, which files that only copy the template do not need.
  const { migrateLocalStores } = await import('../../dev/local/local-server.ts');
  await migrateLocalStores(TEMPLATE, { directories: DIRECTORIES });
}

/**
 * Copies the template. Does nothing if there is no template, or if the template has other migrations. Other processes may copy it
 * at the same time.
 */
export function copyStateTemplate(directory: string): void {
  const record = join(TEMPLATE, 'migrations.json');
  if (!existsSync(record) || readFileSync(record, 'utf8') !== JSON.stringify(readMigrations(), null, 1)) return;
  cpSync(TEMPLATE, directory, { recursive: true });
}
