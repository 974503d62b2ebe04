/**
 * Determines whether this checkout can open local state. A file in the state folder has the hash of each migration that created the
 * state.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './build.ts';

/** Hash of each migration, by the path of the migration, such as `mailbox/0000_initial.sql`. */
export type Migrations = Readonly<Record<string, string>>;

export const toMigrationHash = (text: string): string => createHash('sha256').update(text).digest('hex');

export function readMigrations(): Migrations {
  const folder = join(ROOT, 'migrations');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.sql'));
  return Object.fromEntries(
    paths.sort().map((path) => [path, toMigrationHash(readFileSync(join(folder, path), 'utf8'))]),
  );
}

/**
 * Compares two sets of migrations.
 * @returns those that are missing in `current` or were rewritten since. Added migrations do not count.
 */
export const findRewritten = (earlier: Migrations, current: Migrations): string[] =>
  Object.keys(earlier).filter((path) => current[path] !== earlier[path]);

const RECORD = 'migrations.json';
/** Folders in which Miniflare stores D1 databases and Durable Objects. */
const STORES = ['d1', 'do'];

/**
 * Records the migrations of this checkout in the state folder.
 * @returns null if this checkout can open the state, else a sentence with the reason and the remedy.
 */
export function claimLocalState(folder: string): string | null {
  const path = join(folder, RECORD);
  const current = readMigrations();
  const isUsed = STORES.some((name) => existsSync(join(folder, name)));
  const advice = `Delete the folder (rm -r '${folder}'), or set STATE_DIR to another one.`;
  if (isUsed && !existsSync(path)) return `The local state in ${folder} is from an earlier version. ${advice}`;
  const rewritten = isUsed ? findRewritten(JSON.parse(readFileSync(path, 'utf8')) as Migrations, current) : [];
  if (rewritten.length > 0)
    return `The local state in ${folder} was made with other migrations than this checkout has (${rewritten.join(', ')}). ${advice}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, JSON.stringify(current, null, 1));
  return null;
}
