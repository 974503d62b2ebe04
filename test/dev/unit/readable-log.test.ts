import { expect, it } from 'vitest';
import { toReadableLine } from '../../../dev/local/readable-log.ts';

const NOW = new Date(2026, 10, 22, 9, 5, 7);

it.each([
  [
    { level: 'info', event: 'request', product: 'storage', method: 'PUT', status: 200, ms: 12, request_id: 'x' },
    '09:05:07 200 PUT storage 12 ms',
  ],
  [{ level: 'info', event: 'mail_accepted', size_bytes: 5 }, '09:05:07 info mail_accepted size_bytes=5'],
  [
    { level: 'error', event: 'schedule_failed', product: 'mail', message: 'no answer', stack: 'Error: no answer' },
    '09:05:07 ERROR schedule_failed product=mail message=no answer\nError: no answer',
  ],
])('prints %j for people', (entry, line) => {
  expect(toReadableLine(JSON.stringify(entry), NOW)).toBe(line);
});

it.each(['plain text', '{not json', '{"no":"event"}'])('leaves %s as it is', (message) => {
  expect(toReadableLine(message, NOW)).toBe(message);
});
