import { afterEach, expect, it, vi } from 'vitest';
import { logError } from '../../../workers/shared/telemetry/log.ts';

afterEach(() => vi.restoreAllMocks());

it('logs an error without the values of the failed query', () => {
  const print = vi.spyOn(console, 'error').mockImplementation(() => {});
  const error = new Error(
    'Failed query: select "email" from "user" where "email" = ?\nparams: me@example.test\nsecond line',
  );
  logError('unhandled', error, { path: '/v1/me' });
  const line = String(print.mock.calls[0]?.[0]);
  expect(line).not.toContain('me@example.test');
  expect(JSON.parse(line)).toMatchObject({
    event: 'unhandled',
    path: '/v1/me',
    message: 'Failed query: select "email" from "user" where "email" = ?',
    stack: expect.stringContaining('log.test.ts'),
  });
});
