import { expect, it } from 'vitest';
import { KeptMatches } from '../../../workers/shared/json/kept-matches.ts';

function createRouter() {
  const router = new KeptMatches<string>();
  router.add('ALL', '*', 'all');
  router.add('PUT', '/boards/default', 'the default board');
  router.add('PUT', '/boards/:board', 'a board');
  router.add('GET', '/boards/default', 'the default board read');
  return router;
}

it('keeps the match of a path without parameters, per method', () => {
  const router = createRouter();
  const first = router.match('GET', '/boards/default');
  expect(first[0].map(([name]) => name)).toEqual(['all', 'the default board read']);
  expect(router.match('GET', '/boards/default')).toBe(first);
  expect(router.match('DELETE', '/boards/default')[0].map(([name]) => name)).toEqual(['all']);
});

it('finds the parameters of each path', () => {
  const router = createRouter();
  for (const board of ['races', 'laps', 'races'])
    expect(router.match('PUT', `/boards/${board}`)).toEqual([
      [
        ['all', {}],
        ['a board', { board }],
      ],
    ]);
  expect(router.match('PUT', '/boards/default')[0].map(([name]) => name)).toContain('the default board');
});

it('keeps no long path, so that requests cannot fill the memory', () => {
  const router = createRouter();
  const path = `/${'x'.repeat(64)}`;
  expect(router.match('GET', path)).toEqual(router.match('GET', path));
  expect(router.match('GET', path)).not.toBe(router.match('GET', path));
});
