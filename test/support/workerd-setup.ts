/** Applies the migrations to every database before each test file that runs inside workerd. */
import { applyD1Migrations, env } from 'cloudflare:test';

const bindings = env as unknown as Record<string, D1Database> & {
  MIGRATIONS: Record<'directory' | 'objects', Parameters<typeof applyD1Migrations>[1]>;
};

for (const name of Object.keys(bindings).filter((binding) =>
  /^(?:DIRECTORY|(?:DIRECTORY|OBJECTS)_\d+)$/.test(binding),
)) {
  const kind = name.startsWith('DIRECTORY') ? 'directory' : 'objects';
  await applyD1Migrations(bindings[name] as D1Database, bindings.MIGRATIONS[kind]);
}
