/** Applies the migrations to every database before each test file that runs inside workerd. */
import { applyD1Migrations, env } from 'cloudflare:test';

const bindings = env as unknown as Record<string, D1Database> & {
  MIGRATIONS: Record<'directory' | 'objects', Parameters<typeof applyD1Migrations>[1]>;
};

await applyD1Migrations(bindings.DIRECTORY as D1Database, bindings.MIGRATIONS.directory);
for (const name of Object.keys(bindings).filter((binding) => /^OBJECTS_\d+$/.test(binding))) {
  await applyD1Migrations(bindings[name] as D1Database, bindings.MIGRATIONS.objects);
}
