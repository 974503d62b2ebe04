import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import {
  composeReport,
  readDeliveryStatus,
  toStatus,
} from '../../../../workers/mail/outbound/domain/delivery-report.ts';

const report = {
  action: 'failed' as const,
  reportingHost: 'mail.example.test',
  from: 'MAILER-DAEMON@example.test',
  to: 'ann@example.test',
  messageId: '<r1@example.test>',
  now: Date.UTC(2026, 10, 21),
  queuedAt: Date.UTC(2026, 10, 20),
  givesUpAt: Date.UTC(2026, 10, 25),
  originalHeader: 'Subject: h\u00e9llo\r\nX-Evil: a\r\nMessage-ID: <m1@example.test>\r\n',
  originalMessageId: '<m1@example.test>',
  boundary: 'b0undary',
  recipients: [
    {
      email: 'bob@far.test',
      status: '5.1.1',
      reply: '550 5.1.1 no\r\nSubject: injected',
      isRemote: true,
      isUncertain: false,
    },
    { email: 'cat@far.test', status: '5.4.7', reply: 'no answer in time', isRemote: false, isUncertain: true },
  ],
};

test('a report is a 7-bit multipart/report of three parts that parses back', async () => {
  const raw = composeReport(report);
  expect(raw).not.toMatch(/[^\t\n\r -~]/);
  expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(raw).not.toMatch(/^Subject: injected/m);
  const parsed = await PostalMime.parse(raw, { attachmentEncoding: 'utf8' });
  expect(parsed.headers.find((header) => header.key === 'auto-submitted')?.value).toBe('auto-replied');
  expect(parsed.inReplyTo).toBe('<m1@example.test>');
  expect(parsed.text).toContain('<bob@far.test>');
  expect(parsed.text).toContain('may have arrived');
  const status = parsed.attachments.find((part) => part.mimeType === 'message/delivery-status');
  expect(readDeliveryStatus(String(status?.content))).toEqual([
    { email: 'bob@far.test', action: 'failed', status: '5.1.1', diagnostic: 'smtp; 550 5.1.1 no??Subject: injected' },
    { email: 'cat@far.test', action: 'failed', status: '5.4.7', diagnostic: '' },
  ]);
});

test('a report of a delay gives the end of the attempts', () => {
  const raw = composeReport({ ...report, action: 'delayed' });
  expect(raw).toContain('Action: delayed');
  expect(raw).toContain('Will-Retry-Until: Wed, 25 Nov 2026 00:00:00 +0000');
});

test('a status is the server’s own if it matches the code', () => {
  expect(toStatus(550, '5.2.1', false, 'failed')).toBe('5.2.1');
  expect(toStatus(550, null, false, 'failed')).toBe('5.1.1');
  expect(toStatus(450, '4.2.0', true, 'failed')).toBe('5.4.7');
  expect(toStatus(450, '4.2.0', false, 'delayed')).toBe('4.2.0');
});

test('a postfix report is read with the original recipient first and folded lines', () => {
  const text = [
    'Reporting-MTA: dns; mx.far.test',
    'X-Postfix-Queue-ID: 12345',
    '',
    'Final-Recipient: rfc822; real@inner.test',
    'Original-Recipient: rfc822;Bob@far.test',
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 <real@inner.test>: Recipient address rejected:',
    '    User unknown',
    '',
    'Final-Recipient: rubbish',
    'Action: dance',
  ].join('\r\n');
  expect(readDeliveryStatus(text)).toEqual([
    {
      email: 'bob@far.test',
      action: 'failed',
      status: '5.1.1',
      diagnostic: 'smtp; 550 5.1.1 <real@inner.test>: Recipient address rejected: User unknown',
    },
  ]);
});
