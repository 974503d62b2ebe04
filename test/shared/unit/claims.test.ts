/**
 * Numbers of the documents against the code: every claim is built from a constant, a setting or a budget, and must stand in its page
 * word for word. Every number of a section on guarantees or limits must be in such a claim.
 */
import { describe, expect, it } from 'vitest';
import { findMissing, findUnclaimed, numberOf, readPage } from '../../support/claims.ts';
import { LEADERBOARD } from './claims/leaderboard.ts';
import { AGENTS, BRIDGE, JMAP, MAIL } from './claims/mail.ts';
import {
  API_STABILITY,
  COLLECTORS,
  DATA_PROTECTION,
  DEPLOY,
  OPERATIONS,
  README,
  SECURITY,
  SIGN_IN_PAGE,
} from './claims/operating.ts';
import { STORAGE } from './claims/storage.ts';

const PRODUCTS = [STORAGE, LEADERBOARD, MAIL, JMAP, BRIDGE, AGENTS];
const OPERATING = [README, SECURITY, API_STABILITY, DEPLOY, OPERATIONS, COLLECTORS, DATA_PROTECTION, SIGN_IN_PAGE];
const PAGES = [...PRODUCTS, ...OPERATING];
/** Sections of which every number is a claim. */
const WHOLE = [
  { of: STORAGE, sections: ['Guarantees', 'Limits'] },
  { of: LEADERBOARD, sections: ['Guarantees', 'Limits'] },
  { of: MAIL, sections: ['Guarantees', 'Limits'] },
];

describe.each(PAGES)('$page', ({ page, claims }) => {
  it('says what the code does', () => {
    expect(findMissing(readPage(page), claims)).toEqual([]);
  });
});

it.each(WHOLE)('every number of $sections in $of.page is a claim', ({ of: { page, claims }, sections }) => {
  const text = readPage(page);
  expect(sections.flatMap((section) => findUnclaimed(text, section, claims))).toEqual([]);
});

it('notices a number that differs, and one that nobody claims', () => {
  const text = '# Page ## Limits - At most 20 jobs. - 7 days. RFC 9457: 503. ## Gaps 9';
  expect(findMissing(text, ['At most 20 jobs.', 'At most 21 jobs.'])).toEqual(['At most 21 jobs.']);
  expect(findUnclaimed(text, 'Limits', ['At most 20 jobs.'])).toEqual(['## Limits - - 7 days. : .']);
  expect(() => numberOf('workers/shared/json/webhook.ts', 'NO_SUCH')).toThrow('no constant');
  expect(numberOf('workers/shared/json/webhook.ts', 'WEBHOOK_AGE_MS_MAX')).toBe(259_200_000);
});
