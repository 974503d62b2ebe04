import { expect, it } from 'vitest';
import { EventFilter, wordOf } from '../../../workers/leaderboard/domain/event-filter.ts';
import { announceSeed, createRandom } from './random.ts';

const random = createRandom(announceSeed());
const hash = () => Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256));

it.each([0, 200_000])('finds every event on its page with few false positives, and forgets old pages (%i)', (size) => {
  const filter = new EventFilter(size);
  // Numbers of pages that do not fit into 16 bits.
  const first = 65_500;
  const events = Array.from({ length: 200_000 }, (_, i) => {
    return { slot: 1 + (i % 700), hash: hash(), page: first + (i >>> 8) };
  });
  for (const { slot, hash, page } of events) filter.add(wordOf(slot, hash), page);
  expect(events.filter(({ slot, hash, page }) => !filter.pagesOf(wordOf(slot, hash), first).has(page))).toEqual([]);
  const falsePositives = events.filter(({ slot, hash }) => filter.pagesOf(wordOf(slot + 1, hash), first).size > 0);
  expect(falsePositives.length).toBeLessThan(2_000);
  expect(events.filter(({ slot }) => filter.pagesOf(wordOf(slot, hash()), first).size > 0).length).toBeLessThan(2_000);

  const last = first + (events.length >>> 8);
  filter.retain(first + 500, last);
  const kept = events.filter(({ page }) => page >= first + 500);
  expect(kept.filter(({ slot, hash, page }) => !filter.pagesOf(wordOf(slot, hash), first + 500).has(page))).toEqual([]);
  expect(
    events.some(({ slot, hash, page }) => page < first + 500 && filter.pagesOf(wordOf(slot, hash), first).has(page)),
  ).toBe(false);
  filter.retain(last + 1, last + 1);
  expect(events.some(({ slot, hash }) => filter.pagesOf(wordOf(slot, hash), first).size > 0)).toBe(false);
});

it('finds all pages of an event that is on several', () => {
  const filter = new EventFilter();
  const same = hash();
  for (let page = 1; page <= 40; page++) filter.add(wordOf(7, same), page);
  expect([...filter.pagesOf(wordOf(7, same), 1)].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
});
