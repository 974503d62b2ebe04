import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { composeReport, readDeliveryStatus, toStatus } from '../../../../workers/mail/domain/delivery-report.ts';

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

test.each([
  // Columns: reply code, enhanced code, whether the message expired, action, and the expected status of the report.
  [550, '5.2.1', false, 'failed', '5.2.1'],
  [550, '4.2.1', false, 'failed', '5.1.1'],
  [551, null, false, 'failed', '5.1.1'],
  [552, null, false, 'failed', '5.3.4'],
  [553, null, false, 'failed', '5.1.1'],
  [554, null, false, 'failed', '5.7.1'],
  [555, null, false, 'failed', '5.0.0'],
  [null, null, false, 'failed', '5.0.0'],
  [550, null, true, 'failed', '5.4.7'],
  [450, null, false, 'delayed', '4.4.7'],
  [550, '5.1.1', false, 'delayed', '4.4.7'],
] as const)('the status of %j, %j, expired %j, %s is %s', (code, enhanced, isExpired, action, status) => {
  expect(toStatus(code, enhanced, isExpired, action)).toBe(status);
});

test('a report has the reply of a server, but our own reason only in its text', () => {
  const lines = composeReport(report).split('\r\n');
  expect(lines.filter((line) => line.startsWith('Diagnostic-Code'))).toHaveLength(1);
  expect(lines.filter((line) => line.startsWith('Will-Retry-Until'))).toEqual([]);
  expect(lines).toContain('    no answer in time');
  expect(lines).toContain('Subject: Undelivered mail returned to sender');
  expect(lines).toContain('Your message could not be delivered to all recipients.');
  const one = { ...report, recipients: report.recipients.slice(0, 1) };
  expect(composeReport(one)).not.toContain('may have arrived');
  expect(composeReport({ ...report, action: 'delayed' })).toContain('Subject: Delivery of your message is delayed\r\n');
});

test('a report of a message without an id refers to none', () => {
  expect(composeReport(report)).toContain('X-Original-Message-ID: <m1@example.test>\r\n');
  expect(composeReport({ ...report, originalMessageId: null })).not.toMatch(/In-Reply-To|X-Original-Message-ID/);
});

test('a report returns up to 32 KiB of the header, in lines of at most 998 characters', () => {
  const returned = (originalHeader: string) =>
    /rfc822-headers\r\n\r\n(.*)\r\n\r\n--b0undary--/s.exec(composeReport({ ...report, originalHeader }))?.[1];
  expect(returned('A: 1\nB: é\tx\rC: \u0001\r\n\r\n')).toBe('A: 1\r\nB: ?\tx\r\nC: ?');
  expect(returned(`${'x'.repeat(998)}\n${'y'.repeat(999)}\n`)).toBe(`${'x'.repeat(998)}\r\n${'y'.repeat(998)}`);
  expect(returned('a\r\n'.repeat(20_000))?.split('\r\n')).toHaveLength(Math.ceil((32 * 1024) / 3));
});

test('a long reply is wrapped in the text, and cut after 400 characters in the status', () => {
  const replied = (reply: string) => {
    const lines = composeReport({ ...report, recipients: [{ ...report.recipients[0], reply } as never] }).split('\r\n');
    return {
      text: lines.filter((line) => line.startsWith('    ')).map((line) => line.slice(4)),
      status: lines.find((line) => line.startsWith('Diagnostic-Code')),
    };
  };
  expect(replied(`${'a'.repeat(71)} b ${'c'.repeat(72)}`).text).toEqual(['a'.repeat(71), 'b', 'c'.repeat(72)]);
  expect(replied('d'.repeat(100)).text).toEqual(['d'.repeat(72), 'd'.repeat(28)]);
  expect(replied('e'.repeat(500)).status).toBe(`Diagnostic-Code: smtp; ${'e'.repeat(400)}`);
  expect(replied('').text).toEqual([]);
});

test('a status part of another server is read group by group', () => {
  const group = (...lines: string[]) => readDeliveryStatus(['Reporting-MTA: x', '', ...lines, ''].join('\n'));
  const bob = { email: 'bob@far.test', action: 'delayed', status: '', diagnostic: '' };
  expect(group('Final-Recipient: RFC822; <Bob@Far.test>', 'ACTION: Delayed')).toEqual([bob]);
  expect(group('Final-Recipient: bob@far.test', 'Action: delayed', 'Status: 4.4.1 (no)')).toEqual([
    { ...bob, status: '4.4.1' },
  ]);
  expect(group('Final-Recipient: bob@far.test', 'Action: delayed', 'Status: 3.4.1', ': x', 'junk')).toEqual([bob]);
  expect(group('Final-Recipient: bob@far.test')).toEqual([]);
  expect(group('Final-Recipient: bob', 'Action: failed')).toEqual([]);
  expect(group('Action: failed')).toEqual([]);
  const long = group('Final-Recipient: bob@far.test', 'Action: delayed', `Diagnostic-Code: ${'x'.repeat(600)}`);
  expect(long[0]?.diagnostic).toBe('x'.repeat(500));
});

test('a status part may lack the group of the message, and the blanks after the colons', () => {
  expect(readDeliveryStatus('Final-Recipient:bob@far.test\r\nAction:failed\r\nStatus:5.1.1')).toEqual([
    { email: 'bob@far.test', action: 'failed', status: '5.1.1', diagnostic: '' },
  ]);
});

test('a status part has at most 200 recipients', () => {
  const groups = Array.from({ length: 250 }, (_, n) => `Final-Recipient: u${n}@far.test\nAction: failed`);
  const read = readDeliveryStatus(['Reporting-MTA: x', ...groups].join('\n\n'));
  expect([read.length, read[199]?.email]).toEqual([200, 'u199@far.test']);
});
