/**
 * Tests that a release's migrations are never rewritten (from v0.2.0 on), and that a store of each release can be brought forward.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { readReleases } from '../../../dev/deploy/release.ts';
import { findRewritten, readMigrations } from '../../../dev/local/local-state.ts';
import { DATABASES } from '../../../drizzle.config.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Applies migrations to an empty database in order. @returns the columns and indexes of the result. */
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
  it('of every release are unchanged, and lead from its schema to the present one', () => {
    for (const [tag, released] of Object.entries(readReleases())) {
      expect([tag, findRewritten(released, readMigrations())]).toEqual([tag, []]);
      for (const name of Object.keys(DATABASES)) {
        const now = current(name);
        const earlier = Object.keys(released).filter((path) => path.startsWith(`${name}/`));
        // Apply the migrations in the order in which a store of that release gets them: its own first, then the newer ones.
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
    const released = { 'mailbox/0000_initial.sql': 'a', 'mailbox/0001_change.sql': 'b' };
    const { 'mailbox/0001_change.sql': _, ...rest } = released;
    expect(findRewritten(released, released)).toEqual([]);
    expect(findRewritten(released, { ...released, 'mailbox/0002_change.sql': 'new' })).toEqual([]);
    expect(findRewritten(released, rest)).toEqual(['mailbox/0001_change.sql']);
    expect(findRewritten(released, { ...released, 'mailbox/0000_initial.sql': 'other' })).toEqual([
      'mailbox/0000_initial.sql',
    ]);
  });
});
