/**
 * Numbers of the documents against the code: every claim is built from a constant, a setting or a budget, and must stand in its page
 * word for word. Every number of a section on guarantees or limits must be in such a claim.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findMissing, findUnclaimed, numberOf, readPage } from '../../support/claims.ts';
import { ROOT } from '../../support/markdown.ts';
import { LEADERBOARD } from './claims/leaderboard.ts';
import { AGENTS, BRIDGE, JMAP, MAIL } from './claims/mail.ts';
import {
  API_STABILITY,
  COLLECTORS,
  DATA_PROTECTION,
  DEPENDENCIES,
  DEPLOY,
  OPERATIONS,
  README,
  SECURITY,
  SIGN_IN_PAGE,
} from './claims/operating.ts';
import { STORAGE } from './claims/storage.ts';

const PRODUCTS = [STORAGE, LEADERBOARD, MAIL, JMAP, BRIDGE, AGENTS];
const OPERATING = [
  README,
  SECURITY,
  API_STABILITY,
  DEPENDENCIES,
  DEPLOY,
  OPERATIONS,
  COLLECTORS,
  DATA_PROTECTION,
  SIGN_IN_PAGE,
];
const PAGES = [...PRODUCTS, ...OPERATING];
/** Sections of which every number is a claim. */
const WHOLE = [
  { of: STORAGE, sections: ['Guarantees', 'Limits'] },
  { of: LEADERBOARD, sections: ['Guarantees', 'Limits'] },
  { of: MAIL, sections: ['Guarantees', 'Limits'] },
  { of: JMAP, sections: ['Limits of one request'] },
  { of: API_STABILITY, sections: ['Limits of every JSON route'] },
  { of: BRIDGE, sections: ['Limits'] },
  { of: COLLECTORS, sections: ['Rounds', 'Limits'] },
  { of: SIGN_IN_PAGE, sections: ['When an account ends', 'How it is kept safe'] },
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

/** Pages that name routes, members, metrics and events of the log. */
const NAMING = [...PAGES.map(({ page }) => page), 'docs/leaderboard-plays.md', 'docs/web-app.md'];

const toPattern = (path: string): string => path.replaceAll(/\{[^}]*\}|<[^>]*>|\$\w+/g, '{}');
const routes = [...readPage('clients/javascript/api.generated.ts').matchAll(/@request (\w+):(\S+)/g)].map(
  ([, method = '', path = '']) => ({ method, parts: toPattern(path).split('/') }),
);
const isRoute = (method: string, path: string): boolean => {
  const parts = toPattern(path).split('/');
  return routes.some(
    (route) =>
      route.method === method &&
      route.parts.length === parts.length &&
      route.parts.every((part, at) => part === '{}' || part === parts[at]),
  );
};

it.each(NAMING)('the routes that %s names exist', (page) => {
  const named = readPage(page).matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/v1\/[\w{}/<>$-]+)(?![\w{}/<>$….-])/g);
  expect([...named].flatMap(([call, method = '', path = '']) => (isRoute(method, path) ? [] : [call]))).toEqual([]);
});

const SOURCES = [
  'workers/**/*.ts',
  'durable-objects/**/*.ts',
  'web/**/*.{ts,tsx}',
  'dev/**/*.ts',
  'migrations/**/*.sql',
];
const words = new Set(
  globSync([...SOURCES, 'bridge/**/*.ts', 'wrangler.toml'], { cwd: ROOT }).flatMap(
    (file) => readFileSync(join(ROOT, file), 'utf8').match(/[a-z][a-z0-9]*(?:_[a-z0-9]+)+/g) ?? [],
  ),
);
/** Names of other programs, and names that the code composes. */
const NOT_OURS =
  /^(?:histogram_quantile|add_expect_header|generate_presigned_url|http_ece|private_key_jwt|server_\w+|email_service_(?:not_allowed|quota))$/;
const isName = (word: string): boolean => {
  const plain = word.replace(/_(?:total|bucket)$/, '');
  return [word, plain, plain.replace('tessera_', '')].some((name) => words.has(name)) || NOT_OURS.test(word);
};

it.each(NAMING)('the members, metrics and events that %s names are in the code', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const code = [...text.matchAll(/`([^`\n]+)`|event=~?"([^"]+)"/g)].map(([, span, events]) => span ?? events ?? '');
  const named = code.flatMap((span) => span.match(/(?<![\w%$])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w)/g) ?? []);
  expect([...new Set(named)].filter((word) => !isName(word))).toEqual([]);
});

const [, tabs = ''] =
  /tabs: \{([^}]*)\}/.exec(readFileSync(join(ROOT, 'web/shared/texts/en-mail-settings.ts'), 'utf8')) ?? [];

it.each(NAMING)('the settings of mail that %s names are there', (page) => {
  const named = [...readPage(page).matchAll(/Settings(?: →|,) ([A-Z]\w+)/g)].map(([, tab = '']) => tab);
  // The connectors are in the settings of Claude and ChatGPT.
  expect(named.filter((tab) => !`${tabs}'Connectors'`.includes(`'${tab}`))).toEqual([]);
});

it('notices a number that differs, and one that nobody claims', () => {
  const text = '# Page ## Limits - At most 20 jobs. - 7 days. RFC 9457: 503. ## Gaps 9';
  expect(findMissing(text, ['At most 20 jobs.', 'At most 21 jobs.'])).toEqual(['At most 21 jobs.']);
  expect(findUnclaimed(text, 'Limits', ['At most 20 jobs.'])).toEqual(['## Limits - - 7 days. : .']);
  expect(() => numberOf('workers/shared/json/webhook.ts', 'NO_SUCH')).toThrow('no constant');
  expect(numberOf('workers/shared/json/webhook.ts', 'WEBHOOK_AGE_MS_MAX')).toBe(259_200_000);
});
