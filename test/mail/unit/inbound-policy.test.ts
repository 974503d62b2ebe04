import { expect, test } from 'vitest';
import { isPublicIp } from '../../../workers/mail/domain/client-ip.ts';
import { decideHeader } from '../../../workers/mail/domain/header-policy.ts';
import { parseMailPath, toAsciiDomain, withoutTag } from '../../../workers/mail/domain/mail-path.ts';
import { hidePassword, parseTransport } from '../../../workers/mail/domain/transport-url.ts';

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '192.168.0.1',
  '172.16.0.1',
  '100.64.0.1',
  '::1',
  'fe80::1',
  'fd00::1',
  'junk',
  'cafe',
  '2001:db8::x',
  '',
])('%s is not a public client address', (ip) => expect(isPublicIp(ip)).toBe(false));

test.each(['203.0.113.5', '172.32.0.1', '100.128.0.1', '2001:db8::1', '::ffff:203.0.113.5'])(
  '%s is a public client address',
  (ip) => expect(isPublicIp(ip)).toBe(true),
);

test('parseMailPath accepts addresses that SMTP can carry and no others', () => {
  expect(parseMailPath("O'Neil+x@Far.TEST")?.email).toBe("O'Neil+x@far.test");
  expect(parseMailPath('"a,b"@far.test')?.local).toBe('"a,b"');
  expect(parseMailPath('x@bücher.test')?.email).toBe('x@xn--bcher-kva.test');
  for (const text of [
    '',
    '@far.test',
    'a',
    'a@far',
    'a b@far.test',
    'a@-far.test',
    'a..b@far.test',
    'ä@far.test',
    'a@[192.0.2.1]',
    'a@192.0.2.1',
    'a>@far.test',
    '"a> SIZE=1"@far.test',
    '"a\\ b"@far.test',
    '"a<b"@far.test',
    'a@far.test>',
    `${'x'.repeat(65)}@far.test`,
    'a@far.test\r\nRCPT TO:<b@far.test>',
  ]) {
    expect([text, parseMailPath(text)]).toEqual([text, null]);
  }
  const tagged = parseMailPath('ann+shop@example.test');
  expect(tagged && withoutTag(tagged)).toBe('ann@example.test');
  expect(toAsciiDomain('far.test.')).toBe('far.test');
  expect(toAsciiDomain('bücher.test')).toBe('xn--bcher-kva.test');
  for (const odd of [
    'ü.test/x',
    'ü.test:25',
    'ü.test?x',
    'ü.test#x',
    'ü%2etest',
    'ü.test> SIZE=1',
    'ü.test\\x',
    '[ü.test]',
  ])
    expect(toAsciiDomain(odd)).toBeNull();
});

test('a header with more than fifty hops is refused', () => {
  expect(decideHeader(`From: a@far.test\r\n${'Received: x\r\n'.repeat(50)}\r\n`)).toBeNull();
  expect(decideHeader(`From: a@far.test\r\n${'Received: x\r\n'.repeat(51)}\r\n`)).toMatchObject({ smtpCode: 554 });
  expect(decideHeader(`From: a@far.test\r\n\r\n${'Received: x\r\n'.repeat(99)}`)).toBeNull();
});

test.each([
  ['nothing', '', 'header'],
  ['text only', 'hello\r\nFrom here on: text\r\n', 'header'],
  ['an empty line first', '\r\nFrom: a@far.test\r\n\r\nx', 'header'],
  ['no From', 'Subject: x\r\n\r\nx', 'From'],
  ['From only in the body', 'Subject: x\r\n\r\nFrom: a@far.test\r\n', 'From'],
  ['From only as text in another field', 'Subject: x\r\n From: a@far.test\r\n\r\n', 'From'],
])('a message with %s is refused with 550', (_, head, what) =>
  expect(decideHeader(head)).toMatchObject({ smtpCode: 550, detail: expect.stringContaining(`no ${what}`) }),
);

test.each([
  'From: a@far.test',
  'from : Ann\r\n\r\n',
  'Subject: x\nFROM:\n a@far.test\n\nx',
  'From: <>\r\n\r\n',
  // As swaks sends it with the null sender
  'From: \r\nSubject: x\r\n\r\n',
  'From a@far.test Mon Jan  5 10:00:00 2026\r\nFrom: a@far.test\r\n\r\n',
])('%j has a From field', (head) => expect(decideHeader(head)).toBeNull());

test('a header that is longer than what was read of it is not refused', () => {
  const head = 'X-Long: x\r\n'.repeat(100);
  expect(decideHeader(head, head.length + 1)).toBeNull();
  expect(decideHeader(head, head.length)).toMatchObject({ smtpCode: 550 });
});

test('transports are parsed, port 25 and invalid URLs are refused, and passwords are hidden', () => {
  expect(parseTransport('email-service')).toEqual({ kind: 'email-service' });
  expect(parseTransport('smtp://relay.test:587?tls=required')).toMatchObject({
    port: 587,
    tls: 'required',
    auth: null,
  });
  expect(parseTransport('smtps://us%40er:p%3Aw@relay.test')).toMatchObject({
    port: 465,
    tls: 'implicit',
    auth: { user: 'us@er', password: 'p:w' },
  });
  const badPasswords = [
    'smtp://us:pw@relay.test:587?tls=off',
    'smtp://us%er:pw@relay.test',
    'smtp://us:%ff@relay.test',
  ];
  for (const text of ['smtp://relay.test:25', 'http://x', 'relay.test', 'smtp://relay.test?tls=maybe', ...badPasswords])
    expect(typeof parseTransport(text)).toBe('string');
  expect(hidePassword('smtps://user:secret@relay.test:465')).not.toContain('secret');
});
