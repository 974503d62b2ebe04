import { expect, it } from 'vitest';
import { EventIndex } from '../../../workers/leaderboard/domain/event-index.ts';
import { announceSeed, createRandom } from './random.ts';

const random = createRandom(announceSeed());
const hash = () => Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256));

it('finds every event on its page with few false positives, and forgets old pages', () => {
  const index = new EventIndex();
  const events = Array.from({ length: 60_000 }, (_, i) => ({ slot: 1 + (i % 700), hash: hash(), page: 1 + (i >>> 6) }));
  for (const { slot, hash, page } of events) index.add(slot, hash, page);
  expect(index.size).toBe(events.length);
  expect(index.byteLength / index.size).toBeLessThan(13);
  expect(events.filter(({ slot, hash, page }) => !index.pagesOf(slot, hash).includes(page))).toEqual([]);
  const falsePositives = events.filter(({ slot, hash }) => index.pagesOf(slot + 1, hash).length > 0);
  expect(falsePositives.length).toBeLessThan(5);
  expect(events.filter(({ slot }) => index.pagesOf(slot, hash()).length > 0).length).toBeLessThan(5);

  index.forgetBefore(500);
  const isKept = ({ slot, hash, page }: (typeof events)[0]) => index.pagesOf(slot, hash).includes(page);
  expect(events.filter(isKept)).toEqual(events.filter(({ page }) => page >= 500));
  index.forgetBefore(10_000);
  expect([index.size, index.byteLength < 16_384]).toEqual([0, true]);
});

it('finds all pages of an event that is on several', () => {
  const index = new EventIndex();
  const same = hash();
  for (let page = 1; page <= 40; page++) index.add(7, same, page);
  expect([...index.pagesOf(7, same)].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
});
