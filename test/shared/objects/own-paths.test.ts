import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { identity } from '../../../workers/identity/product.ts';
import { leaderboard } from '../../../workers/leaderboard/product.ts';
import { mail } from '../../../workers/mail/product.ts';
import { apiOf } from '../../../workers/shared/compose-api.ts';
import type { Product } from '../../../workers/shared/product.ts';
import { directory, storage } from '../../../workers/storage/product.ts';

const PRODUCTS: readonly Product[] = [identity, directory, storage, leaderboard, mail];
const NOTHING = { secrets: [], readGauges: async () => [] };

it('gives a path of one product to no other, so that its part of the API answers as the whole', async () => {
  const owned: Record<string, number> = {};
  for (const product of PRODUCTS) {
    const { routes } = (await product.load()).createApi(NOTHING);
    for (const { path } of routes) {
      const owners = PRODUCTS.filter(({ ownPaths }) => ownPaths?.test(path));
      expect([[], [product]], path).toContainEqual(owners);
      if (owners.length > 0) owned[product.name] = (owned[product.name] ?? 0) + 1;
      // A pattern for paths of several products would be missing in a part.
      expect(['*', '/*', '/v1/*'], product.name).not.toContain(path);
    }
  }
  expect(Object.keys(owned)).toEqual(['leaderboard', 'mail']);
});

it.each([
  ['/v1/scores', ['leaderboard']],
  ['/v1/messages', ['mail']],
  ['/v1/scores-of-others', ['identity', 'directory', 'storage', 'leaderboard', 'mail']],
])('loads for %s only the products %j', async (path, names) => {
  const loaded: string[] = [];
  const products = PRODUCTS.map((product) => ({
    ...product,
    load: () => {
      loaded.push(product.name);
      return product.load();
    },
  }));
  expect((await apiOf(products, env, path)).routes.length).toBeGreaterThan(0);
  expect(loaded).toEqual(names);
});
