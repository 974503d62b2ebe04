/** Compares the manifests of the products with what the platform is told: wrangler.toml and the exports of `workers/index.ts`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { identity } from '../../../workers/identity/product.ts';
import { leaderboard } from '../../../workers/leaderboard/product.ts';
import { mail } from '../../../workers/mail/product.ts';
import { operationOf, type Product } from '../../../workers/shared/product.ts';
import { PRODUCT_NAMES } from '../../../workers/shared/settings/settings-schema.ts';
import { directory, storage } from '../../../workers/storage/product.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PRODUCTS: readonly Product[] = [identity, directory, storage, leaderboard, mail];

/** Captures the first group of each match, sorted. */
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name).sort();

it('lists every manifest, and one for each value of the setting PRODUCTS', () => {
  const folders = globSync('workers/*/product.ts', { cwd: ROOT }).map((path) => path.split('/')[1]);
  expect(folders.sort()).toEqual(['identity', 'leaderboard', 'mail', 'shared', 'storage']);
  const names = PRODUCTS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...PRODUCT_NAMES]));
  expect(read('workers/index.ts')).toContain(`const PRODUCTS: readonly Product[] = [${names.join(', ')}];`);
});

it('names each class that wrangler.toml binds and that index.ts exports, and no other', () => {
  const named = PRODUCTS.flatMap(({ objectClasses }) => objectClasses ?? []).sort();
  const wrangler = read('wrangler.toml');
  expect(named).toEqual(all(wrangler, /class_name = "(\w+)"/g));
  expect(named).toEqual(all(read('workers/index.ts'), /export \{ (\w+) \} from '\.\.\/durable-objects\//g));
  const migrated = all(wrangler, /new_sqlite_classes = \[([^\]]*)\]/g).flatMap((list) => all(list, /"(\w+)"/g));
  expect(migrated.sort()).toEqual(named);
});

it('consumes each queue that wrangler.toml gives to the Worker, and each message belongs to one product', () => {
  const consumed = all(read('wrangler.toml'), /\[\[queues\.consumers\]\]\nqueue = "(?:tessera)([\w-]+)"/g);
  const queues = PRODUCTS.flatMap(({ queue, events }: Product) => [queue ?? [], events ?? []].flat());
  expect([...new Set(queues.map(({ suffix }) => suffix))].sort()).toEqual(consumed);
  for (const suffix of consumed) {
    for (const body of [{ kind: 'directory' }, { kind: 'maintain' }]) {
      const owners = queues.filter((queue) => queue.suffix === suffix && queue.owns({ body } as Message));
      expect(owners).toHaveLength(1);
    }
  }
});

it('lists pages that the web app has, each in one product', () => {
  const pages = PRODUCTS.flatMap((product) => product.pages ?? []);
  const built = globSync('web/{*,embed/*}.html', { cwd: ROOT }).map((path) =>
    path.slice('web/'.length, -'.html'.length),
  );
  expect(pages.filter((page) => !built.includes(page))).toEqual([]);
  expect(new Set(pages).size).toBe(pages.length);
});

it.each([
  ['storage', 'GET', '/v1/scores', 'storage_read'],
  ['storage', 'HEAD', '/photos/a.jpg', 'storage_read'],
  ['storage', 'DELETE', '/photos/a.jpg', 'storage_delete'],
  ['storage', 'POST', '/photos?delete', 'storage_write'],
  ['api', 'GET', '/v1/scores/ada', 'score_read'],
  ['api', 'POST', '/v1/boards/races/scores', 'score_write'],
  ['api', 'POST', '/v1/messages', 'mail_out'],
  ['api', 'POST', '/v1/messages/1/copy', 'other'],
  ['api', 'DELETE', '/v1/messages', 'other'],
  ['api', 'GET', '/v1/threads', 'mail_read'],
  ['api', 'PUT', '/v1/labels', 'other'],
  ['api', 'GET', '/v1/iam/users', 'other'],
  ['web', 'GET', '/v1/scores', 'other'],
  ['welcome', 'GET', '/', 'other'],
])('counts a request to %s, %s %s, as %s', (destination, method, path, operation) => {
  expect(operationOf(PRODUCTS, destination, { method, path })).toBe(operation);
});
