import { expect, it } from 'vitest';
import { EventFilter, wordOf } from '../../../durable-objects/leaderboard/domain/event-filter.ts';
import { announceSeed, createRandom, stepsOf } from './random.ts';

const random = createRandom(announceSeed());
const hash = () => Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256));

it('finds every event on its page with few false positives, and no pages that were removed', () => {
  const count = stepsOf(200_000);
  const perPage = stepsOf(256);
  const filter = new EventFilter(count);
  // Page numbers that begin below and end above the limit of 16 bits.
  const first = 65_500;
  const events = Array.from({ length: count }, (_, i) => {
    return { slot: 1 + (i % 700), hash: hash(), page: first + Math.floor(i / perPage) };
  });
  const last = first + Math.floor(count / perPage);
  for (const { slot, hash, page } of events) {
    expect(filter.isFull).toBe(false);
    filter.add(wordOf(slot, hash), page);
  }
  const find = (slot: number, hash: Uint8Array, from = first, to = last) =>
    filter.pagesOf(wordOf(slot, hash), from, to);
  expect(events.filter(({ slot, hash, page }) => !find(slot, hash).has(page))).toEqual([]);
  expect(events.filter(({ slot, hash }) => find(slot + 1, hash).size > 0).length).toBeLessThan(count / 100);
  expect(events.filter(({ slot }) => find(slot, hash()).size > 0).length).toBeLessThan(count / 100);

  const kept = events.filter(({ page }) => page >= first + 500);
  expect(kept.filter(({ slot, hash, page }) => !find(slot, hash, first + 500).has(page))).toEqual([]);
  const removed = events.filter(({ page }) => page < first + 500);
  const pagesOfRemoved = removed.flatMap(({ slot, hash }) => [...find(slot, hash, first + 500)]);
  expect(pagesOfRemoved.filter((page) => page < first + 500 || page > last)).toEqual([]);
  expect(pagesOfRemoved.length).toBeLessThan(count / 100);
  expect(events.some(({ slot, hash }) => find(slot, hash, last + 1, last).size > 0)).toBe(false);
});

it('finds all pages of an event that is on several, until it is full', () => {
  const filter = new EventFilter(40);
  const same = hash();
  for (let page = 1; page <= 40; page++) filter.add(wordOf(7, same), page);
  expect([...filter.pagesOf(wordOf(7, same), 1, 40)].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  expect(filter.isFull).toBe(true);
});

it('finds events whose chain goes past the last place to the first ones', () => {
  const filter = new EventFilter(40);
  for (let page = 1; page <= 20; page++) filter.add(0xffff_ffff, page);
  expect(filter.pagesOf(0xffff_ffff, 1, 20).size).toBe(20);
  expect(filter.pagesOf(0, 1, 20).size).toBe(0);
});

it('the word of an event has the first four bytes of its hash, mixed with the player', () => {
  const words = [1, 2, 4, 8].map((byte, at) => wordOf(0, new Uint8Array(16).with(at, byte).with(9, 7)));
  expect(words).toEqual([0x0100_0000, 0x02_0000, 0x0400, 0x08]);
  expect(new Set(Array.from({ length: 1_000 }, (_, slot) => wordOf(slot, new Uint8Array(4)))).size).toBe(1_000);
});
