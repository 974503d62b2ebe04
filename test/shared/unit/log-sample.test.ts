/** Which requests are logged. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isLogged } from '../../../workers/shared/telemetry/log-sample.ts';

const ENV = {
  ROOT_TOKEN: 'r'.repeat(32),
  MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  LOG_SAMPLE_PERCENT: '0',
} as unknown as Env;
const SLOW_MS = 2_000;

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }));
afterEach(() => vi.useRealTimers());

it('logs every failed request, and no quick successful one outside the sample', () => {
  for (let i = 0; i < 100; i++) expect([isLogged(503, 1, ENV), isLogged(200, SLOW_MS - 1, ENV)]).toEqual([true, false]);
});

it('logs ten slow requests per second, and failed ones beside them', () => {
  const countLogged = () => Array.from({ length: 50 }, () => isLogged(200, SLOW_MS, ENV)).filter(Boolean).length;
  expect([countLogged(), countLogged(), isLogged(500, SLOW_MS, ENV)]).toEqual([10, 0, true]);
  vi.setSystemTime(1_001_000);
  expect(countLogged()).toBe(10);
});

it('logs every request while a setting is bad', () => {
  expect(isLogged(200, 1, { ...ENV, MAIL_DOMAINS: 'not a domain' })).toBe(true);
});
