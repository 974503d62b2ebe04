import { expect, test } from 'vitest';
import { checkDmarc } from '../../../../workers/mail/checks/authentication/dmarc.ts';
import type { ResolveDns } from '../../../../workers/mail/checks/dependencies.ts';
import { readHeaders } from '../../../../workers/mail/mime/mime-tree.ts';

import { parseMessage } from '../../../../workers/mail/mime/parse.ts';

const policies: ResolveDns = async (name) => ({
  ok: true,
  value: /^_dmarc\.(?:evil|bank)\.test$/.test(name) ? ['v=DMARC1; p=reject'] : [],
});
const SPF = { result: 'pass', domain: 'evil.test', identity: 'mailfrom', reason: '' } as const;

/** Checks a message with an SPF pass for evil.test. Both evil.test and bank.test have the DMARC policy reject. */
async function check(head: string) {
  const raw = Buffer.from(`${head}\r\nSubject: pay\r\n\r\nnow\r\n`, 'latin1');
  const { headers } = readHeaders(raw);
  const { dmarc } = await checkDmarc(headers, SPF, [], policies);
  return { dmarc, shown: (await parseMessage(raw)).from?.email };
}

test.each([
  'From: ceo@bank.test, <x@evil.test>',
  'From: x@evil.test, <ceo@bank.test>',
  'From: Board: ceo@bank.test; <x@evil.test>',
  'From: ceo@bank.test;x@evil.test',
  'From: ceo@bank.test x@evil.test',
  'From: <ceo@bank.test>x@evil.test',
  'From: <ceo@bank.test> <x@evil.test>',
  'From: "x\\\\" <ceo@bank.test> "\\\\" <x@evil.test>',
  'From: x@evil.test (a (nested) <ceo@bank.test>)',
  'From: ceo@bank.test (<x@evil.test>)',
  'From: x@evil.test,\r\n\tceo@bank.test',
  'From: ceo@bank.test\r\nFrom: x@evil.test',
  'From: x@evil.test\r\nFrom: ceo@bank.test',
  'From : ceo@bank.test\r\nFrom: x@evil.test',
  'From: x@evil.test\0ceo@bank.test',
  'From: ceo@bank.test <>',
  'From: ceo@bank.test',
])('another domain never passes DMARC or reaches the Inbox: %s', async (head) => {
  const { dmarc } = await check(head);
  expect(dmarc.result).not.toBe('pass');
  expect(dmarc.disposition).not.toBe('none');
});

test('an author behind a long comment or thousands of fields is found', async () => {
  const comment = `From: (${'x'.repeat(300)}\r\n${' x\r\n'.repeat(5_000)} ) ceo@bank.test`;
  for (const head of [comment, `${'X-Filler: x\r\n'.repeat(2_500)}From: ceo@bank.test`])
    expect((await check(head)).dmarc).toMatchObject({ result: 'fail', domain: 'bank.test', disposition: 'reject' });
});

test.each([
  'From: x@evil.test',
  'From: X <x@evil.test>, y@evil.test',
  'From: "ceo@bank.test" <x@evil.test>',
  'From: =?utf-8?q?ceo=40bank.test=2C?= <x@evil.test>',
  'From: <@relay.test:x@evil.test>',
  'From: x@evil.test (ceo)',
])('a single author is checked by the displayed domain: %s', async (head) => {
  const { dmarc, shown } = await check(head);
  expect(dmarc).toMatchObject({ result: 'pass', domain: 'evil.test' });
  expect(shown).toContain('@evil.test');
  expect(shown?.startsWith('ceo')).toBe(false);
});
