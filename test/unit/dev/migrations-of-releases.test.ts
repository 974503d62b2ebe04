/** From v0.2.0 on, a release's migrations are never rewritten, and a store of each release can be brought forward. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { findRewritten, readMigrations, toMigrationHash } from '../../../dev/local-state.ts';
import { DATABASES } from '../../../drizzle.config.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FIRST_RELEASE = [0, 2, 0];

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 });

/** `v0.2.0` and later, without pre-releases. */
function listReleases(folder: string): string[] {
  return git(folder, 'tag', '--list', 'v*')
    .split('\n')
    .filter((tag) => {
      const version = /^v(\d+)\.(\d+)\.(\d+)$/.exec(tag)?.slice(1).map(Number);
      if (version === undefined) return false;
      const differs = version.findIndex((part, n) => part !== FIRST_RELEASE[n]);
      return differs === -1 || (version[differs] ?? 0) > (FIRST_RELEASE[differs] ?? 0);
    });
}

/** The text of each migration of a release, by its path below `migrations/`. */
function readRelease(folder: string, tag: string): Record<string, string> {
  const paths = git(folder, 'ls-tree', '-r', '--name-only', tag, 'migrations/')
    .split('\n')
    .filter((path) => path.endsWith('.sql'));
  return Object.fromEntries(
    paths.map((path) => [path.slice('migrations/'.length), git(folder, 'show', `${tag}:${path}`)]),
  );
}

const toHashes = (texts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, toMigrationHash(text)]));

/** Applies migrations to an empty database in order. @returns the columns and indexes that it then has. */
function migrate(texts: readonly string[]): unknown[] {
  const database = new DatabaseSync(':memory:');
  for (const text of texts) database.exec(text.replaceAll('--> statement-breakpoint', ''));
  const columns = database.prepare(
    `SELECT s.name AS part, c.name, c.type, c."notnull", c.dflt_value, c.pk
      FROM sqlite_master s, pragma_table_info(s.name) c WHERE s.type = 'table' ORDER BY s.name, c.name`,
  );
  const indexes = database.prepare("SELECT name, sql FROM sqlite_master WHERE type <> 'table' ORDER BY name");
  return [...columns.all(), ...indexes.all()];
}

const current = (name: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(ROOT, 'migrations', name))
      .filter((file) => file.endsWith('.sql'))
      .sort()
      .map((file) => [`${name}/${file}`, readFileSync(join(ROOT, 'migrations', name, file), 'utf8')]),
  );

describe('migrations', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'tessera-releases-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  it('of every release are unchanged, and lead from its schema to the present one', () => {
    for (const tag of listReleases(ROOT)) {
      const released = readRelease(ROOT, tag);
      expect([tag, findRewritten(toHashes(released), readMigrations())]).toEqual([tag, []]);
      for (const name of Object.keys(DATABASES)) {
        const now = current(name);
        const earlier = Object.keys(released).filter((path) => path.startsWith(`${name}/`));
        // In the order in which a store of that release gets them.
        const order = [...earlier.sort(), ...Object.keys(now).filter((path) => !earlier.includes(path))];
        expect([tag, name, migrate(order.map((path) => now[path] ?? ''))]).toEqual([
          tag,
          name,
          migrate(Object.values(now)),
        ]);
      }
    }
  });

  it('make every store from nothing', () => {
    for (const name of Object.keys(DATABASES))
      expect([name, migrate(Object.values(current(name))).length > 5]).toEqual([name, true]);
  });

  it('that were rewritten or removed after a release are found', () => {
    git(scratch, 'init', '-q');
    git(scratch, 'config', 'user.email', 'a@example.test');
    git(scratch, 'config', 'user.name', 'A');
    const write = (path: string, text: string) => {
      execFileSync('mkdir', ['-p', join(scratch, path, '..')]);
      writeFileSync(join(scratch, path), text);
    };
    const release = (tag: string) => {
      git(scratch, 'add', '.');
      git(scratch, 'commit', '-qm', tag);
      git(scratch, 'tag', tag);
    };
    write('migrations/mailbox/0000_initial.sql', 'CREATE TABLE a (x INTEGER);');
    release('v0.1.0');
    write('migrations/mailbox/0000_initial.sql', 'CREATE TABLE b (x INTEGER);');
    write('migrations/mailbox/0001_change.sql', 'CREATE TABLE c (x INTEGER);');
    release('v0.2.0');
    git(scratch, 'tag', 'v0.3.0-rc1');
    write('migrations/mailbox/0002_change.sql', 'CREATE TABLE d (x INTEGER);');
    release('v1.0.0');
    expect(listReleases(scratch)).toEqual(['v0.2.0', 'v1.0.0']);
    const released = toHashes(readRelease(scratch, 'v1.0.0'));
    const { 'mailbox/0001_change.sql': _, ...rest } = released;
    expect(findRewritten(released, released)).toEqual([]);
    expect(findRewritten(released, { ...released, 'mailbox/0003_change.sql': 'new' })).toEqual([]);
    expect(findRewritten(released, rest)).toEqual(['mailbox/0001_change.sql']);
    expect(findRewritten(released, { ...released, 'mailbox/0000_initial.sql': 'other' })).toEqual([
      'mailbox/0000_initial.sql',
    ]);
  });
});
